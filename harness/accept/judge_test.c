/* SPDX-License-Identifier: Apache-2.0 */
/* judge_test.c - the verdict over all stages, and rows of what ranks measured, by hand (accept.D1 to D3, J1 to J4). */
#include "harness/accept/suite/judge_kit.h"

/* --- the whole --- */

ON_A_FLEET(a_healthy_fleet_passes)
{
    struct fixture *f = *state;

    for (int again = 0; again < 2; again++) { /* judging twice is judging once */
        judge_it(f);
        assert_int_equal(f->a.outcome, OUTCOME_PASS);
        assert_int_equal(f->a.n_findings, 0);
        assert_int_equal(f->a.n_criteria, 3 + 2 + 1 + 1 + 4 + 4 + 2 + 1 + 3);
    }
    for (int s = 0; s < ACCEPT_N_STAGES; s++)
        assert_int_equal(f->a.stage[s].outcome, OUTCOME_PASS);
    assert_row(f, "outliers of flops_per_s", OUTCOME_PASS,
               "none; the worst of 8 ranks, rank 0 on host0, has 20.2 Gflop/s");
    assert_row(f, "slow nodes and links", OUTCOME_PASS, "none; the worst of 12 pairs, host0 -> host1, has 100 MB/s");
    assert_row(f, "all nodes agree", OUTCOME_PASS, "2 facts of 4 nodes");
    assert_row(f, "parameters are equal", OUTCOME_PASS, "at 4 checks, of 8 ranks");
    const struct criterion *row = row_of(f, "outliers of flops_per_s");
    assert_true(row->measured == 2e10 * 1.01 && row->low < row->measured && row->high > row->measured);
    assert_true(isnan(row->limit) && row->n_samples == N_RANKS * N_REPEATS);
    assert_true(row_of(f, "slow nodes and links")->n_samples == 12 * N_REPEATS);
}

/* accept.J1, D2: skipped on request is no hindrance, nothing but that is no pass. */
ON_A_FLEET(stages_left_out_are_skipped)
{
    struct fixture *f = *state;

    limits(f, "stages=compute");
    f->a.stage[ACCEPT_PAIRWISE].was_run = false;
    judge_it(f);
    assert_outcomes(f, ACCEPT_COMPUTE, OUTCOME_PASS, OUTCOME_PASS);
    assert_int_equal(f->a.stage[ACCEPT_PAIRWISE].outcome, OUTCOME_SKIPPED);
    assert_int_equal(f->a.n_criteria, 2 + 8);
    assert_row(f, "pairwise not run", OUTCOME_SKIPPED, "left out on request");
    memset(f->c.runs, 0, sizeof f->c.runs);
    f->c.soak_minutes = 0;
    f->a.stage[ACCEPT_SOAK].why[0] = '\0';
    judge_it(f);
    assert_outcomes(f, ACCEPT_COMPUTE, OUTCOME_SKIPPED, OUTCOME_NO_DATA);
    assert_row(f, "soak not run", OUTCOME_SKIPPED, "soak_minutes is 0");
}

ON_A_FLEET(a_stage_that_was_not_run_is_no_data)
{
    struct fixture *f = *state;

    f->a.stage[ACCEPT_TRAINING].was_run = false;
    judge_it(f);
    assert_outcomes(f, ACCEPT_TRAINING, OUTCOME_NO_DATA, OUTCOME_NO_DATA);
    assert_row(f, "training not run", OUTCOME_NO_DATA, "the stage was asked for, and was not run");
    f->a.stage[ACCEPT_TRAINING].why[0] = '\0';
    f->a.stop_signal = 15;
    judge_it(f);
    assert_row(f, "training not run", OUTCOME_NO_DATA, "SIGTERM stopped the test before this stage");
    set_metric(f, METRIC_GEMM, 5, 1e9);
    judge_it(f);
    assert_int_equal(row_of(f, "outliers of flops_per_s")->outcome, OUTCOME_FAIL); /* found is found */
    assert_int_equal(f->a.n_findings, 1);
    assert_outcomes(f, ACCEPT_COMPUTE, OUTCOME_FAIL, OUTCOME_NO_DATA); /* but a part is no verdict */
    f->a.stop_signal = 0;
    judge_it(f);
    assert_int_equal(f->a.outcome, OUTCOME_FAIL); /* fail before no data */
    f->a.stop_signal = 15;
    f->a.stage[ACCEPT_TRAINING].was_run = true;
    f->a.stage[ACCEPT_TRAINING].why[0] = '\0';
    set_metric(f, METRIC_GEMM, 5, 2e10);
    judge_it(f);
    assert_outcomes(f, ACCEPT_TRAINING, OUTCOME_PASS, OUTCOME_NO_DATA); /* stopped: no pass, whatever the rows say */
}

