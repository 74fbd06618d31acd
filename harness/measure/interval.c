/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interval.c - intervals of means.
 *
 * One formula serves both intervals. With g0 the mean square deviation (divisor n) and n_eff the
 * effective number of values, E[g0] = variance (1 - 1 / n_eff), so the squared standard error of
 * the mean is g0 / (n_eff - 1); for uncorrelated values, n_eff = n, that is the textbook's s^2 / n.
 */
#include "harness/measure/interval.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>

/* Longer series are averaged in equal blocks first: the variance of their mean stays, and a series
 * that never forgets costs at most MAX_BLOCKS^2 / 2 multiplications. */
enum { MAX_BLOCKS = 8192 };

struct series { /* block means of x, less mean: value(i) = sum of x[i * per_block ...] / per_block */
    const double *x;
    size_t n_blocks, per_block;
    double mean;
};

/* Deviations are summed from x[0], so that equal values give their mean to the bit. */
static double mean_of(const double *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += x[i] - x[0];
    return x[0] + sum / (double)n;
}

static double mean_square(const double *x, size_t n, double mean)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (x[i] - mean) * (x[i] - mean);
    return sum / (double)n;
}

static double value(const struct series *s, size_t i)
{
    double sum = 0;

    for (size_t j = 0; j < s->per_block; j++)
        sum += s->x[i * s->per_block + j] - s->mean;
    return sum / (double)s->per_block;
}

static double autocovariance(const struct series *s, size_t lag)
{
    double sum = 0;

    for (size_t i = 0; i + lag < s->n_blocks; i++)
        sum += value(s, i) * value(s, i + lag);
    return sum / (double)s->n_blocks;
}

/* measure.I2: n_blocks x the variance of the mean = -g0 + 2 (G0 + measure.G1 + ...), where the sums of neighbours
 * Gm = g(2m) + g(2m + 1) are taken as long as they are positive. */
static double long_run_variance(const struct series *s, double g0)
{
    double sum = -g0;

    for (size_t lag = 0; lag + 1 <= s->n_blocks / 2; lag += 2) {
        double pair = (lag == 0 ? g0 : autocovariance(s, lag)) + autocovariance(s, lag + 1);

        if (pair <= 0)
            break;
        sum += 2 * pair;
    }
    return sum;
}

static struct interval without_ends(double mean, double n_effective)
{
    return (struct interval){ .mean = mean, .low = NAN, .high = NAN, .n_effective = n_effective }; /* measure.I4 */
}

static struct interval around(double mean, double half, double n_effective)
{
    return (struct interval){ .mean = mean, .low = mean - half, .high = mean + half, .n_effective = n_effective };
}

struct interval interval_autocorrelated(const double *x, size_t n)
{
    if (n == 0)
        return without_ends(NAN, 0);
    struct series s = { .x = x, .per_block = (n + MAX_BLOCKS - 1) / MAX_BLOCKS, .mean = mean_of(x, n) };
    s.n_blocks = n / s.per_block;
    if (n < 4)
        return without_ends(s.mean, (double)n);
    const double square = mean_square(x, n, s.mean);
    if (square == 0) /* a virtual clock: nothing varies, nothing is uncertain */
        return around(s.mean, 0, (double)n);
    const double g0 = s.per_block == 1 ? square : autocovariance(&s, 0);
    const double n_blocks = (double)s.n_blocks;
    double long_run = long_run_variance(&s, g0);
    /* Alternating values would promise more than n: not believed. */
    double n_effective = long_run > g0 ? n_blocks * g0 / long_run : n_blocks;
    double error = sqrt(g0 / (n_effective - 1));

    if (n_effective < 2) /* fewer than two independent values: measure.I4 */
        return without_ends(s.mean, n_effective);
    struct interval result = around(s.mean, student_t_975(n_effective - 1) * error, n_effective);
    if (s.per_block > 1) /* in values, not blocks */
        result.n_effective = fmin((double)n, 1 + square / (error * error));
    return result;
}

struct interval interval_of_launches(const double *x, size_t n)
{
    if (n == 0)
        return without_ends(NAN, 0);
    double mean = mean_of(x, n);
    if (n < 2)
        return without_ends(mean, (double)n);
    double error = sqrt(mean_square(x, n, mean) / (double)(n - 1)); /* measure.I1: of the mean */
    return around(mean, student_t_975((double)(n - 1)) * error, (double)n);
}

struct interval interval_reciprocal(struct interval x, double scale)
{
    return (struct interval){
        .mean = scale / x.mean,
        .low = scale / x.high,
        .high = x.low > 0    ? scale / x.low
                : x.low <= 0 ? (double)INFINITY
                             : (double)NAN,
        .n_effective = x.n_effective,
    };
}

const char *interval_ends(char out[INTERVAL_ENDS_BYTES], const char *format, const char *between, double low,
                          double high)
{
    size_t n;

    out[0] = '\0';
    if (!isfinite(low))
        return out;
    n = (size_t)snprintf(out, INTERVAL_ENDS_BYTES, format, low);
    if (n < INTERVAL_ENDS_BYTES)
        n += (size_t)snprintf(out + n, INTERVAL_ENDS_BYTES - n, "%s", isfinite(high) ? between : " or more");
    if (n < INTERVAL_ENDS_BYTES && isfinite(high))
        snprintf(out + n, INTERVAL_ENDS_BYTES - n, format, high);
    return out;
}

/*
 * Tail and 0.975 quantile of Student's t.
 *
 * P(|T| > t) = I_x(dof / 2, 1 / 2), x = dof / (dof + t^2): the regularised incomplete beta function,
 * by its continued fraction (Abramowitz and Stegun 26.5.8) in the form of Lentz. The quantile is
 * found by Newton's method on logarithmic scales, where the tail is nearly straight; from 200 degrees on by the
 * expansion around the normal quantile (Abramowitz and Stegun 26.7.5), whose error is then below 1e-10.
 */

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
