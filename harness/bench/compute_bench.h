/* SPDX-License-Identifier: Apache-2.0 */
/* compute_bench.h - how fast ranks compute while all of them do, and how much equal work varies. */
#ifndef HARNESS_BENCH_COMPUTE_BENCH_H
#define HARNESS_BENCH_COMPUTE_BENCH_H

#include "harness/bench/jitter_fit.h"
#include "harness/compute/compute.h"
#include "harness/world/world.h"

enum { COMPUTE_BENCH_REPEATS = 200 };

struct compute_spread { /* over ranks */
    double least, median, most;
};

struct compute_bench { /* of all ranks; on rank 0, zeros elsewhere */
    struct compute_spread flops_per_s, memory_bytes_per_s;
    double work_s; /* median over ranks of one of the repeats, of which jitter is */
    struct jitter_fit jitter;
};

/* Of every rank's compute, all at once: the fastest GEMM of 1024 rows and more (gemm.h); the bytes that the optimiser's
 * update with momentum counts (update.h), over the median of its times; and COMPUTE_BENCH_REPEATS times the same GEMMs
 * of about 5 ms, as steps of a run (peers.h), each rank's in multiples of its own median. In virtual time a GEMM each.
 * Collective. RC_NOMEM, RC_DEVICE, RC_PEER. */
enum rc compute_bench_measure(struct compute_bench *out, struct world *w, struct compute *c) MUST_CHECK;

#endif
