/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_engine.c - SimGrid under the sim world: this file, sim_actors.c and sim_platform.c alone call it.
 *
 * A rank waits on a semaphore of its own. A transfer is a blocking call of SimGrid, made by a worker actor:
 * it returns when the bytes have arrived; the worker then calls the transfer's arrived() and waits for the
 * next transfer. Workers are daemons, so a run ends with its last rank, whatever is still in transit.
 *
 * SimGrid reports wrong input by C++ exceptions or by ending the process; so all arguments are
 * checked before the call. Ending an actor early (sim_die, and workers at the end) unwinds its stack
 * through this file: it is compiled with -fexceptions.
 */
#include "harness/world/sim/sim_state.h"

#include <assert.h>
#include <math.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cluster/topology.h"

struct worker {
    struct engine *engine;
    struct sim_rank *from, *to;
    bool is_local;
    double message_s; /* for which the message occupies either */
    uint64_t n_bytes;
    struct sim_transfer *transfer;
    sg_sem_t go;
    struct worker *next_idle, *next_of_all;
};

int sim_number(const struct sim_rank *r)
{
    return r->number;
}

struct sim_rank *sim_rank_at(const struct sim_rank *any, int number)
{
    assert(number >= 0 && number < any->engine->n_ranks);
    return &any->engine->rank[number];
}

uint64_t sim_now_ns(void)
{
    return (uint64_t)llround(simgrid_get_clock() * 1e9);
}

void sim_pass(double seconds)
{
    assert(isfinite(seconds));
    if (seconds > 0)
        sg_actor_sleep_for(seconds);
}

bool sim_failed(const struct sim_rank *self)
{
    return self->engine->failed;
}

bool sim_gone(const struct sim_rank *r)
{
    return r->gone;
}

enum rc sim_check(const struct sim_rank *self)
{
    const struct engine *e = self->engine;

    if (e->failed && e->deadlocked)
        return rc_raise(RC_TIMEOUT, "%s", e->message);
    if (e->failed)
        return rc_raise(RC_PEER, "rank %d failed: %s", e->failed_rank, e->message);
    if (self->stopped)
        return rc_raise(RC_PEER, "%s", self->why);
    return RC_OK;
}

static void wake_actor(struct sim_actor *a)
{
    if (!a->asleep)
        return;
    a->asleep = false;
    a->rank->engine->n_stuck -= a->deadline_ns == SIM_NEVER;
    a->must_ring = true;
}

static bool rings(const struct sim_actor *a)
{
    return a->must_ring;
}

struct sim_actor *sim_actor_that(struct sim_rank *r, bool (*is)(const struct sim_actor *a))
{
    struct sim_actor *a = &r->main;

    while (a && !is(a))
        a = a->next;
    return a;
}

/* Other actors run in each release (G1), and may end: so each search begins anew. */
static void ring_bells(struct sim_rank *r)
{
    for (struct sim_actor *a; (a = sim_actor_that(r, rings)) != NULL;) {
        a->must_ring = false;
        sg_sem_release(a->bell);
    }
}

void sim_wake(struct sim_rank *r)
{
    for (struct sim_actor *a = &r->main; a; a = a->next)
        wake_actor(a);
    ring_bells(r);
}

static void record_failure(struct engine *e, int rank, enum rc why, const char *message)
{
    if (e->failed)
        return;
    e->failed = true; /* set all fields before the first sim_wake(), in which other ranks run */
    e->failed_rank = rank;
    e->why = why;
    snprintf(e->message, sizeof e->message, "%s", message);
    for (int r = 0; r < e->n_ranks; r++)
        sim_wake(&e->rank[r]);
}

void sim_fail(struct sim_rank *self, enum rc why, const char *message)
{
    record_failure(self->engine, self->number, why, message);
}

static bool sleeps(const struct sim_actor *a)
{
    return a->asleep;
}

void sim_break_deadlock(struct engine *e)
{
    int first = 0;

    if (e->failed || e->n_live == 0 || e->n_stuck < e->n_live || e->n_in_transit > 0)
        return;
    while (first < e->n_ranks - 1 && !sim_actor_that(&e->rank[first], sleeps))
        first++;
    e->deadlocked = true;
    record_failure(e, first, RC_TIMEOUT,
                   "deadlock: every rank waits without a time limit and no message is in transit");
}

bool sim_wait(struct sim_rank *rank, uint64_t deadline_ns)
{
    struct engine *e = rank->engine;
    struct sim_actor *self = sim_self(rank);

    if (e->failed || rank->stopped)
        return true;
    if (deadline_ns <= sim_now_ns())
        return false;
    self->asleep = true;
    self->expired = false;
    self->deadline_ns = deadline_ns;
    if (deadline_ns == SIM_NEVER) {
        e->n_stuck++;
        sim_break_deadlock(e); /* in a deadlock it wakes this rank, too: sem_acquire returns at once */
    } else if (deadline_ns < e->alarm_ns) {
        e->alarm_ns = deadline_ns;
        sg_sem_release(e->tick);
    }
    sg_sem_acquire(self->bell);
    return !self->expired;
}

