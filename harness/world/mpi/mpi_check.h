/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_check.h - translate MPI's error codes to enum rc at the call. Private to harness/world and harness/net.
 *
 * Works only on communicators whose error handler is MPI_ERRORS_RETURN: every one this project makes.
 */
#ifndef HARNESS_WORLD_MPI_MPI_CHECK_H
#define HARNESS_WORLD_MPI_MPI_CHECK_H

#include "harness/base/rc.h"

/* Raise what MPI says about `code`: RC_MISMATCH for a truncated message, RC_NOMEM, else RC_PEER. */
enum rc mpi_raise(int code, const char *file, int line, const char *call) MUST_CHECK;

/* Needs a local `enum rc rc` and a label `out`. */
#define TRY_MPI(call)                                             \
    do {                                                          \
        const int mpi_code_ = (call);                             \
        if (mpi_code_ != MPI_SUCCESS) {                           \
            rc = mpi_raise(mpi_code_, __FILE__, __LINE__, #call); \
            goto out;                                             \
        }                                                         \
    } while (0)

#endif
