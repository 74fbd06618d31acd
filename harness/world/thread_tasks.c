/* SPDX-License-Identifier: Apache-2.0 */
/* thread_tasks.c - the threads and doorbells of a rank; the contract is in task.h. */
#include "harness/world/thread_tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/world/stop.h"
#include "harness/world/wait.h"

struct thread_task {
    struct task base;
    struct task_opts opts;
    struct thread_tasks *group;
    pthread_t id;
    bool returned; /* fn has */
    enum rc rc;
    char message[RC_MESSAGE_BYTES];
    atomic_bool ended;
    struct doorbell bell; /* rung when `ended` is set, the last that the thread does to this struct */
    struct thread_task *next;
};

struct thread_event {
    struct event base;
    _Atomic int n_posts; /* not taken yet */
    struct doorbell bell;
};

void thread_tasks_init(struct thread_tasks *g)
{
    memset(g, 0, sizeof *g);
    g->main = pthread_self();
    pthread_mutex_init(&g->lock, NULL);
}

static void stop(struct thread_tasks *g, const char *why)
{
    pthread_mutex_lock(&g->lock);
    if (!atomic_load(&g->stopped)) {
        snprintf(g->why, sizeof g->why, "%s", why);
        atomic_store(&g->stopped, true); /* publishes why */
    }
    pthread_mutex_unlock(&g->lock);
}

enum rc thread_tasks_check(struct thread_tasks *g)
{
    if (!atomic_load_explicit(&g->stopped, memory_order_acquire))
        return RC_OK;
    return rc_raise(RC_PEER, "%s", g->why);
}

/* Runs whenever the thread ends, also by pthread_exit(). */
static void on_task_end(void *arg)
{
    struct thread_task *t = arg;
    char why[RC_MESSAGE_BYTES];

    if (!t->returned) {
        t->rc = RC_PEER;
        snprintf(t->message, sizeof t->message, "task %s ended before its work was done", t->base.name);
    }
    if (t->rc != RC_OK) {
        snprintf(why, sizeof why, "task %s: %.400s", t->base.name, t->message);
        stop(t->group, t->returned ? why : t->message);
    }
    atomic_fetch_sub(&t->group->n_running, 1);
    atomic_store(&t->ended, true);
    doorbell_ring(&t->bell);
}

static void bind_cores(const struct thread_task *t)
{
    if (t->opts.core == TASK_ANYWHERE)
        cores_bind_self_to(&t->group->all);
    else if (t->opts.core == TASK_ON_SPARE_CORE)
        cores_bind_self_to(&t->group->spare);
}

static void *task_main(void *arg)
{
    struct thread_task *t = arg;
    struct stop_stack stack;

    stop_stack_init(&stack);
    stop_stack_open(&stack);
    pthread_cleanup_push(stop_stack_close, &stack);
    pthread_cleanup_push(on_task_end, t);
    bind_cores(t);
    t->rc = t->opts.fn(t->base.world, t->opts.arg);
    if (t->rc != RC_OK)
        snprintf(t->message, sizeof t->message, "%s", rc_message()[0] != '\0' ? rc_message() : rc_text(t->rc));
    t->returned = true;
    pthread_cleanup_pop(1);
    pthread_cleanup_pop(1);
    return NULL;
}

/* Of the main task, which is the only one that spawns (world.K5). */
static void find_cores(struct thread_tasks *g)
{
    if (g->knows_cores)
        return;
    cores_allowed_set(&g->all);
    if (g->are_bound)
        cores_left_over(&g->shares, &g->spare);
    g->knows_cores = true;
}

void thread_tasks_roam(struct thread_tasks *g, struct core_set *own)
{
    cores_thread_set(own);
    find_cores(g);
    cores_bind_self_to(&g->all);
}

void thread_tasks_return(const struct core_set *own)
{
    cores_bind_self_to(own);
}

static enum rc thread_spawn(struct task **out, struct world *w, const struct task_opts *opts)
{
    struct thread_task *t = calloc(1, sizeof *t);

