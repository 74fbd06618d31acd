/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_clock.h - one clock for processes on several hosts. Private to world_mpi.c. */
#ifndef HARNESS_WORLD_MPI_MPI_CLOCK_H
#define HARNESS_WORLD_MPI_MPI_CLOCK_H

#include <mpi.h>
#include <stdint.h>

#include "harness/base/rc.h"

/* The offset from this host's CLOCK_MONOTONIC to that of rank 0's host. 0 if both run on one kernel; else estimated
 * once: the error is at most half the shortest of 50 round trips, plus the drift since. Collective over comm; host_comm
 * holds its ranks of this host. RC_NOMEM: on all of them. */
enum rc mpi_clock_offset(MPI_Comm comm, MPI_Comm host_comm, int64_t *out_ns) MUST_CHECK;

/* What rank 0's clock shows when this host's shows local_ns. Pure. */
uint64_t mpi_clock_common_ns(uint64_t local_ns, int64_t offset_ns);

#endif
