/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_schedule.c - who runs next, and when. Each actor is a coroutine (coroutine.h).
 *
 * One actor has the turn. It runs until it blocks; whoever is ready then gets the turn, in the order in which they
 * were made so. Where nobody is ready, the actor that blocks advances the clock itself, until somebody is: no actor
 * of its own does that, and none carries a message.
 */
#include <stdlib.h>

#include "harness/world/sim/sim_state.h"

void sim_make_ready(struct sim_actor *a)
{
    struct engine *e = a->rank->engine;

    if (a->is_ready)
        return;
    a->is_ready = true;
    a->next_ready = NULL;
    *(e->last_ready ? &e->last_ready->next_ready : &e->first_ready) = a;
    e->last_ready = a;
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

enum rc sim_reserve_transfer(struct engine *e)
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

enum rc sim_play(struct engine *e)
{
    enum rc rc;

    TRY(coroutine_of_caller(&e->caller));
    coroutine_switch(e->caller, give_turn(e, next_actor(e)));
out:
    return rc;
}

void sim_hand_over(struct engine *e)
{
    struct sim_actor *self = e->running;

    coroutine_end(self->coroutine, give_turn(e, e->n_live > 0 ? next_actor(e) : NULL));
}

void sim_block(struct engine *e)
{
    struct sim_actor *self = e->running, *next = next_actor(e);

    if (next == self)
        return;
    coroutine_switch(self->coroutine, give_turn(e, next));
}

bool sim_block_until(struct engine *e, double time_s)
{
    struct sim_actor *self = e->running;

    self->expired = false;
    sim_clock_set(&e->clock, &self->alarm, time_s);
    sim_block(e);
    sim_clock_unset(&e->clock, &self->alarm);
    return !self->expired;
}
