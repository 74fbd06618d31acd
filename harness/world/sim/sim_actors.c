/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_actors.c - the actors of one rank: the tasks beside its main one, and how they share its cores.
 *
 * Whoever begins or ends to compute tells the others that compute, if their share of a core changes by it; each then
 * waits for what is left of its work at its new rate.
 */
#include <stdio.h>
#include <stdlib.h>

#include "harness/world/sim/sim_state.h"

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

enum rc sim_actor_init(struct sim_actor *a, struct sim_rank *r)
{
    enum rc rc;

    *a = (struct sim_actor){ .alarm.kind = EVENT_ACTOR };
    TRY(sim_clock_reserve(&r->engine->clock, 1));
    a->rank = r;
out:
    return rc;
}

void sim_actor_fini(struct sim_actor *a)
{
    if (!a->rank)
        return;
    sim_clock_unset(&a->rank->engine->clock, &a->alarm);
    sim_clock_release(&a->rank->engine->clock, 1);
    coroutine_free(&a->coroutine);
}

enum rc sim_actor_start(struct sim_actor *a, void (*body)(void *a))
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

void sim_end_tasks(struct sim_rank *r)
{
    if (r->main.next)
        sim_stop(r, "the rank ended");
    while (r->main.next) {
        struct sim_actor *a = r->main.next;
        sim_join(&a);
    }
}
