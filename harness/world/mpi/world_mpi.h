/* SPDX-License-Identifier: Apache-2.0 */
/* world_mpi.h - what transport_mpi.c and share_mpi.c need of the mpi world. Private to harness/world and harness/net.
 */
#ifndef HARNESS_WORLD_MPI_WORLD_MPI_H
#define HARNESS_WORLD_MPI_WORLD_MPI_H

#include <mpi.h>

#include "harness/base/rc.h"

struct world;

/* The communicator of w's ranks, lent until w ends; for world_mpi.c's own use: duplicate it before
 * sending on it. MPI_COMM_NULL when w is not an mpi world. */
MPI_Comm world_mpi_comm(const struct world *w);

/* Wait until *request is done, asleep for most of the time. For bootstrap, not for messages. */
enum rc world_mpi_finish(const struct world *w, MPI_Request *request) MUST_CHECK;

/* The first rank of w on this rank's host, as the launcher counts hosts. */
int world_mpi_host_first_rank(const struct world *w);

#endif
