/* SPDX-License-Identifier: Apache-2.0 */
/* extrapolate_test.c - predictions worked out by hand. */
#include "harness/campaign/extrapolate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void assert_near(double seen, double expected)
{
    if (!(fabs(seen - expected) <= 1e-12 * fabs(expected)))
        fail_msg("%.17g, expected %.17g", seen, expected);
}

static void equal_times_give_the_simulated_ones_X1(void **state)
{
    const struct size_times used[] = { { 2, { 5, 3 }, { 5, 3 } }, { 4, { 7, 3 }, { 7, 3 } } };
    const struct extrapolation x = extrapolate(used, 2, (struct step_times){ 11, 3 });

    (void)state;
    assert_near(x.step_s, 11);
    assert_near(x.compute_ratio, 1);
    assert_near(x.exchange_ratio, 1);
    assert_true(x.spread_log == 0 && !x.is_whole);
}

/* Compute 3 -> 3.3 s, exchange 4 -> 6 s: the target's 3 and 8 s become 3.3 and 12. */
static void parts_have_ratios_of_their_own(void **state)
{
    const struct size_times used = { 4, { 9.3, 3.3 }, { 7, 3 } };
    const struct extrapolation x = extrapolate(&used, 1, (struct step_times){ 11, 3 });

    (void)state;
    assert_near(x.compute_ratio, 1.1);
    assert_near(x.exchange_ratio, 1.5);
    assert_near(x.step_s, 15.3);
    assert_true(x.spread_log == 0);
}

/* By the ratios of 2 workers (1 and 1.25) it would be 3 + 10 s, by those of 3 (1 and 1.6) 15.8. */
static void the_largest_predicts_and_others_spread_X2(void **state)
{
    const struct size_times used[] = { { 2, { 5.5, 3 }, { 5, 3 } },
                                       { 3, { 7.8, 3 }, { 6, 3 } },
                                       { 4, { 9, 3 }, { 7, 3 } } };
    struct extrapolation x = extrapolate(used, 3, (struct step_times){ 11, 3 });

    (void)state;
    assert_near(x.step_s, 3 + 1.5 * 8);
    assert_near(x.spread_log, log(15.0 / 13.0));
    x = extrapolate(used + 1, 2, (struct step_times){ 11, 3 });
    assert_near(x.spread_log, log(15.8 / 15.0));
}

/* One size exchanges less than a hundredth of its step: no ratio of exchanges; of whole steps 1.2, not 1.5. */
static void without_an_exchange_whole_steps_count(void **state)
{
    const struct size_times used[] = { { 2, { 4.5, 3.1 }, { 3.01, 3 } }, { 4, { 8.4, 3 }, { 7, 3 } } };
    const struct size_times late[] = { { 2, { 8.4, 3 }, { 7, 3 } }, { 4, { 3.7, 3.1 }, { 3.7, 3.69 } } };
    const struct size_times idle = { 2, { 4, 0 }, { 2, 0 } };
    struct extrapolation x = extrapolate(used, 2, (struct step_times){ 11, 3 });

    (void)state;
    assert_true(x.is_whole);
    assert_near(x.exchange_ratio, 1.2);
    assert_near(x.compute_ratio, 1.2);
    assert_near(x.step_s, 13.2);
    assert_near(x.spread_log, log(4.5 / 3.01 / 1.2));
    x = extrapolate(late, 2, (struct step_times){ 11, 3 });
    assert_true(x.is_whole);
    assert_near(x.step_s, 11);
    x = extrapolate(&idle, 1, (struct step_times){ 3, 0 });
    assert_true(x.is_whole);
    assert_near(x.step_s, 6);
}

static void parts_of_a_band_add_as_squares(void **state)
{
    (void)state;
    assert_near(extrapolate_band_log(0.02, 0.03, 0.06), 0.07);
    assert_true(extrapolate_band_log(0, 0, 0) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_times_give_the_simulated_ones_X1),
        cmocka_unit_test(parts_have_ratios_of_their_own),
        cmocka_unit_test(the_largest_predicts_and_others_spread_X2),
        cmocka_unit_test(without_an_exchange_whole_steps_count),
        cmocka_unit_test(parts_of_a_band_add_as_squares),
    };

    return cmocka_run_group_tests_name("extrapolate", tests, NULL, NULL);
}
