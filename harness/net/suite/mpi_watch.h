/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_watch.h - what a program's runs in its own MPI have made there and not freed. For tests only.
 *
 * A test program that has mpi_watch.c among its sources calls its functions instead of MPI's, which it calls by their
 * second name (PMPI).
 */
#ifndef HARNESS_NET_SUITE_MPI_WATCH_H
#define HARNESS_NET_SUITE_MPI_WATCH_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>

struct mpi_watch {
    int n_comms;              /* communicators made and not freed */
    atomic_int n_requests;    /* begun and not ended */
    int n_isends;             /* which may end before their message is received */
    int n_forbidden;          /* calls that begin or end MPI, or end the job, and messages in caller_bytes */
    const char *caller_bytes; /* (n_caller_bytes); NULL: none */
    size_t n_caller_bytes;
    int granted_level; /* at most, as MPI_Query_thread() tells */
    int rank;          /* in MPI_COMM_WORLD */
    MPI_Errhandler handler;
};

extern struct mpi_watch mpi_watch;

/* Initialise MPI as a program of its own would, and finalise it: the failures found by then. */
void mpi_watch_begin(void);
int mpi_watch_end(void);

/* 1, and a line on standard error, unless ok. */
int mpi_watch_expect(bool ok, const char *what, int line);
#define EXPECT(ok) mpi_watch_expect((ok), #ok, __LINE__)

#endif
