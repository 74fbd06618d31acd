/* SPDX-License-Identifier: Apache-2.0 */
/*
 * median.h - the 95 % interval of a median, by order statistics. It holds for any distribution: the median lies between
 * the k-th smallest and the k-th largest of n independent values, unless fewer than k values lie on one side of it. The
 * probability of that is binomial (Conover, Practical Nonparametric Statistics, section 3.2). For repeated
 * measurements, in which a few disturbed values would shift a mean.
 */
#ifndef HARNESS_MEASURE_MEDIAN_H
#define HARNESS_MEASURE_MEDIAN_H

#include <stddef.h>

#include "harness/measure/interval.h"

/* Sorts x[n]; mean is the median. At least 95 %: the narrowest such pair. n < 6: no pair reaches that; low and high are
 * NaN (measure.I4). n 0: mean, low and high are NaN. O(n log n). Cannot fail. */
struct interval median_interval(double *x, size_t n);

#endif
