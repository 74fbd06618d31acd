/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_type.h - what `gradmark comm` can measure, and how nccl-tests counts its bytes.
 *
 *     type            S, the bytes of a row                 factor of the bus bandwidth
 *     allreduce       of each rank's array                  2 (n - 1) / n
 *     broadcast       of the root's array                   1
 *     allgather       of the array that all end with        (n - 1) / n
 *     reduce-scatter  of the array that each brings         (n - 1) / n
 *     barrier         none                                  0
 *     sendrecv        that each rank sends                  1
 *
 * algbw = S / t, busbw = algbw x factor: what a link carries each way where an algorithm moves no byte twice.
 */
#ifndef HARNESS_BENCH_COMM_TYPE_H
#define HARNESS_BENCH_COMM_TYPE_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/rc.h"

enum comm_type {
    COMM_ALLREDUCE,
    COMM_BROADCAST,
    COMM_ALLGATHER,
    COMM_REDUCE_SCATTER,
    COMM_BARRIER,
    COMM_SENDRECV,
    COMM_N_TYPES
};

/* "reduce-scatter". Cannot fail. */
const char *comm_type_name(enum comm_type type);
/* RC_INVAL names the nearest. */
enum rc comm_type_find(enum comm_type *out, const char *name) MUST_CHECK;
/* The type of an algorithm (enum collective_type); 0: barrier, sendrecv, which reducers do not do. */
unsigned comm_collective_type(enum comm_type type);
double comm_bus_factor(enum comm_type type, int n_ranks);
/* The column count of nccl-tests, of n_elems in all: of allgather and reduce-scatter each rank's part, of the largest
 * where parts differ. */
size_t comm_counted_elems(enum comm_type type, size_t n_elems, int n_ranks);
/* Does it add? */
bool comm_sums(enum comm_type type);

#endif
