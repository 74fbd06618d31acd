/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world_sim.c - the sim world: ranks are actors in virtual time; their collectives use shared memory.
 *
 * Collective operations take no virtual time (they are bootstrap, not what is measured): every rank
 * stores its arguments in its struct sim_world and sleeps, and the last rank to arrive does the work for all.
 *
 * A wait without time limit that nothing can end (two ranks that each receive first; a rank that returned
 * before a barrier) is found at once and ends the run with RC_TIMEOUT (sim_engine.h, G3). Virtual time
 * does not pass while a rank computes or polls: a loop that polls must pause or wait.
 */
#include "harness/world/sim/world_sim.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cluster/cluster.h"
#include "harness/world/share_inner.h"
#include "harness/world/sim/sim_engine.h"
#include "harness/world/sim/sim_tasks.h"
#include "harness/world/wait.h"

struct group;

/* What the last rank to arrive does for all; on failure no rank has a result. */
typedef enum rc collective_fn(struct group *g);

struct sim_world { /* a rank as a member of one group */
    struct world base;
    struct sim_rank *rank;
    struct group *group;
    struct peers peers;            /* of the rank; unused in a part of a split */
    const struct peer_opts *stall; /* of the run */
    const void *in;                /* while in run_collective() */
    void *out;
};

struct group { /* the ranks of one world: the whole run, or one part of a split */
    struct sim_owned owned;
    int n_members, n_open; /* n_open: parts of a split not yet closed */
    int n_ranks_per_host;
    int n_arrived;
    uint64_t n_operations;
    collective_fn *collective; /* of the operation under way */
    size_t n_bytes_each;
    enum rc result; /* of the last operation */
    struct sim_world member[];
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
    return self(w)->group->member[r].rank;
}

static struct group *group_alloc(int n_members, int n_ranks_per_host)
{
    struct group *g = calloc(1, sizeof *g + (size_t)n_members * sizeof g->member[0]);

    if (g) {
        g->n_members = g->n_open = n_members;
        g->n_ranks_per_host = n_ranks_per_host;
    }
    return g;
}

static void group_destroy(struct sim_owned *o)
{
    free(o); /* first member */
}

/* Wait until all ranks of w's group are in this call; the last one runs `collective`. Errors: RC_MISMATCH: ranks
 * call different operations, or with different lengths; RC_PEER; those of `collective`. */
static enum rc run_collective(struct world *w, collective_fn *collective, const void *in, void *out,
                              size_t n_bytes_each)
{
    struct sim_world *s = self(w);
    struct group *g = s->group;
    const uint64_t operation = g->n_operations;
    enum rc rc = RC_OK;

    TRY(sim_check(s->rank));
    if (g->n_arrived == 0) {
        g->collective = collective;
        g->n_bytes_each = n_bytes_each;
    }
    if (g->collective != collective || g->n_bytes_each != n_bytes_each)
        FAIL(RC_MISMATCH, "rank %d: the ranks do not call the same operation with equal lengths: %zu bytes, others %zu",
             w->rank, n_bytes_each, g->n_bytes_each);
    s->in = in;
    s->out = out;
    if (++g->n_arrived == g->n_members) {
        g->n_arrived = 0;
        g->result = collective(g);
        g->n_operations++;
        for (int r = 0; r < g->n_members; r++)
            sim_wake(g->member[r].rank); /* a no-op for this rank, which is awake */
    }
    while (g->n_operations == operation) {
        sim_wait(s->rank, SIM_NEVER);
        if (g->n_operations == operation)
            TRY(sim_check(s->rank));
    }
    if (g->result != RC_OK)
        FAIL(g->result, "no memory for a collective operation of %d ranks", g->n_members);
out:
    s->in = s->out = NULL; /* the caller's memory, valid during the call only */
    return rc;
}

static enum rc barrier_of_all(struct group *g)
{
    (void)g;
    return RC_OK;
}

/* out: (n_members, n_bytes_each): the input of each rank, in order of ranks. */
static void copy_inputs(const struct group *g, char *out)
{
    for (int r = 0; g->n_bytes_each > 0 && r < g->n_members; r++)
        memcpy(out + (size_t)r * g->n_bytes_each, g->member[r].in, g->n_bytes_each);
}

static enum rc allgather_of_all(struct group *g)
{
    for (int r = 0; r < g->n_members; r++)
        copy_inputs(g, g->member[r].out);
    return RC_OK;
}

static enum rc gather_of_all(struct group *g)
{
    copy_inputs(g, g->member[0].out);
    return RC_OK;
}

