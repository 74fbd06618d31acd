/* SPDX-License-Identifier: Apache-2.0 */
/* judge_stages_test.c - rows of pairs of nodes and of the stages that have no rank metric, by hand (accept.D2, J2,
 * J4). */
#include "harness/accept/suite/judge_kit.h"

/* --- pairs --- */

ON_A_FLEET(a_slow_node_fails)
{
    struct fixture *f = *state;

    limits(f, "least_pair_bytes_per_s=9e7");
    for (int k = 0; k < 3; k++) {
        set_pair(f, k, 3, 1e7);
        set_pair(f, 3, k, 2e7);
    }
    judge_it(f);
    assert_row(f, "slow nodes and links", OUTCOME_FAIL, "1 found: host3: it is slow with everybody");
    assert_row(f, "least_pair_bytes_per_s", OUTCOME_FAIL,
               "the worst of 12 pairs, host0 -> host3: 10 MB/s, below the limit of 90 MB/s");
    assert_int_equal(f->a.n_findings, 1); /* its pairs are explained */
    assert_outcomes(f, ACCEPT_PAIRWISE, OUTCOME_FAIL, OUTCOME_FAIL);
}

/* accept.J4 */
ON_A_FLEET(pairs_below_the_limit_are_named)
{
    struct fixture *f = *state;

    limits(f, "least_pair_bytes_per_s=9e7");
    set_pair(f, 2, 1, 7e7);
    judge_it(f);
    assert_int_equal(row_of(f, "slow nodes and links")->outcome, OUTCOME_PASS);
    assert_int_equal(f->a.n_findings, 1);
    assert_finding(f, 0, SUBJECT_LINK, 2, 7e7, 9e7);
    assert_true(f->a.finding[0].b == 1 && !f->a.finding[0].both_ways);
    set_pair(f, 1, 2, 8e7);
    judge_it(f);
    assert_int_equal(f->a.n_findings, 1);
    assert_finding(f, 0, SUBJECT_LINK, 1, 8e7, 9e7);
    assert_true(f->a.finding[0].b == 2 && f->a.finding[0].both_ways);
    set_pair(f, 0, 2, 8e7);
    set_pair(f, 3, 2, 6e7); /* all that comes to node 2 */
    judge_it(f);
    assert_int_equal(f->a.n_findings, 1);
    assert_finding(f, 0, SUBJECT_NODE, 2, 6e7, 9e7);
    limits(f, "least_pair_bytes_per_s=2e8");
    judge_it(f);
    assert_int_equal(f->a.n_findings, 1);
    assert_finding(f, 0, SUBJECT_FLEET, 0, 6e7, 2e8);
    assert_string_equal(f->a.finding[0].text, "every pair: 60 MB/s; the limit is at least 200 MB/s");
    limits(f, "least_pair_bytes_per_s=4.8e8"); /* 480 Mbit/s are 60 MB/s */
    judge_it(f);
    assert_string_equal(f->a.finding[0].text, "every pair: 60 MB/s; the limit is at least 480 MB/s, about 8 times as "
                                              "much; is it in bits, not bytes?");
}

ON_A_FLEET(latency_has_a_limit)
{
    struct fixture *f = *state;

    limits(f, "most_pair_latency_s=3e-5");
    judge_it(f);
    assert_row(f, "most_pair_latency_s", OUTCOME_PASS,
               "the worst of 12 pairs, host0 -> host1: 20 us, below the limit of 30 us");
    for (int i = 0; i < N_REPEATS; i++)
        *tournament_latency(&f->a.tournament, i, 3, 0) = 4e-5;
    judge_it(f);
    assert_row(f, "most_pair_latency_s", OUTCOME_FAIL,
               "the worst of 12 pairs, host3 -> host0: 40 us, above the limit of 30 us");
    assert_finding(f, 0, SUBJECT_LINK, 3, 4e-5, 3e-5);
}

