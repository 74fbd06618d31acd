/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_values.h - what ranks bring to a collective that is measured, and how much of what they get is wrong.
 *
 * Invariants
 *   V1  Values are whole numbers below 64, so sums are exact in any order: results are compared bit by bit.
 *   V2  They repeat after COMM_VALUES_PERIOD elements, a prime: no chunk of an array looks like another one, unless it
 *       lies a multiple of that away. Ranks, and calls one after the other, have other values at the same place: what
 *       an earlier call left behind is wrong.
 *   V3  What a rank does not bring is COMM_POISON before the call.
 */
#ifndef HARNESS_BENCH_COMM_VALUES_H
#define HARNESS_BENCH_COMM_VALUES_H

#include <stddef.h>
#include <stdint.h>

#include "harness/base/range.h"
#include "harness/bench/comm_type.h"

enum { COMM_VALUES_PERIOD = 4093 };
#define COMM_POISON (-777.0f)

struct comm_values { /* of this rank */
    enum comm_type type;
    int rank, n_ranks, root;
    float *brought; /* [2 COMM_VALUES_PERIOD]: what rank 0 brings to call 0, twice */
    float *sum;     /* the same of the sums over all ranks */
};

/* type: not a barrier. RC_NOMEM. v is closed on errors, too. */
enum rc comm_values_open(struct comm_values *v, enum comm_type type, int rank, int n_ranks, int root) MUST_CHECK;
void comm_values_close(struct comm_values *v); /* of a zeroed one, too */
/* The part of an array of n_elems that this rank brings: all, its chunk, or none. Of sendrecv: all. */
struct range comm_values_own_part(const struct comm_values *v, size_t n_elems);
/* data[n_elems] := what this rank brings to this call, poison around it (V3). */
void comm_values_fill(const struct comm_values *v, float *data, size_t n_elems, uint64_t call);
void comm_values_poison(float *data, size_t n_elems);
/* How many elements of data[n_elems] are wrong after this call; of a reduce-scatter those of this rank's chunk count.
 * n_times: an allreduce was made so often on the same data, one on the result of the other. */
uint64_t comm_values_wrong(const struct comm_values *v, const float *data, size_t n_elems, uint64_t call, int n_times);
/* The most calls on the same data one after the other whose result can still be told: of an allreduce while sums are
 * exact, of a reduce-scatter, whose other chunks are undefined, one. */
int comm_values_most_times(const struct comm_values *v);

#endif
