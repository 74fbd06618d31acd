/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_lock.h - the lock that all MPI calls of a rank pass. Private to harness/world and harness/net.
 *
 * MPI_THREAD_SERIALIZED lets any task of a rank call MPI, one at a time. A rank without such tasks
 * (world_opts.has_tasks) takes no lock.
 *
 * Invariants
 *   J1  While tasks may run, no thread is inside MPI without the lock: TRY_MPI() and the code between
 *       mpi_lock_take() and mpi_lock_give().
 *   -   No task waits for another rank with the lock held. With the lock held a call of MPI returns at once: it begins
 *       an operation or tests one. A wait tests again and again, with mpi_lock_pause() between.
 *   J3  Calls that wait inside MPI (MPI_Init_thread, MPI_Comm_split ...) take no lock: they are made while the rank
 *       has no task but its main one (TRY_MPI_ALONE()).
 */
#ifndef HARNESS_WORLD_MPI_MPI_LOCK_H
#define HARNESS_WORLD_MPI_MPI_LOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "harness/world/wait.h"

struct mpi_lock { /* one per rank */
    bool is_used;
    _Atomic int n_waiting; /* tasks that found it taken */
    pthread_t main;        /* if the lock is not used: the only thread that may call MPI */
    pthread_mutex_t mutex;
};

/* By the main task of the rank. Cannot fail. */
void mpi_lock_init(struct mpi_lock *lock, bool is_used);
void mpi_lock_fini(struct mpi_lock *lock);
void mpi_lock_wait(struct mpi_lock *lock); /* mpi_lock_take() of a lock that is taken */

static inline void mpi_lock_take(struct mpi_lock *lock)
{
    if (lock->is_used && pthread_mutex_trylock(&lock->mutex) != 0)
        mpi_lock_wait(lock);
}

static inline void mpi_lock_give(struct mpi_lock *lock)
{
    if (lock->is_used)
        (void)pthread_mutex_unlock(&lock->mutex); /* can't fail: it is held */
}

/* May this thread call MPI? */
static inline bool mpi_lock_admits(const struct mpi_lock *lock)
{
    return lock->is_used || pthread_equal(lock->main, pthread_self());
}

/* Calls backoff_pause() between two tests; does not spin while another task waits for the lock, which it would rarely
 * get. */
static inline void mpi_lock_pause(struct mpi_lock *lock, struct backoff *backoff, uint64_t max_sleep_ns)
{
    if (lock->is_used && atomic_load_explicit(&lock->n_waiting, memory_order_relaxed) > 0)
        backoff->may_spin = false;
    backoff_pause(backoff, max_sleep_ns);
}

#endif
