/* SPDX-License-Identifier: Apache-2.0 */
/*
 * robust.h - middle and spread of numbers that include outliers, the probability of a deviation, and the joint
 * significance of many deviations.
 *
 * Invariants
 *   M1  Up to half of the numbers may be outliers. The middle is their median. The spread is 1.4826 x the median of the
 *       distances from it (MAD), which is the standard deviation for normal numbers.
 *   M2  The spread of few numbers is uncertain, so a deviation is judged by Student's t. The degrees of freedom for a
 *       MAD of n normal numbers are 0.9 x (n / 2, rounded down) (fitted to a simulation of n = 3 to 48 at tails of 0.01
 *       to 0.0003). They are 15 at most, because measured values have longer tails than normal numbers.
 *   M3  For few numbers the MAD is imprecise. Qn uses all their differences, and is as robust. It is the k-th smallest
 *       distance of two of them, k = h (h - 1) / 2, h = n / 2 + 1, times 2.2219 and a factor for n (Rousseeuw, Croux,
 *       Journal of the American Statistical Association 88(424), 1993). Its degrees of freedom, found like those of M2,
 *       are 2 (n / 2 - 1), n / 2 rounded down; 1 for three numbers.
 *   M4  q of the k-th smallest of n p values is the least p(i) n / i over i >= k (Benjamini and Hochberg, Journal of
 *       the Royal Statistical Society B 57(1), 1995). Among all with q <= a, at most the share a is expected to be
 *       false.
 */
#ifndef HARNESS_MEASURE_ROBUST_H
#define HARNESS_MEASURE_ROBUST_H

#include <stddef.h>

#include "harness/base/rc.h"
#include "harness/measure/interval.h"

/* Reorders x[n]; none is NaN; n 0: NaN. O(n log n). Cannot fail. */
double robust_median(double *x, size_t n);
/* Replaces x[n] by their distances from `middle`; returns their median, scaled as in measure.M1; n 0: NaN. Cannot
 * fail. */
double robust_spread(double *x, size_t n, double middle);
enum { ROBUST_FEW = 32 };
/* measure.M3. Of x[n], 2 <= n <= ROBUST_FEW. O(n^2 log n). Cannot fail. */
double robust_spread_of_few(const double *x, size_t n);
/* measure.M3; 0: n < 3. */
double robust_dof_of_few(size_t n);
/* measure.M2; 0: n < 2. */
double robust_dof(size_t n);
/* P(Z > z) of a standard normal Z; relative error < 1e-12. */
double normal_upper_tail(double z);
/* P(T > deviation / spread) of Student's t; dof INFINITY: normal. Without spread: 0 if deviation > 0, else 1. dof 0:
 * 1. */
double robust_upper_tail(double deviation, double spread, double dof);
/* measure.M4. q[n] := q of p[n], the smallest of n_tests >= n values; values of 1 may be omitted from p. q may be p.
 * O(n log n). RC_NOMEM. */
enum rc robust_q_values(double *q, const double *p, size_t n, size_t n_tests) MUST_CHECK;

/*
 * The 95 % interval of a median, by order statistics. It holds for any distribution: the median lies between
 * the k-th smallest and the k-th largest of n independent values, unless fewer than k values lie on one side of it. The
 * probability of that is binomial (Conover, Practical Nonparametric Statistics, section 3.2). For repeated
 * measurements, in which a few disturbed values would shift a mean.
 */

/* Sorts x[n]; mean is the median. At least 95 %: the narrowest such pair. n < 6: no pair reaches that; low and high are
 * NaN (measure.I4). n 0: mean, low and high are NaN. O(n log n). Cannot fail. */
struct interval median_interval(double *x, size_t n);

#endif