/* accept.A3: what is on disk when the process is killed. Regression: a test that a signal stopped said FAIL. */
ON_A_FLEET(a_partial_test_is_no_verdict)
{
    struct fixture *f = *state;

    f->a.is_partial = true;
    judge_it(f);
    assert_int_equal(f->a.outcome, OUTCOME_NO_DATA); /* though every row passes */
    assert_outcomes(f, ACCEPT_TRAINING, OUTCOME_PASS, OUTCOME_NO_DATA);
    f->a.stage[ACCEPT_TRAINING].was_run = false;
    limits(f, "least_flops_per_s=1e11");
    judge_it(f);
    assert_row(f, "training not run", OUTCOME_NO_DATA, "the stage was asked for, and the test did not come to its end");
    assert_int_equal(row_of(f, "least_flops_per_s")->outcome, OUTCOME_FAIL);
    assert_outcomes(f, ACCEPT_COMPUTE, OUTCOME_FAIL, OUTCOME_NO_DATA);
    assert_finding(f, 0, SUBJECT_FLEET, 0, 2e10 * 1.01, 1e11);
    f->a.is_partial = false;
    judge_it(f);
    assert_int_equal(f->a.outcome, OUTCOME_FAIL);
}

/* Who is lost comes before what is certain otherwise. Regression: the first line did not name the lost rank. */
ON_A_FLEET(a_lost_rank_is_the_first_finding)
{
    struct fixture *f = *state;

    f->a.corruption[0] = (struct corruption){ .rank = 2, .step = 32, .segment = "conv1" };
    f->a.n_corruptions = 1;
    f->a.lost_rank = 5;
    f->a.stage[ACCEPT_SOAK].was_run = false;
    judge_it(f);
    assert_int_equal(f->a.n_findings, 2);
    assert_string_equal(f->a.finding[0].metric, "lost");
    assert_string_equal(f->a.finding[0].text, "lost in stage integrity");
    assert_true(f->a.finding[0].subject == SUBJECT_RANK && f->a.finding[0].a == 5 && f->a.finding[0].b == 2);
    assert_int_equal(f->a.finding[1].a, 2);
}

/* accept.J2: what was measured before the end can fail, but not pass. */
ON_A_FLEET(a_stage_that_was_ended_does_not_pass)
{
    struct fixture *f = *state;

    snprintf(f->a.stage[ACCEPT_COMPUTE].why, ACCEPT_TEXT_BYTES, "ended after stage_limit_s, 600 s");
    limits(f, "least_flops_per_s=1e10,least_memory_bytes_per_s=9e9");
    judge_it(f);
    assert_row(f, "least_flops_per_s", OUTCOME_NO_DATA, "ended after stage_limit_s, 600 s");
    assert_row(f, "outliers of flops_per_s", OUTCOME_NO_DATA, "ended after stage_limit_s, 600 s");
    assert_int_equal(row_of(f, "least_memory_bytes_per_s")->outcome, OUTCOME_FAIL);
    assert_outcomes(f, ACCEPT_COMPUTE, OUTCOME_FAIL, OUTCOME_FAIL);
    limits(f, "least_memory_bytes_per_s=0");
    judge_it(f);
    assert_outcomes(f, ACCEPT_COMPUTE, OUTCOME_NO_DATA, OUTCOME_NO_DATA);
}

