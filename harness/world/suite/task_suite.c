/* SPDX-License-Identifier: Apache-2.0 */
/* task_suite.c - the cases; the contract is in task_suite.h. */
#include "harness/world/suite/task_suite.h"

#include <string.h>

#include "harness/world/suite/suite_kit.h"
#include "harness/world/task.h"

enum { N_TASKS = 3, N_ROUNDS = 200, N_POSTS = 100, N_TIMED_WAITS = 16 };

#define SHORT_NS UINT64_C(5000000)    /* of a wait that ends by its limit */
#define LONG_NS UINT64_C(20000000000) /* of one that must not */

static enum rc start(struct task **out, struct world *w, rank_main_fn *fn, void *arg)
{
    return world_spawn(out, w, &(struct task_opts){ .name = "helper", .fn = fn, .arg = arg });
}

struct product { /* plain memory: spawn and join order its uses */
    struct world *w;
    int value, n_runs;
};

static enum rc multiply(struct world *w, void *arg)
{
    struct product *p = arg;

    p->w = w;
    p->value *= 10;
    p->n_runs++;
    return RC_OK;
}

/* world.K1 */
static void case_spawn_and_join(struct suite *s)
{
    struct task *task[N_TASKS] = { NULL };
    struct product product[N_TASKS];

    for (int i = 0; i < N_TASKS; i++) {
        product[i] = (struct product){ .value = i + 1 };
        EXPECT_OK(s, start(&task[i], s->w, multiply, &product[i]));
    }
    for (int i = 0; i < N_TASKS; i++) {
        EXPECT_OK(s, world_join(&task[i]));
        EXPECT(s, task[i] == NULL && product[i].value == 10 * (i + 1) && product[i].n_runs == 1);
        EXPECT(s, product[i].w == s->w);
    }
    EXPECT_OK(s, world_join(&task[0])); /* twice is once */
}

static enum rc fill_the_disk(struct world *w, void *arg)
{
    (void)w;
    (void)arg;
    return rc_raise(RC_IO, "the disk is full");
}

/* world.K2 */
static void case_errors(struct suite *s)
{
    struct task *bad = NULL, *good = NULL;
    struct product product = { .value = 1 };

    EXPECT_OK(s, start(&bad, s->w, fill_the_disk, NULL));
    EXPECT(s, world_join(&bad) == RC_IO);
    EXPECT(s, strcmp(rc_message(), "the disk is full") == 0);
    EXPECT_OK(s, start(&good, s->w, multiply, &product));
    (void)rc_raise(RC_INVAL, "the main task's own");
    EXPECT_OK(s, world_join(&good));
    EXPECT(s, strcmp(rc_message(), "the main task's own") == 0);
}

/* world.K4: a limit is waited for. A limit that is too short looks long enough where the core is taken away meanwhile:
 * so it is tried several times. */
static void case_limit(struct suite *s)
{
    struct event *e = NULL;

    EXPECT_OK(s, event_open(&e, s->w, "dinner"));
    for (int i = 0; e && s->n_failures == 0 && i < N_TIMED_WAITS; i++) {
        const uint64_t began_ns = world_now_ns(s->w);
        EXPECT(s, event_wait(e, SHORT_NS) == RC_TIMEOUT);
        EXPECT(s, world_now_ns(s->w) - began_ns >= SHORT_NS);
    }
    event_close(&e);
}

/* world.K3: what is posted is taken once, before and after a wait that ended by its limit. */
static void case_events_count(struct suite *s)
{
    struct event *e = NULL;

    EXPECT_OK(s, event_open(&e, s->w, "lunch"));
    for (int i = 0; e && i < N_TASKS; i++)
        event_post(e);
    for (int i = 0; e && i < N_TASKS; i++)
        EXPECT_OK(s, event_wait(e, 0));
    for (int i = 0; e && i < 2; i++) {
        EXPECT(s, event_wait(e, SHORT_NS) == RC_TIMEOUT);
        EXPECT(s, strstr(rc_message(), "event lunch: not posted within 0.005 s"));
        event_post(e);
        EXPECT_OK(s, event_wait(e, LONG_NS));
    }
    for (int i = 0; e && i < N_TASKS; i++) {
        EXPECT(s, !event_try_wait(e));
        event_post(e);
        event_post(e);
        EXPECT(s, event_try_wait(e) && event_try_wait(e) && !event_try_wait(e));
    }
    event_close(&e);
    event_close(&e); /* twice is once */
}

struct table { /* two players; plain memory, which the events order */
    struct event *there, *back;
    int n_hits;
};

static enum rc play(struct world *w, void *arg)
{
    struct table *t = arg;
    enum rc rc = RC_OK;

    (void)w;
    for (int i = 0; i < N_ROUNDS; i++) {
        TRY(event_wait(t->there, LONG_NS));
        t->n_hits++;
        event_post(t->back);
    }
out:
    return rc;
}

static void case_ping_pong(struct suite *s)
{
    struct table t = { 0 };
    struct task *player = NULL;

    EXPECT_OK(s, event_open(&t.there, s->w, "there"));
    EXPECT_OK(s, event_open(&t.back, s->w, "back"));
    EXPECT_OK(s, start(&player, s->w, play, &t));
    for (int i = 0; s->n_failures == 0 && i < N_ROUNDS; i++) {
        t.n_hits++;
        event_post(t.there);
        EXPECT_OK(s, event_wait(t.back, LONG_NS));
        EXPECT(s, t.n_hits == 2 * (i + 1));
    }
    EXPECT_OK(s, world_join(&player));
    event_close(&t.there);
    event_close(&t.back);
}

