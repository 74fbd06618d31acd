/* SPDX-License-Identifier: Apache-2.0 */
/* global_batch_test.c - --global-batch: what each worker has of it, what is refused, and what a run ends in. */
#include "harness/train/job_batch.h"

#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/train/suite/train_kit.h"

UNIT_TEST(each_worker_has_its_part_F1)
{
    static const struct {
        const char *options;
        uint64_t batch, global_batch;
        bool is_shared;
    } known[] = {
        { "--model linear --mode allreduce --workers 4 --global-batch 64", 16, 64, true },
        { "--model linear --mode ps --workers 2 --servers 2 --global-batch 2", 1, 2, true },
        { "--model linear --mode single --global-batch 65", 65, 65, false },
        { "--model linear --mode none --workers 1 --global-batch 7 --lr-scaling none", 7, 7, false },
        { "--model linear --mode allreduce --workers 4 --batch 64", 64, 0, false },
        { "--model lenet --mode none --workers 3", 32, 0, false },
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct train_job job = { 0 };
        if (kit_prepare(&job, known[i].options) != RC_OK)
            fail_msg("%s: %s", known[i].options, rc_message());
        assert_int_equal(job.opts.batch, known[i].batch);
        assert_int_equal(job.opts.global_batch, known[i].global_batch);
        assert_int_equal(global_batch_is_shared(&job), known[i].is_shared);
        train_job_free(&job);
    }
}

static void assert_refused(const char *options, const char *message)
{
    struct train_job job = { 0 };
    const enum rc rc = kit_prepare(&job, options);

    train_job_free(&job);
    if (rc != RC_INVAL || strstr(rc_message(), message) != rc_message())
        fail_msg("%s: %s \"%s\" is not \"%s\"", options, rc_name(rc), rc_message(), message);
}

UNIT_TEST(what_is_refused_F1_F3)
{
    assert_refused("--model linear --mode allreduce --workers 4 --global-batch 66",
                   "--global-batch 66: is not divisible by 4 workers; use 64 or 68, or other --workers");
    assert_refused("--model linear --mode none --workers 4 --global-batch 3",
                   "--global-batch 3: is not divisible by 4 workers; use 4, or other --workers");
    assert_refused("--model linear --mode none --workers 2 --batch 16 --global-batch 32",
                   "--global-batch 32: --batch 16 is the batch of each worker (weak scaling); give one of the two");
    assert_refused("--model linear --mode none --workers 2 --global-batch 2097154",
                   "--global-batch 2097154: is 1048577 for each of 2 workers; a worker can have 1048576");
    assert_refused(
        "--model linear --mode allreduce --workers 2 --global-batch 32 --lr-scaling linear",
        "--lr-scaling linear: --global-batch uses the same number of samples per round for any number of workers");
    assert_refused("--model linear --mode ps --workers 2 --global-batch 32 --lr-scaling sqrt:1",
                   "--lr-scaling sqrt:1: --global-batch uses the same");
    assert_refused("--global-batch 0", "--global-batch 0: out of range");
    assert_refused("--model vgg16 --mode allreduce --workers 2 --global-batch 80000",
                   "--global-batch 80000: of each worker, --batch 40000: 2 workers of model vgg16 need");
}

/* Errors that are about something else stay as they are. */
UNIT_TEST(other_errors_are_not_explained)
{
    struct train_job job = { 0 };

    assert_int_equal(
        kit_prepare(&job, "--model lenet --mode allreduce --workers 2 --global-batch 32 --data /no/such/file"),
        RC_INVAL);
    assert_non_null(strstr(rc_message(), "/no/such/file"));
    assert_null(strstr(rc_message(), "--global-batch"));
    train_job_free(&job);
}

/* The same bits as with the batch of each worker given. */
UNIT_TEST(a_part_is_a_batch_F1)
{
    struct train_result part = { 0 }, whole = { 0 };

    if (kit_train(&part, "--model linear --mode allreduce --workers 2 --global-batch 32 --steps 20", NULL, 0) !=
            RC_OK ||
        kit_train(&whole, "--model linear --mode allreduce --workers 2 --batch 16 --steps 20", NULL, 0) != RC_OK)
        fail_msg("%s", rc_message());
    assert_int_equal(part.final.samples_count, 20 * 32);
    assert_int_equal(part.final.n_params, 2);
    assert_memory_equal(part.final.param, whole.final.param, 2 * sizeof(float));
    train_result_free(&part);
    train_result_free(&whole);
}

UNIT_MAIN("global_batch")