/* accept.D2 */
ON_A_FLEET(vacuous_tournaments_are_no_data)
{
    struct fixture *f = *state;

    limits(f, "least_pair_bytes_per_s=1e7");
    set_pair(f, 1, 3, NAN);
    judge_it(f);
    assert_row(f, "slow nodes and links", OUTCOME_NO_DATA, "host1 -> host3 was not measured");
    assert_row(f, "least_pair_bytes_per_s", OUTCOME_NO_DATA, "host1 -> host3 was not measured");
    f->a.tournament.n_repeats = 0;
    judge_it(f);
    assert_row(f, "slow nodes and links", OUTCOME_NO_DATA, "no pair was measured");
    assert_row(f, "least_pair_bytes_per_s", OUTCOME_NO_DATA, "no pair was measured");
    assert_outcomes(f, ACCEPT_PAIRWISE, OUTCOME_NO_DATA, OUTCOME_NO_DATA);
}

/* One node with one rank: whatever has nobody to compare with says so, and a limit is judged. */
UNIT_TEST(one_rank_has_nothing_to_compare_with)
{
    struct fixture f;

    open_fleet(&f, 1, 1);
    f.a.tournament.n_repeats = 0;
    f.a.n_collective = 0;
    f.a.sum_checks_count = f.a.pull_checks_count = 0;
    f.a.n_ps = 0;
    judge_it(&f);
    assert_int_equal(f.a.outcome, OUTCOME_NO_DATA);
    assert_row(&f, "outliers of flops_per_s", OUTCOME_NO_DATA,
               "1 rank cannot be compared with a fleet; a limit, least_flops_per_s, would be judged");
    assert_row(&f, "slow nodes and links", OUTCOME_NO_DATA, "one node has no pair; at least two would be judged");
    assert_row(&f, "allreduce_busbw_bytes_per_s 4096", OUTCOME_NO_DATA, "one rank exchanges nothing");
    assert_row(&f, "sums are right", OUTCOME_NO_DATA, "nothing was summed");
    assert_row(&f, "pulls are right", OUTCOME_NO_DATA, "nothing was pulled");
    assert_row(&f, "parameters are equal", OUTCOME_NO_DATA,
               "one rank is the same as itself; at least two would be judged");
    assert_row(&f, "all nodes agree", OUTCOME_NO_DATA,
               "one node agrees with itself; a limit, such as least_cores_count, would be judged");
    limits(&f, "stages=preflight,compute,noise,least_flops_per_s=1e10,least_memory_bytes_per_s=1e9,"
               "least_cores_count=4,most_detour_ratio=0.1");
    judge_it(&f);
    assert_int_equal(f.a.outcome, OUTCOME_PASS);
    assert_false(has_row(&f, "outliers of flops_per_s") || has_row(&f, "all nodes agree"));
    /* that of one node is 1, and one rank waits for nobody, whatever they do */
    limits(&f, "stages=training,least_efficiency_ratio=0.5,most_exposed_ratio=0.9");
    judge_it(&f);
    assert_row(&f, "least_efficiency_ratio", OUTCOME_NO_DATA,
               "one node is as fast as itself; at least two would be judged");
    assert_row(&f, "most_exposed_ratio", OUTCOME_NO_DATA,
               "one rank waits for no communication; at least two would be judged");
    assert_false(has_row(&f, "stragglers"));
    assert_int_equal(f.a.outcome, OUTCOME_NO_DATA);
    limits(&f, "stages=compute,least_flops_per_s=3e10");
    judge_it(&f);
    assert_int_equal(f.a.outcome, OUTCOME_FAIL);
    assert_finding(&f, 0, SUBJECT_RANK, 0, 2e10 * 1.01, 3e10);
    acceptance_close(&f.a);
}

