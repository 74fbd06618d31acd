/* SPDX-License-Identifier: Apache-2.0 */
/* worst.h - the worst rank of a metric, and the worst pair of a tournament, by the medians of their repeats. Pure. */
#ifndef HARNESS_ACCEPT_WORST_H
#define HARNESS_ACCEPT_WORST_H

#include "harness/accept/acceptance.h"

struct worst {
    int a, b;                 /* rank and its node; or nodes a -> b; a is -1: there is no value */
    double value, low, high;  /* median of its repeats, and the 95 % interval of their mean; NaN: none */
    int n_subjects;           /* ranks or pairs that have a value */
    int n_samples;            /* of all of them */
    int missing_a, missing_b; /* the first without any value; missing_a -1: all have one */
};

/* Median of the finite values of x[i * stride], i < n; NaN: no finite value. n at most ACCEPT_MAX_REPEATS. *n_finite :=
 * their number. */
double finite_median(const double *x, int n, size_t stride, int *n_finite);
/* The worst rank of a measured metric; among equals the first. */
struct worst worst_rank(const struct acceptance *a, int metric);
/* The worst pair of a measured tournament; latency: by latency, else by rate. */
struct worst worst_pair(const struct tournament *t, bool latency);

#endif
