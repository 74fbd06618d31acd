/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world_sim.c - the sim world: ranks are actors in virtual time, and meet in shared memory.
 *
 * Collective operations take no virtual time (they are bootstrap, not what is measured): every rank
 * leaves what it brings in its seat and sleeps, and the last to come does the work for all.
 *
 * A wait without limit that nothing can end (two ranks that each receive first; a rank that left
 * before a barrier) is found at once and ends the run with RC_TIMEOUT (sim_engine.h, G3). Virtual time
 * does not pass while a rank computes or polls: a loop that polls must pause or wait.
 */
#include "harness/world/sim/world_sim.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cluster/cluster.h"
#include "harness/cluster/cluster.h"
#include "harness/world/sim/sim_engine.h"
#include "harness/world/wait.h"

struct group;

/* What the last rank to come does on behalf of all; on failure nobody gets anything. */
typedef enum rc together_fn(struct group *g);

struct sim_world { /* a rank's seat in one group */
    struct world base;
    struct sim_rank *rank;
    struct group *group;
    const void *in; /* while in meet() */
    void *out;
};

struct group { /* ranks that meet: the whole run, or one part of a split */
    struct sim_owned owned;
    int n_seats, n_open; /* n_open: parts of a split not yet closed */
    int n_ranks_per_host;
    int n_arrived;
    uint64_t n_meetings;
    together_fn *together; /* of the meeting under way */
    size_t n_bytes_each;
    enum rc result; /* of the last meeting */
    struct sim_world seat[];
};

struct split_claim {
    int color, key;
};

struct run_args {
    struct group *all;
    rank_main_fn *body;
    void *arg;
};

static struct sim_world *self(struct world *w)
{
    return (struct sim_world *)w;
}

struct sim_rank *world_sim_rank(struct world *w, int r)
{
    assert(r >= 0 && r < w->n_ranks);
    return self(w)->group->seat[r].rank;
}

static struct group *group_alloc(int n_seats, int n_ranks_per_host)
{
    struct group *g = calloc(1, sizeof *g + (size_t)n_seats * sizeof g->seat[0]);

    if (g) {
        g->n_seats = g->n_open = n_seats;
        g->n_ranks_per_host = n_ranks_per_host;
    }
    return g;
}

static void group_destroy(struct sim_owned *o)
{
    free(o); /* first member */
}

/* All ranks of w's group do `together` at once. Errors: RC_MISMATCH: ranks are in different
 * operations, or bring different lengths; RC_PEER; those of `together`. */
static enum rc meet(struct world *w, together_fn *together, const void *in, void *out, size_t n_bytes_each)
{
    struct sim_world *s = self(w);
    struct group *g = s->group;
    const uint64_t meeting = g->n_meetings;
    enum rc rc = RC_OK;

    TRY(sim_check(s->rank));
    if (g->n_arrived == 0) {
        g->together = together;
        g->n_bytes_each = n_bytes_each;
    }
    if (g->together != together || g->n_bytes_each != n_bytes_each)
        FAIL(RC_MISMATCH, "rank %d: the ranks do not call the same operation with equal lengths: %zu bytes, others %zu",
             w->rank, n_bytes_each, g->n_bytes_each);
    s->in = in;
    s->out = out;
    if (++g->n_arrived == g->n_seats) {
        g->n_arrived = 0;
        g->result = together(g);
        g->n_meetings++;
        for (int r = 0; r < g->n_seats; r++)
            sim_wake(g->seat[r].rank); /* not itself: it is awake */
    }
    while (g->n_meetings == meeting) {
        sim_wait(s->rank, SIM_NEVER);
        if (g->n_meetings == meeting)
            TRY(sim_check(s->rank));
    }
    if (g->result != RC_OK)
        FAIL(g->result, "no memory for what %d ranks do together", g->n_seats);
out:
    s->in = s->out = NULL; /* the caller's memory, not for longer */
    return rc;
}

