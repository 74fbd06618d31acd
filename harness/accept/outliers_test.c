/* SPDX-License-Identifier: Apache-2.0 */
/* outliers_test.c - ranks far from their fleet, by rates, times and detours; what is too little to tell. */
#include "harness/accept/outliers.h"

#include <math.h>

#include "harness/accept/suite/synthetic_fleet.h"
#include "harness/base/suite/unit.h"

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-9 * (1e-9 + fabs(expected))))
        fail_msg("%.17g is not %.17g", value, expected);
}

/* n_ranks, n_node_ranks to a node; two repeats of value[n_ranks]. */
static void ranks_with(struct acceptance *a, int metric, const double *value, int n_ranks, int n_node_ranks)
{
    assert_int_equal(acceptance_open(a, n_ranks / n_node_ranks, n_ranks), RC_OK);
    assert_int_equal(acceptance_add_metric(a, metric, 2), RC_OK);
    for (int i = 0; i < n_ranks; i++) {
        a->node_of_rank[i] = i / n_node_ranks;
        a->metric[metric].value[2 * i] = a->metric[metric].value[2 * i + 1] = value[i];
    }
}

static void find(struct acceptance *a, int metric)
{
    assert_int_equal(outliers_find(a, metric, &synthetic_terms), RC_OK);
}

UNIT_TEST(a_slow_rank)
{
    const double rate[] = { 100, 101, 99, 70, 102, 98, 100, 100 };
    struct acceptance a;

    ranks_with(&a, METRIC_GEMM, rate, 8, 1);
    find(&a, METRIC_GEMM);
    assert_int_equal(a.n_findings, 1);
    const struct finding *f = &a.finding[0];
    assert_int_equal(f->subject, SUBJECT_RANK);
    assert_int_equal(f->stage, ACCEPT_COMPUTE);
    assert_int_equal(f->a, 3);
    assert_int_equal(f->b, 3);
    assert_string_equal(f->metric, "flops_per_s");
    assert_near(f->measured, 70);
    assert_near(f->expected, 100);
    assert_true(f->q_value > 0 && f->q_value < 0.01);
    assert_string_equal(f->text, "70.0 % of the fleet's median, median of 2 repeats");
    acceptance_close(&a);
}

UNIT_TEST(a_fast_rank_is_no_outlier)
{
    const double rate[] = { 100, 101, 99, 170, 102, 98, 100, 100 };
    struct acceptance a;

    ranks_with(&a, METRIC_MEMORY, rate, 8, 1);
    find(&a, METRIC_MEMORY);
    assert_int_equal(a.n_findings, 0);
    acceptance_close(&a);
}

/* Both ranks of node 1 are slow, and one of node 3; the worst comes first. */
UNIT_TEST(a_node_of_slow_ranks)
{
    const double rate[] = { 100, 101, 70, 74, 99, 100, 60, 101, 100, 99, 101, 100, 100, 100 };
    struct acceptance a;

    ranks_with(&a, METRIC_GEMM, rate, 14, 2);
    find(&a, METRIC_GEMM);
    assert_int_equal(a.n_findings, 2);
    assert_int_equal(a.finding[0].subject, SUBJECT_RANK);
    assert_int_equal(a.finding[0].a, 6);
    assert_int_equal(a.finding[0].b, 3);
    assert_int_equal(a.finding[1].subject, SUBJECT_NODE);
    assert_int_equal(a.finding[1].a, 1);
    assert_near(a.finding[1].measured, 72);
    assert_string_equal(a.finding[1].text, "all 2 ranks of it, median 72.0 % of the fleet's median");
    acceptance_close(&a);
}

UNIT_TEST(detours_may_be_none)
{
    const double none[] = { 0, 0, 0, 0.05, 0, 0.009, 0 }, late_s[] = { 0, 1e-6, 0, 2e-2, 0, 8e-4, 0 };
    struct acceptance a;

    ranks_with(&a, METRIC_DETOUR, none, 7, 1);
    find(&a, METRIC_DETOUR);
    assert_int_equal(a.n_findings, 1); /* 0.9 % of the time is little, however few the others lose */
    assert_int_equal(a.finding[0].a, 3);
    assert_near(a.finding[0].measured, 0.05);
    assert_true(fabs(a.finding[0].expected) < 1e-12);
    assert_string_equal(a.finding[0].text, "0.05 of the time, where the fleet's median is 0, median of 2 repeats");
    acceptance_close(&a);
    ranks_with(&a, METRIC_LONGEST_DETOUR, late_s, 7, 1);
    find(&a, METRIC_LONGEST_DETOUR);
    assert_int_equal(a.n_findings, 1);
    assert_int_equal(a.finding[0].a, 3);
    acceptance_close(&a);
}

