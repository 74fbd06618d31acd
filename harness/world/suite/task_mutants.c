/* SPDX-License-Identifier: Apache-2.0 */
/* task_mutants.c - tasks of threads with one bug each. */
#include "harness/world/suite/suite_mutants.h"

#include "harness/world/thread_tasks.h"

static enum rc spawn(struct task **out, struct world *w, const struct task_opts *opts)
{
    return thread_task_ops.spawn(out, w, opts);
}

static enum rc join(struct task *t)
{
    return thread_task_ops.join(t);
}

static void stop(struct world *w, const char *why)
{
    thread_task_ops.stop(w, why);
}

static enum rc open_event(struct event **out, struct world *w, const char *name)
{
    return thread_task_ops.event_open(out, w, name);
}

static void post(struct event *e)
{
    thread_task_ops.post(e);
}

static enum rc wait(struct event *e, uint64_t limit_ns)
{
    return thread_task_ops.wait(e, limit_ns);
}

static void close_event(struct event *e)
{
    thread_task_ops.event_close(e);
}

/* Runs fn twice. */
static enum rc doubled_spawn(struct task **out, struct world *w, const struct task_opts *opts)
{
    enum rc rc;

    TRY(spawn(out, w, opts));
    (void)!join(*out);
    TRY(spawn(out, w, opts));
out:
    return rc;
}

/* A task's error stays with the task. */
static enum rc deaf_join(struct task *t)
{
    (void)!join(t);
    return RC_OK;
}

/* The code comes, the message does not. */
static enum rc mute_join(struct task *t)
{
    const enum rc rc = join(t);

    return rc == RC_OK ? rc : rc_raise(rc, "a task failed");
}

/* A rank whose task failed stays stopped. */
static enum rc sticky_join(struct task *t)
{
    struct world *w = t->world;
    const enum rc rc = join(t);

    w->tasks->stopped = w->tasks->stopped || rc != RC_OK;
    return rc;
}

/* The last reason is kept. */
static void fickle_stop(struct world *w, const char *why)
{
    w->tasks->stopped = false;
    stop(w, why);
}

/* Stops also what there is none of. */
static void eager_stop(struct world *w, const char *why)
{
    stop(w, why);
    w->tasks->stopped = true;
}

static void doubled_post(struct event *e)
{
    post(e);
    post(e);
}

/* An event that is a flag: waiting does not take the post. */
static enum rc flag_wait(struct event *e, uint64_t limit_ns)
{
    const enum rc rc = wait(e, limit_ns);

    if (rc == RC_OK)
        post(e);
    return rc;
}

/* A limit that passed looks like a post. */
static enum rc easy_wait(struct event *e, uint64_t limit_ns)
{
    const enum rc rc = wait(e, limit_ns);

    return rc == RC_TIMEOUT ? RC_OK : rc;
}

/* A thousand times too short. */
static enum rc hasty_wait(struct event *e, uint64_t limit_ns)
{
    const enum rc rc = wait(e, limit_ns / 1000);

    return rc == RC_TIMEOUT ? rc_raise(rc, "event %s: not posted within %.3g s", e->name, 1e-9 * (double)limit_ns) : rc;
}

/* A wait that timed out takes the post that comes later. */
static enum rc greedy_wait(struct event *e, uint64_t limit_ns)
{
    static _Thread_local struct event *owing;
    enum rc rc;

    if (owing == e)
        (void)!wait(e, limit_ns < 5000000 ? limit_ns : 5000000);
    owing = NULL;
    rc = wait(e, limit_ns < 50000000 ? limit_ns : 50000000);
    owing = rc == RC_TIMEOUT && limit_ns > 0 ? e : NULL;
    return rc;
}

static bool try_wait(struct event *e)
{
    return thread_task_ops.try_wait(e);
}

/* Says that there is a post, and leaves it. */
static bool peeping_try_wait(struct event *e)
{
    const bool taken = try_wait(e);

    if (taken)
        post(e);
    return taken;
}

#define MUTANT(id, spawn_fn, join_fn, stop_fn, post_fn, wait_fn, try_fn) \
    static const struct task_ops id = {                                  \
        .spawn = spawn_fn,                                               \
        .join = join_fn,                                                 \
        .stop = stop_fn,                                                 \
        .event_open = open_event,                                        \
        .post = post_fn,                                                 \
        .wait = wait_fn,                                                 \
        .try_wait = try_fn,                                              \
        .event_close = close_event,                                      \
    };

MUTANT(none, spawn, join, stop, post, wait, try_wait)
MUTANT(doubled_spawns, doubled_spawn, join, stop, post, wait, try_wait)
MUTANT(deaf, spawn, deaf_join, stop, post, wait, try_wait)
MUTANT(mute, spawn, mute_join, stop, post, wait, try_wait)
MUTANT(sticky, spawn, sticky_join, stop, post, wait, try_wait)
MUTANT(fickle, spawn, join, fickle_stop, post, wait, try_wait)
MUTANT(eager, spawn, join, eager_stop, post, wait, try_wait)
MUTANT(doubled_posts, spawn, join, stop, doubled_post, wait, try_wait)
MUTANT(flag, spawn, join, stop, post, flag_wait, try_wait)
MUTANT(easy, spawn, join, stop, post, easy_wait, try_wait)
MUTANT(hasty, spawn, join, stop, post, hasty_wait, try_wait)
MUTANT(greedy, spawn, join, stop, post, greedy_wait, try_wait)
MUTANT(peeping, spawn, join, stop, post, wait, peeping_try_wait)

const struct suite_mutant *task_mutants(void)
{
    static const struct suite_mutant all[] = {
        { "none", &none, NULL },
        { "doubled_spawns", &doubled_spawns, "spawn and join" },
        { "deaf", &deaf, "errors" },
        { "mute", &mute, "errors" },
        { "sticky", &sticky, "stop" },
        { "fickle", &fickle, "stop" },
        { "eager", &eager, "stop" },
        { "doubled_posts", &doubled_posts, "events count" },
        { "flag", &flag, "events count" },
        { "easy", &easy, "events count" },
        { "hasty", &hasty, "limit" },
        { "greedy", &greedy, "events count" },
        { "peeping", &peeping, "events count" },
        { NULL, NULL, NULL },
    };
    return all;
}
