/* SPDX-License-Identifier: Apache-2.0 */
/* trials_test.c - which faults are drawn (accept.T1), and what counts as found (accept.T2) or as a false alarm
 * (accept.T3). */
#include "harness/accept/trials.h"
#include "harness/base/suite/printed.h"
#include "harness/base/suite/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_NODES = 4, N_RANKS = 8, N_TRIALS = 80 };

static const int node_of_rank[N_RANKS] = { 0, 0, 1, 1, 2, 2, 3, 3 };

static struct self_test_terms terms(int n_trials, int n_faults)
{
    return (struct self_test_terms){ .n_trials = n_trials,
                                     .n_faults = n_faults,
                                     .n_nodes = N_NODES,
                                     .n_ranks = N_RANKS,
                                     .node_of_rank = node_of_rank,
                                     .seed = 7,
                                     .ratio = 0.6,
                                     .loss_ratio = 0.02,
                                     .may_kill = true,
                                     .may_flip = true,
                                     .has_pairs = true,
                                     .has_compute = true };
}

/* A bit that flips behind the last step is found by nobody. */
UNIT_TEST(a_bit_flips_in_a_step_that_is_made)
{
    static const struct {
        uint64_t n_steps, step;
    } known[] = { { 0, 5 }, { 64, 5 }, { 6, 5 }, { 5, 4 }, { 1, 0 } };
    struct self_test_terms t = terms(2, 1);
    struct trial trial[2];

    t.has_pairs = t.has_compute = t.may_kill = false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        t.integrity_steps_count = known[i].n_steps;
        assert_int_equal(self_test_plan(trial, &t), RC_OK);
        assert_int_equal(trial[1].inject.fault[0].kind, FAULT_FLIP);
        assert_true(trial[1].inject.fault[0].step == known[i].step);
    }
}

/* Seven kinds: trials 0, 8, 16, ... have no fault, the others each kind in turn. Who is lost is the first rank of a
 * node other than rank 0's, as that one plays and rank 0 keeps the report. */
UNIT_TEST(every_kind_has_its_turn_T1)
{
    const struct self_test_terms t = terms(N_TRIALS, 1);
    struct trial trial[N_TRIALS], again[N_TRIALS];
    int n_of[FAULT_N_KINDS] = { 0 };

    assert_int_equal(self_test_plan(trial, &t), RC_OK);
    for (int i = 0; i < N_TRIALS; i++) {
        const struct fault *f = &trial[i].inject.fault[0];
        assert_int_equal(trial[i].inject.n_faults, i % 8 == 0 ? 0 : 1);
        if (i % 8 == 0)
            continue;
        n_of[f->kind]++;
        if (f->kind == FAULT_SLOW_LINK)
            assert_true(f->a != f->b && f->b >= 0 && f->b < N_NODES && f->both_ways);
        if (f->kind == FAULT_KILL || f->kind == FAULT_STALL)
            assert_true(f->a == 2 || f->a == 4 || f->a == 6);
        assert_true(f->ratio == (f->kind == FAULT_LOSS ? 0.02 : 0.6));
    }
    for (int k = 0; k < FAULT_N_KINDS; k++)
        assert_int_equal(n_of[k], 10);
    assert_int_equal(self_test_plan(again, &t), RC_OK);
    for (int i = 0; i < N_TRIALS; i++)
        assert_true(again[i].inject.fault[0].a == trial[i].inject.fault[0].a && again[i].seed == trial[i].seed);
}

/* Several at once are of different nodes; a lost rank comes alone, as it ends the test. */
UNIT_TEST(faults_at_once_do_not_hide_each_other)
{
    const struct self_test_terms t = terms(N_TRIALS, 3);
    struct trial trial[N_TRIALS];

    assert_int_equal(self_test_plan(trial, &t), RC_OK);
    for (int i = 0; i < N_TRIALS; i++) {
        const struct inject *in = &trial[i].inject;
        int n_of_node[N_NODES] = { 0 };
        for (int k = 0; k < in->n_faults; k++) {
            const struct fault *f = &in->fault[k];
            const bool of_nodes = f->kind == FAULT_SLOW_NODE || f->kind == FAULT_SLOW_LINK || f->kind == FAULT_LOSS;
            n_of_node[of_nodes ? f->a : node_of_rank[f->a]]++;
            if (f->kind == FAULT_SLOW_LINK)
                n_of_node[f->b]++;
            if (f->kind == FAULT_KILL || f->kind == FAULT_STALL)
                assert_int_equal(in->n_faults, 1);
        }
        for (int n = 0; n < N_NODES; n++)
            assert_true(n_of_node[n] <= 1);
    }
}

