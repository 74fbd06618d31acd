/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact_test.c - figures worked out another way: closed forms of Student's t, the effective number of short series by
 * exact fractions, and the ends of the scales.
 */
#include <math.h>
#include <stdlib.h>

#include "harness/base/suite/unit.h"
#include "harness/measure/histogram.h"
#include "harness/measure/interval.h"
#include "harness/measure/paired.h"

static const double LONG_MEAN = 9.484725763711815, LONG_ERROR = 0.05742714244535193,
                    LONG_N_BLOCKS_EFFECTIVE = 5197.532170170958, LONG_N_EFFECTIVE = 10385.914295728393;

static void assert_near(const char *what, double value, double expected, double tolerance_ratio)
{
    if (!(fabs(value - expected) <= tolerance_ratio * fabs(expected)))
        fail_msg("%s: %.17g is not %.17g", what, value, expected);
}

/* One degree: 1 - 2 / pi atan(t) = 2 / pi atan(1 / t). Two: 1 - u with u = t / sqrt(2 + t^2), which is 2 / (2 + t^2 + t
 * sqrt(2 + t^2)). Four, with u = t / sqrt(4 + t^2): 1 - (3 u - u^3) / 2 = (1 - u)^2 (2 + u) / 2. */
UNIT_TEST(tails_in_closed_form)
{
    for (double t = 1e-3; t < 1e4; t *= 1.07) {
        const double root = sqrt(4 + t * t), u = t / root, rest = 4 / (root * (root + t)); /* 1 - u */
        assert_near("one degree", student_two_sided(t, 1), 2 / acos(-1) * atan(1 / t), 1e-10);
        assert_near("two degrees", student_two_sided(t, 2), 2 / (2 + t * t + t * sqrt(2 + t * t)), 1e-10);
        assert_near("four degrees", student_two_sided(t, 4), rest * rest * (2 + u) / 2, 1e-10);
    }
    assert_true(student_two_sided(0, 3) == 1);
    assert_true(student_two_sided(1e200, 3) == 0);
}

/* P(|T| > t) = 0.05 at the quantile, for real degrees too; few degrees have it beyond all numbers. */
UNIT_TEST(the_quantile_has_its_tail)
{
    for (double dof = 0.1; dof < 1e6; dof *= 1.1)
        assert_near("tail", student_two_sided(student_t_975(dof), dof), 0.05, 1e-9);
    assert_true(isinf(student_t_975(0.001)));
}

/* measure.I2, in fractions: mean, standard error and effective number of short series. */
UNIT_TEST(short_series)
{
    static const struct {
        double x[20];
        size_t n;
        double mean, error, n_effective;
    } series[] = {
        { { 3, 1, 4, 1 }, 4, 2.25, 0.75, 4 },
        { { 2, 9, 4, 7, 1, 8 }, 6, 31.0 / 6, 1.3519533193782165, 6 }, /* turns back and forth: no more than in full */
        { { 0, 1, 2, 3, 4, 5, 6, 7 }, 8, 3.5, 1.6528461672184402, 67.2 / 23 }, /* a trend */
        { { 1, 1, 2, 2, 3, 3, 4, 4 }, 8, 2.5, 0.7979927648983972, 80.0 / 27 },
        { { 1, 2, 2, 4, 3, 5, 4, 6, 5, 5, 3, 2 }, 12, 3.5, 0.7296867465506024, 162.0 / 31 },
        { { 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1 }, 20, 0.5, 0.20173664619648224, 50.0 / 7 },
    };

    for (size_t i = 0; i < sizeof series / sizeof *series; i++) {
        const struct interval is = interval_autocorrelated(series[i].x, series[i].n);
        const double half = student_t_975(series[i].n_effective - 1) * series[i].error;
        assert_near("mean", is.mean, series[i].mean, 1e-14);
        assert_near("effective number", is.n_effective, series[i].n_effective, 1e-12);
        assert_near("lower end", is.low, series[i].mean - half, 1e-10);
        assert_near("upper end", is.high, series[i].mean + half, 1e-10);
    }
}

/* 20,001 values are 6,667 means of three; these figures are of exact fractions. */
UNIT_TEST(a_long_series_is_averaged_first)
{
    enum { N = 20001 };
    double *x = malloc(N * sizeof *x);

    assert_non_null(x);
    for (int i = 0; i < N; i++)
        x[i] = (double)((int64_t)i * i % 17 + i / 300 % 2 * 3);
    const struct interval is = interval_autocorrelated(x, N);
    free(x);
    const double half = student_t_975(LONG_N_BLOCKS_EFFECTIVE - 1) * LONG_ERROR;
    assert_near("mean", is.mean, LONG_MEAN, 1e-13);
    assert_near("upper end", is.high - is.mean, half, 1e-9);
    assert_near("lower end", is.mean - is.low, half, 1e-9);
    assert_near("effective number", is.n_effective, LONG_N_EFFECTIVE, 1e-9);
}

UNIT_TEST(the_same_difference_is_certain)
{
    const double twice[] = { 2, 4, 8 }, once[] = { 1, 2, 4 };

    assert_true(compare_pairs(twice, once, 3).p == 0);
    assert_true(compare_pairs(twice, once, 1).p == 1);
    assert_true(compare_pairs(once, once, 3).p == 1);
}

/* Only PAIRED_MAX pairs are compared: those behind change nothing. */
UNIT_TEST(more_pairs_are_left_out)
{
    static double first[PAIRED_MAX + 1], second[PAIRED_MAX + 1];

    for (int i = 0; i <= PAIRED_MAX; i++) {
        first[i] = i == PAIRED_MAX ? 1e9 : 3 + i % 2;
        second[i] = 1;
    }
    const struct comparison is = compare_pairs(first, second, PAIRED_MAX + 1);
    assert_int_equal(is.n_pairs, PAIRED_MAX);
    assert_near("ratio", is.ratio, sqrt(12), 1e-12);
}

/* The other one has the least value, or the greatest. */
UNIT_TEST(merging_takes_both_ends)
{
    static struct histogram low, high, both;

    histogram_init(&low);
    histogram_init(&high);
    histogram_add(&low, 1000001);
    histogram_add(&high, 3000001);
    both = high;
    histogram_merge(&both, &low);
    assert_true(both.least == 1000001 && both.greatest == 3000001 && both.n_values == 2);
    both = low;
    histogram_merge(&both, &high);
    assert_true(both.least == 1000001 && both.greatest == 3000001 && both.n_values == 2);
}

UNIT_MAIN("exact")
