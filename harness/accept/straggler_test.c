/* SPDX-License-Identifier: Apache-2.0 */
/* straggler_test.c - who makes others wait, and who waits. */
#include <math.h>

#include "harness/accept/outliers.h"
#include "harness/accept/suite/synthetic_fleet.h"
#include "harness/base/suite/unit.h"

enum { N_RANKS = 8 };

/* Two repeats of each rank's compute and wait; wait_s NULL: not measured. */
static void steps(struct acceptance *a, const double *compute_s, const double *wait_s)
{
    assert_int_equal(acceptance_open(a, N_RANKS, N_RANKS), RC_OK);
    assert_int_equal(acceptance_add_metric(a, METRIC_STEP_COMPUTE, 2), RC_OK);
    assert_int_equal(acceptance_add_metric(a, METRIC_STEP_WAIT, 2), RC_OK);
    for (int i = 0; i < N_RANKS; i++) {
        a->node_of_rank[i] = i;
        for (int r = 0; r < 2; r++) {
            a->metric[METRIC_STEP_COMPUTE].value[2 * i + r] = compute_s[i];
            if (wait_s)
                a->metric[METRIC_STEP_WAIT].value[2 * i + r] = wait_s[i];
        }
    }
    assert_int_equal(stragglers_find(a, &synthetic_terms), RC_OK);
}

/* A step of 0.144 s: whoever is done sooner waits. */
UNIT_TEST(the_cause_and_its_victims)
{
    const double compute_s[N_RANKS] = { 0.1, 0.101, 0.099, 0.1, 0.1, 0.144, 0.102, 0.098 };
    double wait_s[N_RANKS];
    struct acceptance a;

    for (int i = 0; i < N_RANKS; i++)
        wait_s[i] = 0.144 - compute_s[i];
    steps(&a, compute_s, wait_s);
    assert_int_equal(a.n_findings, 1);
    const struct finding *f = &a.finding[0];
    assert_int_equal(f->subject, SUBJECT_RANK);
    assert_int_equal(f->stage, ACCEPT_TRAINING);
    assert_int_equal(f->a, 5);
    assert_string_equal(f->metric, "step_compute_s");
    assert_true(fabs(f->measured - 0.144) < 1e-9);
    assert_true(fabs(f->expected - 0.1) < 1e-9);
    assert_string_equal(f->text,
                        "computes 44 ms of a step longer than the median rank: 7 of 7 other ranks wait for it");
    acceptance_close(&a);
}

/* The most harmful first; for the lesser of the two the worse one does not wait. */
UNIT_TEST(two_causes)
{
    const double compute_s[N_RANKS] = { 0.1, 0.101, 0.13, 0.1, 0.1, 0.16, 0.102, 0.098 };
    double wait_s[N_RANKS];
    struct acceptance a;

    for (int i = 0; i < N_RANKS; i++)
        wait_s[i] = 0.16 - compute_s[i];
    steps(&a, compute_s, wait_s);
    assert_int_equal(a.n_findings, 2);
    assert_int_equal(a.finding[0].a, 5);
    assert_int_equal(a.finding[1].a, 2);
    assert_string_equal(a.finding[1].text,
                        "computes 30 ms of a step longer than the median rank: 6 of 7 other ranks wait for it");
    acceptance_close(&a);
}

/* Rank 5 seems to compute long, but waits longer than the others: somebody else keeps it. */
UNIT_TEST(a_victim_is_not_blamed)
{
    const double compute_s[N_RANKS] = { 0.1, 0.101, 0.099, 0.1, 0.1, 0.144, 0.102, 0.098 };
    const double wait_s[N_RANKS] = { 0.02, 0.02, 0.02, 0.02, 0.02, 0.09, 0.02, 0.02 };
    struct acceptance a;

    steps(&a, compute_s, wait_s);
    assert_int_equal(a.n_findings, 0);
    acceptance_close(&a);
}

UNIT_TEST(nobody_waits)
{
    const double compute_s[N_RANKS] = { 0.1, 0.101, 0.099, 0.1, 0.1, 0.144, 0.102, 0.098 }, wait_s[N_RANKS] = { 0 };
    struct acceptance a;

    steps(&a, compute_s, wait_s);
    assert_int_equal(a.n_findings, 1);
    assert_string_equal(a.finding[0].text,
                        "computes 44 ms of a step longer than the median rank, but no rank waits for it");
    acceptance_close(&a);
    steps(&a, compute_s, NULL);
    assert_int_equal(a.n_findings, 1);
    assert_string_equal(a.finding[0].text,
                        "computes 44 ms of a step longer than the median rank; who waits was not measured");
    acceptance_close(&a);
}

UNIT_TEST(an_even_fleet)
{
    const double compute_s[N_RANKS] = { 0.1, 0.101, 0.099, 0.1, 0.1, 0.1, 0.102, 0.098 };
    struct acceptance a;

    steps(&a, compute_s, compute_s);
    assert_int_equal(a.n_findings, 0);
    acceptance_close(&a);
    assert_int_equal(acceptance_open(&a, 3, 3), RC_OK); /* nothing measured */
    assert_int_equal(stragglers_find(&a, &synthetic_terms), RC_OK);
    assert_int_equal(a.n_findings, 0);
    acceptance_close(&a);
}

UNIT_MAIN("straggler")
