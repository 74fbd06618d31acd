/* SPDX-License-Identifier: Apache-2.0 */
/* learning_advice_test.c - what is said of made-up losses of real jobs, letter by letter. */
#include "harness/train/result.h"

#include <math.h>
#include <stdlib.h>

#include "harness/base/suite/unit.h"
#include "harness/train/suite/train_kit.h"

enum shape { DEAD, HEALTHY, BREAKS, RISES, LATE, HOLLOW };

/* Loss of a worker in a step of n: workers differ by 0.02, steps by 0.01. */
static double loss_of(enum shape shape, int worker, size_t step, size_t n)
{
    const double wiggle = 0.02 * worker + (step % 2 ? 0.005 : -0.005), at = (double)step / (double)n;

    switch (shape) {
    case DEAD:
        return 2.5 + wiggle;
    case LATE: /* breaks with the last update: the test set shows it */
    case HEALTHY:
        return 2.3 - 2.2 * at + wiggle;
    case BREAKS:
        return step < 30 || worker == 0 ? 2.3 + wiggle : (double)INFINITY;
    case RISES:
        return 0.25 + 2 * at + wiggle;
    case HOLLOW:
        break;
    }
    return NAN;
}

static void judge(struct train_summary *s, const char *options, enum shape shape, double staleness_count)
{
    struct train_job job = { 0 };

    if (kit_prepare(&job, options) != RC_OK)
        fail_msg("%s: %s", options, rc_message());
    struct train_result r = { .n_workers = job.n_workers,
                              .n_steps = job.n_steps,
                              .has_params = shape != HOLLOW,
                              .evaluation = { NAN, shape == LATE ? 0.1 : (double)NAN } };
    r.stamp = calloc((size_t)job.n_workers * job.n_steps, sizeof *r.stamp);
    assert_non_null(r.stamp);
    for (int w = 0; w < job.n_workers; w++)
        for (size_t step = 0; step < job.n_steps; step++)
            r.stamp[(size_t)w * job.n_steps + step].loss = loss_of(shape, w, step, job.n_steps);
    *s = (struct train_summary){ .measured.staleness_mean_count = staleness_count, .not_learned = "as it was" };
    assert_int_equal(train_judge_learning(s, &job, &r), RC_OK);
    free(r.stamp);
    train_job_free(&job);
}

