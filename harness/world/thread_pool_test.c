/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_pool_test.c - every task runs once, with any number of threads; mutants of the pool must fail.
 *
 * The checks count failures: a mutant must fail them, and cmocka asserts on the main thread only.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/suite/test_allocations.h"
#include "harness/base/suite/unit.h"
#include "harness/world/suite/sleeping_threads.h"
#include "harness/world/thread_pool.h"

enum { MAX_TASKS = 1000, MAX_THREADS = 8 };

/* thread_pool_run(), or a mutant of it. */
typedef void run_fn(struct thread_pool *pool, thread_pool_fn *fn, void *arg, int n_tasks);

struct tally {
    atomic_int n_runs[MAX_TASKS], n_bad_threads;
    atomic_bool busy[MAX_THREADS];
    int n_threads;
    int value[MAX_TASKS]; /* plain memory: what a task writes is there when thread_pool_run() returns */
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

static int count_failures(struct thread_pool *pool, run_fn *run, int n_tasks)
{
    struct tally *t = calloc(1, sizeof *t);
    int n_failures = 0;

    assert_non_null(t);
    t->n_threads = thread_pool_n_threads(pool);
    run(pool, count_task, t, n_tasks);
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
    struct thread_pool *pool = NULL;
    int n_failures = 0;

    assert_int_equal(thread_pool_open(&pool, n_threads, may_spin), RC_OK);
    assert_int_equal(thread_pool_n_threads(pool), n_threads);
    for (int again = 0; again < 50; again++)
        for (size_t i = 0; i < sizeof n_tasks / sizeof n_tasks[0]; i++)
            n_failures += count_failures(pool, run, n_tasks[i]);
    thread_pool_close(&pool);
    assert_null(pool);
    thread_pool_close(&pool);
    return n_failures;
}

/* world.T1 */
UNIT_TEST(every_task_runs_once)
{
    for (int n_threads = 1; n_threads <= MAX_THREADS; n_threads *= 2) {
        assert_int_equal(suite(thread_pool_run, n_threads, false), 0);
        if (n_threads <= 2)
            assert_int_equal(suite(thread_pool_run, n_threads, true), 0);
    }
}

static void loses_the_last(struct thread_pool *pool, thread_pool_fn *fn, void *arg, int n_tasks)
{
    thread_pool_run(pool, fn, arg, n_tasks > 0 ? n_tasks - 1 : 0);
}

static void runs_one_twice(struct thread_pool *pool, thread_pool_fn *fn, void *arg, int n_tasks)
{
    thread_pool_run(pool, fn, arg, n_tasks);
    if (n_tasks > 2)
        fn(arg, 2, 0);
}

struct wrong_thread {
    thread_pool_fn *fn;
    void *arg;
};

static void as_thread_1000(void *arg, int task, int thread)
{
    const struct wrong_thread *w = arg;

    (void)thread;
    w->fn(w->arg, task, 1000);
}

static void names_no_thread(struct thread_pool *pool, thread_pool_fn *fn, void *arg, int n_tasks)
{
    struct wrong_thread w = { fn, arg };

    thread_pool_run(pool, as_thread_1000, &w, n_tasks);
}

UNIT_TEST(mutants_are_caught)
{
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

/* world.T2 */
UNIT_TEST(threads_inherit_the_openers_cores)
{
    struct cores_seen s = { .n_threads = 3 };
    struct thread_pool *pool = NULL;
    cpu_set_t all, one;

    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(thread_pool_open(&pool, s.n_threads, false), RC_OK);
    thread_pool_run(pool, see_cores, &s, s.n_threads);
    thread_pool_close(&pool);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    for (int i = 0; i < s.n_threads; i++)
        assert_true(CPU_EQUAL(&s.cores[i], &one));
}

static void do_nothing(void *arg, int task, int thread)
{
    (void)arg, (void)task, (void)thread;
}

/* world.T3. A pool that went on spinning would never sleep in the kernel. */
UNIT_TEST(idle_threads_sleep)
{
    struct thread_pool *pool = NULL;

    assert_int_equal(thread_pool_open(&pool, 3, true), RC_OK);
    for (int i = 0; i < 2; i++) { /* and they wake up again */
        thread_pool_run(pool, do_nothing, NULL, 100);
        await_sleeping_threads(2);
    }
    thread_pool_close(&pool);
}

/* world.T4 */
UNIT_TEST(nothing_allocates_after_open)
{
    struct thread_pool *pool = NULL;

    assert_int_equal(thread_pool_open(&pool, 3, false), RC_OK);
    const size_t before = test_allocations();
    for (int i = 0; i < 10; i++)
        thread_pool_run(pool, do_nothing, NULL, 100);
    const size_t after = test_allocations();
    thread_pool_close(&pool);
    assert_true(before > 0);
    assert_int_equal(after - before, 0);
}

UNIT_MAIN("thread_pool")
