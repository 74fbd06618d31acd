/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_engine.c - ranks that run in virtual time, in one thread: how they wait, fail and end, and what they send.
 *
 * Each rank, and each of its tasks, is an actor: a coroutine, of which one runs at a time (coroutine.h). Time and flows
 * are sim_clock.c's and sim_network.c's. An actor that ends early (sim_die(), sim_leave()) leaves its stack as it is.
 */
#include "harness/world/sim/sim_engine.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cluster/topology.h"
#include "harness/world/sim/coroutine.h"
#include "harness/world/sim/sim_clock.h"
#include "harness/world/sim/sim_network.h"

enum { RANK_STACK_BYTES = 8 << 20 }; /* as for threads; unused parts take no memory */

struct sim_actor {          /* the main task of a rank, or another one */
    struct sim_event alarm; /* first member; its sleep ends */
    struct sim_rank *rank;
    struct coroutine *coroutine;
    struct sim_actor *next_ready;
    bool is_ready;         /* in the queue of actors that will run at this instant */
    bool asleep;           /* in sim_wait(), not woken yet */
    const void *waits_for; /* ... for this; NULL: for anything */
    bool expired;          /* the alarm came */
    bool computes;         /* in sim_compute(), with other actors about */
    void (*fn)(void *arg); /* of a task, as is what follows */
    void *arg;
    bool has_ended;
    struct sim_actor *joiner; /* waits for its end */
    struct sim_actor *next;   /* of the rank */
};

struct sim_rank {
    struct engine *engine;
    int number, n_cores;
    double busy_s;                  /* busy with messages until then */
    struct sim_transfer *first_out; /* its transfers whose bytes flow, one to a rank */
    struct sim_actor main;          /* first of the list of the rank's actors */
    int n_computing;
    bool stopped; /* sim_stop() */
    char why[RC_MESSAGE_BYTES];
    bool gone;
};

struct engine {
    const struct topology *topology;
    int n_ranks;
    struct sim_rank *rank;
    sim_body_fn *body;
    void *arg;
    struct sim_clock clock;
    struct sim_network *network;
    struct coroutine *caller;                   /* of sim_run() */
    struct sim_actor *running;                  /* the running actor */
    struct sim_actor *first_ready, *last_ready; /* the next ones, in this order */
    struct sim_transfer **done;                 /* transfers of one instant; room for all in transit */
    size_t n_done, n_done_room;
    size_t n_in_transit;
    int n_live;      /* actors that have not ended */
    uint64_t n_sent; /* transfers, including those that arrived */
    struct sim_owned *owned;
    bool failed, deadlocked;
    int failed_rank;
    enum rc why;
    char message[RC_MESSAGE_BYTES];
};

/* --- who runs next, and when --- */

/*
 * One actor has the turn. It runs until it blocks; whoever is ready then gets the turn, in the order in which they
 * were made so. Where nobody is ready, the actor that blocks advances the clock itself, until somebody is: no actor
 * of its own does that, and none carries a message.
 */

/* Lets a run at this instant, after the actors that are ready already. */
static void sim_make_ready(struct sim_actor *a)
{
    struct engine *e = a->rank->engine;

    if (a->is_ready)
        return;
    a->is_ready = true;
    a->next_ready = NULL;
    *(e->last_ready ? &e->last_ready->next_ready : &e->first_ready) = a;
    e->last_ready = a;
}

void sim_wake(struct sim_rank *r, const void *what)
{
    for (struct sim_actor *a = &r->main; a; a = a->next)
        if (a->asleep && (!what || !a->waits_for || a->waits_for == what)) {
            a->asleep = false;
            sim_make_ready(a);
        }
}

/* Records the first failure of a run, and wakes every actor. */
static void sim_record_failure(struct engine *e, int rank, enum rc why, const char *message)
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

static struct sim_actor *take_ready(struct engine *e)
{
    struct sim_actor *a = e->first_ready;

    e->first_ready = a->next_ready;
    if (!e->first_ready)
        e->last_ready = NULL;
    a->is_ready = false;
    return a;
}