static uint64_t next_deadline_ns(const struct engine *e)
{
    uint64_t next_ns = SIM_NEVER;

    for (int r = 0; r < e->n_ranks; r++)
        for (const struct sim_actor *a = &e->rank[r].main; a; a = a->next)
            if (a->asleep && a->deadline_ns < next_ns)
                next_ns = a->deadline_ns;
    return next_ns;
}

static void wake_expired(struct engine *e, uint64_t now_ns)
{
    for (int r = 0; r < e->n_ranks; r++) {
        for (struct sim_actor *a = &e->rank[r].main; a; a = a->next)
            if (a->asleep && a->deadline_ns <= now_ns) {
                a->expired = true;
                wake_actor(a);
            }
        ring_bells(&e->rank[r]);
    }
}

/* One actor serves the deadlines of all ranks: few deadlines are reached, and a timer per rank makes the
 * simulation a fifth slower. */
static void timekeeper_main(int argc, char **argv)
{
    struct engine *e = sg_actor_get_data(sg_actor_self());
    uint64_t now_ns = 0;

    (void)argc;
    (void)argv;
    sg_actor_daemonize(sg_actor_self());
    for (;;) {
        wake_expired(e, now_ns); /* other ranks run here and may set deadlines: search for the next one after it */
        e->alarm_ns = next_deadline_ns(e);
        const uint64_t alarm_ns = e->alarm_ns;
        const double left_s = (double)alarm_ns * 1e-9 - simgrid_get_clock();
        if (alarm_ns == SIM_NEVER)
            sg_sem_acquire(e->tick);
        else if (left_s <= 0 || sg_sem_acquire_timeout(e->tick, left_s)) {
            now_ns = alarm_ns; /* not sim_now_ns(): rounding may put it 1 ns before the deadline */
            continue;
        }
        now_ns = sim_now_ns();
    }
}

void sim_own(struct sim_rank *any, struct sim_owned *o)
{
    struct engine *e = any->engine;

    o->previous = NULL;
    o->next = e->owned;
    if (o->next)
        o->next->previous = o;
    e->owned = o;
}

void sim_disown(struct sim_rank *any, struct sim_owned *o)
{
    if (o->next)
        o->next->previous = o->previous;
    if (o->previous)
        o->previous->next = o->next;
    else
        any->engine->owned = o->next;
}

void sim_start_actor(const char *name, sg_host_t host, unsigned n_stack_bytes, xbt_main_func_t body, void *data)
{
    sg_actor_t actor = sg_actor_init(name, host);

    sg_actor_set_stacksize(actor, n_stack_bytes);
    sg_actor_set_data(actor, data);
    sg_actor_start(actor, body, 0, NULL);
}

/* Occupy the process of r with a message, behind those that do already. */
static void occupy(struct sim_rank *r, double seconds)
{
    const double now_s = simgrid_get_clock();

    if (!(seconds > 0))
        return;
    r->busy_s = (r->busy_s > now_s ? r->busy_s : now_s) + seconds;
    sg_actor_sleep_for(r->busy_s - now_s);
}

static void worker_main(int argc, char **argv)
{
    struct worker *w = sg_actor_get_data(sg_actor_self());
    struct engine *e = w->engine;

    (void)argc;
    (void)argv;
    sg_actor_daemonize(sg_actor_self());
    for (;;) {
        occupy(w->from, w->message_s);
        sg_host_sendto(w->is_local ? w->from->local_host : w->from->host, w->is_local ? w->to->local_host : w->to->host,
                       (double)w->n_bytes);
        occupy(w->to, w->message_s);
        struct sim_transfer *transfer = w->transfer;
        e->n_in_transit--;
        w->next_idle = e->idle_workers;
        e->idle_workers = w;
        transfer->arrived(transfer);
        sim_break_deadlock(e);
        sg_sem_acquire(w->go);
    }
}

static enum rc add_worker(struct worker **out, struct engine *e)
{
    struct worker *w = calloc(1, sizeof *w);

    if (!w)
        return rc_raise(RC_NOMEM, "no memory for one more message in transit");
    w->engine = e;
    w->go = sg_sem_init(0);
    w->next_of_all = e->all_workers;
    e->all_workers = w;
    *out = w;
    return RC_OK;
}

enum rc sim_send(struct sim_rank *self, struct sim_rank *to, uint64_t n_bytes, struct sim_transfer *transfer)
{
    struct engine *e = self->engine;
    struct worker *w = e->idle_workers;
    const bool is_new = !w;
    enum rc rc = RC_OK;

