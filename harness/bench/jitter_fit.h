/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jitter_fit.h - which of the distributions that a description knows (cluster/noise.h) repeated times of equal work
 * have, t = base (1 + ratio X) with X >= 0 of mean 1, and how large they are. Pure.
 *
 * Method: base and ratio of each distribution by L-moments, which single long repeats move less than they move a
 * variance (Hosking, J. R. Stat. Soc. B 52, 1990); of the distributions the one whose Kolmogorov-Smirnov distance from
 * the times is least. base (1 + ratio) is always the mean of the times. Where L-moments put the base at less than half
 * of the least time (a few repeats took many times as long), it is the least time.
 */
#ifndef HARNESS_BENCH_JITTER_FIT_H
#define HARNESS_BENCH_JITTER_FIT_H

#include <stddef.h>

#include "harness/cluster/cluster.h"

/* Of less than this nothing is said: a clock of 1 ns and the frequency of a core vary as much. */
#define JITTER_LEAST_RATIO 1e-3

struct jitter_fit {
    enum cluster_jitter kind; /* JITTER_NONE: the ratio is less than JITTER_LEAST_RATIO */
    double base_s, ratio;     /* 0 with JITTER_NONE */
    double distance;          /* Kolmogorov-Smirnov, 0 .. 1, of the kind; 0 with JITTER_NONE */
    size_t n_times;
};

/* t_s[n], n >= 2, all > 0: sorted by it. */
struct jitter_fit jitter_fit_of(double *t_s, size_t n);

#endif
