/* SPDX-License-Identifier: Apache-2.0 */
/*
 * median.h - the 95 % interval of a median, by order statistics: whatever the values' distribution, the k-th smallest
 * and the k-th largest of n independent ones have its median between them unless fewer than k lie on one side of it,
 * which is a binomial probability (Conover, Practical Nonparametric Statistics, section 3.2). For repeats of a
 * measurement, whose few disturbed values a mean would follow.
 */
#ifndef HARNESS_MEASURE_MEDIAN_H
#define HARNESS_MEASURE_MEDIAN_H

#include <stddef.h>

#include "harness/measure/interval.h"

/* Sorts x[n]; mean is the median. At least 95 %: the narrowest such pair. n < 6: no pair has so much, low and high are
 * NaN (interval.I4); n 0: all are. O(n log n). Cannot fail. */
struct interval median_interval(double *x, size_t n);

#endif
