/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interval.c - intervals of means.
 *
 * One formula serves both intervals. With g0 the mean square deviation (divisor n) and n_eff the
 * effective number of values, E[g0] = variance (1 - 1 / n_eff), so the squared standard error of
 * the mean is g0 / (n_eff - 1); for uncorrelated values, n_eff = n, that is the textbook's s^2 / n.
 */
#include "harness/measure/interval.h"

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