    if (is_new)
        TRY(add_worker(&w, e));
    else
        e->idle_workers = w->next_idle;
    w->from = self;
    w->to = to;
    w->is_local = topology_slot(e->topology, self->number) == topology_slot(e->topology, to->number);
    w->message_s = topology_message_s(e->topology, self->number, to->number);
    w->n_bytes = n_bytes;
    w->transfer = transfer;
    e->n_in_transit++;
    e->n_sent++;
    if (is_new)
        sim_start_actor("worker", self->host, SERVICE_STACK_BYTES, worker_main, w);
    else
        sg_sem_release(w->go);
out:
    return rc;
}

static void rank_ended(struct sim_rank *self)
{
    self->gone = true;
    self->engine->n_live--;
    sim_break_deadlock(self->engine); /* others may wait for this rank */
}

void sim_die(struct sim_rank *self, const char *message)
{
    sim_end_tasks(self);
    self->gone = true; /* before others run in sim_fail() */
    self->engine->n_live--;
    sim_fail(self, RC_PEER, message);
    sg_actor_exit();
}

void sim_leave(struct sim_rank *self)
{
    struct engine *e = self->engine;

    for (int r = 0; r < e->n_ranks; r++)
        sim_wake(&e->rank[r]);
    sim_end_tasks(self);
    rank_ended(self);
    sg_actor_exit();
}

static void rank_main(int argc, char **argv)
{
    struct sim_actor *actor = sg_actor_get_data(sg_actor_self());
    struct sim_rank *self = actor->rank;
    const enum rc rc = self->engine->body(self, self->engine->arg);

    (void)argc;
    (void)argv;
    /* Actors are no threads, so all ranks share one record of the last error: copy it before another rank runs. */
    if (rc != RC_OK)
        sim_fail(self, rc, rc_message()[0] ? rc_message() : rc_text(rc));
    sim_end_tasks(self);
    rank_ended(self);
}

static sg_host_t host_of(const struct engine *e, int rank, bool is_local)
{
    char name[32];

    sim_platform_host_name(name, sizeof name, e->topology, rank, is_local);
    return sg_host_by_name(name);
}

static void start_actors(struct engine *e)
{
    for (int r = 0; r < e->n_ranks; r++) {
        struct sim_rank *rank = &e->rank[r];
        char name[32];
        *rank = (struct sim_rank){ .engine = e,
                                   .number = r,
                                   .n_cores = e->topology->cluster.n_cores_per_rank,
                                   .host = host_of(e, r, false),
                                   .local_host = host_of(e, r, true) };
        sim_actor_init(&rank->main, rank);
        snprintf(name, sizeof name, "rank-%d", r);
        sim_start_actor(name, rank->host, RANK_STACK_BYTES, rank_main, &rank->main);
    }
    e->tick = sg_sem_init(0);
    e->alarm_ns = SIM_NEVER;
    sim_start_actor("timekeeper", e->rank[0].host, SERVICE_STACK_BYTES, timekeeper_main, e);
}

static void end_engine(struct engine *e)
{
    while (e->owned) {
        struct sim_owned *o = e->owned;
        e->owned = o->next;
        o->destroy(o);
    }
    while (e->all_workers) {
        struct worker *w = e->all_workers;
        e->all_workers = w->next_of_all;
        sg_sem_destroy(w->go);
        free(w);
    }
    for (int r = 0; r < e->n_ranks; r++)
        if (e->rank[r].main.rank)
            sim_actor_fini(&e->rank[r].main);
    if (e->tick)
        sg_sem_destroy(e->tick);
    free(e->rank);
}

enum rc sim_run(uint64_t *n_sent, const struct topology *t, sim_body_fn *body, void *arg)
{
    /* SimGrid's engine is global to the process, and so is whether it was used. */
    static atomic_flag used = ATOMIC_FLAG_INIT;
    const int n_ranks = t->n_ranks;
    struct engine e = { .topology = t, .n_ranks = n_ranks, .body = body, .arg = arg, .n_live = n_ranks };
    enum rc rc = RC_OK;

    if (n_ranks > SIM_RANKS_MAX)
        FAIL(RC_INVAL, "world sim: %d ranks; at most %d are possible", n_ranks, SIM_RANKS_MAX);
    if (atomic_flag_test_and_set(&used))
        FAIL(RC_UNSUPPORTED, "world sim: only one run is possible per process, and this process has had it");
    e.rank = calloc((size_t)n_ranks, sizeof *e.rank);
    if (!e.rank)
        FAIL(RC_NOMEM, "world sim: no memory for %d ranks", n_ranks);
    sim_platform_start(t);
    TRY(sim_platform_load(t));
    start_actors(&e);
    simgrid_run();
    if (e.failed)
        rc = rc_raise(e.why, "rank %d: %s", e.failed_rank, e.message);
out:
    *n_sent = e.n_sent;
    if (e.rank)
        end_engine(&e);
    return rc;
}
