/* SPDX-License-Identifier: Apache-2.0 */
/* drill_test.c - which failure the options of a drill order. */
#include <stdio.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/train/suite/train_kit.h"

static void prepare(struct train_job *out, const char *drill)
{
    char options[200];

    snprintf(options, sizeof options, "--model linear --mode none --workers 3 --steps 9%s", drill);
    *out = (struct train_job){ 0 };
    if (kit_prepare(out, options) != RC_OK)
        fail_msg("%s: %s", drill, rc_message());
}

UNIT_TEST(options_order_it)
{
    static const struct {
        const char *options;
        struct train_drill is;
    } cases[] = {
        { " --inject kill:0", { 0, false, false, PHASE_STEP, false, 1, 0 } },
        { " --inject stall:2", { 2, true, false, PHASE_STEP, false, 1, 0 } },
        { " --inject kill:1@start", { 1, false, false, PHASE_START, false, 0, 0 } },
        { " --inject stall:0@probe", { 0, true, false, PHASE_PROBE, false, 0, 0 } },
        { " --inject kill:2@end", { 2, false, false, PHASE_END, false, 0, 0 } },
        { " --inject stall:1@8", { 1, true, false, PHASE_STEP, false, 8, 0 } },
        { " --inject kill:2@3", { 2, false, false, PHASE_STEP, false, 3, 0 } },
    };
    struct train_job job;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct train_drill *is = &cases[i].is;
        prepare(&job, cases[i].options);
        if (job.drill.rank != is->rank || job.drill.hangs != is->hangs || job.drill.phase != is->phase ||
            (is->phase == PHASE_STEP && job.drill.step != is->step))
            fail_msg("%s: rank %d, %s, phase %d, step %llu", cases[i].options, job.drill.rank,
                     job.drill.hangs ? "hangs" : "ends", (int)job.drill.phase, (unsigned long long)job.drill.step);
        train_job_free(&job);
    }
    prepare(&job, "");
    assert_int_equal(job.drill.rank, -1);
    train_job_free(&job);
}

/* A step of the run, the same one for the same seed and rank, another one for others. */
UNIT_TEST(a_step_is_drawn)
{
    int n_of_step[9] = { 0 };
    struct train_job job;

    for (int seed = 0; seed < 90; seed++) {
        char drill[80];
        snprintf(drill, sizeof drill, " --inject kill:1@random --seed %d", seed);
        prepare(&job, drill);
        const uint64_t step = job.drill.step;
        assert_int_equal(job.drill.phase, PHASE_STEP);
        assert_in_range(step, 0, 8);
        n_of_step[step]++;
        train_job_free(&job);
        prepare(&job, drill);
        assert_int_equal(job.drill.step, step);
        train_job_free(&job);
    }
    for (int i = 0; i < 9; i++)
        assert_in_range(n_of_step[i], 2, 25);
}

UNIT_TEST(other_faults_are_refused)
{
    static const struct kit_refusal cases[] = {
        { "--mode none --workers 3 --inject kill:3", "--inject kill:3: ranks are 0 to 2" },
        { "--mode ps --workers 2 --servers 2 --inject stall:4", "--inject stall:4: ranks are 0 to 3" },
        { "--mode none --workers 2 --inject stall:1,kill:1",
          "--inject kill:1: rank 1 fails already, and a run has one kill, stall or leave; leave out one of the two" },
        { "--mode none --workers 2 --inject kill:1@3:4",
          "--inject kill:1@3:4: only a run with --stages has micro-batches to fail in; leave out the \":4\"" },
    };

    kit_expect_each_refused("", cases, sizeof cases / sizeof *cases);
}

UNIT_MAIN("drill")