UNIT_TEST(a_noisy_fleet_blames_nobody)
{
    const double detour[] = { 0.01, 0.06, 0.02, 0.11, 0.04, 0.08, 0.03, 0.15 };
    struct acceptance a;

    ranks_with(&a, METRIC_DETOUR, detour, 8, 1);
    find(&a, METRIC_DETOUR);
    assert_int_equal(a.n_findings, 0);
    acceptance_close(&a);
}

UNIT_TEST(too_little_to_tell)
{
    const double two[] = { 100, 50 }, rate[] = { 100, 100, 100, 50, 100, 100 };
    struct acceptance a;

    ranks_with(&a, METRIC_GEMM, two, 2, 1);
    find(&a, METRIC_GEMM);
    find(&a, METRIC_MEMORY); /* not measured */
    assert_int_equal(a.n_findings, 0);
    acceptance_close(&a);

    ranks_with(&a, METRIC_GEMM, rate, 6, 1);
    a.metric[METRIC_GEMM].value[2 * 3] = NAN; /* once measured: perhaps wild */
    find(&a, METRIC_GEMM);
    assert_int_equal(a.n_findings, 0);
    a.metric[METRIC_GEMM].value[2 * 3] = 100; /* the repeats differ */
    find(&a, METRIC_GEMM);
    assert_int_equal(a.n_findings, 0);
    a.metric[METRIC_GEMM].value[2 * 3] = 50;
    find(&a, METRIC_GEMM);
    assert_int_equal(a.n_findings, 1);
    acceptance_close(&a);
}

/* The steps' times are those of stragglers: who waits is a victim. */
UNIT_TEST(steps_are_left_to_stragglers)
{
    const double wait[] = { 1, 1, 1, 9, 1, 1, 1 };
    struct acceptance a;

    ranks_with(&a, METRIC_STEP_WAIT, wait, 7, 1);
    find(&a, METRIC_STEP_WAIT);
    assert_int_equal(a.n_findings, 0);
    acceptance_close(&a);
    ranks_with(&a, METRIC_STEP_COMPUTE, wait, 7, 1);
    find(&a, METRIC_STEP_COMPUTE);
    assert_int_equal(a.n_findings, 0);
    acceptance_close(&a);
}

UNIT_TEST(open_until_the_evidence_is_in)
{
    const double rate[] = { 100, 101, 99, 70, 102, 98, 100, 100 }, near[] = { 100, 100, 100, 91, 100, 100, 100, 100 };
    struct acceptance a;

    ranks_with(&a, METRIC_GEMM, rate, 8, 1);
    assert_false(outliers_open(&a, METRIC_GEMM, &synthetic_terms));
    a.metric[METRIC_GEMM].value[2 * 5] = NAN;
    assert_true(outliers_open(&a, METRIC_GEMM, &synthetic_terms));
    acceptance_close(&a);
    ranks_with(&a, METRIC_GEMM, near, 8, 1);
    assert_false(outliers_open(&a, METRIC_GEMM, &synthetic_terms)); /* no noise: 9 % is 9 % */
    for (int i = 0; i < 8; i++)
        a.metric[METRIC_GEMM].value[2 * i] *= 0.97;
    assert_true(outliers_open(&a, METRIC_GEMM, &synthetic_terms));
    acceptance_close(&a);
}

UNIT_TEST(looks_share_the_rate)
{
    const double rate[] = { 100, 101, 99, 88, 102, 98, 100, 103 };
    struct blame_terms terms = synthetic_terms;
    struct acceptance a;

    ranks_with(&a, METRIC_GEMM, rate, 8, 1);
    assert_int_equal(outliers_find(&a, METRIC_GEMM, &terms), RC_OK);
    assert_int_equal(a.n_findings, 1);
    const double q_value = a.finding[0].q_value;
    terms.n_looks = 2;
    terms.false_discovery_ratio = 2.5 * q_value;
    assert_int_equal(outliers_find(&a, METRIC_GEMM, &terms), RC_OK);
    assert_int_equal(a.n_findings, 2);
    assert_near(a.finding[1].q_value, 2 * q_value);
    terms.n_looks = 3;
    assert_int_equal(outliers_find(&a, METRIC_GEMM, &terms), RC_OK);
    assert_int_equal(a.n_findings, 2);
    acceptance_close(&a);
}

UNIT_MAIN("outliers")
