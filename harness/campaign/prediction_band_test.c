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

/* t(0.975) is 12.7062 with 1 degree of freedom, 4.30265 with 2, 2.77645 with 4. */
static void of_runs(void **state)
{
    const double two[] = { 10.9, 10.8 }, three[] = { 12, 14, 16 }, five[] = { 1, 1, 1, 1, 1 };

    (void)state;
    assert_band(two, 2, 10.85, 12.7062047 * 0.0707106781 * sqrt(1.5));
    assert_band(three, 3, 14, 4.30265273 * 2 * sqrt(4.0 / 3));
    assert_band(five, 5, 1, 0);
}

static void of_one_run_there_is_none(void **state)
{
    const double one = 0.7;
    const struct prediction_band b = prediction_band_of(&one, 1);

    (void)state;
    assert_true(b.mean == 0.7 && isnan(b.low) && isnan(b.high));
}

/* 0.1 and 0.9: half the band is 12.7 x 0.566 x 1.22, far more than their mean; no efficiency is below 0. */
static void nothing_is_below_nothing(void **state)
{
    const double wide[] = { 0.1, 0.9 }, below[] = { -3, -1 };
    struct prediction_band b = prediction_band_of(wide, 2);

    (void)state;
    assert_true(b.mean == 0.5 && b.low == 0 && fabs(b.high - (0.5 + 12.7062047 * 0.565685425 * sqrt(1.5))) < 1e-4);
    b = prediction_band_of(below, 2);
    assert_true(b.low <= b.mean && b.mean == -2);
}

/* Half of 3 and moves of 4 and 12: 13. Without a band there is one of the moves alone. */
static void moves_widen_by_squares(void **state)
{
    const double moves[] = { 4, 12 }, none[] = { 0, 0 };
    struct prediction_band b = { .mean = 20, .low = 17, .high = 23 }, alone = { .mean = 1, .low = NAN, .high = NAN };

    (void)state;
    prediction_band_widen(&b, none, 0);
    assert_true(b.low == 17 && b.high == 23);
    prediction_band_widen(&b, none, 2);
    assert_true(b.low == 17 && b.high == 23);
    prediction_band_widen(&b, moves, 2);
    assert_true(b.mean == 20 && b.low == 7 && b.high == 33);
    prediction_band_widen(&alone, none, 0);
    assert_true(isnan(alone.low) && isnan(alone.high));
    prediction_band_widen(&alone, moves, 1);
    assert_true(alone.low == 0 && alone.high == 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(of_runs), cmocka_unit_test(of_one_run_there_is_none),
                                        cmocka_unit_test(nothing_is_below_nothing),
                                        cmocka_unit_test(moves_widen_by_squares) };

    return cmocka_run_group_tests_name("prediction_band", tests, NULL, NULL);
}
