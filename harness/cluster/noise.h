/* SPDX-License-Identifier: Apache-2.0 */
/*
 * noise.h - how much longer than described a rank computes: stragglers, and jitter from step to step. Pure functions.
 *
 * Invariants
 *   V1  The same cluster, with its seed, rank and step give the same factor, to the bit, in whatever order they are
 *       asked for; those of different ranks and steps are independent.
 *   V2  A factor is at least 1: jitter only ever adds time, so that no run beats what its parts could do. Its mean is
 *       1 + jitter_ratio (times straggler_ratio).
 */
#ifndef HARNESS_CLUSTER_NOISE_H
#define HARNESS_CLUSTER_NOISE_H

#include "harness/cluster/cluster.h"

/* Times so long worker `rank` of n_workers computes in every step; a rank behind them is a server: 1. */
double noise_straggler_ratio(const struct cluster *c, int rank, int n_workers);
/* Times so long a worker computes in this step; step < 0: in none: 1. */
double noise_step_ratio(const struct cluster *c, int rank, int64_t step);

#endif