ON_A_FLEET(findings_are_in_order)
{
    struct fixture *f = *state;

    set_metric(f, METRIC_GEMM, 5, 1e9); /* q 0.005 */
    for (int k = 0; k < N_NODES; k++)
        if (k != 3)
            set_pair(f, k, 3, 1e7); /* q 0.001 */
    f->a.corruption[0] = (struct corruption){ .rank = 2, .step = 32, .segment = "conv1" };
    f->a.n_corruptions = 1; /* certain */
    judge_it(f);
    assert_int_equal(f->a.n_findings, 3);
    assert_int_equal(f->a.finding[0].stage, ACCEPT_INTEGRITY);
    assert_int_equal(f->a.finding[1].stage, ACCEPT_PAIRWISE);
    assert_int_equal(f->a.finding[2].stage, ACCEPT_COMPUTE);
    assert_int_equal(f->a.outcome, OUTCOME_FAIL);
}

/* --- ranks --- */

ON_A_FLEET(an_outlier_fails)
{
    struct fixture *f = *state;

    set_metric(f, METRIC_GEMM, 5, 1e9);
    judge_it(f);
    assert_row(f, "outliers of flops_per_s", OUTCOME_FAIL, "1 found: rank 5 on host2: it is slow");
    assert_int_equal(row_of(f, "outliers of memory_bytes_per_s")->outcome, OUTCOME_PASS);
    assert_outcomes(f, ACCEPT_COMPUTE, OUTCOME_FAIL, OUTCOME_FAIL);
    set_metric(f, METRIC_STEP_COMPUTE, 1, 0.5);
    set_metric(f, METRIC_STEP_COMPUTE, 2, 0.5);
    judge_it(f);
    assert_row(f, "stragglers", OUTCOME_FAIL, "2 found, the first rank 1 on host0: it is slow");
    assert_int_equal(f->a.stage[ACCEPT_TRAINING].outcome, OUTCOME_FAIL);
}

/* accept.J6. Of half of the ranks: one alone is an outlier. Regression: a machine of which others took 91 % passed. */
ON_A_FLEET(a_busy_machine_never_passes)
{
    struct fixture *f = *state;

    judge_it(f);
    assert_false(has_row(f, "quiet machine"));
    for (int r = 0; r < f->a.n_ranks; r++)
        set_metric(f, METRIC_DETOUR, r, 0.91);
    judge_it(f);
    assert_row(f, "quiet machine", OUTCOME_NO_DATA,
               "others took 91 % of the ranks' time, and more than 10 % is too much for a pass; end what runs "
               "beside the test, start no more ranks than cores, or leave these nodes out");
    assert_int_equal(f->a.stage[ACCEPT_NOISE].outcome, OUTCOME_NO_DATA);
    assert_int_equal(f->a.outcome, OUTCOME_NO_DATA);
    for (int r = 0; r < f->a.n_ranks / 2 - 1; r++)
        set_metric(f, METRIC_DETOUR, r, 0.001);
    judge_it(f);
    assert_true(has_row(f, "quiet machine"));
    for (int r = 0; r < f->a.n_ranks / 2 + 1; r++)
        set_metric(f, METRIC_DETOUR, r, 0.001);
    judge_it(f);
    assert_false(has_row(f, "quiet machine"));
}

/* Regression: an assertion allowed as many ranks as repeats, 64. */
UNIT_TEST(a_large_busy_machine_never_passes)
{
    static struct fixture f;
    const int half = 35;

    open_fleet(&f, 5, 2 * half);
    for (int r = half - 1; r < 2 * half; r++)
        set_metric(&f, METRIC_DETOUR, r, 0.91);
    judge_it(&f);
    assert_true(has_row(&f, "quiet machine"));
    for (int r = 0; r <= half; r++)
        set_metric(&f, METRIC_DETOUR, r, 0.001);
    judge_it(&f);
    assert_false(has_row(&f, "quiet machine"));
    acceptance_close(&f.a);
}

