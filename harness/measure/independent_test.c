/* SPDX-License-Identifier: Apache-2.0 */
/*
 * independent_test.c - the suite on independent.c, and on wrong versions of it that it must catch.
 *   independent_test [mutants]
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/measure/independent.h"
#include "harness/measure/interval.h"
#include "harness/measure/paired.h"
#include "harness/measure/suite/suites.h"

static double variance_of_logs(const double *x, size_t n)
{
    double sum = 0, square = 0;

    for (size_t i = 0; i < n; i++)
        sum += log(x[i]);
    for (size_t i = 0; i < n; i++)
        square += pow(log(x[i]) - sum / (double)n, 2);
    return square / (double)(n - 1);
}

/* c with another error and other degrees of freedom. */
static struct contrast redone(struct contrast c, double error, double dof)
{
    if (isnan(c.dof))
        return c;
    const double difference = log(c.ratio), half = student_t_975(dof) * error;
    c.dof = dof;
    c.ratio_low = exp(difference - half);
    c.ratio_high = exp(difference + half);
    c.p = student_two_sided(fabs(difference) / error, dof);
    return c;
}

/* Student's: both campaigns have one variance. */
static struct contrast bug_pooled(const double *first, size_t n_first, const double *second, size_t n_second)
{
    const struct contrast c = compare_independent(first, n_first, second, n_second);
    const double n = (double)n_first, m = (double)n_second;

    if (isnan(c.dof))
        return c;
    const double pooled =
        ((n - 1) * variance_of_logs(first, n_first) + (m - 1) * variance_of_logs(second, n_second)) / (n + m - 2);
    return redone(c, sqrt(pooled * (1 / n + 1 / m)), n + m - 2);
}

/* Launch i of one campaign against launch i of the other, as if they were of one block. */
static struct contrast bug_paired(const double *first, size_t n_first, const double *second, size_t n_second)
{
    struct contrast c = compare_independent(first, n_first, second, n_second);
    const struct comparison x = compare_pairs(first, second, n_first < n_second ? n_first : n_second);

    c.p = x.p;
    c.ratio_low = x.ratio_low;
    c.ratio_high = x.ratio_high;
    return c;
}

/* The spread of single launches, not the error of their mean. */
static struct contrast bug_spread(const double *first, size_t n_first, const double *second, size_t n_second)
{
    const struct contrast c = compare_independent(first, n_first, second, n_second);

    if (isnan(c.dof))
        return c;
    return redone(c, sqrt(variance_of_logs(first, n_first) + variance_of_logs(second, n_second)), c.dof);
}

/* As if the variances were known. */
static struct contrast bug_normal(const double *first, size_t n_first, const double *second, size_t n_second)
{
    const struct contrast c = compare_independent(first, n_first, second, n_second);

    if (isnan(c.dof))
        return c;
    return redone(c, (log(c.ratio_high) - log(c.ratio)) / student_t_975(c.dof), 1e6);
}

/* Arithmetic means. */
static struct contrast bug_linear_scale(const double *first, size_t n_first, const double *second, size_t n_second)
{
    struct contrast c = compare_independent(first, n_first, second, n_second);
    double a = 0, b = 0;

    for (size_t i = 0; i < n_first; i++)
        a += first[i] / (double)n_first;
    for (size_t i = 0; i < n_second; i++)
        b += second[i] / (double)n_second;
    c.ratio = n_first > 0 && n_second > 0 ? a / b : NAN;
    return c;
}

/* One launch is believed. */
static struct contrast bug_eager(const double *first, size_t n_first, const double *second, size_t n_second)
{
    struct contrast c = compare_independent(first, n_first, second, n_second);

    if (n_first == 1 || n_second == 1)
        c.p = c.ratio == 1 ? 1 : 0;
    return c;
}

static const struct {
    const char *name;
    independent_fn *compare;
} mutants[] = { { "pooled", bug_pooled },
                { "paired", bug_paired },
                { "spread", bug_spread },
                { "normal", bug_normal },
                { "linear-scale", bug_linear_scale },
                { "eager", bug_eager } };

UNIT_TEST(suite_holds)
{
    assert_int_equal(independent_suite(compare_independent), 0);
}

UNIT_TEST_OF("mutants", suite_catches)
{
    for (size_t i = 0; i < N_ELEMS(mutants); i++)
        if (independent_suite(mutants[i].compare) == 0)
            fail_msg("%s is not noticed", mutants[i].name);
}

UNIT_MAIN("independent")
