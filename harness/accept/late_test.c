/* SPDX-License-Identifier: Apache-2.0 */
/* late_test.c - who loses messages, from made-up late round trips (accept.L1-L3), and the row of the verdict. */
#include "harness/accept/late.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/accept/judge_parts.h"
#include "harness/base/suite/unit.h"

enum { N_REPEATS = 3, N_ROUNDS = 40 };

static const struct blame_terms terms = { .false_discovery_ratio = 0.05, .least_effect_ratio = 0.1, .n_looks = 1 };

/* n nodes, nothing late. */
static void fleet(struct acceptance *a, int n)
{
    assert_int_equal(acceptance_open(a, n, n), RC_OK);
    assert_int_equal(acceptance_add_tournament(a, N_REPEATS), RC_OK);
    a->tournament.n_repeats = N_REPEATS;
    a->tournament.n_rounds = N_ROUNDS;
    for (int r = 0; r < N_REPEATS; r++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                if (i != j)
                    *tournament_late(&a->tournament, r, i, j) = 0;
}

static void late(struct acceptance *a, int repeat, int i, int j, int n_late)
{
    *tournament_late(&a->tournament, repeat, i, j) = *tournament_late(&a->tournament, repeat, j, i) =
        (double)n_late / N_ROUNDS;
}

UNIT_TEST(chance_is_fishers)
{
    /* Fisher's tea: 4 of 4 cups right, of 8 of which 4 are */
    assert_true(fabs(late_chance(4, 4, 4, 8) - 1.0 / 70) < 1e-12);
    assert_true(fabs(late_chance(3, 4, 4, 8) - 17.0 / 70) < 1e-12);
    assert_true(fabs(late_chance(0, 4, 4, 8) - 1) < 1e-12);
    assert_true(fabs(late_chance(2, 6, 2, 8) - 15.0 / 28) < 1e-12);
    assert_true(late_chance(0, 8, 4, 8) == 1); /* k below the least that can be */
}

UNIT_TEST(lateness_is_a_time_out)
{
    assert_true(is_late(0.2, 1e-4));
    assert_false(is_late(0.01, 1e-4)); /* a busy host */
    assert_false(is_late(0.2, 0.1));   /* a slow link */
}

/* Node 2 of 5 loses a little with everybody. */
UNIT_TEST(a_lossy_node_is_named_L1)
{
    struct acceptance a = { .n_nodes = 0 };

    fleet(&a, 5);
    for (int j = 0; j < 5; j++)
        for (int r = 0; r < N_REPEATS && j != 2; r++)
            late(&a, r, 2, j, 1 + (j == 4));
    assert_int_equal(late_find(&a, &terms), RC_OK);
    assert_int_equal(a.n_findings, 1);
    assert_true(a.finding[0].subject == SUBJECT_NODE && a.finding[0].a == 2 && a.finding[0].stage == ACCEPT_PAIRWISE);
    assert_string_equal(a.finding[0].metric, "late_ratio");
    /* 3 pairs of 120 round trips, 3 late in each; the worst pair, with node 4, is left out */
    assert_true(fabs(a.finding[0].measured - 9.0 / 360) < 1e-12 && a.finding[0].expected == 0);
    assert_true(fabs(a.finding[0].q_value / (15 * late_chance(9, 360, 9, 1080)) - 1) < 1e-9);
    assert_string_equal(a.finding[0].text, "loses messages: 9 of 360 round trips took 0.05 s or longer, as after a "
                                           "retransmission; of the others 0 of 720");
    acceptance_close(&a);
}

UNIT_TEST(a_lossy_link_is_no_node_L1)
{
    struct acceptance a = { .n_nodes = 0 };

    fleet(&a, 5);
    for (int r = 0; r < N_REPEATS; r++)
        late(&a, r, 1, 3, 4);
    assert_int_equal(late_find(&a, &terms), RC_OK);
    assert_int_equal(a.n_findings, 1);
    assert_true(a.finding[0].subject == SUBJECT_LINK && a.finding[0].a == 1 && a.finding[0].b == 3 &&
                a.finding[0].both_ways);
    /* 12 of 120 late, all others on time; corrected for 5 nodes and 10 links, of which one was blamed */
    assert_true(fabs(a.finding[0].q_value / (15 * late_chance(12, 120, 12, 1200)) - 1) < 1e-9);
    acceptance_close(&a);
}

/* Two nodes: the worse does not hide the other, whose pair with it counts no more. */
UNIT_TEST(two_lossy_nodes_are_named)
{
    struct acceptance a = { .n_nodes = 0 };

    fleet(&a, 8);
    for (int r = 0; r < N_REPEATS; r++)
        for (int j = 0; j < 8; j++) {
            if (j != 6)
                late(&a, r, 6, j, 6);
            if (j != 1 && j != 6)
                late(&a, r, 1, j, 1);
        }
    assert_int_equal(late_find(&a, &terms), RC_OK);
    assert_int_equal(a.n_findings, 2);
    assert_true(a.finding[0].subject == SUBJECT_NODE && a.finding[0].a == 6);
    assert_true(a.finding[1].subject == SUBJECT_NODE && a.finding[1].a == 1);
    acceptance_close(&a);
}

/* One repeat in which a host stood still; few late ones; all alike; two nodes. */
UNIT_TEST(what_proves_nothing_blames_nobody_L2_L3)
{
    struct acceptance a = { .n_nodes = 0 };

    fleet(&a, 5);
    for (int j = 0; j < 5; j++)
        if (j != 2)
            late(&a, 1, 2, j, 8);
    assert_int_equal(late_find(&a, &terms), RC_OK);
    assert_int_equal(a.n_findings, 0);
    acceptance_close(&a);

    fleet(&a, 5);
    late(&a, 0, 0, 1, 1);
    late(&a, 1, 0, 1, 1);
    late(&a, 2, 3, 1, 1);
    assert_int_equal(late_find(&a, &terms), RC_OK);
    assert_int_equal(a.n_findings, 0);
    acceptance_close(&a);

    fleet(&a, 5);
    for (int r = 0; r < N_REPEATS; r++)
        for (int i = 0; i < 5; i++)
            for (int j = 0; j < i; j++)
                late(&a, r, i, j, 3);
    assert_int_equal(late_find(&a, &terms), RC_OK);
    assert_int_equal(a.n_findings, 0);
    acceptance_close(&a);

    fleet(&a, 2);
    for (int r = 0; r < N_REPEATS; r++)
        late(&a, r, 0, 1, 9);
    assert_int_equal(late_find(&a, &terms), RC_OK);
    assert_int_equal(a.n_findings, 0);
    acceptance_close(&a);
}

/* The row fails by the finding, shows the worst pair, and is left out where nobody counted. */
UNIT_TEST(the_row_says_who)
{
    struct acceptance a = { .n_nodes = 0 };
    struct criteria c;
    struct judging j = { &a, &c, terms };

    criteria_default(&c);
    fleet(&a, 4);
    assert_int_equal(judge_late(&j), RC_OK);
    assert_int_equal(a.n_criteria, 1);
    assert_true(a.criterion[0].outcome == OUTCOME_PASS && a.criterion[0].measured == 0 &&
                a.criterion[0].n_samples == N_REPEATS * N_ROUNDS);
    a.n_criteria = 0;
    for (int r = 0; r < N_REPEATS; r++)
        late(&a, r, 0, 3, 4);
    assert_int_equal(judge_late(&j), RC_OK);
    assert_string_equal(a.criterion[0].name, "lost messages");
    assert_true(a.criterion[0].outcome == OUTCOME_FAIL && fabs(a.criterion[0].measured - 0.1) < 1e-12);
    assert_int_equal(a.n_findings, 1);
    a.n_criteria = a.n_findings = 0;
    a.tournament.n_rounds = 0;
    assert_int_equal(judge_late(&j), RC_OK);
    assert_true(a.n_criteria == 0 && a.n_findings == 0);
    acceptance_close(&a);
}

UNIT_MAIN("late")
