/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_ceiling.h - what the memory of a host allows the collectives of its ranks: each input read once, each output
 * written once, by all ranks at once, each its slice, and nobody waits for another.
 *
 *     type            a rank reads        and writes, of an array of n elements and p ranks
 *     allreduce       p slices of n / p   p slices: the sum, where the addends were
 *     reduce-scatter  p slices            one slice
 *     allgather       one slice           p - 1 slices
 *     broadcast       one slice           p - 1 slices
 *     sendrecv        n elements          n others
 *
 * The slices are of private memory: what it costs to reach another rank's is not in the ceiling.
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
    struct compute *compute; /* adds */
    float *data;             /* [n_elems]; of sendrecv: what is written. NULL: nothing is touched */
    const float *other;      /* [n_elems], sendrecv: what is read */
    size_t n_elems;
};

/* This rank's part. */
void comm_one_pass(const struct comm_one_pass *p);
/* What that reads and writes. Pure. */
uint64_t comm_one_pass_bytes(enum comm_type type, int n_ranks, size_t n_elems);
/* host_of[n_ranks]: messages that leave a host at once when each rank sends to the next one, of the host that has most;
 * 0: all are on one. Pure. O(n_ranks^2). */
int comm_link_streams(const int *host_of, int n_ranks);

#endif
