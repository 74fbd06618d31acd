/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_collective.h - MPI's own collectives on arrays of float, in place: for collective algorithms of MPI (world.W1).
 * Chunk r of an array is range_part(n_elems, n_ranks, r).
 *
 * Two forms:
 *   blocking      MPI_Allreduce and its like. The call keeps its core busy until all ranks have come, and only MPI ends
 *                 it: it has no time limit, and does not see that another rank failed or is lost. It gives no sign of
 *                 life (world.P1), so a rank that waits longer than the limit of silence counts as lost. It is made
 *                 without the lock of MPI's calls, while this rank has no other task (world.J3).
 *   non-blocking  MPI_Iallreduce and its like, tested with a back-off, as transport_mpi.c does. Any task of the rank
 *                 may call, while other tasks use MPI. A wait ends at its time limit, and when a rank failed or is
 *                 lost.
 *
 * Invariants
 *   X1  All ranks of the world call, in the same order, with the same arguments.
 *   X2  Counts of MPI are int: an array of more than `most_elems` elements takes several calls of MPI, each of at most
 *       most_elems. If one call would have chunks, each chunk is then reduced to its rank, or broadcast by it,
 *       separately.
 *   X3  MPI cannot cancel a collective: one that is given up may still write to data until the process ends. So an
 *       error is final: every later call returns it, and the caller aborts the run.
 */
#ifndef HARNESS_NET_MPI_COLLECTIVE_H
#define HARNESS_NET_MPI_COLLECTIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/rc.h"

struct mpi_collective;
struct transport;

struct mpi_collective_env {
    struct transport *transport; /* borrowed, for its world, and for what ends its waits (net.T6, T10); sends nothing
                                    here */
    bool is_blocking;
    int timeout_ms;    /* non-blocking: limit of each call of MPI; 0: none */
    size_t most_elems; /* net.X2; 1 to INT_MAX */
};

/* Makes a communicator of the world's ranks. Collective; main task. RC_UNSUPPORTED: the ranks are not MPI's; or MPI is
 * a caller's, which must continue (net.X3); or losses are reported (world.W8), and the remaining ranks could make no
 * communicator. RC_NOMEM. */
enum rc mpi_collective_open(struct mpi_collective **out, const struct mpi_collective_env *env) MUST_CHECK;
/* net.X3; communicators of a run that failed are left to MPI. NULL-safe, nulls. */
void mpi_collective_close(struct mpi_collective **m);

/* data[n_elems]: each rank's addends; then the sums, on every rank. input: the addends if they are not in data; NULL:
 * they are in it. This function and the next ones allocate nothing; MPI may. Errors: RC_INVAL, data untouched:
 * blocking, and this rank has another task; RC_TIMEOUT, RC_PEER: net.X3. */
enum rc mpi_collective_allreduce(struct mpi_collective *m, const float *input, float *data, size_t n_elems) MUST_CHECK;
/* The same; rank r ends with the sums of chunk r, its other chunks are undefined. */
enum rc mpi_collective_reduce_scatter(struct mpi_collective *m, float *data, size_t n_elems) MUST_CHECK;
/* Rank r brings chunk r; every rank ends with all chunks. */
enum rc mpi_collective_allgather(struct mpi_collective *m, float *data, size_t n_elems) MUST_CHECK;
enum rc mpi_collective_broadcast(struct mpi_collective *m, float *data, size_t n_elems, int root) MUST_CHECK;

#endif
