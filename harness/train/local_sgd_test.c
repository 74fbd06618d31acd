/* SPDX-License-Identifier: Apache-2.0 */
/* local_sgd_test.c - averages of parameters: every step is averaged gradients; seldom is means of what each did alone.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/suite/names.h"
#include "harness/base/suite/unit.h"
#include "harness/train/suite/train_kit.h"

static const float *row(const struct train_result *r, int worker, size_t step)
{
    return r->trajectory + ((size_t)worker * (r->n_steps + 1) + step) * 2;
}

/* Plain SGD is linear in the gradient: the mean of p - lr g is p - lr (mean of g). */
UNIT_TEST(every_step_is_averaged_gradients)
{
    static const char *const model[] = {
        "--model linear --batch 10 --lr 0.3 --steps 30", "--model lenet --batch 8 --momentum 0 --lr 0.05 --steps 15",
        "--model lenet --batch 8 --momentum 0 --lr 0.05 --steps 15 --bucket-bytes 4096 "
        "--reducer root"
    };

    for (size_t i = 0; i < sizeof model / sizeof *model; i++)
        for (int n_workers = 2; n_workers <= 3; n_workers++) {
            struct train_result gradients, parameters;
            char options[256];
            (void)snprintf(options, sizeof options, "%s --mode allreduce --workers %d", model[i], n_workers);
            kit_must_train(&gradients, options);
            (void)snprintf(options, sizeof options, "%s --mode allreduce --workers %d --average-every 1", model[i],
                           n_workers);
            kit_must_train(&parameters, options);
            if (!(kit_distance(&parameters, &gradients) < 1e-6))
                fail_msg("%s: %g apart", options, kit_distance(&parameters, &gradients));
            train_result_free(&gradients);
            train_result_free(&parameters);
        }
}

/* Until the first average each is alone, as in mode none; there, behind every 4 steps and behind the last, all are at
 * the mean of where they would have been. */
UNIT_TEST(seldom_is_means_of_what_each_did)
{
    static const char model[] = "--model linear --batch 10 --lr 0.3 --momentum 0.5 --workers 3 --trajectory t";
    struct train_result local, none;
    char options[256];

    (void)snprintf(options, sizeof options, "%s --mode allreduce --average-every 4 --steps 10", model);
    kit_must_train(&local, options);
    (void)snprintf(options, sizeof options, "%s --mode none --steps 4", model);
    kit_must_train(&none, options);
    for (int w = 0; w < 3; w++)
        assert_memory_equal(row(&local, w, 0), row(&none, w, 0), 4 * 2 * sizeof(float));
    for (int i = 0; i < 2; i++) {
        const double mean =
            ((double)row(&none, 0, 4)[i] + (double)row(&none, 1, 4)[i] + (double)row(&none, 2, 4)[i]) / 3;
        assert_true(fabs((double)row(&local, 0, 4)[i] - mean) < 1e-6);
    }
    for (size_t step = 1; step <= 10; step++)
        for (int w = 1; w < 3; w++) {
            const bool is_equal = memcmp(row(&local, 0, step), row(&local, w, step), 2 * sizeof(float)) == 0;
            assert_int_equal(is_equal, step == 4 || step == 8 || step == 10);
        }
    train_result_free(&local);
    train_result_free(&none);
}

/* train.L3 */
UNIT_TEST(resumed)
{
    static const char way[] = "--model lenet --mode allreduce --workers 2 --batch 8 --momentum 0 --average-every 4";
    char path[] = "/tmp/local_sgd_test.XXXXXX", options[320];
    struct train_result whole, first, second;
    struct train_job job;

    kit_make_file(path);
    (void)snprintf(options, sizeof options, "%s --steps 16", way);
    kit_must_train(&whole, options);
    (void)snprintf(options, sizeof options, "%s --steps 8", way);
    kit_must_train(&first, options);
    assert_int_equal(checkpoint_save(&first.final, path, NULL, NULL), RC_OK);
    (void)snprintf(options, sizeof options, "%s --steps 16 --resume %s", way, path);
    kit_must_train(&second, options);
    assert_memory_equal(whole.final.param, second.final.param, whole.final.n_params * sizeof(float));
    (void)snprintf(options, sizeof options,
                   "--model lenet --mode allreduce --workers 2 --momentum 0 --average-every 3 --steps 18 --resume %s",
                   path);
    assert_int_equal(kit_prepare(&job, options), RC_INVAL);
    assert_names(rc_message(), "8 steps ... --average-every 3; use --average-every 2 or 4");
    (void)unlink(path);
    train_result_free(&whole);
    train_result_free(&first);
    train_result_free(&second);
}

UNIT_TEST(refuses)
{
    static const struct kit_refusal c[] = {
        { "--mode allreduce --workers 1 --average-every 2", "--average-every 2: one worker" },
        { "--mode ps --workers 2 --average-every 2", "average-every" },
        { "--mode none --workers 2 --average-every 2", "average-every" },
        { "--mode allreduce --workers 2 --average-every 2 --overlap on", "--overlap off" },
        { "--mode allreduce --workers 2 --average-every 2 --on-loss report", "no common step" },
        { "--mode allreduce --workers 2 --average-every 2 --omit average", "leaves out all averages" },
        { "--mode allreduce --workers 2 --average-every 2 --momentum 0.9 --save f",
          "a checkpoint does not hold each worker's own momentum; with --save use --momentum 0" },
        { "--mode allreduce --workers 2 --average-every 4 --save f --steps 10",
          "--steps 10: is no multiple of --average-every 4; with --save it must be, so that --resume continues after "
          "an "
          "average; use 8 or 12" },
        { "--mode allreduce --workers 2 --average-every 4 --save f --steps 12 --save-every 3",
          "--save-every 3: is no multiple of --average-every 4; in between workers have no parameters in common; use "
          "4" },
    };

    kit_expect_each_refused("--model linear", c, sizeof c / sizeof *c);
}

UNIT_MAIN("local_sgd")
