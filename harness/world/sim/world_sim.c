/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world_sim.c - the sim world: ranks are actors in virtual time. How they meet is in sim_collectives.c.
 *
 * A wait without time limit that nothing can end (two ranks that each receive first; a rank that returned
 * before a barrier) is found at once and ends the run with RC_TIMEOUT (world.E3). Virtual time
 * does not pass while a rank computes or polls: a loop that polls must pause or wait.
 */
#include "harness/world/sim/sim_world.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cluster/cluster.h"
#include "harness/cluster/topology.h"
#include "harness/world/share_inner.h"
#include "harness/world/sim/sim_engine.h"
#include "harness/world/sim/sim_tasks.h"
#include "harness/world/wait.h"

struct run_args {
    struct sim_group *all;
    rank_main_fn *body;
    void *arg;
};

static struct sim_world *self(struct world *w)
{
    return sim_world_of(w);
}

struct sim_rank *world_sim_rank(struct world *w, int r)
{
    assert(r >= 0 && r < w->n_ranks);
    return self(w)->group->member[r].rank;
}

static uint64_t sim_world_now_ns(struct world *w)
{
    return sim_now_ns(self(w)->rank);
}

static void sim_pause(struct world *w, uint64_t ns)
{
    sim_pass(self(w)->rank, (double)ns * 1e-9);
}

/* Times so long as described this rank computes now: as a straggler always, by jitter in a step. */
static double slowness(struct world *w)
{
    const struct topology *t = self(w)->group->topology;
    const int number = w->peers->own;
    struct peer_duty duty = { .step = -1 };

    if (t->cluster.n_stragglers == 0 && t->cluster.jitter == JITTER_NONE && t->cluster.start == START_TOGETHER)
        return 1;
    const bool is_step = number < t->n_workers && peer_duty_of(w->peers, number, &duty) && peer_is_in_step(duty.phase);
    return noise_straggler_ratio(&t->cluster, number, t->n_workers) *
           noise_start_ratio(&t->cluster, number, t->n_workers, is_step ? duty.step : -1) *
           noise_step_ratio(&t->cluster, number, is_step ? duty.step : -1);
}

static enum peer_phase phase_of(const struct world *w, int number)
{
    return (enum peer_phase)atomic_load_explicit(&w->peers->seat[number].phase, memory_order_relaxed);
}

void world_sim_sent(struct world *w, int peer, uint64_t n_bytes)
{
    const int from = w->peers->own, to = sim_number(world_sim_rank(w, peer));

    if (peer_is_in_step(phase_of(w, from)) || peer_is_in_step(phase_of(w, to)))
        link_loads_add(self(w)->group->loads, from, to, n_bytes);
}

static void sim_charge(struct world *w, double flops, double bytes)
{
    const double compute_s = flops / w->flops_per_s, memory_s = bytes / w->memory_bytes_per_s;
    const double seconds = (compute_s > memory_s ? compute_s : memory_s) * slowness(w);

    if (phase_of(w, w->peers->own) == PHASE_SERVE)
        link_loads_serve(self(w)->group->loads, w->peers->own, seconds);
    sim_compute(self(w)->rank, seconds);
}

