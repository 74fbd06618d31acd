/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_datatype.h - a message of any length for MPI, whose counts are int. Private to transport_mpi.c. */
#ifndef HARNESS_NET_MPI_DATATYPE_H
#define HARNESS_NET_MPI_DATATYPE_H

#include <mpi.h>
#include <stddef.h>

#include "harness/base/rc.h"

struct world;

/* The datatype and count for MPI to send n_bytes. *own is a new datatype, which the caller frees
 * (world_mpi_type_free()), or MPI_DATATYPE_NULL. RC_INVAL: too many bytes for one message. */
enum rc mpi_datatype_of(const struct world *w, size_t n_bytes, MPI_Datatype *type, int *n_items,
                        MPI_Datatype *own) MUST_CHECK;

#endif
