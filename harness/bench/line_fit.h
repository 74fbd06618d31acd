/* SPDX-License-Identifier: Apache-2.0 */
/*
 * line_fit.h - a robust fit of the line t = intercept + slope x to measured times. Every time counts by its relative
 * residual: a message of 4 bytes counts as much as one of 16 MiB. Pure.
 *
 * Method: candidates are the lines through two of the points, and those through one point that are level or pass
 * through the origin. The fit has the least sum of |ln(line / t)|. So a few outliers (a delayed burst, a size at which
 * the protocol changes) do not move the line: it passes through other points. A line that is twice too high counts as
 * much as one that is half as high, unlike with a residual in units of t. Neither member is ever negative.
 *
 * Source: lines through two points as candidates (elemental sets): Rousseeuw and Leroy, Robust Regression and Outlier
 * Detection, 1987, ch. 5; that least absolute deviations are reached by such a line: Bloomfield and Steiger, 1983.
 */
#ifndef HARNESS_BENCH_LINE_FIT_H
#define HARNESS_BENCH_LINE_FIT_H

#include <stddef.h>

struct line_fit {
    double intercept_s, slope_s; /* both >= 0; slope: per unit of x */
    double worst_ratio;          /* the largest relative residual, with its sign: t / line - 1 */
    size_t worst;                /* the index of that point */
};

/* x[n], t_s[n]: n >= 1, x > 0 and ascending, t > 0 (asserted). With one point the line passes through the origin.
 * O(n^3). Cannot fail. */
struct line_fit line_fit_of(const double *x, const double *t_s, size_t n);
double line_fit_s(const struct line_fit *fit, double x);
/* t / line - 1: 0.1 if the measured time is 10 % longer than that of the line. */
double line_fit_residual_ratio(const struct line_fit *fit, double x, double t_s);

#endif
