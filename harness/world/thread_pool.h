/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_pool.h - the threads of one rank: a parallel loop over numbered tasks.
 *
 * The threads are not ranks: they share the rank's memory and cores, and use no world. Not used in sim.
 *
 * Invariants
 *   T1  thread_pool_run() returns when every task 0 .. n_tasks-1 was run once. Which thread runs which task is not
 *       defined; tasks must not depend on one another.
 *   T2  Threads run on the cores of the thread that opened the pool.
 *   T3  Between runs the threads spin for about 100 us (where may_spin), then sleep in the kernel.
 *   T4  Nothing allocates after open.
 */
#ifndef HARNESS_WORLD_THREAD_POOL_H
#define HARNESS_WORLD_THREAD_POOL_H

#include <stdbool.h>

#include "harness/base/rc.h"

struct thread_pool;

/* arg: that of thread_pool_run(). task: 0 .. n_tasks-1. thread: 0 .. n_threads-1, which runs the task (0: the
 * caller); it may index scratch memory of one per thread. */
typedef void thread_pool_fn(void *arg, int task, int thread);

/* n_threads >= 1, including the caller; 1 starts none. may_spin: there is a core for each. RC_NOMEM. */
enum rc thread_pool_open(struct thread_pool **out, int n_threads, bool may_spin) MUST_CHECK;
int thread_pool_n_threads(const struct thread_pool *pool);
/* Run fn for every task 0 .. n_tasks-1; returns when all have run. Called by the opener only. Cannot fail. */
void thread_pool_run(struct thread_pool *pool, thread_pool_fn *fn, void *arg, int n_tasks);
void thread_pool_close(struct thread_pool **pool); /* NULL-safe, nulls */

#endif