UNIT_TEST(what_cannot_be_shown_is_refused)
{
    struct self_test_terms t = terms(4, 1);
    struct trial trial[4];

    t.has_pairs = t.has_compute = t.may_flip = false;
    assert_int_equal(self_test_plan(trial, &t), RC_INVAL);
    t.may_flip = true; /* alone: every second trial */
    assert_int_equal(self_test_plan(trial, &t), RC_OK);
    assert_int_equal(trial[1].inject.fault[0].kind, FAULT_FLIP);
    assert_int_equal(trial[2].inject.n_faults, 0);
}

static struct acceptance open_result(void)
{
    struct acceptance a;

    assert_int_equal(acceptance_open(&a, N_NODES, N_RANKS), RC_OK);
    for (int n = 0; n < N_NODES; n++)
        a.node[n] = (struct accept_node){ .first_rank = 2 * n, .n_ranks = 2 };
    memcpy(a.node_of_rank, node_of_rank, sizeof node_of_rank);
    for (int s = 0; s < ACCEPT_N_STAGES; s++)
        a.stage[s] = (struct stage_state){ .was_run = true, .took_s = 1 };
    a.outcome = OUTCOME_FAIL;
    return a;
}

static void add(struct acceptance *a, enum accept_stage stage, enum subject subject, int first, int second)
{
    const struct finding f = { .stage = stage, .subject = subject, .a = first, .b = second };

    assert_int_equal(acceptance_add_finding(a, &f), RC_OK);
}

static struct inject one_fault(enum fault_kind kind, int a, int b)
{
    return (struct inject){ .n_faults = 1, .fault = { { .kind = kind, .a = a, .b = b } } };
}

UNIT_TEST(a_fault_is_found_by_its_own_name_T2)
{
    const struct inject link = one_fault(FAULT_SLOW_LINK, 3, 1), node = one_fault(FAULT_SLOW_NODE, 1, 0);
    struct acceptance a = open_result();
    struct trial_result r;

    add(&a, ACCEPT_PAIRWISE, SUBJECT_LINK, 1, 3);
    r = self_test_score(&link, &a);
    assert_true(r.n_faults[FAULT_SLOW_LINK] == 1 && r.n_found[FAULT_SLOW_LINK] == 1 && r.n_false == 0);
    assert_true(r.found_after_s == 4); /* preflight, compute, noise, pairwise */
    assert_int_equal(r.n_subjects, N_NODES + N_RANKS);
    r = self_test_score(&node, &a); /* a link of it is not the node */
    assert_true(r.n_found[FAULT_SLOW_NODE] == 0 && r.n_false == 1 && isnan(r.found_after_s));
    add(&a, ACCEPT_PAIRWISE, SUBJECT_NODE, 1, 0);
    r = self_test_score(&node, &a);
    assert_true(r.n_found[FAULT_SLOW_NODE] == 1 && r.n_false == 1 && r.n_subjects == N_NODES + N_RANKS - 1);
    acceptance_close(&a);
}

UNIT_TEST(a_slow_rank_is_a_rank_T2)
{
    const struct inject rank = one_fault(FAULT_SLOW_RANK, 5, 0);
    struct acceptance a = open_result();
    struct trial_result r;

    add(&a, ACCEPT_COMPUTE, SUBJECT_NODE, 2, 0); /* its node, of two ranks: not named, but explained */
    r = self_test_score(&rank, &a);
    assert_true(r.n_found[FAULT_SLOW_RANK] == 0 && r.n_false == 0);
    a.node[2].n_ranks = 1;
    assert_int_equal(self_test_score(&rank, &a).n_found[FAULT_SLOW_RANK], 1);
    a.node[2].n_ranks = 2;
    add(&a, ACCEPT_COMPUTE, SUBJECT_RANK, 5, 2);
    r = self_test_score(&rank, &a);
    assert_true(r.n_found[FAULT_SLOW_RANK] == 1 && r.found_after_s == 2);
    add(&a, ACCEPT_COMPUTE, SUBJECT_RANK, 0, 0); /* accept.T3 */
    assert_int_equal(self_test_score(&rank, &a).n_false, 1);
    acceptance_close(&a);
}

UNIT_TEST(lost_ranks_and_flips_are_named_T2)
{
    const struct inject killed = one_fault(FAULT_KILL, 4, 0), flip = one_fault(FAULT_FLIP, 6, 0);
    struct acceptance a = open_result();

    a.outcome = OUTCOME_NO_DATA;
    assert_false(self_test_score(&killed, &a).could_test);
    a.lost_rank = 4;
    snprintf(a.stage[ACCEPT_PAIRWISE].why, sizeof a.stage[0].why, "rank 4 is lost");
    assert_true(self_test_score(&killed, &a).n_found[FAULT_KILL] == 1 && self_test_score(&killed, &a).could_test);
    a.lost_rank = 2;
    assert_int_equal(self_test_score(&killed, &a).n_found[FAULT_KILL], 0);
    add(&a, ACCEPT_INTEGRITY, SUBJECT_RANK, 6, 3);
    assert_int_equal(self_test_score(&flip, &a).n_found[FAULT_FLIP], 1);
    assert_int_equal(self_test_score(&killed, &a).n_false, 1);
    acceptance_close(&a);
}

