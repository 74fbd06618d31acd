/* SPDX-License-Identifier: Apache-2.0 */
/* task_mutants.c - tasks of threads with one bug each. */
#include "harness/world/suite/suite_mutants.h"

#include "harness/world/thread_tasks.h"

/* Runs fn twice. */
static enum rc doubled_spawn(struct task **out, struct world *w, const struct task_opts *opts)
{
    enum rc rc;

    TRY(thread_task_ops.spawn(out, w, opts));
    (void)!thread_task_ops.join(*out);
    TRY(thread_task_ops.spawn(out, w, opts));
out:
    return rc;
}

/* A task's error stays with the task. */
static enum rc deaf_join(struct task *t)
{
    (void)!thread_task_ops.join(t);
    return RC_OK;
}

/* The code comes, the message does not. */
static enum rc mute_join(struct task *t)
{
    const enum rc rc = thread_task_ops.join(t);

    return rc == RC_OK ? rc : rc_raise(rc, "a task failed");
}

/* A rank whose task failed stays stopped. */
static enum rc sticky_join(struct task *t)
{
    struct world *w = t->world;
    const enum rc rc = thread_task_ops.join(t);

    w->tasks->stopped = w->tasks->stopped || rc != RC_OK;
    return rc;
}

/* The last reason is kept. */
static void fickle_stop(struct world *w, const char *why)
{
    w->tasks->stopped = false;
    thread_task_ops.stop(w, why);
}

/* Stops also what there is none of. */
static void eager_stop(struct world *w, const char *why)
{
    thread_task_ops.stop(w, why);
    w->tasks->stopped = true;
}

static void doubled_post(struct event *e)
{
    thread_task_ops.post(e);
    thread_task_ops.post(e);
}

/* An event that is a flag: waiting does not take the post. */
static enum rc flag_wait(struct event *e, uint64_t limit_ns)
{
    const enum rc rc = thread_task_ops.wait(e, limit_ns);

    if (rc == RC_OK)
        thread_task_ops.post(e);
    return rc;
}

/* A limit that passed looks like a post. */
static enum rc easy_wait(struct event *e, uint64_t limit_ns)
{
    const enum rc rc = thread_task_ops.wait(e, limit_ns);

    return rc == RC_TIMEOUT ? RC_OK : rc;
}

/* A thousand times too short. */
static enum rc hasty_wait(struct event *e, uint64_t limit_ns)
{
    const enum rc rc = thread_task_ops.wait(e, limit_ns / 1000);

    return rc == RC_TIMEOUT ? rc_raise(rc, "event %s: not posted within %.3g s", e->name, 1e-9 * (double)limit_ns) : rc;
}

/* A wait that timed out takes the post that comes later. */
static enum rc greedy_wait(struct event *e, uint64_t limit_ns)
{
    static _Thread_local struct event *owing;
    enum rc rc;

    if (owing == e)
        (void)!thread_task_ops.wait(e, limit_ns < 5000000 ? limit_ns : 5000000);
    owing = NULL;
    rc = thread_task_ops.wait(e, limit_ns < 50000000 ? limit_ns : 50000000);
    owing = rc == RC_TIMEOUT && limit_ns > 0 ? e : NULL;
    return rc;
}

/* Says that there is a post, and leaves it. */
static bool peeping_try_wait(struct event *e)
{
    const bool taken = thread_task_ops.try_wait(e);

    if (taken)
        thread_task_ops.post(e);
    return taken;
}

const struct suite_mutant *task_mutants(void)
{
    static const struct suite_mutant all[] = {
        { .name = "none" },
        { "doubled_spawns", "spawn and join", .tasks.spawn = doubled_spawn },
        { "deaf", "errors", .tasks.join = deaf_join },
        { "mute", "errors", .tasks.join = mute_join },
        { "sticky", "stop", .tasks.join = sticky_join },
        { "fickle", "stop", .tasks.stop = fickle_stop },
        { "eager", "stop", .tasks.stop = eager_stop },
        { "doubled_posts", "events count", .tasks.post = doubled_post },
        { "flag", "events count", .tasks.wait = flag_wait },
        { "easy", "events count", .tasks.wait = easy_wait },
        { "hasty", "limit", .tasks.wait = hasty_wait },
        { "greedy", "events count", .tasks.wait = greedy_wait },
        { "peeping", "events count", .tasks.try_wait = peeping_try_wait },
        { .name = NULL },
    };
    return all;
}
