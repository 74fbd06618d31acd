/* SPDX-License-Identifier: Apache-2.0 */
/*
 * noise.h - how much slower than described a rank computes: stragglers, and jitter from step to step. Pure functions.
 *
 * Invariants
 *   V1  The same cluster, with its seed, rank and step give the same factor, to the bit, in any order of calls. Factors
 *       of different ranks and steps are independent.
 *   V2  A factor is at least 1: jitter only adds time, so that no run is faster than its parts allow. Its mean is 1 +
 *       jitter_ratio (times straggler_ratio).
 */
#ifndef HARNESS_CLUSTER_NOISE_H
#define HARNESS_CLUSTER_NOISE_H

#include "harness/cluster/cluster.h"

/* Factor on the compute time of worker `rank` of n_workers in every step; higher ranks are servers: 1. */
double noise_straggler_ratio(const struct cluster *c, int rank, int n_workers);
/* Factor on the compute time of worker `rank` of n_workers in its step 0, if workers start spread; else 1. */
double noise_start_ratio(const struct cluster *c, int rank, int n_workers, int64_t step);
/* Factor on a worker's compute time in this step; step < 0 (outside of steps): 1. */
double noise_step_ratio(const struct cluster *c, int rank, int64_t step);

#endif