ON_A_FLEET(a_rank_below_the_limit_is_named)
{
    struct fixture *f = *state;

    limits(f, "least_flops_per_s=1.9e10,most_detour_ratio=0.002,most_longest_detour_s=0.01");
    judge_it(f);
    assert_row(f, "least_flops_per_s", OUTCOME_PASS,
               "the worst of 8 ranks, rank 0 on host0: 20.2 Gflop/s, above the limit of 19 Gflop/s");
    set_metric(f, METRIC_GEMM, 6, 1.8e10); /* no outlier */
    set_metric(f, METRIC_LONGEST_DETOUR, 2, 0.02);
    judge_it(f);
    assert_row(f, "least_flops_per_s", OUTCOME_FAIL,
               "the worst of 8 ranks, rank 6 on host3: 18 Gflop/s, below the limit of 19 Gflop/s");
    assert_int_equal(row_of(f, "outliers of flops_per_s")->outcome, OUTCOME_PASS);
    const struct criterion *row = row_of(f, "least_flops_per_s");
    assert_true(row->measured == 1.8e10 && row->limit == 1.9e10 && row->at_least && row->n_samples == 24);
    assert_string_equal(row->unit, "flop/s");
    assert_row(f, "most_longest_detour_s", OUTCOME_FAIL,
               "the worst of 8 ranks, rank 2 on host1: 20 ms, above the limit of 10 ms");
    assert_false(row_of(f, "most_longest_detour_s")->at_least);
    assert_int_equal(row_of(f, "most_detour_ratio")->outcome, OUTCOME_PASS);
    assert_int_equal(f->a.n_findings, 2);
    assert_finding(f, 0, SUBJECT_RANK, 6, 1.8e10, 1.9e10);
    assert_int_equal(f->a.finding[0].b, 3);
    assert_string_equal(f->a.finding[0].text, "18 Gflop/s; the limit is at least 19 Gflop/s");
    assert_finding(f, 1, SUBJECT_RANK, 2, 0.02, 0.01);
}

/* accept.J3 */
ON_A_FLEET(an_interval_that_holds_the_limit_is_said)
{
    struct fixture *f = *state;

    limits(f, "least_flops_per_s=2.0e10"); /* rank 0: 2, 2.02, 2.04e10 */
    judge_it(f);
    assert_row(f, "least_flops_per_s", OUTCOME_PASS,
               "the worst of 8 ranks, rank 0 on host0: 20.2 Gflop/s, above the limit of 20 Gflop/s; the interval holds "
               "the limit");
    set_metric(f, METRIC_GEMM, 0, 2.0e10);
    judge_it(f);
    assert_row(f, "least_flops_per_s", OUTCOME_PASS, /* at the limit is within it */
               "the worst of 8 ranks, rank 0 on host0: 20 Gflop/s, at the limit of 20 Gflop/s; the interval holds the "
               "limit");
}

/* accept.J4: nobody twice, a whole node as one, the whole fleet as one. */
ON_A_FLEET(breakers_are_named_as_what_they_are)
{
    struct fixture *f = *state;

    limits(f, "least_memory_bytes_per_s=7e9");
    set_metric(f, METRIC_MEMORY, 3, 1e9); /* an outlier too */
    judge_it(f);
    assert_int_equal(f->a.n_findings, 1);
    assert_true(f->a.finding[0].q_value > 0);
    set_metric(f, METRIC_MEMORY, 3, 6e9);
    set_metric(f, METRIC_MEMORY, 2, 5e9);
    judge_it(f);
    assert_int_equal(f->a.n_findings, 1);
    assert_finding(f, 0, SUBJECT_NODE, 1, 5e9, 7e9);
    limits(f, "least_memory_bytes_per_s=9e9");
    judge_it(f);
    assert_int_equal(f->a.n_findings, 1);
    assert_finding(f, 0, SUBJECT_FLEET, 0, 5e9, 9e9);
}

