/* SPDX-License-Identifier: Apache-2.0 */
/* task.c - the operations of task.h, for callers. */
#include "harness/world/task.h"

enum rc world_spawn(struct task **out, struct world *w, const struct task_opts *opts)
{
    *out = NULL;
    world_tick(w);
    return w->ops->tasks->spawn(out, w, opts);
}

enum rc world_join(struct task **tp)
{
    struct task *t = *tp;

    *tp = NULL;
    return t ? t->world->ops->tasks->join(t) : RC_OK;
}

void world_stop_tasks(struct world *w, const char *why)
{
    w->ops->tasks->stop(w, why);
}

enum rc event_open(struct event **out, struct world *w, const char *name)
{
    *out = NULL;
    return w->ops->tasks->event_open(out, w, name);
}

void event_post(struct event *e)
{
    world_tick(e->world);
    e->world->ops->tasks->post(e);
}

enum rc event_wait(struct event *e, uint64_t limit_ns)
{
    world_tick(e->world);
    return e->world->ops->tasks->wait(e, limit_ns);
}

bool event_try_wait(struct event *e)
{
    world_tick(e->world);
    return e->world->ops->tasks->try_wait(e);
}

void event_close(struct event **ep)
{
    struct event *e = *ep;

    *ep = NULL;
    if (e)
        e->world->ops->tasks->event_close(e);
}
