/* SPDX-License-Identifier: Apache-2.0 */
/* independent.c - Welch's comparison of the logarithms of two sets of launches. */
#include "harness/measure/independent.h"

#include <assert.h>
#include <math.h>

#include "harness/measure/interval.h"

static const double ROUNDING = 1e-12;

struct logs { /* of the launches of one campaign */
    double mean;
    double square_error; /* variance of the mean: divisor n (n - 1) */
};

/* n >= 1. Deviations are summed from the first value, so that equal values have no spread at all. */
static struct logs logs_of(const double *x, size_t n)
{
    const double first = log(x[0]);
    double sum = 0, square = 0;

    for (size_t i = 0; i < n; i++) {
        assert(x[i] > 0);
        sum += log(x[i]) - first;
    }
    const double mean = first + sum / (double)n;
    for (size_t i = 0; i < n; i++)
        square += (log(x[i]) - mean) * (log(x[i]) - mean);
    return (struct logs){ mean, n > 1 ? square / ((double)n * (double)(n - 1)) : NAN };
}

/* Welch and Satterthwaite; NaN where neither has any spread. */
static double degrees_of_freedom(const struct logs *a, size_t n_a, const struct logs *b, size_t n_b)
{
    const double both = a->square_error + b->square_error;

    return both * both /
           (a->square_error * a->square_error / (double)(n_a - 1) +
            b->square_error * b->square_error / (double)(n_b - 1));
}

struct contrast compare_independent(const double *first, size_t n_first, const double *second, size_t n_second)
{
    struct contrast c = { n_first, n_second, NAN, NAN, NAN, 1, NAN };

    if (n_first == 0 || n_second == 0)
        return c;
    const struct logs a = logs_of(first, n_first), b = logs_of(second, n_second);
    const double difference = a.mean - b.mean;
    c.ratio = exp(difference);
    if (n_first < 2 || n_second < 2) /* measure.A2 */
        return c;
    const double error = sqrt(a.square_error + b.square_error);
    if (error < ROUNDING) { /* no spread: what differs at all differs for sure */
        c.ratio_low = c.ratio_high = c.ratio;
        c.p = fabs(difference) < ROUNDING ? 1 : 0;
        return c;
    }
    c.dof = degrees_of_freedom(&a, n_first, &b, n_second);
    const double half = student_t_975(c.dof) * error;
    c.ratio_low = exp(difference - half);
    c.ratio_high = exp(difference + half);
    c.p = student_two_sided(fabs(difference) / error, c.dof);
    return c;
}
