/* SPDX-License-Identifier: Apache-2.0 */
/* share_mutants.c - shares of threads with one bug each. A mutant's share is a copy, whose pointers it can change. */
#include "harness/world/suite/suite_mutants.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "harness/world/share.h"
#include "harness/world/share_inner.h"
#include "harness/world/wait.h"

#define WATCHDOG_NS UINT64_C(50000000) /* ends a wait that has no limit */

struct mutant_share {
    struct share base;
    struct share *real;
    void **peer;
    unsigned char *copy; /* of a block that nobody else sees */
};

static struct mutant_share *self(struct share *s)
{
    return (struct mutant_share *)s;
}

static void close_share(struct share *s)
{
    thread_share_ops.close(self(s)->real);
    free(self(s)->peer);
    free(self(s)->copy);
    free(s);
}

static enum rc open_share(struct share **out, struct world *group, size_t n_bytes)
{
    const size_t n = (size_t)group->n_ranks;
    struct mutant_share *m = calloc(1, sizeof *m);
    void **peer = calloc(n, sizeof *peer);
    enum rc rc;

    if (!m || !peer)
        FAIL(RC_NOMEM, "no memory for a mutant");
    TRY(thread_share_ops.open(&m->real, group, n_bytes));
    m->base = *m->real;
    memcpy(peer, m->real->peer, n * sizeof *peer);
    m->base.peer = m->peer = peer;
    *out = &m->base;
    m = NULL;
    peer = NULL;
out:
    free(peer);
    free(m);
    return rc;
}

static void ring(struct share *s, int peer)
{
    thread_share_ops.ring(self(s)->real, peer);
}

static enum rc wait(struct share *s, uint32_t seen, uint64_t limit_ns)
{
    return thread_share_ops.wait(self(s)->real, seen, limit_ns);
}

/* --- groups ------------------------------------------------------------------------------------------------------ */

static enum rc one_host_more(struct world *w, struct world **out, int *host, int *n_hosts)
{
    const enum rc rc = thread_share_ops.host_group(w, out, host, n_hosts);

    *n_hosts += 1;
    return rc;
}

/* The rank in the place of the host. */
static enum rc host_per_rank(struct world *w, struct world **out, int *host, int *n_hosts)
{
    const enum rc rc = thread_share_ops.host_group(w, out, host, n_hosts);

    *host = w->rank;
    return rc;
}

/* Each rank is on a host of its own. */
static enum rc lonely_group(struct world *w, struct world **out, int *host, int *n_hosts)
{
    *host = w->rank;
    *n_hosts = w->n_ranks;
    return world_split(w, w->rank, 0, out);
}

static enum rc reversed_group(struct world *w, struct world **out, int *host, int *n_hosts)
{
    *host = 0;
    *n_hosts = 1;
    return world_split(w, 0, -w->rank, out);
}

/* --- blocks ------------------------------------------------------------------------------------------------------ */

static enum rc rotated_open(struct share **out, struct world *group, size_t n_bytes)
{
    enum rc rc;

    TRY(open_share(out, group, n_bytes));
    for (int r = 0; r < group->n_ranks; r++)
        if (r != group->rank)
            self(*out)->peer[r] = (*out)->mine;
out:
    return rc;
}

/* The last two ranks, seen from the first, are each other. */
static enum rc swapped_open(struct share **out, struct world *group, size_t n_bytes)
{
    const int last = group->n_ranks - 1;
    enum rc rc;

    TRY(open_share(out, group, n_bytes));
    if (group->rank == 0 && last > 1) {
        void **peer = self(*out)->peer, *block = peer[last];
        peer[last] = peer[last - 1];
        peer[last - 1] = block;
    }
out:
    return rc;
}

/* A rank writes to a copy that its peers do not see. */
static enum rc hidden_open(struct share **out, struct world *group, size_t n_bytes)
{
    enum rc rc;

    TRY(open_share(out, group, n_bytes));
    self(*out)->copy = aligned_alloc((size_t)2 << 20, (n_bytes + ((size_t)2 << 20)) >> 21 << 21);
    if (!self(*out)->copy)
        FAIL(RC_NOMEM, "no memory for a copy");
    memset(self(*out)->copy, 0, n_bytes);
    (*out)->mine = self(*out)->peer[group->rank] = self(*out)->copy;
out:
    return rc;
}

static enum rc dirty_open(struct share **out, struct world *group, size_t n_bytes)
{
    enum rc rc;

    TRY(open_share(out, group, n_bytes));
    if (n_bytes > 0)
        ((unsigned char *)(*out)->mine)[n_bytes - 1] = 1;
    TRY(world_barrier(group));
out:
    return rc;
}

static enum rc untouched_open(struct share **out, struct world *group, size_t n_bytes)
{
    enum rc rc;

