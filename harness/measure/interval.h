/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interval.h - 95 % intervals, with their assumptions. Decisions: paired.h.
 *
 * Invariants
 *   I1  An interval is for the mean, never the spread of single values.
 *   I2  Within a run, neighbouring steps are correlated: the number of values is replaced by
 *       the effective number (initial positive sequence; Geyer, Statistical Science 7(4), 1992).
 *   I3  Between launches, the means of launches are the values (Student's t, n - 1 degrees).
 *   I4  Too few values for an interval: low and high are NaN, never equal to the mean.
 */
#ifndef HARNESS_MEASURE_INTERVAL_H
#define HARNESS_MEASURE_INTERVAL_H

#include <stddef.h>

struct interval {
    double mean, low, high; /* low, high NaN: measure.I4 */
    double n_effective;     /* measure.I2; the number of values under measure.I3 */
};

/* 0.975 quantile of Student's t with dof > 0 degrees of freedom (real dof allowed); error < 1e-4
 * relative for dof >= 1. */
double student_t_975(double dof);

/* measure.I2 over x[n] in time order. n < 4: measure.I4. O(n * lags), lags <= n / 2. */
struct interval interval_autocorrelated(const double *x, size_t n);
/* measure.I3 over x[n], any order. n < 2: measure.I4. */
struct interval interval_of_launches(const double *x, size_t n);
/* Interval of scale / X, given one of X > 0; high is infinite when x.low is not above 0. */
struct interval interval_reciprocal(struct interval x, double scale);
enum { INTERVAL_ENDS_BYTES = 64 };
/* The ends as text, each by format: "2.1 to 3.4", if between is " to "; "2.1 or more" without an upper end; "" without
 * both. Returns out. */
const char *interval_ends(char out[INTERVAL_ENDS_BYTES], const char *format, const char *between, double low,
                          double high);

/*
 * Distribution of Student's t; the part of interval.c that is not about intervals. The quantile itself is
 * declared in interval.h.
 */

/* P(|T| > t) of Student's t with dof > 0 degrees of freedom, t >= 0. Relative error < 1e-10. Cannot fail. */
double student_two_sided(double t, double dof);

#endif