/* Makes room for one more transfer. RC_NOMEM. */
static enum rc sim_reserve_transfer(struct engine *e)
{
    enum rc rc;

    TRY(sim_clock_reserve(&e->clock, 1));
    if (e->n_in_transit == e->n_done_room) {
        const size_t n_room = e->n_done_room > 0 ? 2 * e->n_done_room : 64;
        struct sim_transfer **done = realloc(e->done, n_room * sizeof(struct sim_transfer *));
        if (!done) {
            sim_clock_release(&e->clock, 1);
            return rc_raise(RC_NOMEM, "no memory for %zu messages in transit", n_room);
        }
        e->done = done;
        e->n_done_room = n_room;
    }
    e->n_in_transit++;
out:
    return rc;
}

static void arrive(struct engine *e, struct sim_transfer *t)
{
    e->n_in_transit--;
    sim_clock_release(&e->clock, 1);
    t->arrived(t);
}

/* All bytes are at the receiver's process, which they occupy for a time if the protocol says so. */
static void enter_process(struct engine *e, struct sim_transfer *t)
{
    const double now_s = e->clock.now_s;

    t->stage = TRANSFER_ENTERS;
    if (!(t->message_s > 0)) {
        arrive(e, t);
        return;
    }
    t->to->busy_s = (t->to->busy_s > now_s ? t->to->busy_s : now_s) + t->message_s;
    sim_clock_set(&e->clock, &t->flow.event, t->to->busy_s);
}

static void flow(struct engine *e, struct sim_transfer *t)
{
    t->stage = TRANSFER_FLOWS;
    t->next_out = t->from->first_out;
    t->from->first_out = t;
    sim_network_join(e->network, &t->flow);
}

/* Its latency has passed: its bytes flow, or wait behind those of a message between the same ranks. */
static void flow_or_wait(struct engine *e, struct sim_transfer *t)
{
    struct sim_transfer *before = t->from->first_out;

    while (before && before->to != t->to)
        before = before->next_out;
    if (!before) {
        flow(e, t);
        return;
    }
    t->next_behind = NULL;
    *(before->last_behind ? &before->last_behind->next_behind : &before->first_behind) = t;
    before->last_behind = t;
}

/* All its bytes have gone: those of the next message between the same ranks flow. */
static void let_next_flow(struct engine *e, struct sim_transfer *t)
{
    struct sim_transfer **link = &t->from->first_out, *next = t->first_behind;

    while (*link != t)
        link = &(*link)->next_out;
    *link = t->next_out;
    if (!next)
        return;
    next->first_behind = next->next_behind;
    next->last_behind = next->first_behind ? t->last_behind : NULL;
    flow(e, next);
}

/* What came for t at this instant. */
static void go_on(struct engine *e, struct sim_transfer *t)
{
    if (t->stage == TRANSFER_STARTS && t->flow.n_bytes > 0)
        flow_or_wait(e, t);
    else if (t->stage == TRANSFER_STARTS) {
        sim_network_forget(e->network, &t->flow);
        enter_process(e, t);
    } else if (t->stage == TRANSFER_FLOWS) {
        let_next_flow(e, t);
        enter_process(e, t);
    } else
        arrive(e, t);
}

static struct sim_transfer *transfer_of(struct sim_flow *f)
{
    return (struct sim_transfer *)f; /* first member */
}

static void take_event(struct engine *e, struct sim_event *event)
{
    if (event->kind == EVENT_ACTOR) {
        struct sim_actor *a = (struct sim_actor *)event; /* first member */
        a->expired = true;
        a->asleep = false;
        sim_make_ready(a);
        return;
    }
    if (event->kind == EVENT_FLOW && transfer_of((struct sim_flow *)event)->stage != TRANSFER_FLOWS) {
        e->done[e->n_done++] = transfer_of((struct sim_flow *)event);
        return;
    }
    for (struct sim_flow *f = sim_network_take_done(e->network, event); f; f = f->next)
        e->done[e->n_done++] = transfer_of(f);
}