static enum rc take_half(struct world *w, void *arg)
{
    enum rc rc = RC_OK;

    (void)w;
    for (int i = 0; i < N_POSTS / 2; i++)
        TRY(event_wait(arg, LONG_NS));
out:
    return rc;
}

/* world.K3 with two that wait: no post is taken twice, none is lost. */
static void case_two_takers(struct suite *s)
{
    struct task *taker[2] = { NULL };
    struct event *e = NULL;

    EXPECT_OK(s, event_open(&e, s->w, "bread"));
    for (int i = 0; i < 2; i++)
        EXPECT_OK(s, start(&taker[i], s->w, take_half, e));
    for (int i = 0; s->n_failures == 0 && i < N_POSTS; i++)
        event_post(e);
    for (int i = 0; i < 2; i++)
        EXPECT_OK(s, world_join(&taker[i]));
    EXPECT(s, event_wait(e, 0) == RC_TIMEOUT);
    event_close(&e);
}

static enum rc wait_long(struct world *w, void *arg)
{
    (void)w;
    return event_wait(arg, LONG_NS);
}

/* world.K4: stopped tasks end, and when all have been joined the rank waits as before. */
static void case_stop(struct suite *s)
{
    struct task *waiter[2] = { NULL };
    struct event *e = NULL;

    EXPECT_OK(s, event_open(&e, s->w, "never"));
    world_stop_tasks(s->w, "there is nobody to stop");
    EXPECT_OK(s, world_check(s->w));
    for (int i = 0; i < 2; i++)
        EXPECT_OK(s, start(&waiter[i], s->w, wait_long, e));
    world_pause(s->w, SHORT_NS);
    world_stop_tasks(s->w, "the main task is tired");
    world_stop_tasks(s->w, "a second reason");
    for (int i = 0; i < 2; i++) {
        EXPECT(s, world_check(s->w) == RC_PEER);
        EXPECT(s, world_join(&waiter[i]) == RC_PEER);
        EXPECT(s, strcmp(rc_message(), "the main task is tired") == 0);
    }
    EXPECT_OK(s, world_check(s->w));
    EXPECT(s, event_wait(e, 0) == RC_TIMEOUT);
    event_close(&e);
}

/* world.K4: a task that fails ends the wait of the main one. */
static void case_failed_task(struct suite *s)
{
    struct task *bad = NULL;
    struct event *e = NULL;

    EXPECT_OK(s, event_open(&e, s->w, "never"));
    EXPECT_OK(s, start(&bad, s->w, fill_the_disk, NULL));
    EXPECT(s, event_wait(e, LONG_NS) == RC_PEER);
    EXPECT(s, strcmp(rc_message(), "task helper: the disk is full") == 0);
    EXPECT(s, world_join(&bad) == RC_IO);
    EXPECT_OK(s, world_check(s->w));
    event_close(&e);
}

/* A task counts in the budget of cores for as long as it runs. */
static void case_core_budget(struct suite *s)
{
    const struct world *w = s->w;
    const bool alone = w->n_busy_host_ranks <= w->n_host_cores, both = 2 * w->n_busy_host_ranks <= w->n_host_cores;
    struct task *waiter = NULL;
    struct event *e = NULL;

    EXPECT_OK(s, event_open(&e, s->w, "go"));
    EXPECT(s, world_may_spin(w) == alone);
    EXPECT_OK(s, start(&waiter, s->w, wait_long, e));
    EXPECT(s, world_may_spin(w) == both);
    if (e)
        event_post(e);
    EXPECT_OK(s, world_join(&waiter));
    EXPECT(s, world_may_spin(w) == alone);
    event_close(&e);
}

/* world.K5, where a rank knows its tasks without asking its engine. */
static void case_split_beside_a_task(struct suite *s)
{
    struct world *part = NULL;
    struct task *waiter = NULL;
    struct event *e = NULL;

    EXPECT_OK(s, event_open(&e, s->w, "go"));
    EXPECT_OK(s, start(&waiter, s->w, wait_long, e));
    if (s->w->tasks && s->n_failures == 0) {
        EXPECT(s, world_split(s->w, 0, 0, &part) == RC_INVAL && !part);
        EXPECT(s, strstr(rc_message(), "split while a task of the rank is not joined"));
    }
    if (e)
        event_post(e);
    EXPECT_OK(s, world_join(&waiter));
    event_close(&e);
}

static const struct suite_case {
    const char *name;
    void (*run)(struct suite *s);
} cases[] = {
    { "spawn and join", case_spawn_and_join },
    { "errors", case_errors },
    { "events count", case_events_count },
    { "limit", case_limit },
    { "ping pong", case_ping_pong },
    { "two takers", case_two_takers },
    { "stop", case_stop },
    { "failed task", case_failed_task },
    { "core budget", case_core_budget },
    { "split beside a task", case_split_beside_a_task },
};

int task_suite(struct world *w, const char **failed_case)
{
    struct suite s = { .w = w };

    if (failed_case)
        *failed_case = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases && s.n_failures == 0; i++) {
        s.name = cases[i].name;
        cases[i].run(&s);
        if (s.n_failures > 0 && failed_case)
            *failed_case = s.name;
    }
    return s.n_failures;
}
