/* SPDX-License-Identifier: Apache-2.0 */
/* losses_test.c - losses of equal samples, of curves whose means were worked out by hand. */
#include "harness/campaign/suite/campaign_test_kit.h"

/* Of a straight descent, 10 less a hundredth of the samples, the mean over the last tenth of S samples is that at 0.95
 * S, however far apart the rounds are that were recorded: workers do not matter. */
static void a_straight_line_is_the_same_in_any_rounds(void **state)
{
    static const double apart[] = { 1, 7, 32, 64, 256 };

    (void)state;
    for (size_t k = 0; k < sizeof apart / sizeof *apart; k++) {
        double samples[1000], loss[1000];
        for (int i = 0; i < 1000; i++) {
            samples[i] = apart[k] * (i + 1);
            loss[i] = 10 - 0.01 * samples[i];
        }
        const struct curve curve = { .n_points = 1000, .samples_count = samples, .loss = loss };
        assert_true(fabs(curve_loss_at(&curve, 960) - (10 - 0.01 * 912)) < 1e-9);
    }
}

/* Rounds at 80, 90, 96 and 104: between 90 and 100 the mean is that of 6 samples from 3 to 1, and of 4 from 1 to 2. */
static void parts_count_by_their_samples(void **state)
{
    double samples[] = { 80, 90, 96, 104 }, loss[] = { 100, 3, 1, 3 };
    struct curve curve = { .n_points = 4, .samples_count = samples, .loss = loss };

    (void)state;
    assert_true(fabs(curve_loss_at(&curve, 100) - (6 * 2 + 4 * 1.5) / 10) < 1e-12);
    assert_true(fabs(curve_loss_at(&curve, 104) - (2.4 * 1.4 + 8 * 2) / 10.4) < 1e-12);
    assert_true(fabs(curve_loss_at(&curve, 85) - (100 - 97 * 0.25)) < 1e-12); /* from the first round on: 80 to 85 */
    assert_true(isnan(curve_loss_at(&curve, 80)));                            /* the first round is not before it */
    assert_true(isnan(curve_loss_at(&curve, 105)));                           /* not seen */
    loss[0] = NAN;                                                            /* one that is left of what counts */
    assert_true(fabs(curve_loss_at(&curve, 100) - 1.8) < 1e-12);
    loss[3] = NAN; /* one that is not */
    assert_true(isnan(curve_loss_at(&curve, 100)));
    curve.n_points = 0;
    assert_true(isnan(curve_loss_at(&curve, 100)));
}

/* The least total of comparable points; each model has its own, and a launch that ended early counts. */
static void samples_that_all_have_seen(void **state)
{
    static const struct made_point point[] = { { "lenet", "ps", 4, 1, 1, 1000, 1, NAN, 1 },
                                               { "lenet", "none", 2, 0, 2, 1000, 1, NAN, 2 },
                                               { "linear", "none", 4, 0, 1, 1000, 1, NAN, 3 },
                                               { "linear", "ps", 1, 1, 0, 1000, 1, NAN, 4 } };
    struct campaign c;

    made_open(&c, *state, point, 4, false);
    assert_true(campaign_equal_samples(&c, &c.point[0]) == 192);
    assert_true(campaign_equal_samples(&c, &c.point[1]) == 192);
    assert_true(campaign_equal_samples(&c, &c.point[3]) == 384);
    assert_true(point_samples(&c.point[0]) == 384 && isnan(point_samples(&c.point[3])));
    c.point[1].curve[1].n_points = 2; /* rounds of 64 and 128 */
    assert_true(campaign_equal_samples(&c, &c.point[0]) == 128);
    assert_true(isnan(point_loss_at(&c.point[3], 100)));
    campaign_close(&c);
    made_open(&c, *state, point + 3, 1, false);
    assert_true(isnan(campaign_equal_samples(&c, &c.point[0])));
    campaign_close(&c);
}

/* A mean over all launches; where one has none there is none. */
static void every_launch_counts(void **state)
{
    static const struct made_point point = { "lenet", "none", 1, 0, 3, 1000, 1, NAN, 1 };
    struct campaign c;

    made_open(&c, *state, &point, 1, false);
    for (int n = 0; n < 3; n++)
        for (int r = 0; r < MADE_STEPS; r++)
            c.point[0].curve[n].loss[r] = n * n;
    assert_true(fabs(point_loss_at(&c.point[0], 96) - 5.0 / 3) < 1e-12);
    c.point[0].curve[2].loss[2] = NAN;
    assert_true(isnan(point_loss_at(&c.point[0], 96)));
    campaign_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_straight_line_is_the_same_in_any_rounds),
        cmocka_unit_test(parts_count_by_their_samples),
        MADE_TEST(samples_that_all_have_seen),
        MADE_TEST(every_launch_counts),
    };

    return cmocka_run_group_tests_name("losses", tests, NULL, NULL);
}
