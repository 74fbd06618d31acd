/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_lock.c - the lock of a rank's MPI calls; the contract is in mpi_lock.h. */
#include "harness/world/mpi/mpi_lock.h"

void mpi_lock_init(struct mpi_lock *lock, bool is_used)
{
    lock->is_used = is_used;
    atomic_init(&lock->n_waiting, 0);
    lock->main = pthread_self();
    pthread_mutex_init(&lock->mutex, NULL);
}

void mpi_lock_fini(struct mpi_lock *lock)
{
    pthread_mutex_destroy(&lock->mutex);
}

void mpi_lock_wait(struct mpi_lock *lock)
{
    atomic_fetch_add(&lock->n_waiting, 1);
    pthread_mutex_lock(&lock->mutex);
    atomic_fetch_sub(&lock->n_waiting, 1);
}
