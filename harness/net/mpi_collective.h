/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_collective.h - MPI's own collectives on arrays of float, in place: what a collective algorithm that is MPI's
 * calls (world.W1). Chunk r of an array is range_part(n_elems, n_ranks, r).
 *
 * Two forms:
 *   blocking      MPI_Allreduce and its like. The call keeps its core busy until all ranks have come, and only MPI ends
 *                 it: it has no time limit, does not see that another rank failed or is lost, and gives no sign of life
 *                 (peers.P1), so that a rank that waits longer than the limit of silence is taken for lost. It is made
 *                 without the lock of MPI's calls, while this rank has no other task (mpi_lock.L3).
 *   non-blocking  MPI_Iallreduce and its like, tested with a back-off, as transport_mpi.c does: any task of the rank,
 *                 beside others that use MPI; a wait ends at its time limit, and when a rank failed or is lost.
 *
 * Invariants
 *   X1  All ranks of the world call, in the same order, with the same arguments.
 *   X2  Counts of MPI are int: an array of more than `most_elems` elements takes several calls of MPI, of so many at
 *       most. Where chunks would be of one call, each is then reduced to its rank, or broadcast by it, by itself.
 *   X3  MPI cannot take back a collective: one that is given up may still write to data until the process ends. So an
 *       error is the last thing to happen: every later call returns it, and the caller aborts the run.
 */
#ifndef HARNESS_NET_MPI_COLLECTIVE_H
#define HARNESS_NET_MPI_COLLECTIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/rc.h"

struct mpi_collective;
struct transport;

struct mpi_collective_env {
    struct transport *transport; /* borrowed: its world, and what ends its waits (T6, T10); it sends nothing here */
    bool is_blocking;
    int timeout_ms;    /* non-blocking: of each call of MPI; 0: none */
    size_t most_elems; /* X2; 1 to INT_MAX */
};

/* A communicator of the world's ranks. Collective; main task. RC_UNSUPPORTED: the ranks are not MPI's, or MPI is a
 * caller's, who has to live on (X3), or losses are to be reported (world.W8): the ranks that are left could make no
 * communicator. RC_NOMEM. */
enum rc mpi_collective_open(struct mpi_collective **out, const struct mpi_collective_env *env) MUST_CHECK;
/* X3; communicators of a run that failed are left to MPI. NULL-safe, nulls. */
void mpi_collective_close(struct mpi_collective **m);

/* data[n_elems]: each rank's addends; then the sums, on every rank. input: the addends, apart from data; NULL: they are
 * in it. Allocates nothing, nor do those below; MPI may.
 * RC_INVAL, data untouched: blocking, and this rank has another task. RC_TIMEOUT, RC_PEER: X3. */
enum rc mpi_collective_allreduce(struct mpi_collective *m, const float *input, float *data, size_t n_elems) MUST_CHECK;
/* The same; rank r ends with the sums of chunk r, its other chunks are undefined. */
enum rc mpi_collective_reduce_scatter(struct mpi_collective *m, float *data, size_t n_elems) MUST_CHECK;
/* Rank r brings chunk r; all end with all chunks. */
enum rc mpi_collective_allgather(struct mpi_collective *m, float *data, size_t n_elems) MUST_CHECK;
enum rc mpi_collective_broadcast(struct mpi_collective *m, float *data, size_t n_elems, int root) MUST_CHECK;

#endif
