/* SPDX-License-Identifier: Apache-2.0 */
/* parts_test.c - what training on parts of the data comes to: parts at random are all, weighted means are big batches,
 * and a run that stopped goes on where each worker was. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/suite/unit.h"
#include "harness/train/job_batch.h"
#include "harness/train/suite/train_kit.h"

static const float *row(const struct train_result *r, int worker, size_t step)
{
    return r->trajectory + ((size_t)worker * (r->n_steps + 1) + step) * 2;
}

/* The least point of a worker's part alone, worked out here. */
static void least_of_part(double *slope, const struct train_job *job, int worker)
{
    const struct dataset_part p = split_part(&job->split, worker);
    double x = 0, y = 0, xx = 0, xy = 0;

    for (size_t k = 0; k < p.n_samples; k++) {
        const double a = (double)job->dataset->feature[p.index[k]], b = (double)job->dataset->target[p.index[k]];
        x += a;
        y += b;
        xx += a * a;
        xy += a * b;
    }
    const double n = (double)p.n_samples;
    *slope = (xy - x * y / n) / (xx - x * x / n);
}

/* Workers that exchange nothing, with batches as large as their parts, go to the least points of their parts. */
UNIT_TEST(workers_learn_from_their_parts)
{
    static const char options[] =
        "--model linear --mode none --workers 2 --split unequal:3,1 --batch 500 --lr 0.5 --steps 300 --trajectory t";
    struct train_result r;
    struct train_job job;

    kit_must_train(&r, options);
    assert_int_equal(kit_prepare(&job, options), RC_OK);
    for (int w = 0; w < 2; w++) {
        double slope;
        assert_int_equal(job_batch_of(&job, w), w == 0 ? 750 : 250);
        assert_int_equal(split_part(&job.split, w).n_samples, w == 0 ? 750 : 250);
        least_of_part(&slope, &job, w);
        assert_true(fabs((double)row(&r, w, 300)[0] - slope) < 1e-4);
    }
    assert_true(fabs((double)(row(&r, 0, 300)[0] - row(&r, 1, 300)[0])) > 1e-3);
    train_result_free(&r);
    train_job_free(&job);
}

/* A round of all samples, in parts of any size: the gradient of the loss itself, as of one worker with all. */
UNIT_TEST(weighted_means_are_the_big_batch)
{
    static const char *const way[] = { "--mode allreduce", "--mode allreduce --bucket-bytes 4 --overlap on",
                                       "--mode ps --consistency sync", "--mode allreduce --average-every 1" };
    struct train_result one, r;

    kit_must_train(&one, "--model linear --mode single --batch 1000 --lr 0.5 --steps 20");
    for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
        char options[256];
        (void)snprintf(options, sizeof options,
                       "--model linear %s --workers 4 --split unequal:5,1,1,3 --batch 250 --lr 0.5 --steps 20", way[i]);
        kit_must_train(&r, options);
        if (!(kit_distance(&r, &one) < 1e-5))
            fail_msg("%s: %g from the big batch", way[i], kit_distance(&r, &one));
        train_result_free(&r);
    }
    train_result_free(&one);
}

/* train.L3, J1: 12 steps, a checkpoint, 12 more: the bits of 24. */
static void goes_on_in_its_part(const char *split)
{
    char options[320], path[] = "/tmp/parts_test.XXXXXX";

    kit_make_file(path);
    (void)snprintf(options, sizeof options, "--model lenet --mode allreduce --workers 3 --batch 8 --split %s", split);
    kit_goes_on_alike(options, 12, 24, path);
    char text[512];
    struct train_job job;
    (void)snprintf(text, sizeof text,
                   "--model lenet --mode allreduce --workers 3 --batch 4 --split %s --steps 24 "
                   "--resume %s",
                   split, path);
    assert_int_equal(kit_prepare(&job, text), RC_INVAL);
    assert_non_null(strstr(rc_message(), "12 steps took 288 samples, not 12 in each"));
    (void)unlink(path);
}

UNIT_TEST(resumed)
{
    goes_on_in_its_part("by-label");
    goes_on_in_its_part("dirichlet:0.3");
    goes_on_in_its_part("unequal:4,1,1");
}

/* By label, the first steps of a worker see its own labels alone: it soon has a smaller loss than on all of them. */
UNIT_TEST(labels_of_a_worker_are_easy)
{
    struct train_result parts, all;
    double own = 0, mixed = 0;

    kit_must_train(&parts, "--model lenet --mode none --workers 5 --batch 16 --steps 30 --split by-label");
    kit_must_train(&all, "--model lenet --mode none --workers 5 --batch 16 --steps 30");
    for (int w = 0; w < 5; w++) {
        own += parts.stamp[w * 30 + 29].loss / 5;
        mixed += all.stamp[w * 30 + 29].loss / 5;
    }
    assert_true(own < 0.7 * mixed);
    train_result_free(&parts);
    train_result_free(&all);
}

UNIT_TEST(words)
{
    static const double compute_s[2] = { 3e-4, 1e-4 }, wait_s[2] = { 0, 2e-4 };
    struct train_job job;
    char text[SPLIT_TEXT_BYTES];

    assert_int_equal(kit_prepare(&job, "--model linear --mode allreduce --workers 2 --batch 32 --split unequal:3,1"),
                     RC_OK);
    job_split_text(text, sizeof text, &job);
    assert_string_equal(text, "unequal: workers have 48, 16 of the 64 samples of a round");
    job_split_load_text(text, sizeof text, &job, compute_s, wait_s);
    assert_string_equal(text,
                        "worker 0 has most to do and waits least: it computes 300 us a step and waits 0; worker 1 "
                        "computes 100 and waits 200");
    train_job_free(&job);
    assert_int_equal(kit_prepare(&job, "--model lenet --mode allreduce --workers 10 --split by-label"), RC_OK);
    job.opts.split = "by-label";
    job_split_text(text, sizeof text, &job);
    assert_non_null(strstr(text, "by-label: of 10 labels a worker has "));
    train_job_free(&job);
    assert_int_equal(kit_prepare(&job, "--model linear --mode allreduce --workers 2"), RC_OK);
    job_split_text(text, sizeof text, &job);
    assert_string_equal(text, "");
    train_job_free(&job);
}

UNIT_TEST(refuses)
{
    static const struct kit_refusal c[] = {
        { "--model linear --mode single --split by-label", "--split by-label: one worker" },
        { "--model linear --mode allreduce --workers 2 --split by-label",
          "--split: the samples of data set line have no labels" },
        { "--model lenet --mode allreduce --workers 2 --split unequal:1,2,3", "has 3 shares for 2 workers" },
        { "--model lenet --mode allreduce --workers 2 --omit shard --split by-label",
          "--omit shard gives all samples" },
        { "--model lenet --mode allreduce --workers 2 --batch 4 --split unequal:100,1",
          "of the 8 samples of a round worker 1 has less than one" },
        { "--model linear --mode ps --consistency sync:1 --workers 2 --split unequal:3,1",
          "do not know which ones will be dropped" },
        { "--model lenet --mode allreduce --workers 2 --split label", "is no split" },
    };

    kit_expect_each_refused("", c, sizeof c / sizeof *c);
}

UNIT_MAIN("parts")
