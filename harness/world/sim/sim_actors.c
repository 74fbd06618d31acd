/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_actors.c - the actors of one rank: the tasks beside its main one, and how they share its cores.
 *
 * Whoever begins or ends to compute tells the others that compute, if their share of a core changes by it; each then
 * waits for what is left of its work at its new rate.
 */
#include <simgrid/engine.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/world/sim/sim_state.h"

struct sim_actor *sim_self(struct sim_rank *r)
{
    return r->main.next ? sg_actor_get_data(sg_actor_self()) : &r->main;
}

static bool tells(const struct sim_actor *a)
{
    return a->must_tell;
}

/* Tell the other actors that compute on r, if what each gets of a core has changed. */
static void tell_share(struct sim_rank *r, int n_before)
{
    if (r->n_computing <= r->n_cores && n_before <= r->n_cores)
        return;
    for (struct sim_actor *a = &r->main; a; a = a->next)
        a->must_tell = a->computes;
    for (struct sim_actor *a; (a = sim_actor_that(r, tells)) != NULL;) {
        a->must_tell = false;
        sg_sem_release(a->core); /* other actors run here */
    }
}

void sim_compute(struct sim_rank *r, double seconds)
{
    struct sim_actor *self = sim_self(r);
    double left_s = seconds;

    if (!r->main.next || seconds <= 0) { /* alone: nobody begins to compute before it ends */
        sim_pass(seconds);
        return;
    }
    tell_share(r, r->n_computing++);
    self->computes = true;
    while (left_s > 0) {
        const double share = r->n_computing > r->n_cores ? (double)r->n_cores / r->n_computing : 1.0;
        const double began_s = simgrid_get_clock();
        if (sg_sem_acquire_timeout(self->core, left_s / share))
            break;
        left_s -= (simgrid_get_clock() - began_s) * share;
    }
    self->computes = self->must_tell = false;
    tell_share(r, r->n_computing--);
}

/* The last that an actor beside the main one does. */
static void end_task(struct sim_actor *self)
{
    struct engine *e = self->rank->engine;

    self->has_ended = true;
    e->n_live--;
    if (self->is_joined)
        e->n_stuck--;
    else
        sim_break_deadlock(e);
    sg_sem_release(self->ended); /* then self is gone */
}

static void task_main(int argc, char **argv)
{
    struct sim_actor *self = sg_actor_get_data(sg_actor_self());

    (void)argc;
    (void)argv;
    self->fn(self->arg);
    end_task(self);
}

void *sim_task_arg(struct sim_rank *self)
{
    const struct sim_actor *a = sim_self(self);

    return a == &self->main ? NULL : a->arg;
}

void sim_exit_task(struct sim_rank *self)
{
    end_task(sim_self(self));
    sg_actor_exit();
}

void sim_actor_init(struct sim_actor *a, struct sim_rank *r)
{
    *a = (struct sim_actor){ .rank = r, .bell = sg_sem_init(0), .core = sg_sem_init(0), .ended = sg_sem_init(0) };
}

void sim_actor_fini(struct sim_actor *a)
{
    sg_sem_destroy(a->bell);
    sg_sem_destroy(a->core);
    sg_sem_destroy(a->ended);
}

enum rc sim_spawn(struct sim_actor **out, struct sim_rank *self, const char *name, void (*fn)(void *arg), void *arg)
{
    struct sim_actor *a = malloc(sizeof *a);

    if (!a)
        return rc_raise(RC_NOMEM, "no memory for task %s", name);
    sim_actor_init(a, self);
    a->fn = fn;
    a->arg = arg;
    a->next = self->main.next;
    self->main.next = a;
    self->engine->n_live++;
    *out = a; /* before other actors run in sim_start_actor() */
    sim_start_actor(name, self->host, RANK_STACK_BYTES, task_main, a);
    return RC_OK;
}

void sim_join(struct sim_actor **ap)
{
    struct sim_actor *a = *ap, **link = &a->rank->main.next;
    struct engine *e = a->rank->engine;

    *ap = NULL;
    if (!a->has_ended) {
        a->is_joined = true;
        e->n_stuck++;
        sim_break_deadlock(e);
    }
    sg_sem_acquire(a->ended);
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
    sim_wake(r);
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
