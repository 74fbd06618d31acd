/* SPDX-License-Identifier: Apache-2.0 */
/* schedule_test.c - rates worked out by hand. */
#include "harness/base/suite/unit.h"
#include "harness/train/schedule.h"

#include <math.h>

static void assert_rate(const struct schedule *s, uint64_t samples_count, double expected)
{
    const double rate = (double)schedule_lr(s, samples_count);

    if (!(fabs(rate - expected) <= 1e-7 * fabs(expected))) /* rates are floats */
        fail_msg("after %llu samples: %.9g is not %.9g", (unsigned long long)samples_count, rate, expected);
}

static double factor_of(const char *name, int n_workers)
{
    enum lr_scaling scaling;
    double warmup_epochs;

    assert_int_equal(lr_scaling_parse(&scaling, &warmup_epochs, name), RC_OK);
    assert_true(warmup_epochs == 0);
    return lr_scaling_factor(scaling, n_workers);
}

UNIT_TEST(factors_are_of_the_workers)
{
    for (int n_workers = 1; n_workers <= 9; n_workers++) {
        assert_true(factor_of("none", n_workers) == 1);
        assert_true(factor_of("linear", n_workers) == n_workers);
    }
    assert_true(factor_of("sqrt", 1) == 1 && factor_of("sqrt", 9) == 3);
}

/* From 0.1 to 0.4 over 2 epochs of 1000 samples: 0.15 more for each 1000. */
UNIT_TEST(warm_up_rises_in_a_straight_line)
{
    const struct schedule s = { .lr = 0.1, .factor = 4, .warmup_epochs = 2, .n_train = 1000 };

    assert_rate(&s, 0, 0.1);
    assert_rate(&s, 500, 0.175);
    assert_rate(&s, 1000, 0.25);
    assert_rate(&s, 1999, 0.39985);
    assert_rate(&s, 2000, 0.4);
    assert_rate(&s, 1000000, 0.4);
}

UNIT_TEST(without_warm_up_the_rate_is_scaled_at_once)
{
    const struct schedule scaled = { .lr = 0.1, .factor = 4, .n_train = 1000 };
    const struct schedule own = { .lr = 0.1, .factor = 1, .warmup_epochs = 3, .n_train = 1000 };

    assert_rate(&scaled, 0, 0.4);
    assert_rate(&scaled, 5000, 0.4);
    assert_rate(&own, 0, 0.1);
    assert_rate(&own, 1500, 0.1);
}

UNIT_MAIN("schedule")