UNIT_TEST(two_nodes_need_a_limit)
{
    struct fixture f;

    open_fleet(&f, 2, 4);
    judge_it(&f);
    assert_row(&f, "slow nodes and links", OUTCOME_NO_DATA,
               "2 nodes have too few other pairs to compare with; a limit, least_pair_bytes_per_s, would be judged");
    limits(&f, "least_pair_bytes_per_s=5e7");
    judge_it(&f);
    assert_false(has_row(&f, "slow nodes and links"));
    assert_int_equal(f.a.outcome, OUTCOME_PASS);
    set_pair(&f, 0, 1, 1e7);
    set_pair(&f, 1, 0, 2e7);
    judge_it(&f);
    assert_int_equal(f.a.n_findings, 1);
    assert_finding(&f, 0, SUBJECT_LINK, 0, 1e7, 5e7);
    assert_true(f.a.finding[0].both_ways);
    acceptance_close(&f.a);
}

/* --- the other stages --- */

ON_A_FLEET(facts_that_differ_fail)
{
    struct fixture *f = *state;

    const struct node_difference of_two = { 0, 2, "4.0" }, of_three = { 0, 3, "3.9" };

    f->a.preflight[0].outcome = OUTCOME_FAIL;
    f->a.preflight[0].node = 2;
    snprintf(f->a.preflight[0].other, ACCEPT_TEXT_BYTES, "4.0, and 1 more node differs");
    assert_int_equal(acceptance_add_difference(&f->a, &of_two), RC_OK);
    assert_int_equal(acceptance_add_difference(&f->a, &of_three), RC_OK);
    judge_it(f);
    assert_row(f, "Open MPI", OUTCOME_FAIL, "host2: 4.0, and 1 more node differs; most have 4.1");
    assert_row(f, "cores", OUTCOME_PASS, "cores: 8");
    assert_row(f, "all nodes agree", OUTCOME_FAIL, "2 found, the first host2: Open MPI is 4.0; most have 4.1");
    assert_int_equal(f->a.n_findings, 2);
    assert_int_equal(f->a.finding[0].subject, SUBJECT_NODE);
    assert_true(f->a.finding[0].a == 2 && f->a.finding[0].q_value == 0);
    assert_int_equal(f->a.finding[1].subject, SUBJECT_NODE);
    assert_int_equal(f->a.finding[1].a, 3);
    assert_string_equal(f->a.finding[1].text, "Open MPI is 3.9; most have 4.1");
    f->a.n_differences = 1;
    f->a.difference[0] = (struct node_difference){ 0, -1, "nodes differ, no majority: 2 have 4.1, 2 have 4.0" };
    f->a.preflight[0].node = -1;
    snprintf(f->a.preflight[0].other, ACCEPT_TEXT_BYTES, "%s", f->a.difference[0].has);
    f->a.preflight[1].outcome = OUTCOME_NO_DATA;
    judge_it(f);
    assert_int_equal(f->a.n_findings, 1);
    assert_int_equal(f->a.finding[0].subject, SUBJECT_FLEET);
    assert_string_equal(f->a.finding[0].text, "Open MPI: nodes differ, no majority: 2 have 4.1, 2 have 4.0");
    assert_row(f, "Open MPI", OUTCOME_FAIL, "nodes differ, no majority: 2 have 4.1, 2 have 4.0");
    assert_outcomes(f, ACCEPT_PREFLIGHT, OUTCOME_FAIL, OUTCOME_FAIL);
    f->a.n_differences = 0;
    f->a.preflight[0].outcome = OUTCOME_PASS;
    f->a.preflight[0].other[0] = '\0';
    judge_it(f);
    assert_outcomes(f, ACCEPT_PREFLIGHT, OUTCOME_NO_DATA, OUTCOME_NO_DATA);
    f->a.n_preflight = 0;
    judge_it(f);
    assert_row(f, "all nodes agree", OUTCOME_NO_DATA, "no fact was asked for");
}

