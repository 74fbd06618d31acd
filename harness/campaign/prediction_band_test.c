/* SPDX-License-Identifier: Apache-2.0 */
/* prediction_band_test.c - bands of made-up runs, worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>

#include "harness/campaign/prediction_band.h"

static void assert_band(const double *x, size_t n, double mean, double half)
{
    const struct prediction_band b = prediction_band_of(x, n);

    if (!(fabs(b.mean - mean) < 1e-12) || !(fabs(b.low - (mean - half)) < 1e-4) ||
        !(fabs(b.high - (mean + half)) < 1e-4))
        fail_msg("%.9g .. %.9g around %.9g, expected %.9g -+ %.9g", b.low, b.high, b.mean, mean, half);
}

/* t(0.975) is 4.30265 with 2 degrees of freedom, 2.77645 with 4. */
static void of_runs(void **state)
{
    const double three[] = { 0.48, 0.5, 0.52 }, five[] = { 1, 1, 1, 1, 1 };

    (void)state;
    assert_band(three, 3, 0.5, 4.30265273 * 0.02 * sqrt(4.0 / 3));
    assert_band(five, 5, 1, 0);
}

static void of_one_or_two_runs_there_is_none(void **state)
{
    const double x[] = { 0.5, 0.75 };
    struct prediction_band b = prediction_band_of(x, 1);

    (void)state;
    assert_true(b.mean == 0.5 && isnan(b.low) && isnan(b.high));
    b = prediction_band_of(x, 2);
    assert_true(b.mean == 0.625 && isnan(b.low) && isnan(b.high));
}

/* Half the band is 4.3 x 0.25 x 1.15, more than their mean. No efficiency is below 0 or above 1. */
static void the_band_is_from_0_to_1(void **state)
{
    const double wide[] = { 0.25, 0.5, 0.75 }, outside[] = { 1.25, 1.5, 1.75 }, below[] = { -3, -2, -1 };
    struct prediction_band b = prediction_band_of(wide, 3);

    (void)state;
    assert_true(b.mean >= 0.5 && b.mean <= 0.5 && b.low == 0 && b.high == 1);
    b = prediction_band_of(outside, 3);
    assert_true(b.low <= b.mean && b.mean <= b.high);
    b = prediction_band_of(below, 3);
    assert_true(b.low <= b.mean && b.mean <= b.high);
}

/* In 64ths: half of 3 and moves of 4 and 12: 13. Without a band there is one of the moves alone. */
static void moves_widen_by_squares(void **state)
{
    const double moves[] = { 4.0 / 64, 12.0 / 64 }, none[] = { 0, 0 };
    struct prediction_band b = { .mean = 20.0 / 64, .low = 17.0 / 64, .high = 23.0 / 64 };
    struct prediction_band alone = { .mean = 1.0 / 64, .low = NAN, .high = NAN };

    (void)state;
    prediction_band_widen(&b, none, 0);
    assert_true(b.low == 17.0 / 64 && b.high == 23.0 / 64);
    prediction_band_widen(&b, none, 2);
    assert_true(b.low == 17.0 / 64 && b.high == 23.0 / 64);
    prediction_band_widen(&b, moves, 2);
    assert_true(b.mean == 20.0 / 64 && b.low == 7.0 / 64 && b.high == 33.0 / 64);
    prediction_band_widen(&alone, none, 0);
    assert_true(isnan(alone.low) && isnan(alone.high));
    prediction_band_widen(&alone, moves, 1);
    assert_true(alone.low == 0 && alone.high == 5.0 / 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(of_runs), cmocka_unit_test(of_one_or_two_runs_there_is_none),
                                        cmocka_unit_test(the_band_is_from_0_to_1),
                                        cmocka_unit_test(moves_widen_by_squares) };

    return cmocka_run_group_tests_name("prediction_band", tests, NULL, NULL);
}
