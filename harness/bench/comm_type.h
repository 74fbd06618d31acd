/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_type.h - the operations that `gradmark comm` can measure; bytes are counted like in nccl-tests.
 *
 *     type            S, the bytes of a row                 factor of the bus bandwidth
 *     allreduce       of each rank's array                  2 (n - 1) / n
 *     broadcast       of the root's array                   1
 *     allgather       of the array that all end with        (n - 1) / n
 *     reduce-scatter  of the array that each brings         (n - 1) / n
 *     barrier         none                                  0
 *     sendrecv        that each rank sends                  1
 *
 * algbw = S / t, busbw = algbw x factor: the load of a link in each direction, if an algorithm moves no byte twice.
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
/* RC_INVAL names the nearest valid name. */
enum rc comm_type_find(enum comm_type *out, const char *name) MUST_CHECK;
/* The type of an algorithm (enum collective_type); 0: barrier, sendrecv, which reducers do not have. */
unsigned comm_collective_type(enum comm_type type);
double comm_bus_factor(enum comm_type type, int n_ranks);
/* The column "count" of nccl-tests, for n_elems in total: for allgather and reduce-scatter each rank's part, the
 * largest if parts differ. */
size_t comm_counted_elems(enum comm_type type, size_t n_elems, int n_ranks);
/* Does the operation compute sums? */
bool comm_sums(enum comm_type type);

#endif
