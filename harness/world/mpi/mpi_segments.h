/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_segments.h - the files by which Open MPI's processes of a host share memory (its BTL "vader": 4 MiB each). They
 * are removed in MPI_Finalize() alone: a job that ends without it would leave them in /dev/shm.
 */
#ifndef HARNESS_WORLD_MPI_MPI_SEGMENTS_H
#define HARNESS_WORLD_MPI_MPI_SEGMENTS_H

/* Remove the names of those that this process has mapped, its own and other ranks'. Memory stays mapped wherever it is.
 * For a process that is about to end without MPI_Finalize(), in a job that has begun everywhere. Cannot fail; another
 * MPI has no such files. */
void mpi_segments_remove(void);

#endif
