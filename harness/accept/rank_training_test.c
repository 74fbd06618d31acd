/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_training_test.c CASE - trainings in the best order of ranks beside the launcher's: in sim, where hosts of two
 * racks are dealt out, a rank on each, and by racks a ring crosses each uplink with one message in place of four.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/accept/suite/training_kit.h"
#include "harness/base/suite/unit.h"

enum { N_PARAMETER_BYTES = 61706 * 4, N_STEPS = 20, BATCH = 64 }; /* of lenet */

#define RACKS_                                                                                                \
    "link_bits_per_s=1e9,link_latency_s=1e-6,local_bytes_per_s=1e15,local_latency_s=1e-9,local_sharing=none," \
    "memory_bytes_per_s=1e15,hosts_count=8,hosts_per_group_count=4,oversubscription_ratio=4,group_latency_s=1e-6,"

static struct kit_run racks(const char *cluster)
{
    struct kit_run run = kit_in_sim(8, cluster);

    run.stage[0] = stage_collectives;
    run.stage[1] = stage_training;
    run.criteria.rank_order_bytes = N_PARAMETER_BYTES;
    run.criteria.rank_order_training_steps_count = N_STEPS;
    return run;
}

static void assert_trained(const struct kit_run *run, double ratio)
{
    const struct rank_order_training *t = &run->accepted.rank_order_training;

    assert_int_equal(t->order, RANK_ORDER_SWITCHES);
    assert_int_equal(t->n_repeats, 3);
    assert_int_equal(t->n_steps, N_STEPS);
    assert_string_equal(t->why, "");
    kit_assert_within("of the launcher's", t->ratio, ratio, 0.1);
    kit_assert_within("rates", t->samples_per_s / t->launcher_samples_per_s, t->ratio, 1e-6);
    /* the training of all nodes that every test makes is in the launcher's order */
    kit_assert_within("launcher's", t->launcher_samples_per_s,
                      run->accepted.training[run->accepted.n_training - 1].samples_per_s, 0.02);
    assert_true(t->low_ratio <= t->ratio && t->ratio <= t->high_ratio);
    assert_true(t->low_samples_per_s <= t->samples_per_s && t->samples_per_s <= t->high_samples_per_s);
    kit_assert_within("least of the launcher's", t->low_ratio, t->ratio, 0.1); /* simulated steps are nearly equal */
    kit_assert_within("least rate", t->low_samples_per_s, t->samples_per_s, 0.1);
    kit_assert_within("launcher's least", t->low_launcher_samples_per_s, t->launcher_samples_per_s, 0.1);
    assert_string_equal(run->accepted.stage[ACCEPT_TRAINING].why, "");
    assert_true(run->progress == 1);
}

/* Where arithmetic takes no time a training gains what the allreduce of its gradients does. */
UNIT_TEST_OF("sim", communication_gains_all)
{
    struct kit_run run = racks(RACKS_ "job_placement=spread,flops_per_s=1e15");

    kit_must_run(&run);
    const double bare = run.accepted.rank_order[RANK_ORDER_SWITCHES].ratio;
    assert_true(bare > 3.5);
    assert_trained(&run, bare);
    kit_close(&run);
}

/* Where it takes nearly all, nothing: what the allreduce says of a training would be wrong. */
UNIT_TEST_OF("sim", arithmetic_gains_nothing)
{
    struct kit_run run = racks(RACKS_ "job_placement=spread,flops_per_s=1e8");

    kit_must_run(&run);
    assert_true(run.accepted.rank_order[RANK_ORDER_SWITCHES].ratio > 3.5);
    assert_trained(&run, 1);
    kit_close(&run);
}

/* The launcher's order is the best, or nobody asks: the same steps as ever are trained. */
UNIT_TEST_OF("sim", nothing_to_gain_takes_no_time)
{
    struct kit_run run = racks(RACKS_ "job_placement=pack,flops_per_s=1e15");

    kit_must_run(&run);
    assert_int_equal(run.accepted.rank_order_training.order, 0);
    assert_int_equal(run.accepted.rank_order_training.n_repeats, 0);
    assert_int_equal(run.accepted.n_training, 4);
    kit_close(&run);
}

UNIT_TEST_OF("sim", nobody_asks)
{
    struct kit_run run = racks(RACKS_ "job_placement=spread,flops_per_s=1e15");

    run.criteria.rank_order_training_steps_count = 0;
    kit_must_run(&run);
    assert_true(acceptance_best_rank_order(&run.accepted) == RANK_ORDER_SWITCHES);
    assert_int_equal(run.accepted.rank_order_training.order, 0);
    kit_close(&run);
}

/* A stage's limit that trainings at 1, 2, ... nodes have used up leaves none for more, and what they gave stays. */
UNIT_TEST_OF("sim", a_limit_leaves_none)
{
    struct kit_run run = racks(RACKS_ "job_placement=spread,flops_per_s=1e8");

    run.criteria.training_steps_count = 1000000;
    run.criteria.stage_limit_s = 600;
    run.stage[0] = stage_collectives;
    kit_must_run(&run);
    assert_int_equal(run.accepted.rank_order_training.n_repeats, 0);
    assert_int_equal(run.accepted.rank_order_training.order, RANK_ORDER_SWITCHES);
    assert_non_null(strstr(run.accepted.rank_order_training.why, "stage_limit_s left time for "));
    assert_true(isnan(run.accepted.rank_order_training.ratio));
    assert_int_equal(run.accepted.n_training, 4);
    kit_close(&run);
}

int main(int argc, char **argv)
{
    return argc == 2 ? kit_run_case(argv[1], "sim") : 1;
}
