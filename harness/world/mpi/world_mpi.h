/* SPDX-License-Identifier: Apache-2.0 */
/* world_mpi.h - the interface of the mpi world for transport_mpi.c and share_process.c. Private to harness/world and
 * harness/net.
 */
#ifndef HARNESS_WORLD_MPI_WORLD_MPI_H
#define HARNESS_WORLD_MPI_WORLD_MPI_H

#include <mpi.h>

#include "harness/base/rc.h"
#include "harness/world/mpi/mpi_lock.h"

struct world;

bool world_is_mpi(const struct world *w);
/* The lock of every MPI call of this rank, lent until the run ends. */
struct mpi_lock *world_mpi_lock(const struct world *w);

/* Is MPI a caller's (world_opts.mpi_comm)? Then MPI only reads and writes memory of a request, never a caller's; sends
 * are synchronous; and a request that MPI has not ended is left to the world, which ends no process (world.M1,
 * M2). */
bool world_mpi_is_attached(const struct world *w);
struct mpi_left { /* first member of what malloc() allocates for one request */
    MPI_Request request;
    void *memory; /* freed with it; may be NULL */
    struct mpi_left *next;
};
/* In a caller's MPI, and with ON_LOSS_REPORT: the memory of a request that is given up stays MPI's until the run, or
 * the process, ends. Otherwise MPI may get the caller's memory. */
bool world_mpi_owns_memory(const struct world *w);
void world_mpi_leave(struct world *w, struct mpi_left *left);

/* out[i] := a communicator of w's ranks, for the caller's messages, that returns errors; i < n. Collective over w; by
 * the main task, while other tasks may run. On errors some may be made. */
enum rc world_mpi_comms_open(struct world *w, MPI_Comm *out, int n) MUST_CHECK;
/* Not collective. Ignores MPI_COMM_NULL; nulls. */
void world_mpi_comm_close(struct world *w, MPI_Comm *comm);

/* Waits until *request is done, mostly asleep. For bootstrap, not for messages. */
enum rc world_mpi_finish(const struct world *w, MPI_Request *request) MUST_CHECK;
/* Ignores MPI_DATATYPE_NULL; nulls. */
void world_mpi_type_free(const struct world *w, MPI_Datatype *type);

/* "MPI_THREAD_FUNNELED" */
const char *world_mpi_level_name(int level);

#endif
