/* SPDX-License-Identifier: Apache-2.0 */
/* level_shift_test.c - splits and lines worked out by hand, and how often either is seen where there is none. */
#include "harness/measure/level_shift.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/base/rng.h"

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-12 * (1 + fabs(expected))))
        fail_msg("%.17g is not %.17g", value, expected);
}

/* Between 2 6 and 10 12 14: levels 4 and 12, squares 8 + 8. t = 8 / sqrt(16 / 3 (1 / 2 + 1 / 3)) = 3.795 of 3 degrees,
 * which chance exceeds in 3.2 % of cases. */
static void the_best_split(void **state)
{
    const double y[] = { 2, 6, 10, 12, 14 };
    const struct level_shift s = level_shift_find(y, 5);

    (void)state;
    assert_int_equal(s.index, 2);
    assert_near(s.before, 4);
    assert_near(s.after, 12);
    assert_near(s.squares, 16);
    assert_false(s.is_significant);
}

/* Pooled variance 8 d^2 / 6; of the difference of levels (1 / 4 + 1 / 4) of it; 6 degrees, 7 places: 1 % is reached
 * at p = 0.01 / 7, t = 5.5632. */
static void significance_has_a_price_for_each_place(void **state)
{
    (void)state;
    for (int is_less = 0; is_less < 2; is_less++) {
        const double t = is_less ? 5.55 : 5.58, d = sqrt(1.5) / t;
        double y[8];

        for (int i = 0; i < 8; i++)
            y[i] = (i >= 4) + (i % 2 ? d : -d);
        assert_int_equal(level_shift_find(y, 8).index, 4);
        assert_int_equal(level_shift_find(y, 8).is_significant, !is_less);
    }
}

static void without_any_deviation(void **state)
{
    const double step[] = { 3, 3, 5, 5, 5 }, equal[] = { 0.1, 0.1, 0.1, 0.1 }, two[] = { 1, 9 };
    const struct level_shift s = level_shift_find(step, 5);

    (void)state;
    assert_int_equal(s.index, 2);
    assert_near(s.squares, 0);
    assert_true(s.is_significant);
    assert_false(level_shift_find(equal, 4).is_significant);
    assert_false(line_find(equal, 4).is_significant);
    assert_false(level_shift_find(two, 2).is_significant);
    assert_int_equal(level_shift_find(two, 2).index, 0);
    assert_false(line_find(two, 2).is_significant);
    assert_near(line_find(two, 2).rise, 0);
}

/* 1 2 4 5 7: slope 1.5, mean 3.8, residuals 0.2 -0.3 0.2 -0.3 0.2. */
static void the_line(void **state)
{
    const double y[] = { 1, 2, 4, 5, 7 }, wild[] = { 1, 5, 1, 6, 2 };

    (void)state;
    assert_near(line_find(y, 5).rise, 7.5);
    assert_near(line_find(y, 5).squares, 0.3);
    assert_true(line_find(y, 5).is_significant);
    assert_false(line_find(wild, 5).is_significant);
    assert_near(line_find(wild, 5).rise, 1.5); /* slope 0.3 */
}

/* Bonferroni never exceeds its 1 %, nor may it be so careful that it sees nothing. */
static void false_alarms(void **state)
{
    enum { N_SERIES = 4000 };

    (void)state;
    for (size_t n = 8; n <= 40; n += 16) {
        int n_shifts = 0, n_lines = 0, n_found = 0;

        for (uint64_t seed = 0; seed < N_SERIES; seed++) {
            double y[40];

            for (size_t i = 0; i < n; i++)
                y[i] = rng_normal(seed, RNG_TEST, i + 100 * n);
            n_shifts += level_shift_find(y, n).is_significant;
            n_lines += line_find(y, n).is_significant;
            for (size_t i = n / 2; i < n; i++)
                y[i] += 6;
            n_found += level_shift_find(y, n).is_significant;
        }
        print_message("%zu values: of %d series %d shifts, %d lines; %d of as many shifts found\n", n, N_SERIES,
                      n_shifts, n_lines, n_found);
        assert_in_range(n_shifts, N_SERIES / 1000, N_SERIES / 80); /* at most 1 %, and two deviations of the count */
        assert_in_range(n_lines, N_SERIES / 200, N_SERIES / 60);   /* 1 % */
        assert_true(n_found >= N_SERIES * 9 / 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_split),        cmocka_unit_test(significance_has_a_price_for_each_place),
        cmocka_unit_test(without_any_deviation), cmocka_unit_test(the_line),
        cmocka_unit_test(false_alarms),
    };

    return cmocka_run_group_tests_name("level_shift", tests, NULL, NULL);
}