static const struct {
    const char *options;
    enum shape shape;
    double staleness_count;
    enum learning_why why;
    const char *said;
} CASES[] = {
    { "--model lenet --mode ps --workers 2 --batch 16 --lr 0.05", DEAD, 0.99, LEARNING_AT_CHANCE,
      "the loss ends at 2.51, and a guess gives 2.303; ps applies each worker's update, 2 a round, at a rate of 0.05, "
      "great for one worker, too (the model's: 0.01); try --lr 0.005 or a lower --momentum" },
    { "--model lenet --mode ps --workers 8 --batch 16 --lr 0.02", DEAD, 7, LEARNING_AT_CHANCE,
      "the loss ends at 2.57, and a guess gives 2.303; ps applies each worker's update, 8 a round, at a rate of 0.02, "
      "7 "
      "updates late; try --lr 0.0013 or --lr-staleness inverse or a lower --momentum" },
    { "--model lenet --mode ps --workers 8 --batch 16 --lr 0.02 --lr-staleness inverse", DEAD, 7, LEARNING_AT_CHANCE,
      "the loss ends at 2.57, and a guess gives 2.303; ps applies each worker's update, 8 a round, at a rate of 0.02 "
      "over its staleness, 7 updates late; try --lr 0.01 or a lower --momentum" },
    { "--model lenet --mode ps --workers 4 --batch 16 --lr 0.008", RISES, 3, LEARNING_ROSE,
      "the loss rose from 0.375 to 2.175; ps applies each worker's update, 4 a round, at a rate of 0.008; "
      "try --lr 0.002 or a lower --momentum" },
    { "--model lenet --mode allreduce --workers 4 --lr 0.02 --lr-scaling linear", DEAD, 0, LEARNING_AT_CHANCE,
      "the loss ends at 2.53, and a guess gives 2.303; the rate is 0.08 by --lr-scaling linear (the model's: 0.01), "
      "the "
      "momentum 0.9, the batch 32; try --lr-scaling none --lr 0.01 or a lower --momentum" },
    { "--model lenet --mode single --batch 1 --steps 2000", DEAD, 0, LEARNING_AT_CHANCE,
      "the loss ends at 2.5, and a guess gives 2.303; the rate is 0.01, the momentum 0.9, the batch 1; try --lr 0.001 "
      "or a lower --momentum" },
    { "--model lenet --mode none --workers 2 --lr 1e-5", DEAD, 0, LEARNING_AT_CHANCE,
      "the loss ends at 2.51, and a guess gives 2.303; a rate of 1e-05 is small: the model's is 0.01; try --lr 0.01 or "
      "more --steps" },
    { "--model lenet --mode ps --workers 2 --lr 1e-5", DEAD, 1, LEARNING_AT_CHANCE,
      "the loss ends at 2.51, and a guess gives 2.303; a rate of 1e-05 is small: the model's is 0.01; try --lr 0.005 "
      "or more --steps" },
    { "--model linear --mode ps --workers 16", BREAKS, 15, LEARNING_NOT_FINITE,
      "the loss is not a finite number from step 30 on; ps applies each worker's update, 16 a round, at a rate of 0.1, "
      "15 updates late; try --lr 0.0063 or --lr-staleness inverse" },
    { "--model lenet --mode single --lr 0.05 --momentum 0 --steps 50", LATE, 0, LEARNING_NOT_FINITE,
      "the loss is not a finite number from step 50 on; the rate is 0.05 (the model's: 0.01), the momentum 0, the "
      "batch "
      "32; try --lr 0.01" },
    { "--model linear --mode single --lr 0.1", DEAD, 0, LEARNING_AT_CHANCE,
      "the loss ends at 2.5, and a guess gives 0.4129; the rate is 0.1, the momentum 0, the batch 100; try --lr 0.01" },
    { "--model linear --mode single --steps 6 --lr 1", DEAD, 0, LEARNING_TOO_SHORT, "" },
    { "--model lenet --mode ps --workers 2 --lr 0.05 --steps 10", RISES, 1, LEARNING_TOO_SHORT, "" },
    /* 100 samples of each of 10 classes are 32 steps of 32 samples, 16 of two workers; each for itself, 32 again */
    { "--model lenet --mode allreduce --workers 2 --steps 31", DEAD, 0, LEARNING_AT_CHANCE,
      "the loss ends at 2.509, and a guess gives 2.303; the rate is 0.01, the momentum 0.9, the batch 32; try --lr "
      "0.001 "
      "or a lower --momentum" },
    { "--model lenet --mode none --workers 2 --steps 31", DEAD, 0, LEARNING_TOO_SHORT, "" },
    { "--model resnet50 --image-size 32 --batch 2 --steps 50", DEAD, 0, LEARNING_FELL, "" }, /* 6.9 of 1000 classes */
    { "--model inception3 --batch 2 --steps 50 --aux", DEAD, 0, LEARNING_TOO_NOISY, "" },
    { "--model lenet --mode ps --workers 2", HEALTHY, 1, LEARNING_FELL, "" },
    { "--model lenet --mode single --forward-only", DEAD, 0, LEARNING_NO_LOSS, "" },
    { "--model lenet --mode allreduce --workers 2", HOLLOW, 0, LEARNING_NO_LOSS, "" },
};

UNIT_TEST(what_is_said)
{
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct train_summary s;
        judge(&s, CASES[i].options, CASES[i].shape, CASES[i].staleness_count);
        if (s.learning.why != CASES[i].why)
            fail_msg("%s: %s, not %s", CASES[i].options, learning_why_word(s.learning.why),
                     learning_why_word(CASES[i].why));
        assert_string_equal(s.not_learned, CASES[i].said);
    }
}

UNIT_MAIN("learning_advice")