ON_A_FLEET(the_largest_size_keeps_the_limit)
{
    struct fixture *f = *state;

    limits(f, "least_busbw_bytes_per_s=8.5e7,least_busbw_bound_ratio=0.95,least_goodput_bytes_per_s=9.5e7,"
              "least_goodput_bound_ratio=0.85");
    judge_it(f);
    assert_row(f, "allreduce_busbw_bytes_per_s 4096", OUTCOME_NO_LIMIT, "4096 bytes: 1 MB/s, without a limit");
    assert_row(f, "allreduce_busbw_bytes_per_s 4194304", OUTCOME_PASS,
               "4194304 bytes, the largest size: 90 MB/s, above the limit of 85 MB/s; the interval holds the limit");
    assert_row(f, "least_busbw_bound_ratio", OUTCOME_FAIL,
               "the largest size: 90 % of the bound, below the limit of 95 %");
    assert_row(f, "ps_goodput_bytes_per_s 4194304", OUTCOME_FAIL,
               "4194304 bytes, the largest size: 90 MB/s, below the limit of 95 MB/s; the interval holds the limit");
    assert_int_equal(row_of(f, "least_goodput_bound_ratio")->outcome, OUTCOME_PASS);
    const struct criterion *row = row_of(f, "allreduce_busbw_bytes_per_s 4194304");
    assert_true(row->measured == 9e7 && row->low == 8e7 && row->high == 1e8 && row->limit == 8.5e7);
    assert_int_equal(row->n_samples, 3);
    assert_true(isnan(row_of(f, "allreduce_busbw_bytes_per_s 4096")->limit));
    assert_int_equal(f->a.stage[ACCEPT_COLLECTIVES].outcome, OUTCOME_FAIL);
}

ON_A_FLEET(sizes_that_are_missing_are_no_data)
{
    struct fixture *f = *state;

    limits(f, "least_busbw_bytes_per_s=1,least_busbw_bound_ratio=0.1,least_goodput_bound_ratio=0.1");
    f->a.n_collective = 2;
    f->a.ps[2].bound_ratio = NAN;
    f->a.ps[1].n_repeats = 0;
    judge_it(f);
    assert_row(f, "allreduce_busbw_bytes_per_s 4194304", OUTCOME_NO_DATA, "this size was not measured");
    assert_row(f, "least_busbw_bound_ratio", OUTCOME_NO_DATA, "the largest size was not measured: not measured");
    assert_outcomes(f, ACCEPT_COLLECTIVES, OUTCOME_NO_DATA, OUTCOME_NO_DATA);
    assert_row(f, "ps_goodput_bytes_per_s 262144", OUTCOME_NO_DATA, "this size was not measured");
    assert_row(f, "least_goodput_bound_ratio", OUTCOME_NO_DATA,
               "what the slowest link allows is not known: the pairwise stage measures links, not every reducer tells "
               "what it sends, and --inject makes links slow in that stage alone");
}

ON_A_FLEET(training_is_judged_at_all_nodes)
{
    struct fixture *f = *state;

    limits(f, "least_efficiency_ratio=0.7,most_exposed_ratio=0.2");
    judge_it(f);
    assert_row(f, "least_efficiency_ratio", OUTCOME_PASS, "4 nodes: 80 % of one node's, above the limit of 70 %");
    assert_row(f, "most_exposed_ratio", OUTCOME_FAIL, "4 nodes: 25 % of a step, above the limit of 20 %");
    assert_row(f, "samples_per_s", OUTCOME_NO_LIMIT, "4 nodes: 320 sample/s, without a limit");
    f->a.n_training = 1; /* one node alone */
    judge_it(f);
    assert_row(f, "least_efficiency_ratio", OUTCOME_NO_DATA, "4 nodes: not measured");
    assert_row(f, "samples_per_s", OUTCOME_NO_DATA, "4 nodes: not measured");
    assert_outcomes(f, ACCEPT_TRAINING, OUTCOME_NO_DATA, OUTCOME_NO_DATA);
}

