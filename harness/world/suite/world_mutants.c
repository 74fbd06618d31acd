/* SPDX-License-Identifier: Apache-2.0 */
/* world_mutants.c - what a mutant does not bend it hands on to world_threads. */
#include "harness/world/suite/world_mutants.h"

#include <string.h>

#include "harness/world/world.h"

extern const struct world_ops world_threads;

static uint64_t now_ns(struct world *w)
{
    return world_threads.now_ns(w);
}

static void pause_ns(struct world *w, uint64_t ns)
{
    world_threads.pause(w, ns);
}

static enum rc barrier(struct world *w)
{
    return world_threads.barrier(w);
}

static enum rc allgather(struct world *w, const void *in, void *out, size_t n_bytes_each)
{
    return world_threads.allgather(w, in, out, n_bytes_each);
}

static enum rc gather(struct world *w, const void *in, void *out, size_t n_bytes_each)
{
    return world_threads.gather(w, in, out, n_bytes_each);
}

/* Parts keep the mutant's operations. */
static enum rc split(struct world *w, int color, int key, struct world **out)
{
    enum rc rc;

    TRY(world_threads.split(w, color, key, out));
    if (*out)
        (*out)->ops = w->ops;
out:
    return rc;
}

static void split_close(struct world **w)
{
    world_threads.split_close(w);
}

static enum rc check(struct world *w)
{
    return world_threads.check(w);
}

/* Nobody waits. */
static enum rc open_barrier(struct world *w)
{
    (void)w;
    return RC_OK;
}

/* Everybody sees his own values in the place of his neighbour's. */
static enum rc shifted_allgather(struct world *w, const void *in, void *out, size_t n_bytes_each)
{
    enum rc rc;

    TRY(allgather(w, in, out, n_bytes_each));
    memcpy((char *)out + (size_t)((w->rank + 1) % w->n_ranks) * n_bytes_each, in, n_bytes_each);
out:
    return rc;
}

/* The last rank's last byte gets lost. */
static enum rc short_gather(struct world *w, const void *in, void *out, size_t n_bytes_each)
{
    enum rc rc;

    TRY(gather(w, in, out, n_bytes_each));
    if (w->rank == 0)
        ((char *)out)[(size_t)w->n_ranks * n_bytes_each - 1] = 0;
out:
    return rc;
}

static enum rc keyless_split(struct world *w, int color, int key, struct world **out)
{
    (void)key;
    return split(w, color, 0, out);
}

/* A negative color is a color like others. */
static enum rc greedy_split(struct world *w, int color, int key, struct world **out)
{
    return split(w, color < 0 ? 1000 : color, key, out);
}

/* Odd ranks live a second ahead. */
static uint64_t skewed_now_ns(struct world *w)
{
    return now_ns(w) + (uint64_t)(w->rank % 2) * UINT64_C(1000000000);
}

static uint64_t backward_now_ns(struct world *w)
{
    return ~now_ns(w);
}

static void hasty_pause(struct world *w, uint64_t ns)
{
    pause_ns(w, ns / 4);
}

static enum rc anxious_check(struct world *w)
{
    return rc_raise(RC_PEER, "rank %d failed: it did not", w->n_ranks - 1);
}

#define MUTANT(id, now_fn, pause_fn, barrier_fn, allgather_fn, gather_fn, split_fn, check_fn) \
    static const struct world_ops id = {                                                      \
        .module.name = #id,                                                                   \
        .module.caps = WORLD_SHARED_MEMORY,                                                   \
        .now_ns = now_fn,                                                                     \
        .pause = pause_fn,                                                                    \
        .barrier = barrier_fn,                                                                \
        .allgather = allgather_fn,                                                            \
        .gather = gather_fn,                                                                  \
        .split = split_fn,                                                                    \
        .split_close = split_close,                                                           \
        .check = check_fn,                                                                    \
    };

MUTANT(none, now_ns, pause_ns, barrier, allgather, gather, split, check)
MUTANT(open_door, now_ns, pause_ns, open_barrier, allgather, gather, split, check)
MUTANT(shifted, now_ns, pause_ns, barrier, shifted_allgather, gather, split, check)
MUTANT(short_end, now_ns, pause_ns, barrier, allgather, short_gather, split, check)
MUTANT(keyless, now_ns, pause_ns, barrier, allgather, gather, keyless_split, check)
MUTANT(greedy, now_ns, pause_ns, barrier, allgather, gather, greedy_split, check)
MUTANT(skewed, skewed_now_ns, pause_ns, barrier, allgather, gather, split, check)
MUTANT(backward, backward_now_ns, pause_ns, barrier, allgather, gather, split, check)
MUTANT(hasty, now_ns, hasty_pause, barrier, allgather, gather, split, check)
MUTANT(anxious, now_ns, pause_ns, barrier, allgather, gather, split, anxious_check)

const struct world_mutant *world_mutants(void)
{
    static const struct world_mutant all[] = {
        { "none", &none, NULL },
        { "open_door", &open_door, "barrier" },
        { "shifted", &shifted, "allgather" },
        { "short_end", &short_end, "gather" },
        { "keyless", &keyless, "split by key" },
        { "greedy", &greedy, "split some" },
        { "skewed", &skewed, "barrier" },
        { "backward", &backward, "clock" },
        { "hasty", &hasty, "clock" },
        { "anxious", &anxious, "identity" },
        { NULL, NULL, NULL },
    };
    return all;
}
