/* SPDX-License-Identifier: Apache-2.0 */
/* sorted.h - sorting numbers, and their median. Numbers must not be NaN. Cannot fail. */
#ifndef HARNESS_MEASURE_SORTED_H
#define HARNESS_MEASURE_SORTED_H

#include <stdlib.h>

static inline int sorted_by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* x[n] in rising order. O(n log n). */
static inline void sorted_make(double *x, size_t n)
{
    qsort(x, n, sizeof *x, sorted_by_value);
}

/* Median of sorted x[n], n at least 1; for even n the mean of the middle two. */
static inline double sorted_median(const double *x, size_t n)
{
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

#endif