static int compare_orders(const void *a, const void *b)
{
    const uint64_t of_a = (*(struct sim_transfer *const *)a)->flow.order;
    const uint64_t of_b = (*(struct sim_transfer *const *)b)->flow.order;

    return of_a < of_b ? -1 : of_a > of_b;
}

/* In the order in which they were sent: what comes at one instant does not depend on the last digits of times. */
static void sort_done(struct engine *e)
{
    for (size_t i = 1; i < e->n_done; i++)
        if (e->done[i - 1]->flow.order > e->done[i]->flow.order) {
            qsort(e->done, e->n_done, sizeof(struct sim_transfer *), compare_orders);
            return;
        }
}

/* What comes next, and all of the same instant. False: nothing. */
static bool advance(struct engine *e)
{
    struct sim_event *event;

    sim_network_settle(e->network);
    event = sim_clock_advance(&e->clock);
    if (!event)
        return false;
    e->n_done = 0;
    for (; event; event = sim_clock_more(&e->clock))
        take_event(e, event);
    sort_done(e);
    for (size_t i = 0; i < e->n_done; i++)
        go_on(e, e->done[i]);
    return true;
}

static bool sleeps(const struct sim_rank *r)
{
    for (const struct sim_actor *a = &r->main; a; a = a->next)
        if (a->asleep)
            return true;
    return false;
}

/* world.E3: nobody is ready, and nothing will come. */
static void break_deadlock(struct engine *e)
{
    int first = 0;

    while (first < e->n_ranks - 1 && !sleeps(&e->rank[first]))
        first++;
    e->deadlocked = true;
    sim_record_failure(e, first, RC_TIMEOUT,
                       "deadlock: every rank waits without a time limit and no message is in transit");
}

/* NULL: nobody can run ever again. */
static struct sim_actor *next_actor(struct engine *e)
{
    while (!e->first_ready)
        if (!advance(e)) {
            if (e->failed)
                return NULL;
            break_deadlock(e);
        }
    return take_ready(e);
}

/* The stack of `next`, which has the turn now; where nobody has it, the run ends. */
static struct coroutine *give_turn(struct engine *e, struct sim_actor *next)
{
    e->running = next;
    return next ? next->coroutine : e->caller;
}

/* Runs the actors that are ready, and those that they make ready, until none can run. RC_NOMEM. */
static enum rc sim_play(struct engine *e)
{
    enum rc rc;

    TRY(coroutine_of_caller(&e->caller));
    coroutine_switch(e->caller, give_turn(e, next_actor(e)));
out:
    return rc;
}

/* The last call of the running actor: runs the next one, or the caller of sim_run(). */
static _Noreturn void sim_hand_over(struct engine *e)
{
    struct sim_actor *self = e->running;

    coroutine_end(self->coroutine, give_turn(e, e->n_live > 0 ? next_actor(e) : NULL));
}

/* Lets other actors run until the caller is made ready. */
static void sim_block(struct engine *e)
{
    struct sim_actor *self = e->running, *next = next_actor(e);

    if (next == self)
        return;
    coroutine_switch(self->coroutine, give_turn(e, next));
}

/* The same, at most until time_s. False: the time passed first. */
static bool sim_block_until(struct engine *e, double time_s)
{
    struct sim_actor *self = e->running;

    self->expired = false;
    sim_clock_set(&e->clock, &self->alarm, time_s);
    sim_block(e);
    sim_clock_unset(&e->clock, &self->alarm);
    return !self->expired;
}

/* --- tasks of a rank, and its cores --- */

/*
 * Whoever begins or ends to compute tells the others that compute, if their share of a core changes by it; each then
 * waits for what is left of its work at its new rate.
 */

/* Tell the other actors that compute on r, if what each gets of a core has changed. */
static void tell_share(struct sim_rank *r, int n_before)
{
    if (r->n_computing <= r->n_cores && n_before <= r->n_cores)
        return;
    for (struct sim_actor *a = &r->main; a; a = a->next)
        if (a->computes)
            sim_make_ready(a);
}