static enum rc together_barrier(struct group *g)
{
    (void)g;
    return RC_OK;
}

static void collect(const struct group *g, char *out)
{
    for (int r = 0; g->n_bytes_each > 0 && r < g->n_seats; r++)
        memcpy(out + (size_t)r * g->n_bytes_each, g->seat[r].in, g->n_bytes_each);
}

static enum rc together_allgather(struct group *g)
{
    for (int r = 0; r < g->n_seats; r++)
        collect(g, g->seat[r].out);
    return RC_OK;
}

static enum rc together_gather(struct group *g)
{
    collect(g, g->seat[0].out);
    return RC_OK;
}

static enum rc sim_barrier(struct world *w)
{
    return meet(w, together_barrier, NULL, NULL, 0);
}

static enum rc sim_allgather(struct world *w, const void *in, void *out, size_t n_bytes_each)
{
    return meet(w, together_allgather, in, out, n_bytes_each);
}

static enum rc sim_gather(struct world *w, const void *in, void *out, size_t n_bytes_each)
{
    return meet(w, together_gather, in, out, n_bytes_each);
}

static struct split_claim claim_of(const struct sim_world *s)
{
    return *(const struct split_claim *)s->in;
}

/* By color, key, rank. */
static int compare_seats(const void *pa, const void *pb)
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

static int host_of(const struct group *g, int r)
{
    return sim_number(g->seat[r].rank) / g->n_ranks_per_host;
}

static void count_host_ranks(struct group *g)
{
    for (int r = 0; r < g->n_seats; r++) {
        struct world *w = &g->seat[r].base;
        w->host_rank = w->n_host_ranks = 0;
        for (int other = 0; other < g->n_seats; other++)
            if (host_of(g, other) == host_of(g, r)) {
                w->n_host_ranks++;
                w->host_rank += other < r;
            }
    }
}

/* One group of the ranks sorted[0 .. n_seats-1]; each gets its seat. */
static enum rc make_part(struct group *parent, struct sim_world *const *sorted, int n_seats)
{
    struct group *g = group_alloc(n_seats, parent->n_ranks_per_host);

    if (!g)
        return RC_NOMEM;
    for (int r = 0; r < n_seats; r++) {
        struct sim_world *s = &g->seat[r];
        *s = (struct sim_world){ .base = sorted[r]->base, .rank = sorted[r]->rank, .group = g };
        s->base.rank = r;
        s->base.n_ranks = n_seats;
        *(struct world **)sorted[r]->out = &s->base;
    }
    count_host_ranks(g);
    g->owned.destroy = group_destroy;
    sim_own(g->seat[0].rank, &g->owned); /* freed at the end of the run when this split fails half-way */
    return RC_OK;
}

static enum rc together_split(struct group *g)
{
    struct sim_world **sorted = malloc((size_t)g->n_seats * sizeof(struct sim_world *));
    enum rc rc = sorted ? RC_OK : RC_NOMEM;

    for (int r = 0; sorted && r < g->n_seats; r++)
        sorted[r] = &g->seat[r];
    if (sorted)
        qsort(sorted, (size_t)g->n_seats, sizeof(struct sim_world *), compare_seats);
    for (int r = 0; rc == RC_OK && r < g->n_seats;) {
        const int color = claim_of(sorted[r]).color;
        int n = 1;
        while (r + n < g->n_seats && claim_of(sorted[r + n]).color == color)
            n++;
        if (color >= 0)
            rc = make_part(g, sorted + r, n);
        r += n;
    }
    free(sorted);
    return rc;
}

static enum rc sim_split(struct world *w, int color, int key, struct world **out)
{
    const struct split_claim claim = { color < 0 ? -1 : color, key };
    struct world *part = NULL;
    enum rc rc;

    TRY(meet(w, together_split, &claim, &part, 0));
    *out = part;
out:
    return rc;
}

