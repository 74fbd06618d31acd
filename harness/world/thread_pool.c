/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_pool.c - threads that share numbered tasks: an atomic counter holds the next task, one doorbell starts a
 * run and another ends it.
 *
 * A run ends only when every thread has found the counter at the end: no thread of an earlier run can still
 * take a task when the next run begins (world.T1).
 */
#include "harness/world/thread_pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "harness/world/stop.h"
#include "harness/world/wait.h"

struct pool_thread {
    struct thread_pool *pool;
    pthread_t id;
    int thread;
    struct stop_stack stack;
};

struct thread_pool {
    int n_threads, n_started; /* n_started: without the caller */
    bool may_spin;
    struct doorbell begin, end;
    _Atomic int next, n_working;
    _Atomic bool closing;
    thread_pool_fn *fn; /* of this run; written before begin is rung */
    void *arg;
    int n_tasks;
    struct pool_thread threads[];
};

static void take_tasks(struct thread_pool *pool, int thread)
{
    int task;

    while ((task = atomic_fetch_add(&pool->next, 1)) < pool->n_tasks)
        pool->fn(pool->arg, task, thread);
}

static void *pool_thread_main(void *arg)
{
    struct pool_thread *own = arg;
    struct thread_pool *pool = own->pool;
    uint32_t seen = 0; /* no run begins before all threads are started */

    stop_stack_open(&own->stack);
    for (;;) {
        while (!doorbell_wait(&pool->begin, seen, pool->may_spin, UINT64_MAX / 2))
            continue;
        seen++;
        if (atomic_load(&pool->closing))
            break;
        take_tasks(pool, own->thread);
        if (atomic_fetch_sub(&pool->n_working, 1) == 1)
            doorbell_ring(&pool->end);
    }
    stop_stack_close(&own->stack);
    return NULL;
}

enum rc thread_pool_open(struct thread_pool **out, int n_threads, bool may_spin)
{
    struct thread_pool *pool = calloc(1, sizeof *pool + (size_t)n_threads * sizeof *pool->threads);
    enum rc rc = RC_OK;

    if (!pool)
        FAIL(RC_NOMEM, "no memory for a pool of %d threads", n_threads);
    pool->n_threads = n_threads;
    pool->may_spin = may_spin;
    for (int i = 1; i < n_threads; i++) {
        struct pool_thread *own = &pool->threads[i];
        *own = (struct pool_thread){ .pool = pool, .thread = i };
        stop_stack_init(&own->stack); /* world.T4 */
        /* world.T2: inherits the caller's cores */
        const int error = pthread_create(&own->id, NULL, pool_thread_main, own);
        if (error != 0)
            stop_stack_close(&own->stack);
        if (error != 0)
            FAIL(RC_NOMEM, "cannot start thread %d of %d: %s", i + 1, n_threads, strerror(error));
        pool->n_started++;
    }
    *out = pool;
    pool = NULL;
out:
    thread_pool_close(&pool);
    return rc;
}

int thread_pool_n_threads(const struct thread_pool *pool)
{
    return pool->n_threads;
}

void thread_pool_run(struct thread_pool *pool, thread_pool_fn *fn, void *arg, int n_tasks)
{
    if (pool->n_started == 0 || n_tasks <= 1) {
        for (int task = 0; task < n_tasks; task++)
            fn(arg, task, 0);
        return;
    }
    const uint32_t seen = doorbell_seen(&pool->end);
    pool->fn = fn;
    pool->arg = arg;
    pool->n_tasks = n_tasks;
    atomic_store(&pool->next, 0);
    atomic_store(&pool->n_working, pool->n_started);
    doorbell_ring(&pool->begin);
    take_tasks(pool, 0);
    while (!doorbell_wait(&pool->end, seen, pool->may_spin, UINT64_MAX / 2))
        continue;
}

void thread_pool_close(struct thread_pool **out)
{
    struct thread_pool *pool = *out;

    *out = NULL;
    if (!pool)
        return;
    atomic_store(&pool->closing, true);
    doorbell_ring(&pool->begin);
    for (int i = 1; i <= pool->n_started; i++)
        pthread_join(pool->threads[i].id, NULL); /* can't fail: started, joined once */
    free(pool);
}
