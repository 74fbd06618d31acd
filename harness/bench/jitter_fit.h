/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jitter_fit.h - which of the distributions of cluster/cluster.h fits repeated times of equal work, and its size. t =
 * base (1 + ratio X) with X >= 0 of mean 1. Pure.
 *
 * Method: base and ratio of each distribution by L-moments, which single long repeats affect less than a variance
 * (Hosking, J. R. Stat. Soc. B 52, 1990). The chosen distribution has the least Kolmogorov-Smirnov distance from the
 * times. base (1 + ratio) is always the mean of the times. If L-moments put the base below half of the least time (a
 * few repeats took many times as long), the base is the least time.
 */
#ifndef HARNESS_BENCH_JITTER_FIT_H
#define HARNESS_BENCH_JITTER_FIT_H

#include <stddef.h>

#include "harness/cluster/cluster.h"

/* A smaller ratio counts as no jitter: a clock of 1 ns and the frequency of a core vary as much. */
#define JITTER_LEAST_RATIO 1e-3

struct jitter_fit {
    enum cluster_jitter kind; /* JITTER_NONE: the ratio is less than JITTER_LEAST_RATIO */
    double base_s, ratio;     /* 0 with JITTER_NONE */
    double distance;          /* Kolmogorov-Smirnov, 0 .. 1, of the kind; 0 with JITTER_NONE */
    size_t n_times;
};

/* t_s[n], n >= 2, all > 0; it gets sorted. */
struct jitter_fit jitter_fit_of(double *t_s, size_t n);

#endif
