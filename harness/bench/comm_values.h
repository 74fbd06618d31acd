/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_values.h - the inputs of ranks to a measured collective, and the check of its results.
 *
 * Invariants
 *   -   Values are whole numbers below 64, so sums are exact in any order: results are compared bit by bit.
 *   -   They repeat after COMM_VALUES_PERIOD elements, a prime. Two chunks of an array differ, unless their distance is
 *       a multiple of that. Ranks, and consecutive calls, have different values at the same place: stale data from an
 *       earlier call is detected as wrong.
 *   V3  Elements that are not part of a rank's input are COMM_POISON before the call.
 */
#ifndef HARNESS_BENCH_COMM_VALUES_H
#define HARNESS_BENCH_COMM_VALUES_H

#include <stddef.h>
#include <stdint.h>

#include "harness/base/range.h"
#include "harness/bench/comm_type.h"

enum { COMM_VALUES_PERIOD = 4093 };
#define COMM_POISON (-777.0f)

struct comm_values { /* for this rank */
    enum comm_type type;
    int rank, n_ranks, root;
    float *brought; /* [2 COMM_VALUES_PERIOD]: rank 0's input to call 0, twice */
    float *sum;     /* the same for the sums over all ranks */
};

/* type: not a barrier. RC_NOMEM. After an error v is closed. */
enum rc comm_values_open(struct comm_values *v, enum comm_type type, int rank, int n_ranks, int root) MUST_CHECK;
void comm_values_close(struct comm_values *v); /* accepts a zeroed one */
/* The part of an array of n_elems that is this rank's input: all, its chunk, or none. For sendrecv: all. */
struct range comm_values_own_part(const struct comm_values *v, size_t n_elems);
/* data[n_elems] := this rank's input to this call, surrounded by poison (bench.V3). */
void comm_values_fill(const struct comm_values *v, float *data, size_t n_elems, uint64_t call);
void comm_values_poison(float *data, size_t n_elems);
/* Number of wrong elements in data[n_elems] after this call; for a reduce-scatter only this rank's chunk counts.
 * n_times: number of consecutive allreduces on the same data, each on the previous result. */
uint64_t comm_values_wrong(const struct comm_values *v, const float *data, size_t n_elems, uint64_t call, int n_times);
/* Maximum number of consecutive calls on the same data with a result that can be checked. For an allreduce: while sums
 * are exact. For a reduce-scatter: one, because its other chunks are undefined. */
int comm_values_most_times(const struct comm_values *v);

#endif
