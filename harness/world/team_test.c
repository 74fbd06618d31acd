/* SPDX-License-Identifier: Apache-2.0 */
/*
 * team_test.c - every task once, by any thread, with any number of threads; and broken teams that must show.
 *
 * The checks count failures, so that a mutant can be put in the team's place: cmocka asserts on the main thread only.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "harness/base/suite/test_allocations.h"
#include "harness/world/team.h"

enum { MAX_TASKS = 1000, MAX_THREADS = 8 };

/* team_run(), or a mutant of it. */
typedef void run_fn(struct team *t, team_fn *fn, void *arg, int n_tasks);

struct tally {
    atomic_int n_runs[MAX_TASKS], n_bad_threads;
    atomic_bool busy[MAX_THREADS];
    int n_threads;
    int value[MAX_TASKS]; /* plain memory: what a task writes is there when team_run() returns */
};

static void count_task(void *arg, int task, int thread)
{
    struct tally *t = arg;

    if (thread < 0 || thread >= t->n_threads || atomic_exchange(&t->busy[thread], true)) {
        atomic_fetch_add(&t->n_bad_threads, 1);
        return;
    }
    atomic_fetch_add(&t->n_runs[task], 1);
    t->value[task] = 3 * task + 1;
    atomic_store(&t->busy[thread], false);
}

static int count_failures(struct team *team, run_fn *run, int n_tasks)
{
    struct tally *t = calloc(1, sizeof *t);
    int n_failures = 0;

    assert_non_null(t);
    t->n_threads = team_n_threads(team);
    run(team, count_task, t, n_tasks);
    for (int i = 0; i < n_tasks; i++)
        n_failures += t->n_runs[i] != 1 || t->value[i] != 3 * i + 1;
    for (int i = n_tasks; i < MAX_TASKS; i++)
        n_failures += t->n_runs[i] != 0;
    n_failures += t->n_bad_threads;
    free(t);
    return n_failures;
}

static int suite(run_fn *run, int n_threads, bool may_spin)
{
    static const int n_tasks[] = { 0, 1, 2, 3, 7, MAX_TASKS };
    struct team *team = NULL;
    int n_failures = 0;

    assert_int_equal(team_open(&team, n_threads, may_spin), RC_OK);
    assert_int_equal(team_n_threads(team), n_threads);
    for (int again = 0; again < 50; again++)
        for (size_t i = 0; i < sizeof n_tasks / sizeof n_tasks[0]; i++)
            n_failures += count_failures(team, run, n_tasks[i]);
    team_close(&team);
    assert_null(team);
    team_close(&team);
    return n_failures;
}

/* G5 */
static void every_task_runs_once(void **state)
{
    (void)state;
    for (int n_threads = 1; n_threads <= MAX_THREADS; n_threads *= 2) {
        assert_int_equal(suite(team_run, n_threads, false), 0);
        if (n_threads <= 2)
            assert_int_equal(suite(team_run, n_threads, true), 0);
    }
}

static void loses_the_last(struct team *t, team_fn *fn, void *arg, int n_tasks)
{
    team_run(t, fn, arg, n_tasks > 0 ? n_tasks - 1 : 0);
}

static void runs_one_twice(struct team *t, team_fn *fn, void *arg, int n_tasks)
{
    team_run(t, fn, arg, n_tasks);
    if (n_tasks > 2)
        fn(arg, 2, 0);
}

struct wrong_thread {
    team_fn *fn;
    void *arg;
};

static void as_thread_1000(void *arg, int task, int thread)
{
    const struct wrong_thread *w = arg;

    (void)thread;
    w->fn(w->arg, task, 1000);
}

static void names_no_thread(struct team *t, team_fn *fn, void *arg, int n_tasks)
{
    struct wrong_thread w = { fn, arg };

    team_run(t, as_thread_1000, &w, n_tasks);
}

static void mutants_are_caught(void **state)
{
    (void)state;
    assert_true(suite(loses_the_last, 2, false) > 0);
    assert_true(suite(runs_one_twice, 2, false) > 0);
    assert_true(suite(names_no_thread, 2, false) > 0);
}

struct cores_seen {
    cpu_set_t cores[MAX_THREADS];
    atomic_int n_in;
    int n_threads;
};

/* Returns when all threads are in it: each has exactly one task then. */
static void see_cores(void *arg, int task, int thread)
{
    struct cores_seen *s = arg;

    (void)task;
    (void)sched_getaffinity(0, sizeof s->cores[thread], &s->cores[thread]);
    atomic_fetch_add(&s->n_in, 1);
    while (atomic_load(&s->n_in) < s->n_threads)
        sched_yield();
}

/* G6 */
static void threads_inherit_the_openers_cores(void **state)
{
    struct cores_seen s = { .n_threads = 3 };
    struct team *team = NULL;
    cpu_set_t all, one;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(team_open(&team, s.n_threads, false), RC_OK);
    team_run(team, see_cores, &s, s.n_threads);
    team_close(&team);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    for (int i = 0; i < s.n_threads; i++)
        assert_true(CPU_EQUAL(&s.cores[i], &one));
}

static void do_nothing(void *arg, int task, int thread)
{
    (void)arg, (void)task, (void)thread;
}

static uint64_t cpu_ticks(void)
{
    struct timespec used;

    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used), 0);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

/* G7. A team that went on spinning would use as much as passes: half of it is far from either. */
static void idle_threads_sleep(void **state)
{
    const struct timespec pause = { .tv_nsec = 200 * 1000 * 1000 };
    struct team *team = NULL;

    (void)state;
    assert_int_equal(team_open(&team, 2, true), RC_OK);
    team_run(team, do_nothing, NULL, 100);
    const uint64_t before = cpu_ticks();
    nanosleep(&pause, NULL);
    const uint64_t used = cpu_ticks() - before;
    team_run(team, do_nothing, NULL, 100); /* and they wake up again */
    team_close(&team);
    assert_true(used < (uint64_t)pause.tv_nsec / 2);
}

/* G8 */
static void nothing_allocates_after_open(void **state)
{
    struct team *team = NULL;

    (void)state;
    assert_int_equal(team_open(&team, 3, false), RC_OK);
    const size_t before = test_allocations();
    for (int i = 0; i < 10; i++)
        team_run(team, do_nothing, NULL, 100);
    const size_t after = test_allocations();
    team_close(&team);
    assert_true(before > 0);
    assert_int_equal(after - before, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_runs_once),
        cmocka_unit_test(mutants_are_caught),
        cmocka_unit_test(threads_inherit_the_openers_cores),
        cmocka_unit_test(idle_threads_sleep),
        cmocka_unit_test(nothing_allocates_after_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