static void sim_work(struct world *w, uint64_t ns)
{
    sim_pass(self(w)->rank, (double)ns * 1e-9 * slowness(w));
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

/* This rank's actor ends: world.W8, or as a failure if it is the first. */
static void lose(struct world *w, const char *why)
{
    const int number = w->peers->own;

    peer_end(&w->peers->seat[number], PEER_LOST);
    if (w->losses && number != 0) {
        (void)peer_losses_add(w->losses, number, why);
        sim_leave(self(w)->rank);
    }
    sim_die(self(w)->rank, why);
}

static void sim_world_die(struct world *w)
{
    if (sim_in_task(w))
        sim_task_die(w);
    lose(w, ended_early);
}

static enum rc sim_world_leave(struct world *w)
{
    peer_end(&w->peers->seat[w->peers->own], PEER_LEFT);
    (void)peer_losses_add(w->losses, w->peers->own, WORLD_LEFT_WHY);
    sim_wake_all(self(w)->rank);
    return RC_OK;
}

/* Do nothing until deadline_ns; false: the run failed before. */
static bool is_silent_until(struct sim_rank *rank, uint64_t deadline_ns)
{
    while (!sim_failed(rank)) {
        if (sim_check(rank) != RC_OK) { /* its tasks were stopped: sim_wait() would return at once */
            sim_pass(rank, 1e-9 * (double)(deadline_ns - sim_now_ns(rank)));
            return !sim_failed(rank);
        }
        if (!sim_wait(rank, NULL, deadline_ns))
            return true;
    }
    return false;
}

/* A task beside the main one, which goes on (world.P1). */
static void hang_task(struct world *w)
{
    struct sim_rank *rank = self(w)->rank;

    while (sim_check(rank) == RC_OK)
        (void)sim_wait(rank, NULL, SIM_NEVER);
    sim_task_die(w);
}

/* world.P6: its silence needs no watcher, it is known here. */
static void sim_world_hang(struct world *w)
{
    const struct sim_world *s = self(w);
    const struct peer_opts *stall = s->stall;
    struct peer_seat *seat = &w->peers->seat[w->peers->own];
    const uint64_t began_ns = sim_now_ns(s->rank);
    char why[RC_MESSAGE_BYTES];

    if (sim_in_task(w))
        hang_task(w);
    if (stall->abort_ns == 0) {
        while (sim_check(s->rank) == RC_OK)
            sim_wait(s->rank, NULL, SIM_NEVER);
        lose(w, ended_early);
    }
    if (is_silent_until(s->rank, began_ns + stall->warn_ns)) {
        atomic_store(&seat->state, PEER_SILENT);
        peer_tell_silent(stall, w->peers->own, seat, stall->warn_ns);
        (void)is_silent_until(s->rank, began_ns + stall->abort_ns);
    }
    peer_silence_text(seat, sim_now_ns(s->rank) - began_ns, why, sizeof why);
    lose(w, why);
}

static enum rc rank_body(struct sim_rank *rank, void *arg)
{
    const struct run_args *run = arg;
    struct sim_world *s = &run->all->member[sim_number(rank)];

    for (int r = 0; s->rank == NULL && r < run->all->n_members; r++) /* the first rank that runs does it for all */
        run->all->member[r].rank = sim_rank_at(rank, r);
    const enum rc rc = run->body(&s->base, run->arg);
    peer_end(&s->base.peers->seat[s->base.rank], PEER_LEFT); /* world.P4 */
    return rc;
}

static double given_or(double given, double otherwise)
{
    return given > 0 ? given : otherwise;
}

static void fill_members(struct sim_group *g, struct share_run *shares, const struct peer_opts *stall,
                         struct peer_seat *seat, struct peer_losses *losses)
{
    const struct topology *t = g->topology;
    const struct cluster *c = &t->cluster;

    for (int r = 0; r < g->n_members; r++) {
        const bool is_server = r >= t->n_workers;
        g->member[r].group = g;
        g->member[r].stall = stall;
        g->member[r].peers =
            (struct peers){ .seat = seat, .n_ranks = g->n_members, .own = r, .abort_ns = stall->abort_ns };
        g->member[r].base = (struct world){
            .ops = &world_sim,
            .rank = r,
            .n_ranks = g->n_members,
            .host_rank = topology_host_rank(t, r),
            .n_host_ranks = topology_n_host_ranks(t, topology_slot(t, r)),
            .n_busy_host_ranks = 1, /* of no cores: nobody spins */
            .has_tasks = true,
            .flops_per_s = given_or(is_server ? c->server_flops_per_s : 0, c->flops_per_s),
            .memory_bytes_per_s = given_or(is_server ? c->server_memory_bytes_per_s : 0, c->memory_bytes_per_s),
            .collective = c->collective,
            .link_bytes_per_s = c->link_bytes_per_s / topology_slow_ratio(t, topology_slot(t, r)),
            .link_latency_s = c->link_latency_s,
            .eager_bytes = (uint64_t)topology_protocol(t).eager_bytes,
            .local_bytes_per_s = c->local_bytes_per_s,
            .local_latency_s = c->local_latency_s,
            .memories_are_apart = cluster_memories_are_apart(c, t->n_workers),
            .shares = shares,
            .peers = &g->member[r].peers,
            .on_loss = losses ? ON_LOSS_REPORT : ON_LOSS_ABORT,
            .losses = losses,
        };
    }
}

static void take_cost(struct world_cost *out, uint64_t n_sent, uint64_t real_ns, const struct link_loads *loads)
{
    *out = (struct world_cost){ .n_messages = n_sent, .real_ns = real_ns };
    if (!loads->topology) /* there was no run */
        return;
    for (int k = 0; k < N_LOADS; k++)
        out->load[k] = link_loads_busiest(loads, k);
    out->network_bytes = link_loads_network_bytes(loads);
}

static enum rc sim_world_run(const struct world_opts *opts, int n_ranks, rank_main_fn *body, void *arg)
{
    struct run_args run = { .body = body, .arg = arg };
    const struct peer_opts stall = opts ? opts->stall : (struct peer_opts){ 0 };
    const uint64_t started_ns = wait_clock_ns();
    struct share_run shares;
    struct peer_seat *seat = NULL;
    struct peer_losses *losses = NULL;
    struct link_loads loads = { .topology = NULL };
    uint64_t n_sent = 0;
    const int n_workers = opts && opts->n_bound_ranks > 0 ? opts->n_bound_ranks : n_ranks;
    struct topology topology;
    struct cluster cluster;
    enum rc rc;

    share_run_init(&shares);
    cluster_default(&cluster);
    if (opts && opts->cluster)
        cluster = *opts->cluster;
    TRY(cluster_check(&cluster, n_workers, n_ranks));
    topology_init(&topology, &cluster, n_workers, n_ranks);
    if (n_ranks > SIM_RANKS_MAX)
        FAIL(RC_INVAL, "world sim: %d ranks; at most %d are possible", n_ranks, SIM_RANKS_MAX);
    if (opts && opts->on_loss == ON_LOSS_REPORT)
        TRY(peer_losses_open(&losses, n_ranks));
    run.all = sim_group_alloc(n_ranks, &topology);
    seat = peer_seats_alloc(n_ranks);
    if (!run.all || !seat)
        FAIL(RC_NOMEM, "world sim: no memory for %d ranks", n_ranks);
    TRY(link_loads_open(&loads, &topology));
    run.all->loads = &loads;
    fill_members(run.all, &shares, &stall, seat, losses);
    TRY(sim_run(&n_sent, &topology, rank_body, &run));
out:
    if (opts && opts->cost)
        take_cost(opts->cost, n_sent, wait_clock_ns() - started_ns, &loads);
    link_loads_close(&loads);
    share_run_fini(&shares);
    for (int r = 0; run.all && r < n_ranks; r++)
        peers_fini(&run.all->member[r].peers);
    peer_losses_close(&losses);
    free(seat);
    sim_group_free(run.all);
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
    .work = sim_work,
    .barrier = sim_barrier,
    .allgather = sim_allgather,
    .gather = sim_gather,
    .broadcast = sim_broadcast,
    .split = sim_split,
    .split_close = sim_split_close,
    .survivors = sim_survivors,
    .check = sim_world_check,
    .abort = sim_abort,
    .die = sim_world_die,
    .hang = sim_world_hang,
    .leave = sim_world_leave,
};

/* --- shares --- */

static void sim_ring(struct share *s, int peer)
{
    share_bell_ring(s, peer); /* nobody sleeps on the doorbell: it counts */
    sim_wake(world_sim_rank(s->group, peer), NULL);
}

static enum rc sim_share_wait(struct share *s, uint32_t seen, uint64_t limit_ns)
{
    struct sim_rank *rank = world_sim_rank(s->group, s->group->rank);
    const uint64_t now_ns = sim_now_ns(rank),
                   deadline_ns = limit_ns < SIM_NEVER - now_ns ? now_ns + limit_ns : SIM_NEVER;
    bool expired = false;
    enum rc rc = RC_OK;

    while (share_seen(s) == seen) {
        TRY(sim_check(rank));
        TRY(share_check_losses(s));
        if (expired)
            FAIL(RC_TIMEOUT, "share: not rung within %.3g s", 1e-9 * (double)limit_ns);
        expired = !sim_wait(rank, NULL, deadline_ns);
    }
out:
    return rc;
}

const struct share_ops sim_share_ops = {
    .host_group = world_sim_host_group,
    .open = share_local_open,
    .ring = sim_ring,
    .wait = sim_share_wait,
    .close = share_local_close,
};
