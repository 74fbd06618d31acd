/* SPDX-License-Identifier: Apache-2.0 */
/* predict_test.c - the band of a prediction, of sizes whose launches vary unlike, worked out by hand. */
#include <math.h>

#include "harness/base/suite/unit.h"
#include "harness/campaign/predict.h"

enum { N_MEASURED = 3, N_SIZES };

#define assert_near(value, expected) assert_within(value, expected, 1e-12)

/* A setting of 2, 4 and 8 workers, and 16 asked for, whose measured steps are the simulated ones: no spread and no
 * drift. Half the intervals over launches are 0.4, 0.03 and 0.004. Links that are faster give the steps of 16 workers
 * 0.7 of their time, slower ones 1.2; those of the others stay. */
struct made {
    struct launch launch[N_MEASURED];
    struct point point[N_MEASURED];
    struct simulation simulation[N_SIZES * N_VARIANTS];
    struct predicted_setting setting;
    struct prediction prediction;
};

static void make(struct made *m)
{
    static const double step_s[N_SIZES] = { 5, 7, 9, 11 }, half_log[N_MEASURED] = { 0.4, 0.03, 0.004 };

    *m = (struct made){ .setting = { .n_measured = N_MEASURED, .n_sizes = N_SIZES } };
    m->prediction.simulation = m->simulation;
    for (int i = 0; i < N_SIZES; i++) {
        for (int v = 0; v < N_VARIANTS; v++)
            m->simulation[i * N_VARIANTS + v] = (struct simulation){ .step_mean_s = step_s[i], .compute_s = 3 };
        m->setting.size[i] = (struct predicted_size){ .n_workers = 2 << i, .simulation = (size_t)i * N_VARIANTS };
    }
    for (int i = 0; i < N_MEASURED; i++) {
        m->launch[i] = (struct launch){ .step_mean_s = step_s[i], .compute_s = 3 };
        m->point[i] = (struct point){ .n_workers = 2 << i, .launch = &m->launch[i], .n_launches = 1 };
        m->setting.size[i].point = &m->point[i];
        m->setting.size[i].measured_log = half_log[i];
    }
    m->simulation[N_MEASURED * N_VARIANTS + VARIANT_FASTER].step_mean_s = 11 * 0.7;
    m->simulation[N_MEASURED * N_VARIANTS + VARIANT_SLOWER].step_mean_s = 11 * 1.2;
}

/* Y2: the interval is that of the largest size that is used, which of the check is not the largest measured one. */
UNIT_TEST(the_band_has_the_noise_of_the_largest_size_Y2)
{
    static const double largest_log[] = { 0.4, 0.03, 0.004 }; /* by so many sizes, less 1 */
    struct made m;

    make(&m);
    for (size_t n_used = 1; n_used <= N_MEASURED; n_used++) {
        struct predicted_size *asked = &m.setting.size[N_MEASURED];
        prediction_of_size(&m.prediction, &m.setting, n_used, asked);
        assert_true(asked->is_predicted);
        assert_near(asked->by.step_s, 11);
        assert_near(asked->calibration_log, log(1 / 0.7)); /* the farther of both ways */
        assert_near(asked->band_log, hypot(largest_log[n_used - 1], log(1 / 0.7)));
    }
    struct predicted_size *check = &m.setting.size[N_MEASURED - 1];
    prediction_of_size(&m.prediction, &m.setting, N_MEASURED - 1, check); /* Y1 */
    assert_near(check->by.step_s, 9);
    assert_near(check->band_log, 0.03);
}

/* Predictions worked out by hand. */

static void assert_extrapolated(double seen, double expected)
{
    if (!(fabs(seen - expected) <= 1e-12 * fabs(expected)))
        fail_msg("%.17g, expected %.17g", seen, expected);
}

static struct extrapolation of(const struct size_times *used, size_t n, int n_workers, double step_s, double compute_s)
{
    return extrapolate(used, n, &(struct size_target){ n_workers, { step_s, compute_s } });
}

UNIT_TEST(equal_times_give_the_simulated_ones_X1)
{
    const struct size_times used[] = { { 2, { 5, 3 }, { 5, 3 } }, { 4, { 7, 3 }, { 7, 3 } } };
    const struct extrapolation x = of(used, 2, 8, 11, 3);

    assert_extrapolated(x.step_s, 11);
    assert_extrapolated(x.compute_ratio, 1);
    assert_extrapolated(x.exchange_ratio, 1);
    assert_true(x.spread_log == 0 && x.drift_log == 0 && !x.is_whole);
}