/* out of rank 0 are the bytes it sends. */
static enum rc broadcast_of_all(struct group *g)
{
    for (int r = 1; g->n_bytes_each > 0 && r < g->n_members; r++)
        memcpy(g->member[r].out, g->member[0].out, g->n_bytes_each);
    return RC_OK;
}

static enum rc sim_barrier(struct world *w)
{
    return run_collective(w, barrier_of_all, NULL, NULL, 0);
}

static enum rc sim_allgather(struct world *w, const void *in, void *out, size_t n_bytes_each)
{
    return run_collective(w, allgather_of_all, in, out, n_bytes_each);
}

static enum rc sim_gather(struct world *w, const void *in, void *out, size_t n_bytes_each)
{
    return run_collective(w, gather_of_all, in, out, n_bytes_each);
}

static enum rc sim_broadcast(struct world *w, void *bytes, size_t n_bytes)
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

static int host_of(const struct group *g, int r)
{
    return sim_number(g->member[r].rank) / g->n_ranks_per_host;
}

static int first_on_host(const struct group *g, int r)
{
    int first = 0;

    while (host_of(g, first) != host_of(g, r))
        first++;
    return first;
}

static void count_host_ranks(struct group *g)
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
static enum rc make_part(struct group *parent, struct sim_world *const *sorted, int n_members)
{
    struct group *g = group_alloc(n_members, parent->n_ranks_per_host);

    if (!g)
        return RC_NOMEM;
    for (int r = 0; r < n_members; r++) {
        struct sim_world *s = &g->member[r];
        *s = (struct sim_world){
            .base = sorted[r]->base, .rank = sorted[r]->rank, .group = g, .stall = sorted[r]->stall
        };
        s->base.rank = r;
        s->base.n_ranks = n_members;
        *(struct world **)sorted[r]->out = &s->base;
    }
    count_host_ranks(g);
    g->owned.destroy = group_destroy;
    sim_own(g->member[0].rank, &g->owned); /* freed at the end of the run when a later part of this split fails */
    return RC_OK;
}

static enum rc split_of_all(struct group *g)
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

static enum rc sim_split(struct world *w, int color, int key, struct world **out)
{
    const struct split_claim claim = { color < 0 ? -1 : color, key };
    struct world *part = NULL;
    enum rc rc;

    TRY(run_collective(w, split_of_all, &claim, &part, 0));
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

/* Hosts are filled in order, and a world's ranks may be any of theirs. */
enum rc world_sim_host_group(struct world *w, struct world **out, int *host, int *n_hosts)
{
    const struct group *g = self(w)->group;
    const int first = first_on_host(g, w->rank);
    enum rc rc;

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

    sim_compute(self(w)->rank, compute_s > memory_s ? compute_s : memory_s);
}

static enum rc sim_world_check(struct world *w)
{
    return sim_check(self(w)->rank);
}

static void sim_abort(struct world *w, enum rc why)
{
    sim_fail(self(w)->rank, why, rc_message()[0] ? rc_message() : rc_text(why));
}

static const char ended_early[] = "ended before its work was done";

/* This rank's actor ends, as a failure if it is the first. */
static void lose(struct world *w, const char *why)
{
    peer_end(&w->peers->seat[w->peers->own], PEER_LOST);
    sim_die(self(w)->rank, why);
}

static void sim_world_die(struct world *w)
{
    lose(w, ended_early);
}

/* Do nothing until deadline_ns; false: the run failed before. */
static bool is_silent_until(struct sim_rank *rank, uint64_t deadline_ns)
{
    while (!sim_failed(rank)) {
        if (sim_check(rank) != RC_OK) { /* its tasks were stopped: sim_wait() would return at once */
            sim_pass(1e-9 * (double)(deadline_ns - sim_now_ns()));
            return !sim_failed(rank);
        }
        if (!sim_wait(rank, deadline_ns))
            return true;
    }
    return false;
}

/* P6: its silence needs no watcher, it is known here. */
static void sim_world_hang(struct world *w)
{
    const struct sim_world *s = self(w);
    const struct peer_opts *stall = s->stall;
    struct peer_seat *seat = &w->peers->seat[w->peers->own];
    const uint64_t began_ns = sim_now_ns();
    char why[RC_MESSAGE_BYTES];

    if (stall->abort_ns == 0) {
        while (sim_check(s->rank) == RC_OK)
            sim_wait(s->rank, SIM_NEVER);
        lose(w, ended_early);
    }
    if (is_silent_until(s->rank, began_ns + stall->warn_ns)) {
        atomic_store(&seat->state, PEER_SILENT);
        peer_tell_silent(stall, w->peers->own, seat, stall->warn_ns);
        (void)is_silent_until(s->rank, began_ns + stall->abort_ns);
    }
    peer_silence_text(seat, sim_now_ns() - began_ns, why, sizeof why);
    lose(w, why);
}

static enum rc rank_body(struct sim_rank *rank, void *arg)
{
    const struct run_args *run = arg;
    struct sim_world *s = &run->all->member[sim_number(rank)];

