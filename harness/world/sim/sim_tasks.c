/* SPDX-License-Identifier: Apache-2.0 */
/* sim_tasks.c - the tasks of the sim world. One actor runs at a time, so nothing here needs an atomic operation. */
#include "harness/world/sim/sim_tasks.h"

#include <stdio.h>
#include <stdlib.h>

#include "harness/world/sim/sim_engine.h"
#include "harness/world/sim/world_sim.h"

struct sim_task {
    struct task base;
    struct sim_owned owned; /* freed at the end of the run where a rank dies without joining it */
    struct sim_actor *actor;
    rank_main_fn *fn;
    void *arg;
    enum rc rc;
    char message[RC_MESSAGE_BYTES];
};

struct sim_task_event {
    struct event base;
    uint64_t n_posts; /* not taken yet */
};

static struct sim_rank *rank_of(const struct world *w)
{
    return world_sim_rank((struct world *)w, w->rank);
}

static void task_destroy(struct sim_owned *o)
{
    free((char *)o - offsetof(struct sim_task, owned));
}

bool sim_in_task(const struct world *w)
{
    return sim_task_arg(rank_of(w)) != NULL;
}

void sim_task_die(struct world *w)
{
    struct sim_task *t = sim_task_arg(rank_of(w));

    t->rc = RC_PEER;
    snprintf(t->message, sizeof t->message, "task %s ended before its work was done", t->base.name);
    sim_stop(rank_of(w), t->message);
    sim_exit_task(rank_of(w));
}

static void task_body(void *arg)
{
    struct sim_task *t = arg;
    char why[RC_MESSAGE_BYTES];

    t->rc = t->fn(t->base.world, t->arg);
    if (t->rc == RC_OK)
        return;
    snprintf(t->message, sizeof t->message, "%s", rc_message()[0] != '\0' ? rc_message() : rc_text(t->rc));
    snprintf(why, sizeof why, "task %s: %.400s", t->base.name, t->message);
    sim_stop(rank_of(t->base.world), why);
}

static enum rc sim_task_spawn(struct task **out, struct world *w, const struct task_opts *opts)
{
    struct sim_task *t = calloc(1, sizeof *t);
    enum rc rc;

    if (!t)
        return rc_raise(RC_NOMEM, "no memory for task %s", opts->name);
    *t =
        (struct sim_task){ .base = { w, opts->name }, .owned.destroy = task_destroy, .fn = opts->fn, .arg = opts->arg };
    TRY(sim_spawn(&t->actor, rank_of(w), opts->name, task_body, t));
    sim_own(rank_of(w), &t->owned);
    *out = &t->base;
    t = NULL;
out:
    free(t);
    return rc;
}

static enum rc sim_task_join(struct task *task)
{
    struct sim_task *t = (struct sim_task *)task;

    sim_join(&t->actor);
    const enum rc rc = t->rc;
    if (rc != RC_OK)
        (void)rc_raise(rc, "%s", t->message);
    sim_disown(rank_of(task->world), &t->owned);
    free(t);
    return rc;
}

static void sim_task_stop(struct world *w, const char *why)
{
    sim_stop(rank_of(w), why);
}

static enum rc sim_event_open(struct event **out, struct world *w, const char *name)
{
    struct sim_task_event *e = calloc(1, sizeof *e);

    if (!e)
        return rc_raise(RC_NOMEM, "no memory for event %s", name);
    e->base = (struct event){ w, name };
    *out = &e->base;
    return RC_OK;
}

static void sim_post(struct event *e)
{
    ((struct sim_task_event *)e)->n_posts++;
    sim_wake(rank_of(e->world), e);
}

static enum rc sim_event_wait(struct event *event, uint64_t limit_ns)
{
    struct sim_task_event *e = (struct sim_task_event *)event;
    struct sim_rank *rank = rank_of(event->world);
    const uint64_t now_ns = sim_now_ns(rank),
                   deadline_ns = limit_ns < SIM_NEVER - now_ns ? now_ns + limit_ns : SIM_NEVER;
    bool expired = false;
    enum rc rc = RC_OK;

    while (e->n_posts == 0) {
        TRY(sim_check(rank));
        if (expired)
            FAIL(RC_TIMEOUT, "event %s: not posted within %.3g s", event->name, 1e-9 * (double)limit_ns);
        expired = !sim_wait(rank, event, deadline_ns);
    }
    e->n_posts--;
out:
    return rc;
}

static bool sim_event_try_wait(struct event *event)
{
    struct sim_task_event *e = (struct sim_task_event *)event;

    if (e->n_posts == 0)
        return false;
    e->n_posts--;
    return true;
}

static void sim_event_close(struct event *e)
{
    free(e); /* first member */
}

const struct task_ops sim_task_ops = {
    .spawn = sim_task_spawn,
    .join = sim_task_join,
    .stop = sim_task_stop,
    .event_open = sim_event_open,
    .post = sim_post,
    .wait = sim_event_wait,
    .try_wait = sim_event_try_wait,
    .event_close = sim_event_close,
};