void sim_compute(struct sim_rank *r, double seconds)
{
    struct engine *e = r->engine;
    struct sim_actor *self = e->running;
    double left_s = seconds;

    if (!r->main.next || seconds <= 0) { /* alone: nobody begins to compute before it ends */
        sim_pass(r, seconds);
        return;
    }
    tell_share(r, r->n_computing++);
    self->computes = true;
    for (bool is_told = true; is_told;) {
        const double share = r->n_computing > r->n_cores ? (double)r->n_cores / r->n_computing : 1.0;
        const double began_s = e->clock.now_s;
        is_told = sim_block_until(e, began_s + left_s / share);
        left_s -= (e->clock.now_s - began_s) * share;
    }
    self->computes = false;
    tell_share(r, r->n_computing--);
}

/* The last that an actor beside the main one does. */
static _Noreturn void end_task(struct sim_actor *self)
{
    struct engine *e = self->rank->engine;

    self->has_ended = true;
    e->n_live--;
    if (self->joiner)
        sim_make_ready(self->joiner);
    sim_hand_over(e);
}

static void task_main(void *arg)
{
    struct sim_actor *self = arg;

    self->fn(self->arg);
    end_task(self);
}

void *sim_task_arg(struct sim_rank *self)
{
    const struct sim_actor *a = self->engine->running;

    return a == &self->main ? NULL : a->arg;
}

void sim_exit_task(struct sim_rank *self)
{
    end_task(self->engine->running);
}

/* RC_NOMEM. */
static enum rc sim_actor_init(struct sim_actor *a, struct sim_rank *r)
{
    enum rc rc;

    *a = (struct sim_actor){ .alarm.kind = EVENT_ACTOR };
    TRY(sim_clock_reserve(&r->engine->clock, 1));
    a->rank = r;
out:
    return rc;
}

static void sim_actor_fini(struct sim_actor *a)
{
    if (!a->rank)
        return;
    sim_clock_unset(&a->rank->engine->clock, &a->alarm);
    sim_clock_release(&a->rank->engine->clock, 1);
    coroutine_free(&a->coroutine);
}

/* Runs body(a) when it is a's turn. It ends by sim_hand_over(). RC_NOMEM. */
static enum rc sim_actor_start(struct sim_actor *a, void (*body)(void *a))
{
    enum rc rc;

    TRY(coroutine_new(&a->coroutine, RANK_STACK_BYTES, body, a));
    sim_make_ready(a);
out:
    return rc;
}

enum rc sim_spawn(struct sim_actor **out, struct sim_rank *self, const char *name, void (*fn)(void *arg), void *arg)
{
    struct sim_actor *a = malloc(sizeof *a);
    enum rc rc;

    if (!a)
        return rc_raise(RC_NOMEM, "no memory for task %s", name);
    TRY(sim_actor_init(a, self));
    a->fn = fn;
    a->arg = arg;
    TRY(sim_actor_start(a, task_main));
    a->next = self->main.next;
    self->main.next = a;
    self->engine->n_live++;
    *out = a;
out:
    if (rc != RC_OK) {
        sim_actor_fini(a);
        free(a);
    }
    return rc;
}

void sim_join(struct sim_actor **ap)
{
    struct sim_actor *a = *ap, **link = &a->rank->main.next;
    struct engine *e = a->rank->engine;

    *ap = NULL;
    a->joiner = e->running;
    while (!a->has_ended)
        sim_block(e);
    while (*link != a)
        link = &(*link)->next;
    *link = a->next;
    if (!a->rank->main.next)
        a->rank->stopped = false;
    sim_actor_fini(a);
    free(a);
}

void sim_stop(struct sim_rank *r, const char *why)
{
    if (r->stopped || !r->main.next)
        return;
    r->stopped = true;
    snprintf(r->why, sizeof r->why, "%s", why);
    sim_wake(r, NULL);
}

/* Stops and joins the remaining tasks of r. */
static void sim_end_tasks(struct sim_rank *r)
{
    if (r->main.next)
        sim_stop(r, "the rank ended");
    while (r->main.next) {
        struct sim_actor *a = r->main.next;
        sim_join(&a);
    }
}

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
