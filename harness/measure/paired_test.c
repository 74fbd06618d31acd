/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paired_test.c - the suite on paired.c, and on wrong versions of it that it must catch.
 *   paired_test [mutants]
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/measure/interval.h"
#include "harness/measure/paired.h"
#include "harness/measure/suite/suites.h"

static const struct paired_impl REAL = { compare_pairs, pairs_for_power, verdicts_that_hold };

/* As if the launches of a block had nothing in common: Welch's interval. */
static struct comparison bug_unpaired(const double *first, const double *second, size_t n)
{
    struct comparison c = compare_pairs(first, second, n);
    double a[PAIRED_MAX], b[PAIRED_MAX];

    for (size_t i = 0; i < n; i++) {
        a[i] = log(first[i]);
        b[i] = log(second[i]);
    }
    const struct interval x = interval_of_launches(a, n), y = interval_of_launches(b, n);
    const double half = hypot(x.high - x.mean, y.high - y.mean);
    c.ratio_low = c.ratio * exp(-half);
    c.ratio_high = c.ratio * exp(half);
    return c;
}

/* The mean of ratios instead of that of their logarithms. */
static struct comparison bug_linear_scale(const double *first, const double *second, size_t n)
{
    struct comparison c = compare_pairs(first, second, n);
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += first[i] / second[i];
    c.ratio = n ? sum / (double)n : c.ratio;
    return c;
}

/* Few pairs judged by the normal distribution. */
static struct comparison bug_eager(const double *first, const double *second, size_t n)
{
    struct comparison c = compare_pairs(first, second, n);

    if (n > 1 && c.p > 0 && c.p < 1)
        c.p = erfc(fabs(log(c.ratio)) / c.sd * sqrt((double)n / 2));
    return c;
}

/* One side of the distribution: half the probability. */
static struct comparison bug_unequal_sides(const double *first, const double *second, size_t n)
{
    struct comparison c = compare_pairs(first, second, n);

    c.p = c.p < 1 ? c.p / 2 : c.p;
    return c;
}

/* What a single launch pulls the mean to is believed. */
static struct comparison bug_pulled(const double *first, const double *second, size_t n)
{
    struct comparison c = compare_pairs(first, second, n);

    c.has_far_pairs = false;
    return c;
}

/* Each verdict against 0.05 / n: nothing is gained by those that hold already. */
static void bug_bonferroni(bool *holds, const double *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        holds[i] = p[i] <= 0.05 / (double)n;
}

/* Each verdict for itself. */
static void bug_all_at_once(bool *holds, const double *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        holds[i] = p[i] <= 0.05;
}

/* Until the interval of these very launches would end at no difference: half of such campaigns find nothing. */
static int bug_optimist(double difference, double sd, double alpha, double power)
{
    return pairs_for_power(difference, sd, alpha, power > 0.5 ? 0.5 : power);
}

struct mutant {
    const char *name;
    struct paired_impl impl;
};

UNIT_TEST(suite_holds)
{
    assert_int_equal(paired_suite(&REAL), 0);
}

UNIT_TEST_OF("mutants", suite_catches)
{
    const struct mutant mutant[] = {
        { "unpaired", { bug_unpaired, pairs_for_power, verdicts_that_hold } },
        { "linear-scale", { bug_linear_scale, pairs_for_power, verdicts_that_hold } },
        { "eager", { bug_eager, pairs_for_power, verdicts_that_hold } },
        { "unequal-sides", { bug_unequal_sides, pairs_for_power, verdicts_that_hold } },
        { "pulled", { bug_pulled, pairs_for_power, verdicts_that_hold } },
        { "bonferroni", { compare_pairs, pairs_for_power, bug_bonferroni } },
        { "all-at-once", { compare_pairs, pairs_for_power, bug_all_at_once } },
        { "optimist", { compare_pairs, bug_optimist, verdicts_that_hold } },
    };

    for (size_t i = 0; i < N_ELEMS(mutant); i++)
        if (paired_suite(&mutant[i].impl) == 0)
            fail_msg("%s is not noticed", mutant[i].name);
}

UNIT_MAIN("paired")
