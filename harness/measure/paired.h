/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paired.h - which of two configurations is higher, from launches in the same blocks; and which of many such verdicts
 * of a campaign hold together.
 *
 * Invariants
 *   C1  first[i] and second[i] are from the same block, next to each other in time. If a machine drifts, or changes
 *       between two speeds, both are affected. The differences ln(first[i] / second[i]) are compared.
 *   C2  The interval is Student's t over the n differences; p is its two-sided probability of no difference. With fewer
 *       than two pairs: no interval, p is 1 (measure.I4).
 *   C3  A robust estimate is given too: the median of all averages of two differences, including each difference with
 *       itself (Hodges and Lehmann, Annals of Mathematical Statistics 34(2), 1963). If it is more than 0.9 standard
 *       errors from the mean, single pairs are far from the rest. For ten normal differences that happens once in 250
 *       times.
 *   C4  Of m verdicts of one campaign, the one with the k-th smallest p holds if those before it hold and p is at most
 *       0.05 / (m - k + 1). A campaign without real differences then gives a false verdict in at most 5 % of cases
 *       (Holm, Scandinavian Journal of Statistics 6(2), 1979).
 */
#ifndef HARNESS_MEASURE_PAIRED_H
#define HARNESS_MEASURE_PAIRED_H

#include <stdbool.h>
#include <stddef.h>

enum { PAIRED_MAX = 1000 }; /* pairs; more are left out */
#define PAIRED_LEVEL 0.05   /* error level of all verdicts together (measure.C4); intervals have 1 minus this */

struct comparison {
    size_t n_pairs;
    double ratio, ratio_low, ratio_high; /* first / second: geometric mean, 95 % (measure.C2); NaN: too few pairs */
    double robust_ratio;                 /* measure.C3 */
    double p;
    bool has_far_pairs; /* measure.C3 */
    double sd;          /* of the differences, divisor n - 1; NaN: fewer than two pairs */
};

/* All values > 0. O(n^2), with 4 MB of scratch at most; without memory for it robust_ratio is NaN. */
struct comparison compare_pairs(const double *first, const double *second, size_t n_pairs);

/* Number of pairs needed to detect a true difference of `difference` between logarithms with the probability `power`
 * (say 0.8), in a test at level `alpha`. The differences of pairs have the standard deviation sd. Normal quantiles with
 * the correction of Guenther, The American Statistician 35(4), 1981. At least 2; -1: more than PAIRED_MAX. */
int pairs_for_power(double difference, double sd, double alpha, double power);

/* measure.C4. holds[n] := which of n verdicts with these p hold together at 0.05. O(n^2). Cannot fail. */
void verdicts_that_hold(bool *holds, const double *p, size_t n);

#endif