    TRY(open_share(out, group, n_bytes));
    (void)madvise((*out)->mine, n_bytes, MADV_DONTNEED);
    TRY(world_barrier(group));
out:
    return rc;
}

/* Blocks start in the middle of a line of the cache. */
static enum rc crooked_open(struct share **out, struct world *group, size_t n_bytes)
{
    enum rc rc;

    TRY(open_share(out, group, n_bytes));
    for (int r = 0; r < group->n_ranks; r++)
        self(*out)->peer[r] = (unsigned char *)self(*out)->peer[r] + 32;
    (*out)->mine = self(*out)->peer[group->rank];
out:
    return rc;
}

/* --- rings ------------------------------------------------------------------------------------------------------- */

/* Rings this rank only. */
static void muffled_ring(struct share *s, int peer)
{
    if (peer == s->group->rank)
        ring(s, peer);
}

static void loud_ring(struct share *s, int peer)
{
    (void)peer;
    for (int r = 0; r < s->group->n_ranks; r++)
        ring(s, r);
}

static void doubled_ring(struct share *s, int peer)
{
    ring(s, peer);
    ring(s, peer);
}

static void shifted_ring(struct share *s, int peer)
{
    ring(s, (peer + 1) % s->group->n_ranks);
}

/* Waits for a ring that comes later, and misses those that came since `seen`. */
static enum rc late_wait(struct share *s, uint32_t seen, uint64_t limit_ns)
{
    (void)seen;
    return wait(s, share_seen(s), limit_ns);
}

static enum rc easy_wait(struct share *s, uint32_t seen, uint64_t limit_ns)
{
    const enum rc rc = wait(s, seen, limit_ns);

    return rc == RC_TIMEOUT ? RC_OK : rc;
}

static enum rc endless_wait(struct share *s, uint32_t seen, uint64_t limit_ns)
{
    const enum rc rc = wait(s, seen, limit_ns > WATCHDOG_NS ? limit_ns : WATCHDOG_NS);

    return rc == RC_TIMEOUT ? rc_raise(RC_PEER, "ended by somebody who saw it hang") : rc;
}

/* Ten times too short: not so short that a busy machine lets waits of other cases run out. */
static enum rc hasty_wait(struct share *s, uint32_t seen, uint64_t limit_ns)
{
    const enum rc rc = wait(s, seen, limit_ns / 10);

    return rc == RC_TIMEOUT ? rc_raise(rc, "share: not rung within %.3g s", 1e-9 * (double)limit_ns) : rc;
}

/* Looks at nothing but the bell. */
static enum rc deaf_wait(struct share *s, uint32_t seen, uint64_t limit_ns)
{
    const uint64_t slice_ns = limit_ns < WATCHDOG_NS ? limit_ns : WATCHDOG_NS;

    if (doorbell_wait(s->bell[s->group->rank], seen, false, slice_ns))
        return RC_OK;
    return rc_raise(RC_TIMEOUT, "share: not rung within %.3g s", 1e-9 * (double)limit_ns);
}

/* --- closing ----------------------------------------------------------------------------------------------------- */

static void collective_close(struct share *s)
{
    (void)!world_barrier(s->group);
    close_share(s);
}

const struct suite_mutant *share_mutants(void)
{
    static const struct suite_mutant all[] = {
        { .name = "none",
          .shares.open = open_share,
          .shares.ring = ring,
          .shares.wait = wait,
          .shares.close = close_share },
        { "many_hosts", "host groups", .shares.host_group = one_host_more },
        { "host_of_rank", "host groups", .shares.host_group = host_per_rank },
        { "lonely", "host groups", .shares.host_group = lonely_group },
        { "reversed", "host groups", .shares.host_group = reversed_group },
        { "rotated", "blocks", .shares.open = rotated_open },
        { "swapped", "blocks", .shares.open = swapped_open },
        { "hidden", "blocks", .shares.open = hidden_open },
        { "dirty", "blocks", .shares.open = dirty_open },
        { "untouched", "touched", .shares.open = untouched_open },
        { "crooked", "blocks", .shares.open = crooked_open },
        { "muffled", "rings", .shares.ring = muffled_ring },
        { "loud", "rings", .shares.ring = loud_ring },
        { "doubled", "rings", .shares.ring = doubled_ring },
        { "shifted", "rings", .shares.ring = shifted_ring },
        { "late", "rings", .shares.wait = late_wait },
        { "easy", "rings", .shares.wait = easy_wait },
        { "endless", "rings", .shares.wait = endless_wait },
        { "hasty", "rings", .shares.wait = hasty_wait },
        { "deaf", "stopped tasks", .shares.wait = deaf_wait },
        { "collective", "closing", .shares.close = collective_close },
        { .name = NULL },
    };
    return all;
}