    if (!t)
        return rc_raise(RC_NOMEM, "no memory for task %s", opts->name);
    *t = (struct thread_task){ .base = { w, opts->name }, .opts = *opts, .group = w->tasks, .next = w->tasks->first };
    if (opts->core != TASK_ON_OWN_CORES)
        find_cores(t->group);
    atomic_fetch_add(&t->group->n_running, 1);
    const int error = pthread_create(&t->id, NULL, task_main, t); /* TASK_ON_OWN_CORES: inherits the caller's cores */
    if (error) {
        atomic_fetch_sub(&t->group->n_running, 1);
        free(t);
        return rc_raise(RC_NOMEM, "task %s cannot be started: %s", opts->name, strerror(error));
    }
    w->tasks->first = t;
    *out = &t->base;
    return RC_OK;
}

static enum rc thread_join(struct task *task)
{
    struct thread_task *t = (struct thread_task *)task, **link = &t->group->first;
    enum rc rc;

    while (!atomic_load(&t->ended)) { /* in slices: the main task is not silent meanwhile (world.P1) */
        const uint32_t seen = doorbell_seen(&t->bell);
        world_tick(t->base.world);
        if (!atomic_load(&t->ended))
            (void)doorbell_wait(&t->bell, seen, false, WAIT_SLICE_NS);
    }
    pthread_join(t->id, NULL); /* can't fail: started, joined once */
    rc = t->rc;
    if (rc != RC_OK)
        (void)rc_raise(rc, "%s", t->message);
    while (*link != t)
        link = &(*link)->next;
    *link = t->next;
    if (!t->group->first)
        atomic_store(&t->group->stopped, false);
    free(t);
    return rc;
}

void thread_tasks_end(struct thread_tasks *g)
{
    if (g->first)
        stop(g, "the rank ended");
    while (g->first)
        (void)!thread_join(&g->first->base);
}

void thread_tasks_fini(struct thread_tasks *g)
{
    thread_tasks_end(g);
    pthread_mutex_destroy(&g->lock);
}

static void thread_stop(struct world *w, const char *why)
{
    if (w->tasks->first)
        stop(w->tasks, why);
}

static enum rc thread_event_open(struct event **out, struct world *w, const char *name)
{
    struct thread_event *e = calloc(1, sizeof *e);

    if (!e)
        return rc_raise(RC_NOMEM, "no memory for event %s", name);
    e->base = (struct event){ w, name };
    *out = &e->base;
    return RC_OK;
}

static void thread_post(struct event *event)
{
    struct thread_event *e = (struct thread_event *)event;

    atomic_fetch_add(&e->n_posts, 1);
    doorbell_ring(&e->bell);
}

/* Take a post, if there is one. */
static bool take(struct thread_event *e)
{
    int n_posts = atomic_load(&e->n_posts);

    while (n_posts > 0 && !atomic_compare_exchange_weak(&e->n_posts, &n_posts, n_posts - 1))
        continue;
    return n_posts > 0;
}

static enum rc thread_wait(struct event *event, uint64_t limit_ns)
{
    struct thread_event *e = (struct thread_event *)event;
    const uint64_t started_ns = wait_clock_ns();
    enum rc rc = RC_OK;

    for (;;) {
        const uint32_t seen = doorbell_seen(&e->bell);
        if (take(e))
            break;
        TRY(world_check(event->world));
        const uint64_t waited_ns = wait_clock_ns() - started_ns;
        if (waited_ns >= limit_ns)
            FAIL(RC_TIMEOUT, "event %s: not posted within %.3g s", event->name, 1e-9 * (double)limit_ns);
        const uint64_t left_ns = limit_ns - waited_ns;
        (void)doorbell_wait(&e->bell, seen, world_may_spin(event->world),
                            left_ns < WAIT_SLICE_NS ? left_ns : WAIT_SLICE_NS);
    }
out:
    return rc;
}

static bool thread_try_wait(struct event *e)
{
    return take((struct thread_event *)e);
}

static void thread_event_close(struct event *e)
{
    free(e); /* first member */
}

const struct task_ops thread_task_ops = {
    .spawn = thread_spawn,
    .join = thread_join,
    .stop = thread_stop,
    .event_open = thread_event_open,
    .post = thread_post,
    .wait = thread_wait,
    .try_wait = thread_try_wait,
    .event_close = thread_event_close,
};
