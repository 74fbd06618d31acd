/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_clock.h - included before mpi_clock.c and world_mpi.c where they are compiled once more for mpi_clock_test: each
 * rank is on a made-up host with a clock and kernel of its own. For tests only.
 */
#ifndef HARNESS_WORLD_SUITE_TEST_CLOCK_H
#define HARNESS_WORLD_SUITE_TEST_CLOCK_H

#include <mpi.h>
#include <stdint.h>

#include "harness/world/host_load.h"
#include "harness/world/wait.h"

uint64_t test_clock_ns(void);
void test_kernel_id(char out[HOST_KERNEL_BYTES]);
int test_host(void);

#ifdef TEST_CLOCK
#define wait_clock_ns() test_clock_ns()
#define host_kernel_id(out, root) test_kernel_id(out)
#define MPI_Comm_split_type(comm, type, key, info, out) MPI_Comm_split(comm, test_host(), key, out)
#endif

#endif
