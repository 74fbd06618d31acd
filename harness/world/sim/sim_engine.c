/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_engine.c - ranks that run in virtual time, in one thread: how they wait, fail and end, and what they send.
 *
 * Each rank, and each of its tasks, is an actor: a coroutine, of which one runs at a time (coroutine.h). Time and flows
 * are sim_clock.c's and sim_network.c's. An actor that ends early (sim_die(), sim_leave()) leaves its stack as it is.
 */
#include "harness/world/sim/sim_state.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cluster/topology.h"

int sim_number(const struct sim_rank *r)
{
    return r->number;
}

struct sim_rank *sim_rank_at(const struct sim_rank *any, int number)
{
    assert(number >= 0 && number < any->engine->n_ranks);
    return &any->engine->rank[number];
}

uint64_t sim_now_ns(const struct sim_rank *any)
{
    return (uint64_t)llround(any->engine->clock.now_s * 1e9);
}

void sim_pass(struct sim_rank *self, double seconds)
{
    struct engine *e = self->engine;

    assert(isfinite(seconds));
    if (!(seconds > 0))
        return;
    const double until_s = e->clock.now_s + seconds;
    while (sim_block_until(e, until_s))
        ;
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

void sim_wake(struct sim_rank *r, const void *what)
{
    for (struct sim_actor *a = &r->main; a; a = a->next)
        if (a->asleep && (!what || !a->waits_for || a->waits_for == what)) {
            a->asleep = false;
            sim_make_ready(a);
        }
}

void sim_record_failure(struct engine *e, int rank, enum rc why, const char *message)
{
    if (e->failed)
        return;
    e->failed = true;
    e->failed_rank = rank;
    e->why = why;
    snprintf(e->message, sizeof e->message, "%s", message);
    for (int r = 0; r < e->n_ranks; r++)
        sim_wake(&e->rank[r], NULL);
}

void sim_fail(struct sim_rank *self, enum rc why, const char *message)
{
    sim_record_failure(self->engine, self->number, why, message);
}

bool sim_wait(struct sim_rank *rank, const void *what, uint64_t deadline_ns)
{
    struct engine *e = rank->engine;
    struct sim_actor *self = e->running;

    if (e->failed || rank->stopped)
        return true;
    if (deadline_ns <= sim_now_ns(rank))
        return false;
    self->asleep = true;
    self->waits_for = what;
    if (deadline_ns != SIM_NEVER)
        return sim_block_until(e, 1e-9 * (double)deadline_ns);
    sim_block(e);
    return true;
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

enum rc sim_send(struct sim_rank *self, struct sim_rank *to, uint64_t n_bytes, struct sim_transfer *transfer)
{
    struct engine *e = self->engine;
    const double now_s = e->clock.now_s;
    double starts_s = now_s;
    enum rc rc;

    TRY(sim_reserve_transfer(e));
    rc = sim_network_plan(e->network, &transfer->flow, self->number, to->number, (double)n_bytes);
    if (rc != RC_OK) {
        e->n_in_transit--;
        sim_clock_release(&e->clock, 1);
        goto out;
    }
    transfer->stage = TRANSFER_STARTS;
    transfer->from = self;
    transfer->to = to;
    transfer->first_behind = transfer->last_behind = NULL;
    transfer->message_s = topology_message_s(e->topology, self->number, to->number);
    if (transfer->message_s > 0)
        starts_s = self->busy_s = (self->busy_s > now_s ? self->busy_s : now_s) + transfer->message_s;
    sim_clock_set(&e->clock, &transfer->flow.event, starts_s + transfer->flow.latency_s);
    e->n_sent++;
out:
    return rc;
}

bool sim_sender_waits(const struct sim_rank *self, const struct sim_rank *to, uint64_t n_bytes)
{
    return topology_sender_waits(self->engine->topology, self->number, to->number, (double)n_bytes);
}

/* The last that the main task of a rank does. */
static _Noreturn void end_rank(struct sim_rank *self)
{
    self->gone = true;
    self->engine->n_live--;
    sim_hand_over(self->engine);
}

void sim_die(struct sim_rank *self, const char *message)
{
    sim_end_tasks(self);
    sim_fail(self, RC_PEER, message);
    end_rank(self);
}

void sim_wake_all(struct sim_rank *self)
{
    struct engine *e = self->engine;

    for (int r = 0; r < e->n_ranks; r++)
        sim_wake(&e->rank[r], NULL);
}

void sim_leave(struct sim_rank *self)
{
    sim_wake_all(self);
    sim_end_tasks(self);
    end_rank(self);
}

static void rank_main(void *actor)
{
    struct sim_rank *self = ((struct sim_actor *)actor)->rank;
    const enum rc rc = self->engine->body(self, self->engine->arg);
    /* Actors are no threads, so all ranks share one record of the last error: copy it before another rank runs. */
    if (rc != RC_OK)
        sim_fail(self, rc, rc_message()[0] ? rc_message() : rc_text(rc));
    sim_end_tasks(self);
    end_rank(self);
}

static enum rc start_actors(struct engine *e)
{
    enum rc rc = RC_OK;

    for (int r = 0; r < e->n_ranks; r++) {
        struct sim_rank *rank = &e->rank[r];
        *rank = (struct sim_rank){ .engine = e, .number = r, .n_cores = e->topology->cluster.n_cores_per_rank };
        TRY(sim_actor_init(&rank->main, rank));
    }
    for (int r = 0; r < e->n_ranks; r++) {
        TRY(sim_actor_start(&e->rank[r].main, rank_main));
    }
out:
    return rc;
}

/* Also tasks that nobody joined, after a failure. */
static void free_actors(struct sim_rank *r)
{
    while (r->main.next) {
        struct sim_actor *a = r->main.next;
        r->main.next = a->next;
        sim_actor_fini(a);
        free(a);
    }
    sim_actor_fini(&r->main);
}

static void end_engine(struct engine *e)
{
    sim_clock_clear(&e->clock); /* messages that never arrive are freed before the links that they are on */
    while (e->owned) {
        struct sim_owned *o = e->owned;
        e->owned = o->next;
        o->destroy(o);
    }
    for (int r = 0; e->rank && r < e->n_ranks; r++)
        free_actors(&e->rank[r]);
    coroutine_free(&e->caller);
    sim_network_close(&e->network);
    sim_clock_fini(&e->clock);
    free(e->done);
    free(e->rank);
}

enum rc sim_run(uint64_t *n_sent, const struct topology *t, sim_body_fn *body, void *arg)
{
    const int n_ranks = t->n_ranks;
    struct engine e = { .topology = t, .n_ranks = n_ranks, .body = body, .arg = arg, .n_live = n_ranks };
    enum rc rc = RC_OK;

    sim_clock_init(&e.clock);
    if (n_ranks > SIM_RANKS_MAX)
        FAIL(RC_INVAL, "world sim: %d ranks; at most %d are possible", n_ranks, SIM_RANKS_MAX);
    e.rank = calloc((size_t)n_ranks, sizeof *e.rank);
    if (!e.rank)
        FAIL(RC_NOMEM, "world sim: no memory for %d ranks", n_ranks);
    TRY(sim_network_open(&e.network, t, &e.clock));
    TRY(start_actors(&e));
    TRY(sim_play(&e));
    if (e.failed)
        rc = rc_raise(e.why, "rank %d: %s", e.failed_rank, e.message);
out:
    *n_sent = e.n_sent;
    end_engine(&e);
    return rc;
}
