/* SPDX-License-Identifier: Apache-2.0 */
/* allreduce_bench.h - one allreduce over all ranks of a test, in their order or another; it is timed and its sum is
 * checked. */
#ifndef HARNESS_ACCEPT_ALLREDUCE_BENCH_H
#define HARNESS_ACCEPT_ALLREDUCE_BENCH_H

#include "harness/accept/stages.h"
#include "harness/exchange/collective.h"

struct allreduce_bench { /* of one rank; owned except for env, world and ops */
    struct stage_env *env;
    struct world *world; /* all ranks of env->world, in the order in which they sum */
    const struct collective_ops *ops;
    struct transport *transport;
    struct compute *host; /* works on messages if env->compute cannot; else NULL */
    struct collective *collective;
    float *host_data, *data; /* [max_elems]: host copy; summed data: the same, or of a device. NULL: no data */
    void *device_data;
    size_t max_elems;
    size_t n_elems;         /* of the last checked vector */
    struct wrong_sum wrong; /* of this rank, since allreduce_bench_keep_wrong() */
};

/* For vectors of at most max_elems. Collective. Errors: those of the transport and the collective; out is then zeroed.
 */
enum rc allreduce_bench_open(struct allreduce_bench *out, struct stage_env *env, struct world *world,
                             const struct collective_ops *ops, size_t max_elems) MUST_CHECK;
/* Time one allreduce. *took_s on rank 0 of env->world: the time of the slowest rank. Collective. Wrong sums are
 * counted. Errors: as above. */
enum rc allreduce_bench_time(double *took_s, struct allreduce_bench *b, size_t n_elems) MUST_CHECK;
/* Add the wrong sums of all ranks to the acceptance of rank 0. They cover n_checks vectors of one length, timed since
 * the last call. Collective over env->world. RC_NOMEM. */
enum rc allreduce_bench_keep_wrong(struct allreduce_bench *b, int n_checks) MUST_CHECK;
void allreduce_bench_close(struct allreduce_bench *b); /* accepts a zeroed one */
/* Bytes that cross a bus of n_ranks in the sum of n_elems: S x 2 (n - 1) / n; divided by the time it is busbw. */
static inline double allreduce_bus_bytes(size_t n_elems, int n_ranks)
{
    return (double)(n_elems * sizeof(float)) * 2 * (n_ranks - 1.0) / n_ranks;
}

#endif
