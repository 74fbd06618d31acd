/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input_test.c - --input: trained on what a driver feeds, parameters have the bits of workers that read for themselves.
 *
 * usage: input_test equal | refused | others
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/suite/names.h"
#include "harness/base/suite/unit.h"
#include "harness/train/suite/train_kit.h"

/* Final parameters, losses of all steps and the evaluation: to the bit. */
static void expect_equal(const struct train_result *a, const struct train_result *b, const char *what)
{
    assert_int_equal(a->final.n_params, b->final.n_params);
    if (memcmp(a->final.param, b->final.param, a->final.n_params * sizeof(float)) != 0)
        fail_msg("%s: other parameters", what);
    for (size_t i = 0; i < (size_t)a->n_workers * a->n_steps; i++)
        if (a->stamp[i].loss != b->stamp[i].loss)
            fail_msg("%s: another loss in step %zu", what, i % a->n_steps);
    assert_true(a->evaluation.loss == b->evaluation.loss || (isnan(a->evaluation.loss) && isnan(b->evaluation.loss)));
    assert_int_equal(a->n_ranks, b->n_ranks); /* the driver is none of them */
}

static void fed_as_direct(const char *options)
{
    struct train_result direct, fed;
    char text[512];

    (void)snprintf(text, sizeof text, "%s --input direct", options);
    kit_must_train(&direct, text);
    (void)snprintf(text, sizeof text, "%s --input feed", options);
    kit_must_train(&fed, text);
    expect_equal(&fed, &direct, options);
    train_result_free(&direct);
    train_result_free(&fed);
}

UNIT_TEST_OF("equal", equal_in_every_mode)
{
    static const char *const way[] = {
        "--mode single",
        "--mode none --workers 3",
        "--mode allreduce --workers 3",
        "--mode allreduce --workers 2 --reducer shm",
        "--mode allreduce --workers 2 --overlap on --bucket-bytes 4000",
        "--mode allreduce --workers 2 --average-every 3",
        "--mode ps --workers 1",
        "--mode ps --workers 3 --servers 2 --consistency sync",
        "--mode ps --workers 2 --consistency sync --transport inproc",
        "--mode allreduce --workers 3 --split unequal:4,1,1",
        "--mode none --workers 2 --split by-label",
        "--mode none --forward-only --workers 2",
    };

    for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
        char options[256];
        (void)snprintf(options, sizeof options, "--model lenet --batch 16 --steps 10 %s", way[i]);
        fed_as_direct(options);
    }
}

/* Batches that a background thread would load, and images of three channels. */
UNIT_TEST_OF("equal", equal_with_prefetch)
{
    fed_as_direct("--model resnet8 --image-size 32 --width-divisor 8 --batch 64 --steps 4 --mode allreduce --workers 2 "
                  "--eval-samples 70");
}

UNIT_TEST_OF("refused", refused)
{
    static const struct {
        const char *options, *why;
    } kind[] = {
        { "--input feed --world sim --mode allreduce --workers 2", "--input feed: in world sim reading samples takes" },
        { "--input feed --mode allreduce --workers 2 --on-loss report", "needs --on-loss abort" },
        { "--input feed --model linear --mode single", "--input feed: model linear computes its samples" },
        { "--input synthetic --model linear --mode single", "--input synthetic: model linear computes its samples" },
    };
    struct train_job job = { 0 };

    for (size_t i = 0; i < sizeof kind / sizeof *kind; i++) {
        char text[256];
        (void)snprintf(text, sizeof text, "%s%s", kind[i].options,
                       strstr(kind[i].options, "--model") ? "" : " --model lenet");
        const enum rc rc = kit_prepare(&job, text);
        if (rc != RC_INVAL)
            fail_msg("%s: %s", text, rc == RC_OK ? "taken" : rc_message());
        if (!strstr(rc_message(), kind[i].why))
            fail_msg("%s: %s", text, rc_message());
    }
}

/* Under a launcher the driver is one of the ranks that were launched. */
UNIT_TEST_OF("refused", launched_ranks_are_counted)
{
    const struct world_ops *mpi;
    struct train_job job = { 0 };

    if (world_find(&mpi, "mpi") != RC_OK)
        skip(); /* not built in */
    assert_int_equal(kit_prepare_launched(&job, "--world mpi --model lenet --mode ps --servers 2 --input feed", 6),
                     RC_OK);
    assert_int_equal(job.n_workers, 3);
    assert_int_equal(job.n_ranks, 5);
    assert_int_equal(train_n_ranks(&job), 6);
    train_job_free(&job);
    assert_int_equal(kit_prepare_launched(&job, "--world mpi --model lenet --mode none --workers 3 --input feed", 3),
                     RC_INVAL);
    assert_names(rc_message(), "4 ranks ... 3 ... 4");
    assert_int_equal(kit_prepare_launched(&job, "--world mpi --model lenet --mode none --input feed", 1), RC_INVAL);
    assert_non_null(strstr(rc_message(), "a worker and the driver are 2"));
}

UNIT_TEST_OF("others", synthetic_has_the_shape_of_the_files)
{
    struct train_job direct, made;
    struct train_result a, b;

    assert_int_equal(kit_prepare(&direct, "--model lenet --mode single"), RC_OK);
    assert_int_equal(kit_prepare(&made, "--model lenet --mode single --input synthetic"), RC_OK);
    assert_string_equal(direct.dataset->name, "digits");
    assert_string_equal(made.dataset->name, "synthetic");
    assert_int_equal(made.dataset->n_train, direct.dataset->n_train);
    assert_int_equal(made.dataset->n_features, direct.dataset->n_features);
    assert_int_equal(made.dataset->n_classes, direct.dataset->n_classes);
    train_job_free(&direct);
    train_job_free(&made);
    kit_must_train(&a, "--model lenet --mode single --steps 5 --input synthetic");
    kit_must_train(&b, "--model lenet --mode single --steps 5 --data synthetic:1438 --image-size 8 --classes 10");
    expect_equal(&a, &b, "synthetic");
    train_result_free(&a);
    train_result_free(&b);
}

/* Every step of a fed worker has waited for its batch: it has to come by message. */
UNIT_TEST_OF("others", waits_are_in_the_stamps)
{
    struct train_result r;

    kit_must_train(&r, "--model lenet --mode allreduce --workers 2 --steps 12 --input feed");
    double sum_s = 0;
    for (size_t i = 0; i < 24; i++) {
        assert_true(r.stamp[i].input_ns > 0);
        assert_true(r.stamp[i].input_ns <= r.stamp[i].ready_ns - r.stamp[i].start_ns);
        sum_s += i < 12 ? 1e-9 * (double)r.stamp[i].input_ns : 0;
    }
    assert_true(r.data_wait_s > 0 && r.data_wait_s < 1.000001 * sum_s / 12 && r.data_wait_s > 0.999999 * sum_s / 12);
    train_result_free(&r);
}

UNIT_MAIN("input")