/* Wilson 1927: of 20, 19; of 20, 20. Worked out with another program. */
static void name_node(struct acceptance *a, int node, const char *metric)
{
    const struct finding f = {
        .stage = ACCEPT_PAIRWISE, .subject = SUBJECT_NODE, .a = node, .b = -1, .metric = metric
    };

    assert_int_equal(acceptance_add_finding(a, &f), RC_OK);
}

/* Late round trips name who loses messages, rates who is slow. */
UNIT_TEST(a_lossy_node_is_not_a_slow_one_T2)
{
    const struct inject lossy = { .fault[0] = { .kind = FAULT_LOSS, .a = 2, .ratio = 0.05 }, .n_faults = 1 };
    const struct inject slow = { .fault[0] = { .kind = FAULT_SLOW_NODE, .a = 2, .ratio = 0.6 }, .n_faults = 1 };
    struct acceptance a = { .n_nodes = 0 };

    assert_int_equal(acceptance_open(&a, N_NODES, N_RANKS), RC_OK);
    a.outcome = OUTCOME_FAIL;
    name_node(&a, 2, "bytes_per_s");
    assert_int_equal(self_test_score(&lossy, &a).n_found[FAULT_LOSS], 0);
    assert_int_equal(self_test_score(&slow, &a).n_found[FAULT_SLOW_NODE], 1);
    a.n_findings = 0;
    name_node(&a, 2, "late_ratio");
    assert_int_equal(self_test_score(&lossy, &a).n_found[FAULT_LOSS], 1);
    assert_int_equal(self_test_score(&lossy, &a).n_false, 0);
    assert_int_equal(self_test_score(&slow, &a).n_found[FAULT_SLOW_NODE], 0);
    name_node(&a, 1, "late_ratio");
    assert_int_equal(self_test_score(&lossy, &a).n_false, 1);
    acceptance_close(&a);
}

/* A rank that no fault was to lose is no test of the test. */
UNIT_TEST(a_loss_without_a_fault_could_not_test)
{
    const struct inject slow = { .fault[0] = { .kind = FAULT_SLOW_RANK, .a = 2, .ratio = 0.6 }, .n_faults = 1 };
    const struct inject killed = { .fault[0] = { .kind = FAULT_KILL, .a = 2 }, .n_faults = 1 };
    struct acceptance a = { .n_nodes = 0 };

    assert_int_equal(acceptance_open(&a, N_NODES, N_RANKS), RC_OK);
    a.outcome = OUTCOME_NO_DATA;
    a.lost_rank = 2;
    a.criterion[0] = (struct criterion){ .name = "of bytes", .outcome = OUTCOME_NO_DATA, .text = "none came" };
    a.n_criteria = 1;
    const struct trial_result r = self_test_score(&slow, &a);
    assert_false(r.could_test);
    assert_string_equal(r.untested, "of bytes: none came");
    assert_true(self_test_score(&killed, &a).could_test);
    a.lost_rank = 4;
    assert_false(self_test_score(&killed, &a).could_test);
    acceptance_close(&a);
}

/* A trial without a result has missed its faults, and says why in one line.
 * Regression: one failed trial ended the self-test without a table. */
UNIT_TEST(a_failed_trial_is_in_the_table)
{
    const struct inject slow = { .fault[0] = { .kind = FAULT_SLOW_RANK, .a = 2, .ratio = 0.6 }, .n_faults = 1 };
    const struct inject none = { .n_faults = 0 };
    struct trial_result r[2] = { self_test_failed(&slow, "exit code %d: %s", 2, "no such\nthing"),
                                 self_test_failed(&none, "lost") };

    assert_true(r[0].n_faults[FAULT_SLOW_RANK] == 1 && r[0].n_found[FAULT_SLOW_RANK] == 0 && !r[0].could_test);
    assert_true(isnan(r[0].found_after_s));
    assert_string_equal(r[0].failed, "exit code 2: no such");
    struct printed p;
    printed_begin(&p);
    assert_int_equal(self_test_print(r, 2, p.to), RC_OK);
    char *text = printed_end(&p);
    assert_non_null(
        strstr(text, "\n2 trials could not test\ntrial 0 failed: exit code 2: no such\ntrial 1 failed: lost\n"));
    assert_non_null(strstr(text, "of 0 trials without a fault")); /* it may have had a false alarm */
    free(text);
}

UNIT_TEST(intervals_are_those_of_wilson)
{
    double low, high;

    self_test_interval(19, 20, &low, &high);
    assert_true(fabs(low - 0.76387) < 1e-4 && fabs(high - 0.99111) < 1e-4);
    self_test_interval(20, 20, &low, &high);
    assert_true(fabs(low - 0.83887) < 1e-4 && high == 1);
}

UNIT_MAIN("self_test")
