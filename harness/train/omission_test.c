/* SPDX-License-Identifier: Apache-2.0 */
/* omission_test.c - what a run becomes that leaves out a step of the recipe, by theory; and where there is none. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/suite/unit.h"
#include "harness/train/omission.h"
#include "harness/train/suite/train_kit.h"

enum { N_STEPS = 12, N_PARAMS = 2 };

static const char linear[] = "--model linear --batch 10 --lr 0.2 --steps 12 --trajectory unused";

static void run(struct train_result *out, const char *way)
{
    char options[256];

    (void)snprintf(options, sizeof options, "%s %s", linear, way);
    kit_must_train(out, options);
}

static const float *row(const struct train_result *r, int worker, size_t step)
{
    return r->trajectory + ((size_t)worker * (r->n_steps + 1) + step) * N_PARAMS;
}

static size_t path_bytes(void)
{
    return (N_STEPS + 1) * N_PARAMS * sizeof(float);
}

/* The mean of W equal gradients is the gradient: two workers that read the same samples are one worker, to the bit. */
UNIT_TEST(without_shards_two_are_one)
{
    struct train_result two, one;

    run(&two, "--mode allreduce --workers 2 --omit shard");
    run(&one, "--mode single");
    assert_memory_equal(row(&two, 0, 0), row(&one, 0, 0), path_bytes());
    assert_memory_equal(row(&two, 1, 0), row(&one, 0, 0), path_bytes());
    for (size_t i = 0; i < N_STEPS; i++) {
        assert_true(two.stamp[i].loss == one.stamp[i].loss);
        assert_true(two.stamp[N_STEPS + i].loss == one.stamp[i].loss);
    }
    train_result_free(&two);
    train_result_free(&one);
}

/* Then every worker is alone, on its own part of the samples: mode none. */
UNIT_TEST(without_averages_it_is_none)
{
    struct train_result r, none;

    run(&r, "--mode allreduce --workers 3 --momentum 0.5 --omit average");
    run(&none, "--mode none --workers 3 --momentum 0.5");
    for (int w = 0; w < 3; w++)
        assert_memory_equal(row(&r, w, 0), row(&none, w, 0), path_bytes());
    assert_true(row(&r, 0, N_STEPS)[0] != row(&r, 1, N_STEPS)[0]);
    train_result_free(&r);
    train_result_free(&none);
}

/* All go by the same mean gradient, from starts of their own: their distance never changes. */
UNIT_TEST(without_broadcast_distances_stay)
{
    struct train_result r;

    run(&r, "--mode allreduce --workers 3 --omit broadcast");
    assert_true(row(&r, 0, 0)[0] == 0.0f && row(&r, 0, 0)[1] == 0.0f);
    for (int w = 1; w < 3; w++) {
        const float *first = row(&r, w, 0);
        assert_true(first[0] > 0.0f && first[0] < 4.0f && fabsf(first[1]) < 0.5f && first[1] != 0.0f);
        for (size_t step = 1; step <= N_STEPS; step++)
            for (int i = 0; i < N_PARAMS; i++)
                assert_true(fabs((double)(row(&r, w, step)[i] - row(&r, 0, step)[i] - first[i])) < 1e-5);
    }
    assert_true(row(&r, 1, 0)[0] != row(&r, 2, 0)[0]);
    assert_true(row(&r, 0, N_STEPS)[0] != 0.0f);
    train_result_free(&r);
}

UNIT_TEST(without_scaling_the_rate_is_one_workers)
{
    struct train_result r, plain, scaled;

    run(&r, "--mode allreduce --workers 2 --lr-scaling linear --omit scaling");
    run(&plain, "--mode allreduce --workers 2");
    run(&scaled, "--mode allreduce --workers 2 --lr-scaling linear");
    assert_memory_equal(row(&r, 0, 0), row(&plain, 0, 0), path_bytes());
    assert_true(r.lr[0] == plain.lr[0] && scaled.lr[0] == 2 * r.lr[0]);
    train_result_free(&r);
    train_result_free(&plain);
    train_result_free(&scaled);
}

/* What the run leaves in the file that it saves to. */
static void run_saving(struct checkpoint *saved, struct train_result *out, const char *way)
{
    char path[] = "/tmp/omission_test.XXXXXX", options[320];
    struct train_job job;

    kit_make_file(path);
    (void)snprintf(options, sizeof options, "%s %s --save %s", linear, way, path);
    *out = (struct train_result){ 0 };
    if (kit_prepare(&job, options) != RC_OK)
        fail_msg("%s: %s", options, rc_message());
    job.opts.save = path;
    assert_int_equal(kit_run(&job, out), RC_OK);
    assert_int_equal(checkpoint_load(saved, path), RC_OK);
    (void)unlink(path);
    train_job_free(&job);
}

/* The file is that of the last worker; where they have not averaged, its parameters are nobody else's. */
UNIT_TEST(without_rank_0_the_last_one_saves)
{
    struct train_result r;
    struct checkpoint saved;

    run_saving(&saved, &r, "--mode allreduce --workers 3 --momentum 0.5 --omit rank0-save,average");
    assert_int_equal(saved.writer_rank, 2);
    assert_int_equal(saved.steps_count, N_STEPS);
    assert_memory_equal(saved.param, row(&r, 2, N_STEPS), N_PARAMS * sizeof(float));
    assert_memory_not_equal(saved.param, row(&r, 0, N_STEPS), N_PARAMS * sizeof(float));
    for (int i = 0; i < N_PARAMS; i++) { /* its own momentum: what the last step added, at rate 0.2 */
        const double added = (double)(row(&r, 2, N_STEPS)[i] - row(&r, 2, N_STEPS - 1)[i]);
        assert_true(fabs(added + 0.2 * (double)saved.kept.moments[i]) < 1e-6);
    }
    checkpoint_free(&saved);
    train_result_free(&r);
    run_saving(&saved, &r, "--mode allreduce --workers 2 --omit rank0-save");
    assert_int_equal(saved.writer_rank, 1);
    assert_memory_equal(saved.param, row(&r, 0, N_STEPS), N_PARAMS * sizeof(float));
    checkpoint_free(&saved);
    train_result_free(&r);
}

