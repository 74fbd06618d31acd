/* SPDX-License-Identifier: Apache-2.0 */
/* job_accumulate_test.c - --accumulate: the same updates, to the bit, and what is refused. */
#include "harness/train/job_batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/suite/unit.h"
#include "harness/train/suite/train_kit.h"

static void assert_same_bits(const char *a_options, const char *b_options)
{
    struct train_result a = { 0 }, b = { 0 };

    kit_must_train(&a, a_options);
    kit_must_train(&b, b_options);
    assert_int_equal(a.final.n_params, b.final.n_params);
    if (memcmp(a.final.param, b.final.param, a.final.n_params * sizeof *a.final.param) != 0)
        fail_msg("%s ends in other parameters than %s", a_options, b_options);
    assert_int_equal(a.final.samples_count, b.final.samples_count);
    train_result_free(&a);
    train_result_free(&b);
}

/* Two workers have the micro-batches of one, and the mean of two gradients is halved as exactly. */
UNIT_TEST(micro_batches_are_workers_one_by_one)
{
    assert_same_bits("--model lenet --steps 5 --mode single --batch 16 --accumulate 2",
                     "--model lenet --steps 5 --mode allreduce --reducer ring --workers 2 --batch 8");
    assert_same_bits(
        "--model resnet8 --width-divisor 4 --image-size 12 --steps 3 --mode single --batch 8 --accumulate 2",
        "--model resnet8 --width-divisor 4 --image-size 12 --steps 3 --mode allreduce --workers 2 --batch 4");
    assert_same_bits("--model linear --steps 9 --mode single --batch 20 --accumulate 2",
                     "--model linear --steps 9 --mode ps --consistency sync --workers 2 --batch 10");
}

/* Nor does it matter how they are exchanged and read. */
UNIT_TEST(bits_are_those_of_any_exchange)
{
    static const char *const with[] = { "--overlap on", "--input feed", "--reducer shm", "--partition-bytes 4Ki" };
    static const char plain[] =
        "--model lenet --steps 4 --mode allreduce --workers 2 --batch 8 --accumulate 4 --overlap off";
    char options[256];

    for (size_t i = 0; i < sizeof with / sizeof *with; i++) {
        (void)snprintf(options, sizeof options,
                       "--model lenet --steps 4 --mode allreduce --workers 2 --batch 8 "
                       "--accumulate 4 %s",
                       with[i]);
        assert_same_bits(options, plain);
    }
}

UNIT_TEST(a_resumed_run_goes_on_alike)
{
    char path[] = "/tmp/job_accumulate_test.XXXXXX";

    kit_make_file(path);
    kit_goes_on_alike("--model lenet --mode allreduce --workers 2 --batch 8 --accumulate 2", 2, 5, path);
    (void)unlink(path);
}

/* Worker 1 of 2 has the samples 12 to 23 of each 24, in parts of 3. */
UNIT_TEST(the_order_of_a_worker)
{
    struct train_job job = { 0 };

    assert_int_equal(kit_prepare(&job, "--model lenet --mode allreduce --workers 2 --batch 12 --accumulate 4"), RC_OK);
    const struct batch_order order = job_batch_order(&job, 1);
    const uint64_t taken[] = { 12, 15, 18, 21, 36, 39, 42, 45, 60 };
    assert_int_equal(job_micro_batch_of(&job, 1), 3);
    assert_int_equal(job_most_micro_batch(&job), 3);
    for (size_t i = 0; i + 1 < sizeof taken / sizeof *taken; i++)
        assert_int_equal(batch_order_next(&order, taken[i], 3), taken[i + 1]);
    train_job_free(&job);
    assert_int_equal(kit_prepare(&job, "--model lenet --mode allreduce --workers 2 --batch 8"), RC_OK);
    const struct batch_order whole = job_batch_order(&job, 1);
    assert_int_equal(batch_order_next(&whole, 24, 8), 40);
    train_job_free(&job);
}

UNIT_TEST(what_is_said_of_a_batch)
{
    struct train_job job = { .opts = { .batch = 16, .accumulate = 4, .global_batch = 64 } };
    char text[128];

    job_batch_text(text, sizeof text, &job);
    assert_string_equal(text, "batch 16 each, in 4 micro-batches, 64 in all (strong scaling)");
    job.opts.global_batch = 0;
    job_batch_text(text, sizeof text, &job);
    assert_string_equal(text, "batch 16 each, in 4 micro-batches");
    job.opts.accumulate = 1;
    job_batch_text(text, sizeof text, &job);
    assert_string_equal(text, "batch 16 each");
}

static void assert_refused(const char *options, const char *message)
{
    struct train_job job = { 0 };
    const enum rc rc = kit_prepare(&job, options);

    train_job_free(&job);
    if (rc != RC_INVAL || strcmp(rc_message(), message) != 0)
        fail_msg("%s: %s \"%s\" is not \"%s\"", options, rc_name(rc), rc_message(), message);
}

UNIT_TEST(what_is_refused)
{
    assert_refused("--model lenet --mode single --batch 16 --accumulate 3",
                   "--accumulate 3: the batch of 16 samples has no 3 equal parts; use 2 or 4");
    assert_refused("--model lenet --mode single --batch 16 --accumulate 20",
                   "--accumulate 20: the batch of 16 samples has no 20 equal parts; use 16");
    assert_refused("--model lenet --mode single --batch 5 --accumulate 2",
                   "--accumulate 2: the batch of 5 samples has no 2 equal parts; use 5");
    assert_refused("--model lenet --mode single --batch 1 --accumulate 2",
                   "--accumulate 2: the batch of 1 samples has no 2 equal parts; a batch of one sample has no parts");
    assert_refused("--model lenet --mode allreduce --workers 2 --global-batch 12 --accumulate 4",
                   "--accumulate 4: the batch of 6 samples has no 4 equal parts; use 3 or 6");
    assert_refused("--model lenet --mode allreduce --workers 2 --batch 10 --split unequal:3,1 --accumulate 2",
                   "--accumulate 2: the batch of 15 samples that worker 0 has of --split unequal:3,1 has no 2 equal "
                   "parts; use 3");
    assert_refused("--model lenet --mode none --forward-only --batch 16 --accumulate 4",
                   "--accumulate 4: --forward-only computes no gradients; --batch 4 is the same work");
}

/* More than there is memory for, of which the refusal says both ways out. */
UNIT_TEST(a_batch_too_large_fits_in_parts)
{
    struct train_job job = { 0 };

    assert_int_equal(kit_prepare(&job, "--model vgg16 --mode single --batch 16384"), RC_INVAL);
    const char *fits = strstr(rc_message(), " fits, and this one with --accumulate ");
    assert_non_null(fits);
    unsigned long n = strtoul(fits + strlen(" fits, and this one with --accumulate "), NULL, 10);
    char options[128];
    (void)snprintf(options, sizeof options, "--model vgg16 --mode single --batch 16384 --accumulate %lu", n);
    assert_int_equal(kit_prepare(&job, options), RC_OK);
    assert_true(job.memory.host_bytes <= job.memory.available_bytes);
    train_job_free(&job);
    (void)snprintf(options, sizeof options, "--model vgg16 --mode single --batch 16384 --accumulate %lu", n / 2);
    assert_int_equal(kit_prepare(&job, options), RC_INVAL);
    train_job_free(&job);
}

UNIT_MAIN("accumulate")
