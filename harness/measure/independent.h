/* SPDX-License-Identifier: Apache-2.0 */
/*
 * independent.h - which of two campaigns is higher in a point, from launches that share no blocks. Within a campaign
 * launches are compared in pairs (paired.h), which says more.
 *
 * Invariants
 *   D1  Compared are the means of ln(first[i]) and ln(second[k]), which nothing pairs, and whose variances and numbers
 *       may differ (Welch, Biometrika 34(1-2), 1947).
 *   D2  The interval is Student's t with Welch's degrees of freedom, and p its two-sided probability of no difference.
 *       Fewer than two launches of either: no interval, p is 1 (interval.I4).
 *   D3  What differs between campaigns and not between the launches of one (the hour, another boot of the machine) is
 *       in the difference, and not in the interval: two campaigns of the same program tell how much that is.
 */
#ifndef HARNESS_MEASURE_INDEPENDENT_H
#define HARNESS_MEASURE_INDEPENDENT_H

#include <stddef.h>

struct contrast {
    size_t n_first, n_second;
    double ratio, ratio_low, ratio_high; /* first / second: of geometric means, 95 % (D2); NaN: not known */
    double p;
    double dof; /* D2; NaN: fewer than two launches of either, or no spread in both */
};

/* All values > 0. O(n). Cannot fail. */
struct contrast compare_independent(const double *first, size_t n_first, const double *second, size_t n_second);

#endif