/* accept.J2: a training that its limit of time cut short, to `trained` steps, of which all are measured, in n_parts. */
static void cut_training(struct fixture *f, uint64_t trained, int n_parts)
{
    static const int metric[] = { METRIC_STEP_COMPUTE, METRIC_STEP_WAIT };

    for (int i = 0; i < 2; i++) {
        f->a.training[i].n_steps = f->a.training[i].n_measured_steps = trained;
        assert_int_equal(acceptance_add_metric(&f->a, metric[i], n_parts), RC_OK);
        for (int v = 0; v < N_RANKS * n_parts; v++)
            f->a.metric[metric[i]].value[v] = 0.1;
    }
}

/* Regression: a training that the time limit cut to a few steps passed. */
ON_A_FLEET(too_few_steps_are_no_data_J2)
{
    struct fixture *f = *state;

    limits(f, "least_efficiency_ratio=0.7,most_exposed_ratio=0.3");
    cut_training(f, 9, 1);
    judge_it(f);
    assert_row(f, "stragglers", OUTCOME_NO_DATA,
               "1 part of the training was measured; 2 parts of 5 steps would be judged");
    assert_row(f, "samples_per_s", OUTCOME_NO_DATA,
               "4 nodes: 9 of 60 steps were measured; at least 10 would be judged");
    assert_row(f, "least_efficiency_ratio", OUTCOME_NO_DATA,
               "4 nodes: 9 of 60 steps were measured; at least 10 would be judged");
    assert_row(f, "most_exposed_ratio", OUTCOME_NO_DATA,
               "4 nodes: 9 of 60 steps were measured; at least 10 would be judged");
    assert_int_equal(row_of(f, "samples_per_s")->n_samples, 9);
    assert_int_equal(row_of(f, "stragglers")->n_samples, N_RANKS);
    assert_outcomes(f, ACCEPT_TRAINING, OUTCOME_NO_DATA, OUTCOME_NO_DATA);
    limits(f, "least_efficiency_ratio=0.9"); /* what is bad stays bad */
    judge_it(f);
    assert_outcomes(f, ACCEPT_TRAINING, OUTCOME_FAIL, OUTCOME_FAIL);
}

ON_A_FLEET(rows_show_the_steps_that_were_measured)
{
    struct fixture *f = *state;

    limits(f, "least_efficiency_ratio=0.7,most_exposed_ratio=0.3");
    judge_it(f);
    assert_int_equal(row_of(f, "samples_per_s")->n_samples, 50);
    cut_training(f, 10, 2);
    judge_it(f);
    assert_row(f, "samples_per_s", OUTCOME_NO_LIMIT, "4 nodes (10 of 60 steps): 320 sample/s, without a limit");
    assert_row(f, "least_efficiency_ratio", OUTCOME_PASS,
               "4 nodes (10 of 60 steps): 80 % of one node's, above the limit of 70 %");
    assert_int_equal(row_of(f, "samples_per_s")->n_samples, 10);
    assert_int_equal(row_of(f, "least_efficiency_ratio")->n_samples, 10);
    assert_int_equal(row_of(f, "most_exposed_ratio")->n_samples, 10);
    assert_int_equal(row_of(f, "stragglers")->n_samples, 2 * N_RANKS);
    assert_outcomes(f, ACCEPT_TRAINING, OUTCOME_PASS, OUTCOME_PASS);
    f->a.training[0].n_measured_steps = 9; /* of one node, which all nodes are compared with */
    judge_it(f);
    assert_row(f, "least_efficiency_ratio", OUTCOME_NO_DATA,
               "1 node: 9 of 60 steps were measured; at least 10 would be judged");
    f->a.metric[METRIC_STEP_COMPUTE].value[2 * 3] = NAN; /* rank 3 has one part */
    judge_it(f);
    assert_row(f, "stragglers", OUTCOME_NO_DATA,
               "1 part of the training was measured; 2 parts of 5 steps would be judged");
}

