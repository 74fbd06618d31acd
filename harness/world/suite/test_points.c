/* SPDX-License-Identifier: Apache-2.0 */
/* test_points.c - who is held, who sleeps, and whether all do; the contract is in test_points.h. */
#include "harness/world/suite/test_points.h"

#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_POINT_THREADS = 8 };
enum doing { RUNS, HELD, SLEEPS, LOCKS, JOINS, ENDED };

struct thread {
    enum doing doing;
    const void *sleeps_on; /* the futex word */
    int joins;             /* which thread */
    pthread_t id;
    void *(*fn)(void *);
    void *arg;
};

static struct {
    pthread_mutex_t lock; /* of the threads */
    struct thread thread[MAX_POINT_THREADS];
    int n_threads;
    struct hold {
        int thread, point;
        int n_passed; /* points; touched by this thread only */
    } first, second;
} all = { .lock = PTHREAD_MUTEX_INITIALIZER, .n_threads = 1, .first.thread = -1, .second.thread = -1 };

static _Thread_local int own; /* main: 0 */

static bool goes_on(const struct thread *t)
{
    return t->doing == RUNS || t->doing == HELD || (t->doing == JOINS && all.thread[t->joins].doing == ENDED);
}

static bool another_goes_on(bool though_held)
{
    bool any = false;

    pthread_mutex_lock(&all.lock);
    for (int i = 0; i < all.n_threads; i++)
        any |= i != own && goes_on(&all.thread[i]) && (though_held || all.thread[i].doing != HELD);
    pthread_mutex_unlock(&all.lock);
    return any;
}

static void set_doing(enum doing doing)
{
    pthread_mutex_lock(&all.lock);
    all.thread[own].doing = doing;
    pthread_mutex_unlock(&all.lock);
}

void test_point(void)
{
    if (own == all.first.thread && all.first.n_passed++ == all.first.point) {
        set_doing(HELD);
        while (another_goes_on(true))
            sched_yield();
        set_doing(RUNS);
    }
    if (own == all.second.thread && all.second.n_passed++ == all.second.point)
        while (another_goes_on(false))
            sched_yield();
}

void test_point_lock(pthread_mutex_t *lock)
{
    test_point();
    if (pthread_mutex_trylock(lock) == 0)
        return;
    set_doing(LOCKS);
    while (pthread_mutex_trylock(lock) != 0)
        sched_yield();
    set_doing(RUNS);
}

static void *run_thread(void *arg)
{
    struct thread *t = arg;

    own = (int)(t - all.thread);
    void *result = t->fn(t->arg);
    set_doing(ENDED);
    return result;
}

int test_point_create(pthread_t *id, void *(*fn)(void *), void *arg)
{
    pthread_mutex_lock(&all.lock);
    if (all.n_threads == MAX_POINT_THREADS)
        abort();
    struct thread *t = &all.thread[all.n_threads++];
    *t = (struct thread){ .doing = RUNS, .fn = fn, .arg = arg };
    const int error = pthread_create(&t->id, NULL, run_thread, t);
    *id = t->id;
    pthread_mutex_unlock(&all.lock);
    return error;
}

int test_point_join(pthread_t id)
{
    pthread_mutex_lock(&all.lock);
    for (int i = 1; i < all.n_threads; i++)
        if (pthread_equal(all.thread[i].id, id))
            all.thread[own].joins = i;
    all.thread[own].doing = JOINS;
    pthread_mutex_unlock(&all.lock);
    const int error = pthread_join(id, NULL);
    set_doing(RUNS);
    return error;
}

/* Until woken, whatever time limit there was. */
static void sleep_on(const void *word)
{
    bool sleeps = true;

    while (sleeps) {
        bool any = false;
        pthread_mutex_lock(&all.lock);
        for (int i = 0; i < all.n_threads; i++)
            any |= all.thread[i].doing == LOCKS || goes_on(&all.thread[i]);
        sleeps = all.thread[own].doing == SLEEPS && all.thread[own].sleeps_on == word;
        pthread_mutex_unlock(&all.lock);
        if (!any) {
            fprintf(stderr,
                    "a wake-up or an arrival was lost: all threads sleep\n"
                    "thread %d was held at point %d, thread %d at point %d (-1: none)\n",
                    all.first.thread, all.first.point, all.second.thread, all.second.point);
            _Exit(1);
        }
        sched_yield();
    }
}

long test_point_futex(_Atomic uint32_t *word, int op, uint32_t value, const struct timespec *limit, void *word2,
                      uint32_t value3)
{
    (void)limit, (void)word2, (void)value3;
    test_point();
    pthread_mutex_lock(&all.lock);
    const bool sleeps = (op & FUTEX_CMD_MASK) == FUTEX_WAIT && atomic_load(word) == value;
    if (sleeps)
        all.thread[own] = (struct thread){ .doing = SLEEPS, .sleeps_on = word, .id = all.thread[own].id };
    for (int i = 0; (op & FUTEX_CMD_MASK) == FUTEX_WAKE && i < all.n_threads; i++)
        if (all.thread[i].doing == SLEEPS && all.thread[i].sleeps_on == word)
            all.thread[i].doing = RUNS;
    pthread_mutex_unlock(&all.lock);
    if (sleeps)
        sleep_on(word);
    return 0;
}

static int try_holds(struct hold first, struct hold second, int (*scenario)(void *arg), void *arg)
{
    all.n_threads = 1;
    all.first = first;
    all.second = second;
    const int n_failures = scenario(arg);
    all.first.thread = all.second.thread = -1;
    return n_failures;
}

int test_points_try(int n_threads, int n_points, int (*scenario)(void *arg), void *arg)
{
    const struct hold none = { .thread = -1, .point = -1 };
    int n_failures = 0;

    for (int thread = 0; thread < n_threads; thread++)
        for (int point = 0; point < n_points; point++)
            n_failures += try_holds((struct hold){ .thread = thread, .point = point }, none, scenario, arg);
    return n_failures;
}

int test_points_try_pairs(int n_threads, int n_points, int (*scenario)(void *arg), void *arg)
{
    int n_failures = 0;

    for (int a = 1; a < n_threads; a++)
        for (int b = 1; b < n_threads; b++)
            for (int k = 0; a != b && k < n_points * n_points; k++)
                n_failures += try_holds((struct hold){ .thread = a, .point = k / n_points },
                                        (struct hold){ .thread = b, .point = k % n_points }, scenario, arg);
    return n_failures;
}
