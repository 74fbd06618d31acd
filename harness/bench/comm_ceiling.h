/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_ceiling.h - the memory ceiling of a host for the collectives of its ranks. Each input is read once and each
 * output written once. All ranks work at once, each on its slice, without waits.
 *
 *     type            a rank reads        and writes, of an array of n elements and p ranks
 *     allreduce       p slices of n / p   p slices: the sum, where the addends were
 *     reduce-scatter  p slices            one slice
 *     allgather       one slice           p - 1 slices
 *     broadcast       one slice           p - 1 slices
 *     sendrecv        n elements          n others
 *
 * The slices are in private memory: the cost to reach another rank's memory is not in the ceiling.
 */
#ifndef HARNESS_BENCH_COMM_CEILING_H
#define HARNESS_BENCH_COMM_CEILING_H

#include <stddef.h>
#include <stdint.h>

#include "harness/bench/comm_type.h"

struct compute;

struct comm_one_pass {
    enum comm_type type;
    int n_ranks;
    struct compute *compute; /* does the sums */
    float *data;             /* [n_elems]; for sendrecv: the output. NULL: no memory is touched */
    const float *other;      /* [n_elems], for sendrecv: the input */
    size_t n_elems;
};

/* Do this rank's part. */
void comm_one_pass(const struct comm_one_pass *p);
/* Bytes that comm_one_pass() reads and writes. Pure. */
uint64_t comm_one_pass_bytes(enum comm_type type, int n_ranks, size_t n_elems);
/* host_of[n_ranks]: number of messages that leave a host at once if each rank sends to the next one, maximum over
 * hosts; 0: all ranks are on one host. Pure. O(n_ranks^2). */
int comm_link_streams(const int *host_of, int n_ranks);

#endif