ON_A_FLEET(corruption_names_rank_step_and_segment)
{
    struct fixture *f = *state;

    f->a.corruption[0] = (struct corruption){ .rank = 3, .step = 32, .segment = "conv1.w" };
    f->a.corruption[1] = (struct corruption){ .rank = -1, .step = 48, .segment = "fc.b" };
    f->a.n_corruptions = 2;
    judge_it(f);
    assert_row(f, "parameters are equal", OUTCOME_FAIL,
               "2 found, the first rank 3 on host1: its parameters differ from those of the others in segment conv1.w "
               "at the check of step 32");
    assert_int_equal(f->a.finding[0].subject, SUBJECT_RANK);
    assert_true(f->a.finding[0].a == 3 && f->a.finding[0].b == 1 && f->a.finding[0].q_value == 0);
    assert_int_equal(f->a.finding[1].subject, SUBJECT_FLEET);
    f->a.n_corruptions = 0;
    f->a.integrity_checks_count = 3;
    judge_it(f);
    assert_row(f, "parameters are equal", OUTCOME_NO_DATA, "3 of 4 checks were made");
    f->a.integrity_checks_count = 0;
    judge_it(f);
    assert_row(f, "parameters are equal", OUTCOME_NO_DATA, "0 of 4 checks were made");
    assert_outcomes(f, ACCEPT_INTEGRITY, OUTCOME_NO_DATA, OUTCOME_NO_DATA);
}

ON_A_FLEET(the_soak_drifts_and_straggles)
{
    struct fixture *f = *state;

    judge_it(f);
    assert_row(f, "most_drift_ratio", OUTCOME_PASS,
               "the end beside the beginning: 2 % of a step, below the limit of 10 %");
    f->a.soak.drift_ratio = 0.11;
    f->a.soak.worst_ratio = 1.25;
    judge_it(f);
    assert_row(f, "most_drift_ratio", OUTCOME_FAIL,
               "the end beside the beginning: 11 % of a step, above the limit of 10 %");
    assert_row(f, "most_straggling_ratio", OUTCOME_FAIL,
               "the worst minute beside all: 25 % of a step, above the limit of 20 %");
    f->a.soak = (struct soak){ 4, 0.02, 1.1, 800, 8 };
    judge_it(f);
    assert_row(f, "soak_minutes", OUTCOME_NO_DATA, "800 steps in 8 trainings, in 4 of 5 minutes");
    assert_row(f, "most_drift_ratio", OUTCOME_NO_DATA, "the soak ended early");
    assert_outcomes(f, ACCEPT_SOAK, OUTCOME_NO_DATA, OUTCOME_NO_DATA);
    f->a.soak = (struct soak){ 5, 0, 0, 0, 0 };
    judge_it(f);
    assert_row(f, "most_drift_ratio", OUTCOME_NO_DATA, "the end beside the beginning: not measured");
    f->a.soak = (struct soak){ 5, 0, 1, 1000, 1 };
    judge_it(f);
    assert_row(f, "most_drift_ratio", OUTCOME_NO_DATA, "a soak of one training has no parts to compare");
    assert_row(f, "most_straggling_ratio", OUTCOME_NO_DATA, "a soak of one training has no parts to compare");
    f->a.soak.n_parts = 2;
    judge_it(f);
    assert_outcomes(f, ACCEPT_SOAK, OUTCOME_PASS, OUTCOME_PASS);
    limits(f, "most_drift_ratio=0,most_straggling_ratio=0");
    f->a.soak = (struct soak){ 5, 9, 9, 10, 10 };
    judge_it(f);
    assert_outcomes(f, ACCEPT_SOAK, OUTCOME_PASS, OUTCOME_PASS);
}

UNIT_MAIN("judge_stages")
