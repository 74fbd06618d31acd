/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interval_test.c - the suite on interval.c, and on wrong versions of it that it must catch.
 *   interval_test [mutants]
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/measure/interval.h"
#include "harness/measure/suite/suites.h"

static const struct interval_impl REAL = { student_t_975, interval_autocorrelated, interval_of_launches,
                                           interval_reciprocal };

/* Steps taken as if they were independent: what most reports print. */
static struct interval bug_naive(const double *x, size_t n)
{
    return n < 4 ? interval_autocorrelated(x, n) : interval_of_launches(x, n);
}

/* The spread of single values, sold as an interval of the mean. */
static struct interval bug_spread(const double *x, size_t n)
{
    struct interval i = interval_of_launches(x, n);
    double half = (i.high - i.mean) * sqrt((double)n);

    i.low = i.mean - half;
    i.high = i.mean + half;
    return i;
}

static struct interval bug_zero_width(const double *x, size_t n)
{
    struct interval i = interval_of_launches(x, n);

    if (n < 2)
        i.low = i.high = i.mean;
    return i;
}

static double bug_normal_quantile(double dof)
{
    return dof > 0 ? 1.959963984540054 : (double)NAN;
}

struct mutant {
    const char *name;
    struct interval_impl impl;
};

UNIT_TEST(suite_holds)
{
    assert_int_equal(interval_suite(&REAL), 0);
}

UNIT_TEST_OF("mutants", suite_catches)
{
    const struct mutant mutant[] = {
        { "naive", { student_t_975, bug_naive, interval_of_launches, interval_reciprocal } },
        { "spread", { student_t_975, interval_autocorrelated, bug_spread, interval_reciprocal } },
        { "zero-width", { student_t_975, interval_autocorrelated, bug_zero_width, interval_reciprocal } },
        { "normal-quantile",
          { bug_normal_quantile, interval_autocorrelated, interval_of_launches, interval_reciprocal } },
    };

    for (size_t i = 0; i < N_ELEMS(mutant); i++)
        if (interval_suite(&mutant[i].impl) == 0)
            fail_msg("%s is not noticed", mutant[i].name);
}

UNIT_TEST(ends_are_numbers)
{
    char text[INTERVAL_ENDS_BYTES];

    assert_string_equal(interval_ends(text, "%.4g", " to ", 743.64, 1200), "743.6 to 1200");
    assert_string_equal(interval_ends(text, "%.1f", " .. ", 2, (double)INFINITY), "2.0 or more");
    assert_string_equal(interval_ends(text, "%.1f", " .. ", (double)NAN, (double)NAN), "");
}

UNIT_MAIN("interval")
