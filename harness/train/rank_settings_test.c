/* SPDX-License-Identifier: Apache-2.0 */
/* rank_settings_test.c - what a rank's compute is opened with: precision and threads of the command line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "harness/train/suite/train_kit.h"

struct run {
    struct train_job job;
    struct train_result result;
};

static enum rc body(struct world *w, void *arg)
{
    struct run *run = arg;

    return train_rank(w, &run->job, &run->result);
}

/* cpu has no tf32. That the job asks for it is set behind preparation, which would refuse it, too. */
static void precision_reaches_the_compute(void **state)
{
    struct run run = { 0 };

    (void)state;
    assert_int_equal(kit_prepare(&run.job, "--model linear --batch 8 --steps 1"), RC_OK);
    run.job.precision = PRECISION_TF32;
    const struct world_opts world = train_world_opts(&run.job);
    assert_int_equal(world_run(run.job.world, &world, run.job.n_ranks, body, &run), RC_UNSUPPORTED);
    assert_non_null(strstr(rc_message(), "precision tf32"));
    train_result_free(&run.result);
    train_job_free(&run.job);
}

static void result_has_the_threads(void **state)
{
    (void)state;
    for (int n = 1; n <= 3; n++) {
        struct train_result r = { 0 };
        char options[100];
        snprintf(options, sizeof options, "--model linear --batch 8 --steps 1 --threads %d", n);
        if (kit_train(&r, options, NULL, 0) != RC_OK)
            fail_msg("%s: %s", options, rc_message());
        assert_int_equal(r.n_threads, n);
        train_result_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(precision_reaches_the_compute),
        cmocka_unit_test(result_has_the_threads),
    };

    return cmocka_run_group_tests_name("rank_settings", tests, NULL, NULL);
}