/* Compute 3 -> 3.3 s, exchange 4 -> 6 s: the target's 3 and 8 s become 3.3 and 12. */
UNIT_TEST(parts_have_ratios_of_their_own)
{
    const struct size_times used = { 4, { 9.3, 3.3 }, { 7, 3 } };
    const struct extrapolation x = of(&used, 1, 8, 11, 3);

    assert_extrapolated(x.compute_ratio, 1.1);
    assert_extrapolated(x.exchange_ratio, 1.5);
    assert_extrapolated(x.step_s, 15.3);
    assert_true(x.spread_log == 0);
}

/* By the ratios of 2 workers (1 and 1.25) it would be 3 + 10 s, by those of 3 (1 and 1.6) 15.8. */
UNIT_TEST(the_largest_predicts_and_others_spread_X2)
{
    const struct size_times used[] = { { 2, { 5.5, 3 }, { 5, 3 } },
                                       { 3, { 7.8, 3 }, { 6, 3 } },
                                       { 4, { 9, 3 }, { 7, 3 } } };
    struct extrapolation x = of(used, 3, 8, 11, 3);

    assert_extrapolated(x.step_s, 3 + 1.5 * 8);
    assert_extrapolated(x.spread_log, log(15.0 / 13.0));
    x = of(used + 1, 2, 8, 11, 3);
    assert_extrapolated(x.spread_log, log(2) / log(4.0 / 3) * log(15.8 / 15.0));
}

/* Three doublings from 4 to 32, one from 2 to 4: three times the spread. From 3 to 4 it is 0.415: 7.2 times. */
UNIT_TEST(the_spread_grows_with_distance_X2)
{
    const struct size_times used[] = { { 2, { 5.5, 3 }, { 5, 3 } }, { 4, { 9, 3 }, { 7, 3 } } };
    const struct size_times near[] = { { 3, { 5.5, 3 }, { 5, 3 } }, { 4, { 9, 3 }, { 7, 3 } } };
    struct extrapolation x = of(used, 2, 32, 11, 3);

    assert_extrapolated(x.step_s, 15);
    assert_extrapolated(x.spread_log, 3 * log(15.0 / 13.0));
    x = of(near, 2, 32, 11, 3);
    assert_extrapolated(x.spread_log, log(8.0) / log(4.0 / 3) * log(15.0 / 13.0));
    x = of(used, 2, 5, 11, 3); /* nearer than the others are: as far */
    assert_extrapolated(x.spread_log, log(15.0 / 13.0));
}

/* Steps of 4 workers took 9 s for 7; the target's 15 s for 11: a quarter of log(15 / 11) a doubling. */
UNIT_TEST(what_is_not_explained_may_drift_X3)
{
    const struct size_times longer = { 4, { 9, 3 }, { 7, 3 } }, less_long = { 4, { 5, 3 }, { 7, 3 } };

    assert_extrapolated(of(&longer, 1, 8, 11, 3).drift_log, 0.25 * log(15.0 / 11));
    assert_extrapolated(of(&longer, 1, 32, 11, 3).drift_log, 0.75 * log(15.0 / 11));
    assert_extrapolated(of(&less_long, 1, 8, 11, 3).drift_log, 0.25 * log(11.0 / 7));
}

/* One size exchanges less than a hundredth of its step: no ratio of exchanges; of whole steps 1.2, not 1.5. */
UNIT_TEST(without_an_exchange_whole_steps_count)
{
    const struct size_times used[] = { { 2, { 4.5, 3.1 }, { 3.01, 3 } }, { 4, { 8.4, 3 }, { 7, 3 } } };
    const struct size_times late[] = { { 2, { 8.4, 3 }, { 7, 3 } }, { 4, { 3.7, 3.1 }, { 3.7, 3.69 } } };
    const struct size_times idle = { 2, { 4, 0 }, { 2, 0 } };
    struct extrapolation x = of(used, 2, 8, 11, 3);

    assert_true(x.is_whole);
    assert_extrapolated(x.exchange_ratio, 1.2);
    assert_extrapolated(x.compute_ratio, 1.2);
    assert_extrapolated(x.step_s, 13.2);
    assert_extrapolated(x.spread_log, log(4.5 / 3.01 / 1.2));
    x = of(late, 2, 8, 11, 3);
    assert_true(x.is_whole);
    assert_extrapolated(x.step_s, 11);
    x = of(&idle, 1, 8, 3, 0);
    assert_true(x.is_whole);
    assert_extrapolated(x.step_s, 6);
}

UNIT_TEST(parts_of_a_band_add_as_squares)
{
    const struct extrapolation x = { .spread_log = 0.02, .drift_log = 0.24 }, none = { .step_s = 1 };

    assert_extrapolated(extrapolate_band_log(&x, 0.03, 0.06), 0.25);
    assert_true(extrapolate_band_log(&none, 0, 0) == 0);
}

UNIT_MAIN("predict")