    for (int r = 0; s->rank == NULL && r < run->all->n_members; r++) /* the first rank that runs does it for all */
        run->all->member[r].rank = sim_rank_at(rank, r);
    const enum rc rc = run->body(&s->base, run->arg);
    peer_end(&s->base.peers->seat[s->base.rank], PEER_LEFT); /* P4 */
    return rc;
}

static void fill_members(struct group *g, const struct cluster *c, struct share_run *shares,
                         const struct peer_opts *stall, struct peer_seat *seat)
{
    for (int r = 0; r < g->n_members; r++) {
        const int first = r - r % c->n_ranks_per_host, rest = g->n_members - first;
        g->member[r].group = g;
        g->member[r].stall = stall;
        g->member[r].peers = (struct peers){ .seat = seat, .n_ranks = g->n_members, .own = r };
        g->member[r].base = (struct world){
            .ops = &world_sim,
            .rank = r,
            .n_ranks = g->n_members,
            .host_rank = r - first,
            .n_host_ranks = rest < c->n_ranks_per_host ? rest : c->n_ranks_per_host,
            .n_busy_host_ranks = 1, /* of no cores: nobody spins */
            .has_tasks = true,
            .flops_per_s = c->flops_per_s,
            .memory_bytes_per_s = c->memory_bytes_per_s,
            .link_bytes_per_s = c->link_bytes_per_s,
            .link_latency_s = c->link_latency_s,
            .shares = shares,
            .peers = &g->member[r].peers,
        };
    }
}

static enum rc sim_world_run(const struct world_opts *opts, int n_ranks, rank_main_fn *body, void *arg)
{
    struct run_args run = { .body = body, .arg = arg };
    const struct peer_opts stall = opts ? opts->stall : (struct peer_opts){ 0 };
    const uint64_t started_ns = wait_clock_ns();
    struct share_run shares;
    struct peer_seat *seat = NULL;
    uint64_t n_sent = 0;
    struct cluster cluster;
    enum rc rc;

    if (opts && opts->on_loss == ON_LOSS_REPORT)
        return rc_raise(RC_UNSUPPORTED, "world sim: a lost rank always ends the run");
    share_run_init(&shares);
    cluster_default(&cluster);
    if (opts && opts->cluster)
        cluster = *opts->cluster;
    TRY(cluster_check(&cluster, n_ranks));
    if (n_ranks > SIM_RANKS_MAX)
        FAIL(RC_INVAL, "world sim: %d ranks; at most %d are possible", n_ranks, SIM_RANKS_MAX);
    run.all = group_alloc(n_ranks, cluster.n_ranks_per_host);
    seat = peer_seats_alloc(n_ranks);
    if (!run.all || !seat)
        FAIL(RC_NOMEM, "world sim: no memory for %d ranks", n_ranks);
    fill_members(run.all, &cluster, &shares, &stall, seat);
    TRY(sim_run(&n_sent, &cluster, n_ranks, rank_body, &run));
out:
    if (opts && opts->cost)
        *opts->cost = (struct world_cost){ n_sent, wait_clock_ns() - started_ns };
    share_run_fini(&shares);
    for (int r = 0; run.all && r < n_ranks; r++)
        peers_fini(&run.all->member[r].peers);
    free(seat);
    free(run.all);
    return rc;
}

const struct world_ops world_sim = {
    .module.name = "sim",
    .module.caps = WORLD_SHARED_MEMORY | WORLD_VIRTUAL_TIME,
    .tasks = &sim_task_ops,
    .shares = &sim_share_ops,
    .run = sim_world_run,
    .now_ns = sim_world_now_ns,
    .pause = sim_pause,
    .charge = sim_charge,
    .barrier = sim_barrier,
    .allgather = sim_allgather,
    .gather = sim_gather,
    .broadcast = sim_broadcast,
    .split = sim_split,
    .split_close = sim_split_close,
    .check = sim_world_check,
    .abort = sim_abort,
    .die = sim_world_die,
    .hang = sim_world_hang,
};
