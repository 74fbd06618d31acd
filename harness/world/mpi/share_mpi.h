/* SPDX-License-Identifier: Apache-2.0 */
/* share_mpi.h - shares of processes. Private to world_mpi.c. */
#ifndef HARNESS_WORLD_MPI_SHARE_MPI_H
#define HARNESS_WORLD_MPI_SHARE_MPI_H

#include "harness/world/share.h"

extern const struct share_ops mpi_share_ops;

#endif
