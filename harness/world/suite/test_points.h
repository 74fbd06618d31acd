/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_points.h - run a scenario once for every interleaving that holds one thread, or two, at one point. For tests
 * only.
 *
 * A test compiles a product file once more with this header included before it (-include). Each atomic operation,
 * doorbell ring, lock and futex call is then a point, at which a test can hold one thread until no other can continue:
 * a rank that runs ahead, or a ring that comes too early, happens in every run of the test. Futexes are simulated: a
 * sleep never ends by its time limit, and when all threads sleep at once, a wake-up or an arrival was lost: the program
 * prints that and exits with 1.
 *
 * Reads no clock. Spinning reads (atomic_load_explicit) are no points.
 */
#ifndef HARNESS_WORLD_SUITE_TEST_POINTS_H
#define HARNESS_WORLD_SUITE_TEST_POINTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "harness/world/wait.h"

/* Run the scenario once for every thread (in the order of their creation, 0: main) and every point of it from 0 to
 * n_points - 1, where it is held until no other thread can go on. Returns the failures that the scenario counted. A
 * thread that has fewer points is held nowhere. */
int test_points_try(int n_threads, int n_points, int (*scenario)(void *arg), void *arg);
/* Likewise for every two threads but main, held at once: the second goes on when it is the only one that can, the first
 * when then no other can. So the second, about to sleep, reads a state that the first has changed only in part. */
int test_points_try_pairs(int n_threads, int n_points, int (*scenario)(void *arg), void *arg);

void test_point(void);
void test_point_lock(pthread_mutex_t *lock);
int test_point_create(pthread_t *id, void *(*fn)(void *), void *arg);
int test_point_join(pthread_t id);
long test_point_futex(_Atomic uint32_t *word, int op, uint32_t value, const struct timespec *limit, void *word2,
                      uint32_t value3);

/* Defined for the files that are compiled once more. TEST_POINTS_WAIT: for wait.c, whose rings are its own. */
#if defined TEST_POINTS || defined TEST_POINTS_WAIT
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/world/cores.h"
#undef atomic_load
#undef atomic_store
#undef atomic_exchange
#undef atomic_fetch_add
#undef atomic_fetch_sub
#undef atomic_compare_exchange_strong
#undef atomic_store_explicit
#define atomic_load(p) (test_point(), atomic_load_explicit(p, memory_order_seq_cst))
#define atomic_exchange(p, v) (test_point(), atomic_exchange_explicit(p, v, memory_order_seq_cst))
#define atomic_fetch_add(p, v) (test_point(), atomic_fetch_add_explicit(p, v, memory_order_seq_cst))
#define atomic_fetch_sub(p, v) (test_point(), atomic_fetch_sub_explicit(p, v, memory_order_seq_cst))
#define atomic_compare_exchange_strong(p, e, v) \
    (test_point(), atomic_compare_exchange_strong_explicit(p, e, v, memory_order_seq_cst, memory_order_seq_cst))
#ifdef __clang__
#define atomic_store_explicit(p, v, order) (test_point(), __c11_atomic_store(p, v, order))
#else
#define atomic_store_explicit(p, v, order) (test_point(), __atomic_store_n(p, v, (int)(order)))
#endif
#define atomic_store(p, v) atomic_store_explicit(p, v, memory_order_seq_cst)
#define pthread_mutex_lock(lock) test_point_lock(lock)
#define pthread_create(id, attributes, fn, arg) test_point_create(id, fn, arg)
#define pthread_join(id, out) test_point_join(id)
#define syscall(number, word, op, value, ...) test_point_futex(word, op, (uint32_t)(value), __VA_ARGS__)
#define cores_allowed_count() 1 /* nobody spins */
#endif
#ifdef TEST_POINTS
#define doorbell_ring(bell) (test_point(), doorbell_ring(bell))
#define doorbell_seen(bell) (test_point(), doorbell_seen(bell))
#endif

#endif
