/* SPDX-License-Identifier: Apache-2.0 */
/*
 * undone_state_test.c - what is left where a rank is lost in a step: parameters and running means are those of the
 * steps before it, as of a run that ends there.
 */
#include <stdio.h>

#include "harness/base/suite/unit.h"
#include "harness/train/suite/train_kit.h"

static void train(struct train_result *out, const char *tail)
{
    char options[300];

    snprintf(options, sizeof options,
             "--model resnet8 --data synthetic:64 --batch 1 --threads 1 --mode allreduce --workers 3 %s", tail);
    kit_must_train(out, options);
}

/* More steps than states are kept, so that their places are used again. n_behind: steps before the one that rank 1 is
 * lost in that may be undone, too. */
static void go_back(const char *overlap, size_t n_behind)
{
    for (int lost_in = (int)n_behind + 1; lost_in <= 5; lost_in++) {
        struct train_result lost = { 0 }, whole = { 0 };
        char tail[100];
        snprintf(tail, sizeof tail, "--steps 9 --on-loss report --inject kill:1@%d --overlap %s", lost_in, overlap);
        train(&lost, tail);
        snprintf(tail, sizeof tail, "--steps %zu --overlap %s", lost.n_steps, overlap);
        train(&whole, tail);
        if (lost.n_steps > (size_t)lost_in || lost.n_steps + n_behind < (size_t)lost_in)
            fail_msg("rank 1 is lost in step %d, %zu steps are left", lost_in, lost.n_steps);
        assert_true(whole.final.n_state > 0);
        assert_int_equal(lost.final.n_state, whole.final.n_state);
        assert_memory_equal(lost.final.state, whole.final.state, whole.final.n_state * sizeof(float));
        assert_memory_equal(lost.final.param, whole.final.param, whole.final.n_params * sizeof(float));
        train_result_free(&lost);
        train_result_free(&whole);
    }
}

UNIT_TEST(running_means_go_back)
{
    go_back("off", 0);
}

/* The next step has begun when a loss is noticed; and what rank 1 sent last may be lost with it, before a rank that
 * waited for a core had read it. */
UNIT_TEST(they_go_back_by_two_steps)
{
    go_back("on", 2);
}

UNIT_MAIN("undone_state")
