/* SPDX-License-Identifier: Apache-2.0 */
/* predict_test.c - the band of a prediction, of sizes whose launches vary unlike, worked out by hand. */
#include "harness/campaign/predict.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { N_MEASURED = 3, N_SIZES };

static void assert_near(double seen, double expected)
{
    if (!(fabs(seen - expected) <= 1e-12 * fabs(expected)))
        fail_msg("%.17g, expected %.17g", seen, expected);
}

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
static void the_band_has_the_noise_of_the_largest_size_Y2(void **state)
{
    static const double largest_log[] = { 0.4, 0.03, 0.004 }; /* by so many sizes, less 1 */
    struct made m;

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_band_has_the_noise_of_the_largest_size_Y2) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