static void sim_split_close(struct world **w)
{
    struct sim_world *s = self(*w);
    struct group *g = s->group;

    *w = NULL;
    if (--g->n_open == 0) {
        sim_disown(s->rank, &g->owned);
        free(g);
    }
}

static uint64_t sim_world_now_ns(struct world *w)
{
    (void)w;
    return sim_now_ns();
}

static void sim_pause(struct world *w, uint64_t ns)
{
    (void)w;
    sim_pass((double)ns * 1e-9);
}

static void sim_charge(struct world *w, double flops, double bytes)
{
    const double compute_s = flops / w->flops_per_s, memory_s = bytes / w->memory_bytes_per_s;

    sim_pass(compute_s > memory_s ? compute_s : memory_s);
}

static enum rc sim_world_check(struct world *w)
{
    return sim_check(self(w)->rank);
}

static void sim_abort(struct world *w, enum rc why)
{
    sim_fail(self(w)->rank, why, rc_message()[0] ? rc_message() : rc_text(why));
}

static void sim_world_die(struct world *w)
{
    sim_die(self(w)->rank);
}

static enum rc rank_body(struct sim_rank *rank, void *arg)
{
    const struct run_args *run = arg;
    struct sim_world *s = &run->all->seat[sim_number(rank)];

    for (int r = 0; s->rank == NULL && r < run->all->n_seats; r++) /* the first to run, for all */
        run->all->seat[r].rank = sim_rank_at(rank, r);
    return run->body(&s->base, run->arg);
}

static void fill_seats(struct group *g, const struct cluster *c)
{
    for (int r = 0; r < g->n_seats; r++) {
        const int first = r - r % c->n_ranks_per_host, rest = g->n_seats - first;
        g->seat[r].group = g;
        g->seat[r].base = (struct world){
            .ops = &world_sim,
            .rank = r,
            .n_ranks = g->n_seats,
            .host_rank = r - first,
            .n_host_ranks = rest < c->n_ranks_per_host ? rest : c->n_ranks_per_host,
            .may_spin = false,
            .flops_per_s = c->flops_per_s,
            .memory_bytes_per_s = c->memory_bytes_per_s,
            .link_bytes_per_s = c->link_bytes_per_s,
            .link_latency_s = c->link_latency_s,
        };
    }
}

static enum rc sim_world_run(const struct world_opts *opts, int n_ranks, rank_main_fn *body, void *arg)
{
    struct run_args run = { .body = body, .arg = arg };
    const uint64_t started_ns = wait_clock_ns();
    uint64_t n_sent = 0;
    struct cluster cluster;
    enum rc rc;

    cluster_default(&cluster);
    if (opts && opts->cluster)
        cluster = *opts->cluster;
    TRY(cluster_check(&cluster, n_ranks));
    if (n_ranks > SIM_RANKS_MAX)
        FAIL(RC_INVAL, "world sim: %d ranks; at most %d are possible", n_ranks, SIM_RANKS_MAX);
    run.all = group_alloc(n_ranks, cluster.n_ranks_per_host);
    if (!run.all)
        FAIL(RC_NOMEM, "world sim: no memory for %d ranks", n_ranks);
    fill_seats(run.all, &cluster);
    TRY(sim_run(&n_sent, &cluster, n_ranks, rank_body, &run));
out:
    if (opts && opts->cost)
        *opts->cost = (struct world_cost){ n_sent, wait_clock_ns() - started_ns };
    free(run.all);
    return rc;
}

const struct world_ops world_sim = {
    .module.name = "sim",
    .module.caps = WORLD_SHARED_MEMORY | WORLD_VIRTUAL_TIME,
    .run = sim_world_run,
    .now_ns = sim_world_now_ns,
    .pause = sim_pause,
    .charge = sim_charge,
    .barrier = sim_barrier,
    .allgather = sim_allgather,
    .gather = sim_gather,
    .split = sim_split,
    .split_close = sim_split_close,
    .check = sim_world_check,
    .abort = sim_abort,
    .die = sim_world_die,
};
