/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_check.h - translate MPI's error codes to enum rc at the call. Private to harness/world and harness/net.
 *
 * Works only on communicators whose error handler is MPI_ERRORS_RETURN: every one this project makes.
 */
#ifndef HARNESS_WORLD_MPI_MPI_CHECK_H
#define HARNESS_WORLD_MPI_MPI_CHECK_H

#include "harness/base/rc.h"
#include "harness/world/mpi/mpi_lock.h"

/* Raises MPI's error `code`: RC_MISMATCH for a truncated message, RC_NOMEM, else RC_PEER. Calls MPI: the caller holds
 * the lock, if there is one. */
enum rc mpi_raise(int code, const char *file, int line, const char *call) MUST_CHECK;

/* A call that returns at once, under the rank's lock. Needs a local `enum rc rc` and a label `out`. */
#define TRY_MPI(lock, call)                                                                      \
    do {                                                                                         \
        mpi_lock_take(lock);                                                                     \
        const int mpi_code_ = (call);                                                            \
        rc = mpi_code_ == MPI_SUCCESS ? RC_OK : mpi_raise(mpi_code_, __FILE__, __LINE__, #call); \
        mpi_lock_give(lock);                                                                     \
        if (rc != RC_OK)                                                                         \
            goto out;                                                                            \
    } while (0)

/* A call that may wait inside MPI, without the lock: the rank has no task but its main one (world.J3). */
#define TRY_MPI_ALONE(call)                                       \
    do {                                                          \
        const int mpi_code_ = (call);                             \
        if (mpi_code_ != MPI_SUCCESS) {                           \
            rc = mpi_raise(mpi_code_, __FILE__, __LINE__, #call); \
            goto out;                                             \
        }                                                         \
    } while (0)

#endif
