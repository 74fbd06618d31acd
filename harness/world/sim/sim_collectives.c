/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_collectives.c - how ranks of the sim world meet: in shared memory, in no virtual time.
 *
 * It is bootstrap, not what is measured: every rank stores its arguments in its struct sim_world and sleeps, and the
 * last rank to arrive does the work for all. The loss of a rank wakes all others (sim_leave()), so that those who wait
 * for it give up.
 */
#include <stdlib.h>
#include <string.h>

#include "harness/world/sim/sim_world.h"

struct split_claim {
    int color, key;
};

struct sim_group *sim_group_alloc(int n_members, const struct topology *topology)
{
    struct sim_group *g = calloc(1, sizeof *g + (size_t)n_members * sizeof g->member[0]);
    int *number = calloc((size_t)n_members, sizeof *number);

    if (!g || !number) {
        free(number);
        free(g);
        return NULL;
    }
    g->n_members = g->n_open = n_members;
    g->topology = topology;
    g->number = number;
    return g;
}

void sim_group_free(struct sim_group *g)
{
    if (g)
        free(g->number);
    free(g);
}

static void group_destroy(struct sim_owned *o)
{
    sim_group_free((struct sim_group *)o); /* first member */
}

/* RC_OK while all ranks of w can still come. */
static enum rc check_all(const struct world *w, const struct sim_world *s)
{
    enum rc rc;

    TRY(sim_check(s->rank));
    TRY(world_check_losses(w));
out:
    return rc;
}

/* Wait until all ranks of w's group are in this call; the last one runs `collective`. Errors: RC_MISMATCH: ranks
 * call different operations, or with different lengths; RC_PEER; those of `collective`. */
static enum rc run_collective(struct world *w, sim_collective_fn *collective, const void *in, void *out,
                              size_t n_bytes_each)
{
    struct sim_world *s = sim_world_of(w);
    struct sim_group *g = s->group;
    const uint64_t operation = g->n_operations;
    bool has_arrived = false;
    enum rc rc = RC_OK;

    TRY(check_all(w, s));
    if (g->n_arrived == 0) {
        g->collective = collective;
        g->n_bytes_each = n_bytes_each;
    }
    if (g->collective != collective || g->n_bytes_each != n_bytes_each)
        FAIL(RC_MISMATCH, "rank %d: the ranks do not call the same operation with equal lengths: %zu bytes, others %zu",
             w->rank, n_bytes_each, g->n_bytes_each);
    s->in = in;
    s->out = out;
    has_arrived = true;
    if (++g->n_arrived == g->n_members) {
        g->n_arrived = 0;
        g->result = collective(g);
        g->n_operations++;
        for (int r = 0; r < g->n_members; r++)
            sim_wake(g->member[r].rank, g); /* a no-op for this rank, which is awake */
    }
    while (g->n_operations == operation) {
        sim_wait(s->rank, g, SIM_NEVER);
        if (g->n_operations == operation)
            TRY(check_all(w, s));
    }
    if (g->result != RC_OK)
        FAIL(g->result, "no memory for a collective operation of %d ranks", g->n_members);
out:
    if (has_arrived && g->n_operations == operation)
        g->n_arrived--;    /* this rank gives up: the operation needs all */
    s->in = s->out = NULL; /* the caller's memory, valid during the call only */
    return rc;
}

static enum rc barrier_of_all(struct sim_group *g)
{
    (void)g;
    return RC_OK;
}

/* out: (n_members, n_bytes_each): the input of each rank, in order of ranks. */
static void copy_inputs(const struct sim_group *g, char *out)
{
    for (int r = 0; g->n_bytes_each > 0 && r < g->n_members; r++)
        memcpy(out + (size_t)r * g->n_bytes_each, g->member[r].in, g->n_bytes_each);
}

static enum rc allgather_of_all(struct sim_group *g)
{
    for (int r = 0; r < g->n_members; r++)
        copy_inputs(g, g->member[r].out);
    return RC_OK;
}

static enum rc gather_of_all(struct sim_group *g)
{
    copy_inputs(g, g->member[0].out);
    return RC_OK;
}

/* out of rank 0 are the bytes it sends. */
static enum rc broadcast_of_all(struct sim_group *g)
{
    for (int r = 1; g->n_bytes_each > 0 && r < g->n_members; r++)
        memcpy(g->member[r].out, g->member[0].out, g->n_bytes_each);
    return RC_OK;
}

enum rc sim_barrier(struct world *w)
{
    return run_collective(w, barrier_of_all, NULL, NULL, 0);
}

enum rc sim_allgather(struct world *w, const void *in, void *out, size_t n_bytes_each)
{
    return run_collective(w, allgather_of_all, in, out, n_bytes_each);
}

enum rc sim_gather(struct world *w, const void *in, void *out, size_t n_bytes_each)
{
    return run_collective(w, gather_of_all, in, out, n_bytes_each);
}

enum rc sim_broadcast(struct world *w, void *bytes, size_t n_bytes)
{
    return run_collective(w, broadcast_of_all, NULL, bytes, n_bytes);
}

static struct split_claim claim_of(const struct sim_world *s)
{
    return *(const struct split_claim *)s->in;
}

/* By color, key, rank. */
static int compare_claims(const void *pa, const void *pb)
{
    const struct sim_world *const a = *(const struct sim_world *const *)pa, *const b =
                                                                                *(const struct sim_world *const *)pb;
    const struct split_claim ca = claim_of(a), cb = claim_of(b);

    if (ca.color != cb.color)
        return ca.color < cb.color ? -1 : 1;
    if (ca.key != cb.key)
        return ca.key < cb.key ? -1 : 1;
    return a->base.rank < b->base.rank ? -1 : 1;
}