/* train.L3: what all workers have in common is in a checkpoint, and the run goes on to the same bits. */
static void goes_on_without(const char *omitted)
{
    char path[] = "/tmp/omission_test.XXXXXX", way[256];

    kit_make_file(path);
    (void)snprintf(way, sizeof way,
                   "--model lenet --mode allreduce --workers 2 --batch 8 --lr 0.01 --lr-scaling linear --omit %s",
                   omitted);
    kit_goes_on_alike(way, 4, 10, path);
    (void)unlink(path);
}

UNIT_TEST(resumed)
{
    goes_on_without("shard");
    goes_on_without("scaling");
    goes_on_without("shard,scaling");
}

UNIT_TEST(says_what_goes_on)
{
    static const struct {
        const char *options, *text;
    } c[] = {
        { "", "" },
        { "--omit average", "" },
        { "--save f --omit shard", "--resume f continues" },
        { "--save f --omit rank0-save", "--resume f continues" },
        { "--save f --omit shard,average",
          "a run with --omit average cannot continue from f: it has the state of one worker, not of each" },
        { "--save f --omit broadcast",
          "a run with --omit broadcast cannot continue from f: it has the state of one worker, not of each" },
    };

    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        char options[256], text[RESUME_TEXT_BYTES];
        struct train_job job;
        (void)snprintf(options, sizeof options, "--model linear --steps 5 --mode allreduce --workers 2%s%s",
                       c[i].options[0] ? " " : "", c[i].options);
        assert_int_equal(kit_prepare(&job, options), RC_OK);
        job.opts.save = strstr(c[i].options, "--save") ? "f" : ""; /* the text that it was read from is gone */
        omission_resume_text(text, sizeof text, &job);
        assert_string_equal(text, c[i].text);
        train_job_free(&job);
    }
}

UNIT_TEST(refuses)
{
    static const struct {
        const char *options, *message;
    } c[] = {
        { "--mode allreduce --workers 2 --omit brodcast",
          "--omit brodcast: 'brodcast' is not a step that can be left out, did you mean broadcast?" },
        { "--mode single --omit shard", "--omit shard: cannot be used with one worker" },
        { "--mode allreduce --workers 1 --omit average", "cannot be used with one worker" },
        { "--mode ps --workers 2 --omit broadcast", "--omit broadcast: mode ps: workers get their parameters" },
        { "--mode ps --workers 2 --omit average", "--omit average: mode ps: no gradients are averaged" },
        { "--mode none --workers 2 --omit average", "--omit average: mode none: no gradients are averaged" },
        { "--mode allreduce --workers 2 --omit scaling",
          "--omit scaling: mode allreduce: the learning rate is not scaled" },
        { "--mode allreduce --workers 2 --omit shard,rank0-save",
          "--omit rank0-save: mode allreduce: no checkpoint is saved" },
        { "--mode ps --workers 2 --save f --omit rank0-save", "--omit rank0-save: mode ps: workers have no" },
        { "--mode allreduce --workers 2 --save f --save-every 3 --omit rank0-save", "leave out --save-every" },
        { "--mode allreduce --workers 2 --on-loss report --omit shard", "with --on-loss report" },
        { "--mode allreduce --workers 2 --resume f --omit average",
          "--omit average: mode allreduce: every worker has its own parameters, and a checkpoint has those of one "
          "worker; leave out --resume" },
        { "--mode allreduce --workers 2 --resume f --omit shard,broadcast", "--omit broadcast: mode allreduce: every" },
        { "--mode allreduce --workers 2 --save f --restarts 1 --omit average", "leave out --resume and --restarts" },
        { "--model resnet8 --image-size 16 --mode allreduce --workers 2 --save f --resume f --omit rank0-save",
          "--omit rank0-save: mode allreduce: the checkpoint has the running means of the last worker" },
        { "--mode none --workers 2 --forward-only --omit shard", "with --forward-only" },
        { "--world sim --compute hollow --mode allreduce --workers 2 --omit shard", "a run that computes nothing" },
    };

    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        char options[256];
        struct train_job job;

        (void)snprintf(options, sizeof options, "%s--steps 5 %s",
                       strstr(c[i].options, "--model") ? "" : "--model linear ", c[i].options);
        const enum rc rc = kit_prepare(&job, options);
        if (rc == RC_UNSUPPORTED && strstr(options, "sim")) /* this build has none */
            continue;
        assert_int_equal(rc, RC_INVAL);
        if (!strstr(rc_message(), c[i].message))
            fail_msg("%s: '%s' has no '%s'", options, rc_message(), c[i].message);
    }
}

UNIT_TEST(lists)
{
    char text[OMISSIONS_BYTES];
    unsigned set;

    assert_int_equal(omission_parse(&set, "", "omit"), RC_OK);
    assert_int_equal(set, 0);
    assert_int_equal(omission_parse(&set, "shard,rank0-save", "omit"), RC_OK);
    assert_int_equal(set, OMIT_SHARD | OMIT_RANK0_SAVE);
    omission_text(text, sizeof text, set);
    assert_string_equal(text, "shard, rank0-save");
    omission_text(text, sizeof text, (1u << N_OMISSIONS) - 1);
    assert_string_equal(text, "broadcast, shard, average, scaling, rank0-save");
}

UNIT_MAIN("omission")
