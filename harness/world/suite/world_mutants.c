/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world_mutants.c - world_threads with one planted bug each, and with a made-up clock.
 *
 * Real time would hide bugs on a loaded machine: a sleep that is cut short lasts long enough when the core is
 * taken away meanwhile. So each rank has a logical clock of its own: a reading adds 1 ns, a pause adds its
 * length, and a barrier sets the clocks of all its ranks to the latest of them.
 */
#include "harness/world/suite/suite_mutants.h"

#include <stdlib.h>
#include <string.h>

#include "harness/world/world.h"

extern const struct world_ops world_threads;

static _Thread_local uint64_t clock_ns; /* of this rank; its thread begins with 0 */

static uint64_t now_ns(struct world *w)
{
    (void)w;
    return ++clock_ns;
}

static void pause_ns(struct world *w, uint64_t ns)
{
    (void)w;
    clock_ns += ns;
}

static enum rc barrier(struct world *w)
{
    uint64_t *all_ns = calloc((size_t)w->n_ranks, sizeof *all_ns);
    const uint64_t own_ns = clock_ns;
    enum rc rc = RC_OK;

    if (!all_ns)
        FAIL(RC_NOMEM, "no memory for the clocks of %d ranks", w->n_ranks);
    TRY(world_threads.allgather(w, &own_ns, all_ns, sizeof own_ns));
    for (int r = 0; r < w->n_ranks; r++)
        clock_ns = all_ns[r] > clock_ns ? all_ns[r] : clock_ns;
out:
    free(all_ns);
    return rc;
}

/* The parts have the mutant's operations, too. */
static enum rc split(struct world *w, int color, int key, struct world **out)
{
    enum rc rc;

    TRY(world_threads.split(w, color, key, out));
    if (*out)
        (*out)->ops = w->ops;
out:
    return rc;
}

/* Does not wait for the other ranks. */
static enum rc open_barrier(struct world *w)
{
    (void)w;
    return RC_OK;
}

/* Each rank gets its own values in the place of those of the next rank. */
static enum rc shifted_allgather(struct world *w, const void *in, void *out, size_t n_bytes_each)
{
    enum rc rc;

    TRY(world_threads.allgather(w, in, out, n_bytes_each));
    memcpy((char *)out + (size_t)((w->rank + 1) % w->n_ranks) * n_bytes_each, in, n_bytes_each);
out:
    return rc;
}

/* The last byte of the last rank is lost. */
static enum rc short_gather(struct world *w, const void *in, void *out, size_t n_bytes_each)
{
    enum rc rc;

    TRY(world_threads.gather(w, in, out, n_bytes_each));
    if (w->rank == 0)
        ((char *)out)[(size_t)w->n_ranks * n_bytes_each - 1] = 0;
out:
    return rc;
}

/* The last rank keeps its last byte. */
static enum rc short_broadcast(struct world *w, void *bytes, size_t n_bytes)
{
    const char last = n_bytes > 0 ? ((char *)bytes)[n_bytes - 1] : 0;
    enum rc rc;

    TRY(world_threads.broadcast(w, bytes, n_bytes));
    if (n_bytes > 0 && w->rank == w->n_ranks - 1)
        ((char *)bytes)[n_bytes - 1] = last;
out:
    return rc;
}

static enum rc keyless_split(struct world *w, int color, int key, struct world **out)
{
    (void)key;
    return split(w, color, 0, out);
}

/* A negative color makes a part, as other colors do. */
static enum rc greedy_split(struct world *w, int color, int key, struct world **out)
{
    return split(w, color < 0 ? 1000 : color, key, out);
}

/* The clocks of odd ranks are one second ahead. */
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

const struct suite_mutant *world_mutants(void)
{
    static const struct suite_mutant all[] = {
        { .name = "none",
          .world.now_ns = now_ns,
          .world.pause = pause_ns,
          .world.barrier = barrier,
          .world.split = split },
        { "open_door", "barrier", .world.barrier = open_barrier },
        { "shifted", "allgather", .world.allgather = shifted_allgather },
        { "short_end", "gather", .world.gather = short_gather },
        { "keyless", "split by key", .world.split = keyless_split },
        { "greedy", "split some", .world.split = greedy_split },
        { "skewed", "barrier", .world.now_ns = skewed_now_ns },
        { "backward", "clock", .world.now_ns = backward_now_ns },
        { "hasty", "clock", .world.pause = hasty_pause },
        { "short_cast", "broadcast", .world.broadcast = short_broadcast },
        { "anxious", "identity", .world.check = anxious_check },
        { .name = NULL },
    };
    return all;
}