static int host_of(const struct sim_group *g, int r)
{
    return topology_slot(g->topology, sim_number(g->member[r].rank));
}

static int first_on_host(const struct sim_group *g, int r)
{
    int first = 0;

    while (host_of(g, first) != host_of(g, r))
        first++;
    return first;
}

static void count_host_ranks(struct sim_group *g)
{
    for (int r = 0; r < g->n_members; r++) {
        struct world *w = &g->member[r].base;
        w->host_rank = w->n_host_ranks = 0;
        for (int other = 0; other < g->n_members; other++)
            if (host_of(g, other) == host_of(g, r)) {
                w->n_host_ranks++;
                w->host_rank += other < r;
            }
    }
}

/* Make one group of the ranks sorted[0 .. n_members-1]. */
static enum rc make_part(struct sim_group *parent, struct sim_world *const *sorted, int n_members)
{
    struct sim_group *g = sim_group_alloc(n_members, parent->topology);

    if (!g)
        return RC_NOMEM;
    g->loads = parent->loads;
    for (int r = 0; r < n_members; r++) {
        struct sim_world *s = &g->member[r];
        *s = (struct sim_world){
            .base = sorted[r]->base, .rank = sorted[r]->rank, .group = g, .stall = sorted[r]->stall
        };
        s->base.rank = r;
        s->base.n_ranks = n_members;
        s->base.number = g->number;
        g->number[r] = sim_number(s->rank);
        *(struct world **)sorted[r]->out = &s->base;
    }
    count_host_ranks(g);
    g->owned.destroy = group_destroy;
    sim_own(g->member[0].rank, &g->owned); /* freed at the end of the run when a later part of this split fails */
    return RC_OK;
}

static enum rc split_of_all(struct sim_group *g)
{
    struct sim_world **sorted = malloc((size_t)g->n_members * sizeof(struct sim_world *));
    enum rc rc = sorted ? RC_OK : RC_NOMEM;

    for (int r = 0; sorted && r < g->n_members; r++)
        sorted[r] = &g->member[r];
    if (sorted)
        qsort(sorted, (size_t)g->n_members, sizeof(struct sim_world *), compare_claims);
    for (int r = 0; rc == RC_OK && r < g->n_members;) {
        const int color = claim_of(sorted[r]).color;
        int n = 1;
        while (r + n < g->n_members && claim_of(sorted[r + n]).color == color)
            n++;
        if (color >= 0)
            rc = make_part(g, sorted + r, n);
        r += n;
    }
    free(sorted);
    return rc;
}

enum rc sim_split(struct world *w, int color, int key, struct world **out)
{
    const struct split_claim claim = { color < 0 ? -1 : color, key };
    struct world *part = NULL;
    enum rc rc;

    TRY(run_collective(w, split_of_all, &claim, &part, 0));
    *out = part;
out:
    return rc;
}

void sim_split_close(struct world **w)
{
    struct sim_world *s = sim_world_of(*w);
    struct sim_group *g = s->group;

    *w = NULL;
    if (--g->n_open == 0) {
        sim_disown(s->rank, &g->owned);
        sim_group_free(g);
    }
}

/* --- survivors --- */

/* Is every rank of g present, or lost? w: any rank's world of g. */
static bool is_roll_full(const struct world *w, const struct sim_group *g)
{
    for (int r = 0; r < g->n_members; r++)
        if (!g->member[r].is_present && !world_is_lost(w, r))
            return false;
    return true;
}

/* Make the world of those who are present, and let them go. */
static void close_roll(struct sim_group *g)
{
    struct sim_world **present = malloc((size_t)g->n_members * sizeof(struct sim_world *));
    int n_present = 0;

    for (int r = 0; r < g->n_members; r++) {
        if (g->member[r].is_present && present)
            present[n_present++] = &g->member[r];
        g->member[r].is_present = false;
    }
    if (present)
        (void)!make_part(g, present, n_present); /* else they find that they have none */
    free(present);
    g->n_rolls++;
    for (int r = 0; r < g->n_members; r++)
        sim_wake(g->member[r].rank, g);
}

/* A rank that is lost has left the simulation, so it is not present: only those are that live. */
enum rc sim_survivors(struct world *w, struct world **out)
{
    struct sim_world *s = sim_world_of(w);
    struct sim_group *g = s->group;
    const uint64_t roll = g->n_rolls;
    struct world *part = NULL;
    enum rc rc;

    s->is_present = true;
    s->out = &part;
    for (;;) {
        if (g->n_rolls == roll)
            TRY(sim_check(s->rank));
        if (g->n_rolls == roll && is_roll_full(w, g))
            close_roll(g);
        if (g->n_rolls != roll)
            break;
        sim_wait(s->rank, g, SIM_NEVER);
    }
    rc = part ? RC_OK : rc_raise(RC_NOMEM, "no memory for a world of survivors");
    *out = part;
out:
    s->is_present = false;
    s->out = NULL;
    return rc;
}

/* Hosts are filled in order, and a world's ranks may be any of theirs. */
enum rc world_sim_host_group(struct world *w, struct world **out, int *host, int *n_hosts)
{
    const struct sim_group *g = sim_world_of(w)->group;
    const int first = first_on_host(g, w->rank);
    enum rc rc = RC_OK;

    if (out)
        TRY(sim_split(w, first, w->rank, out));
    *host = *n_hosts = 0;
    for (int r = 0; r < g->n_members; r++)
        if (g->member[r].base.host_rank == 0) {
            *n_hosts += 1;
            *host += r < first;
        }
out:
    return rc;
}
