/* SPDX-License-Identifier: Apache-2.0 */
/*
 * student.c - tail and 0.975 quantile of Student's t.
 *
 * P(|T| > t) = I_x(dof / 2, 1 / 2), x = dof / (dof + t^2): the regularised incomplete beta function,
 * by its continued fraction (Abramowitz and Stegun 26.5.8) in the form of Lentz. The quantile is
 * found by Newton's method on logarithmic scales, where the tail is nearly straight; from 200 degrees on by the
 * expansion around the normal quantile (Abramowitz and Stegun 26.7.5), whose error is then below 1e-10.
 */
#include "harness/measure/student.h"

#include <assert.h>
#include <float.h>
#include <math.h>

#include "harness/measure/interval.h"

static const double NORMAL_975 = 1.959963984540054, PI = 3.141592653589793;

/* Continued fraction of I_x(a, b), for x below (a + 1) / (a + b + 2), where it converges fast. */
static double beta_fraction(double x, double a, double b)
{
    const double tiny = DBL_MIN / DBL_EPSILON;
    double c = 1, d = 1 - (a + b) * x / (a + 1);

    if (fabs(d) < tiny)
        d = tiny;
    d = 1 / d;
    double f = d;
    for (int m = 1; m < 1000; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));

        d = 1 + even * d;
        c = 1 + even / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        f *= c * d;
        d = 1 + odd * d;
        c = 1 + odd / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        f *= c * d;
        if (fabs(c * d - 1) < 4 * DBL_EPSILON)
            break;
    }
    return f;
}

/* lgamma() keeps the sign in a global; this one does not. */
static double log_gamma(double x)
{
    int sign;

    return lgamma_r(x, &sign);
}

double student_two_sided(double t, double dof)
{
    const double a = dof / 2, b = 0.5;
    const double log_x = -log1p(t * t / dof), x = exp(log_x); /* x and 1 - x without cancellation */
    const double rest = t * t / dof / (1 + t * t / dof);
    const double log_beta = log_gamma(a) + log_gamma(b) - log_gamma(a + b);

    assert(t >= 0 && dof > 0);
    if (isinf(t * t / dof))
        return 0;
    if (t == 0)
        return 1;
    double front = exp(a * log_x + b * log(rest) - log_beta);
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(x, a, b) / a;
    return 1 - front * beta_fraction(rest, b, a) / b;
}

static double quantile_near_normal(double dof)
{
    const double z = NORMAL_975, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z, z9 = z7 * z * z;
    const double g1 = (z3 + z) / 4, g2 = (5 * z5 + 16 * z3 + 3 * z) / 96;
    const double g3 = (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / 384;
    const double g4 = (79 * z9 + 776 * z7 + 1482 * z5 - 1920 * z3 - 945 * z) / 92160;

    return z + (g1 + (g2 + (g3 + g4 / dof) / dof) / dof) / dof;
}

/* log P(|T| > t) falls ever more steeply in log t, so its tangents are above it: after one step Newton
 * comes down on the root from the right, without a bracket. */
double student_t_975(double dof)
{
    double log_t = log(NORMAL_975);

    if (!(dof > 0))
        return NAN;
    if (dof >= 200)
        return quantile_near_normal(dof);
    const double log_density_0 = log_gamma((dof + 1) / 2) - log_gamma(dof / 2) - 0.5 * log(dof * PI);
    for (int i = 0; i < 60; i++) {
        double t = exp(log_t), tail = student_two_sided(t, dof);
        double density = exp(log_density_0 - (dof + 1) / 2 * log1p(t * t / dof));
        double step = (log(tail) - log(0.05)) * tail / (2 * t * density);

        if (!isfinite(step)) /* beyond the range of double: dof < 0.01 */
            return INFINITY;
        log_t += step;
        if (fabs(step) < 1e-13)
            break;
    }
    return exp(log_t);
}
