/* SPDX-License-Identifier: Apache-2.0 */
/*
 * independent.h - which of two campaigns is higher at a point, from launches without common blocks. Within a campaign
 * launches are compared in pairs (paired.h), which is more precise.
 *
 * Invariants
 *   A1  The means of ln(first[i]) and ln(second[k]) are compared, without pairs. Their variances and numbers may differ
 *       (Welch, Biometrika 34(1-2), 1947).
 *   A2  The interval is Student's t with Welch's degrees of freedom; p is its two-sided probability of no difference.
 *       With fewer than two launches of either: no interval, p is 1 (measure.I4).
 *   -   Effects that differ between campaigns but not between launches of one (the hour, a reboot) are in the
 *       difference, not in the interval. Two campaigns of the same program show the size of such effects.
 */
#ifndef HARNESS_MEASURE_INDEPENDENT_H
#define HARNESS_MEASURE_INDEPENDENT_H

#include <stddef.h>

struct contrast {
    size_t n_first, n_second;
    double ratio, ratio_low, ratio_high; /* first / second: of geometric means, 95 % (measure.A2); NaN: not known */
    double p;
    double dof; /* measure.A2; NaN: fewer than two launches of either, or no spread in both */
};

/* All values > 0. O(n). Cannot fail. */
struct contrast compare_independent(const double *first, size_t n_first, const double *second, size_t n_second);

#endif
