/* SPDX-License-Identifier: Apache-2.0 */
/* compute_bench.h - the compute speed of ranks while all ranks compute, and the variation of equal work. */
#ifndef HARNESS_BENCH_COMPUTE_BENCH_H
#define HARNESS_BENCH_COMPUTE_BENCH_H

#include "harness/bench/jitter_fit.h"
#include "harness/compute/compute.h"
#include "harness/world/world.h"

enum { COMPUTE_BENCH_REPEATS = 200 };

struct compute_spread { /* over ranks */
    double least, median, most;
};

struct compute_bench { /* over all ranks; on rank 0, zeros elsewhere */
    struct compute_spread flops_per_s, memory_bytes_per_s;
    double work_s; /* median over ranks of one repeat; the basis of jitter */
    struct jitter_fit jitter;
};

/* Measure every rank's compute, all at once. First the fastest GEMM of 1024 rows and more (gemm.h). Then the bytes
 * counted for the optimiser's update with momentum (update.h), over the median of its times. Then COMPUTE_BENCH_REPEATS
 * repeats of the same GEMMs of about 5 ms, as steps of a run (peers.h); each rank's times are relative to its own
 * median. In virtual time one GEMM each. Collective. RC_NOMEM, RC_DEVICE, RC_PEER. */
enum rc compute_bench_measure(struct compute_bench *out, struct world *w, struct compute *c) MUST_CHECK;

#endif
