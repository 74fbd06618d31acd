/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_peers.h - a thread of each process that watches the ranks of the run (peers.h): those of its host in memory that
 * they share, those of others by heartbeats over TCP (mpi_heartbeat.h). Private to harness/world/mpi.
 *
 * It calls no MPI, and asks nothing of the launcher. Where a rank is lost, mpi_peers_check() fails, and so do this
 * process's waits; a process that has not ended some seconds later is stuck in a call, and is ended here.
 */
#ifndef HARNESS_WORLD_MPI_MPI_PEERS_H
#define HARNESS_WORLD_MPI_MPI_PEERS_H

#include <stdbool.h>

#include "harness/base/rc.h"
#include "harness/world/peers.h"

struct world;
struct mpi_peers;

/* Begin to watch; sets w->peers. With w->losses the loss of a rank is entered there, that of a process of this host
 * also when it has ended, and one that has not is killed; the loss of rank 0 or of this rank, and world_abort() of any,
 * end the run. Collective over w. Where the ranks of a host cannot share memory, the first of the host says why, and
 * they are heard of as if each had a host of its own. */
enum rc mpi_peers_open(struct mpi_peers **out, struct world *w, const struct peer_opts *opts) MUST_CHECK;
/* RC_PEER once the run has failed by the loss of a rank, and names it. Cheap. NULL-safe (RC_OK). */
enum rc mpi_peers_check(const struct mpi_peers *p) MUST_CHECK;
/* Is this rank itself one that was lost, and the run goes on without it? NULL-safe (false). */
bool mpi_peers_lost_self(const struct mpi_peers *p);
/* With w->losses: this rank has failed; tell the others, who end. NULL-safe. */
void mpi_peers_fail(struct mpi_peers *p);
/* All ranks have met for the last time: nobody is silent any more. What is left has opts.abort_ns to end, else the
 * process is ended. NULL-safe. */
void mpi_peers_leave(struct mpi_peers *p);
/* Nothing is watched any more. NULL-safe, nulls. */
void mpi_peers_close(struct mpi_peers **p);

#endif