/* accept.D1, J2 */
ON_A_FLEET(values_that_are_missing_are_no_data)
{
    struct fixture *f = *state;

    set_metric(f, METRIC_GEMM, 4, NAN);
    limits(f, "least_flops_per_s=1e10");
    judge_it(f);
    assert_row(f, "outliers of flops_per_s", OUTCOME_NO_DATA, "rank 4 on host2 has no value");
    assert_row(f, "least_flops_per_s", OUTCOME_NO_DATA, "rank 4 on host2 has no value");
    assert_outcomes(f, ACCEPT_COMPUTE, OUTCOME_NO_DATA, OUTCOME_NO_DATA);
    f->a.metric[METRIC_GEMM].value[0] = NAN; /* one repeat of three is no matter */
    set_metric(f, METRIC_GEMM, 4, 2e10);
    judge_it(f);
    assert_outcomes(f, ACCEPT_COMPUTE, OUTCOME_PASS, OUTCOME_PASS);
    assert_int_equal(row_of(f, "least_flops_per_s")->n_samples, 23);
    for (int r = 0; r < N_RANKS; r++)
        set_metric(f, METRIC_GEMM, r, NAN);
    judge_it(f);
    assert_row(f, "least_flops_per_s", OUTCOME_NO_DATA, "every rank: not measured");
    assert_true(isnan(row_of(f, "least_flops_per_s")->measured));
    assert_row(f, "outliers of flops_per_s", OUTCOME_NO_DATA, "no rank has a value");
}

ON_A_FLEET(a_metric_that_is_missing_is_no_data)
{
    struct fixture *f = *state;
    double *value = f->a.metric[METRIC_MEMORY].value;

    f->a.metric[METRIC_MEMORY] = (struct rank_metric){ .value = NULL };
    limits(f, "least_memory_bytes_per_s=1");
    judge_it(f);
    assert_row(f, "outliers of memory_bytes_per_s", OUTCOME_NO_DATA, "no rank has a value");
    assert_row(f, "least_memory_bytes_per_s", OUTCOME_NO_DATA, "every rank: not measured");
    assert_outcomes(f, ACCEPT_COMPUTE, OUTCOME_NO_DATA, OUTCOME_NO_DATA);
    f->a.metric[METRIC_MEMORY].value = value;
}

ON_A_FLEET(too_few_repeats_are_no_data)
{
    struct fixture *f = *state;

    limits(f, "least_repeats_count=4,most_repeats_count=4,least_flops_per_s=1e10,least_pair_bytes_per_s=1e7");
    judge_it(f);
    assert_row(f, "outliers of flops_per_s", OUTCOME_NO_DATA, "3 repeats; 4 are asked for");
    assert_row(f, "least_flops_per_s", OUTCOME_NO_DATA, "3 repeats; 4 are asked for");
    assert_row(f, "slow nodes and links", OUTCOME_NO_DATA, "3 repeats; 4 are asked for");
    assert_row(f, "least_pair_bytes_per_s", OUTCOME_NO_DATA, "3 repeats; 4 are asked for");
    assert_int_equal(row_of(f, "stragglers")->outcome, OUTCOME_PASS); /* its repeats are parts of a run */
}

/* Who judges gives the criteria as they are in the file: of few nodes all repeats are asked for. */
ON_A_FLEET(few_nodes_are_judged_by_all_repeats)
{
    struct fixture *f = *state, eight;

    limits(f, "least_repeats_count=3,most_repeats_count=11,least_flops_per_s=1e10");
    judge_it(f);
    assert_row(f, "outliers of flops_per_s", OUTCOME_NO_DATA, "3 repeats; 11 are asked for");
    assert_row(f, "least_flops_per_s", OUTCOME_NO_DATA, "3 repeats; 11 are asked for");
    assert_row(f, "slow nodes and links", OUTCOME_NO_DATA, "3 repeats; 11 are asked for");
    open_fleet(&eight, CRITERIA_FEW_NODES, CRITERIA_FEW_NODES);
    limits(&eight, "least_repeats_count=3,most_repeats_count=11,least_flops_per_s=1e10");
    judge_it(&eight); /* the kit's judges assert two looks */
    assert_int_equal(row_of(&eight, "outliers of flops_per_s")->outcome, OUTCOME_PASS);
    assert_int_equal(row_of(&eight, "least_flops_per_s")->outcome, OUTCOME_PASS);
    assert_int_equal(eight.c.least_repeats_count, 3); /* and they stay as they are */
    acceptance_close(&eight.a);
}

UNIT_MAIN("judge")
