/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_level.h - the thread level that MPI grants if the highest one is requested; to inspect a machine before a run. */
#ifndef HARNESS_WORLD_MPI_LEVEL_H
#define HARNESS_WORLD_MPI_LEVEL_H

#include <stddef.h>

/* "MPI_THREAD_MULTIPLE of MPI_THREAD_MULTIPLE, asked for without a launcher", or why that is unknown: MPI is not built
 * in; this process was launched, and a run will show it; MPI could not be initialised, or took longer than 20 s. Asks
 * in a copy of this process, which must have no thread of ours. Cannot fail. */
void mpi_level_text(char *out, size_t n_bytes);

#endif
