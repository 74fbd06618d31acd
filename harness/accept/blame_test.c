/* SPDX-License-Identifier: Apache-2.0 */
/* blame_test.c - small tournaments of which it is plain who is to blame; nothing measured; few nodes; numbering. */
#include "harness/accept/blame.h"

#include <math.h>
#include <string.h>

#include "harness/accept/suite/synthetic_fleet.h"
#include "harness/base/suite/unit.h"

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-9 * (1e-9 + fabs(expected))))
        fail_msg("%.17g is not %.17g", value, expected);
}

/* A tournament of n nodes, 3 repeats, in which all pairs have 100 byte/s and 10 us. */
static void even_fleet(struct acceptance *a, int n_nodes)
{
    assert_int_equal(acceptance_open(a, n_nodes, n_nodes), RC_OK);
    assert_int_equal(acceptance_add_tournament(a, 3), RC_OK);
    a->tournament.n_repeats = 3;
    for (int r = 0; r < 3; r++)
        for (int i = 0; i < n_nodes; i++)
            for (int j = 0; j < n_nodes; j++)
                if (i != j) {
                    *tournament_rate(&a->tournament, r, i, j) = 100;
                    *tournament_latency(&a->tournament, r, i, j) = 10e-6;
                }
}

static void set_rate(struct acceptance *a, int from, int to, double bytes_per_s)
{
    for (int r = 0; r < a->tournament.n_repeats; r++)
        *tournament_rate(&a->tournament, r, from, to) = bytes_per_s;
}

static void set_latency(struct acceptance *a, int i, int j, double s)
{
    for (int r = 0; r < a->tournament.n_repeats; r++)
        *tournament_latency(&a->tournament, r, i, j) = *tournament_latency(&a->tournament, r, j, i) = s;
}

static void blame_with(struct acceptance *a, const struct blame_terms *terms)
{
    assert_int_equal(blame_tournament(a, terms), RC_OK);
}

static void blame(struct acceptance *a)
{
    blame_with(a, &synthetic_terms);
}

UNIT_TEST(nobody)
{
    for (int n = 1; n <= 9; n++) {
        struct acceptance a;
        even_fleet(&a, n);
        blame(&a);
        assert_int_equal(a.n_findings, 0);
        acceptance_close(&a);
    }
}

UNIT_TEST(a_link_both_ways)
{
    struct acceptance a;

    even_fleet(&a, 5);
    set_rate(&a, 3, 1, 60);
    set_rate(&a, 1, 3, 58);
    blame(&a);
    assert_int_equal(a.n_findings, 1);
    const struct finding *f = &a.finding[0];
    assert_int_equal(f->subject, SUBJECT_LINK);
    assert_int_equal(f->stage, ACCEPT_PAIRWISE);
    assert_int_equal(f->a, 1);
    assert_int_equal(f->b, 3);
    assert_true(f->both_ways);
    assert_string_equal(f->metric, "bytes_per_s");
    assert_near(f->measured, 58);
    assert_near(f->expected, 100);
    assert_true(f->q_value < 0.001);
    assert_string_equal(f->text,
                        "this pair alone is slow, there 58.0 % and back 60.0 % of what its two nodes have with others");
    acceptance_close(&a);
}

UNIT_TEST(a_link_one_way)
{
    struct acceptance a;

    even_fleet(&a, 4);
    set_rate(&a, 3, 1, 60);
    blame(&a);
    assert_int_equal(a.n_findings, 1);
    assert_int_equal(a.finding[0].subject, SUBJECT_LINK);
    assert_int_equal(a.finding[0].a, 3);
    assert_int_equal(a.finding[0].b, 1);
    assert_false(a.finding[0].both_ways);
    acceptance_close(&a);
}

UNIT_TEST(a_node_both_ways)
{
    struct acceptance a;

    even_fleet(&a, 8);
    for (int j = 0; j < 8; j++)
        if (j != 5) {
            set_rate(&a, 5, j, 60);
            set_rate(&a, j, 5, j == 0 ? 40 : 60);
        }
    blame(&a);
    assert_int_equal(a.n_findings, 2); /* accept.B2: its pair with 0 is slower than it explains */
    const struct finding *f = &a.finding[0];
    assert_int_equal(f->subject, SUBJECT_NODE);
    assert_int_equal(f->a, 5);
    assert_true(f->both_ways);
    assert_near(f->measured, 60);
    assert_near(f->expected, 100);
    assert_string_equal(f->text, "what it sends and receives is slow: 14 of 14 pairs of it, each way counted, median "
                                 "60.0 % of what other pairs have");
    assert_int_equal(a.finding[1].subject, SUBJECT_LINK);
    assert_int_equal(a.finding[1].a, 0);
    assert_int_equal(a.finding[1].b, 5);
    assert_false(a.finding[1].both_ways);
    assert_near(a.finding[1].measured, 40);
    assert_near(a.finding[1].expected, 60);
    acceptance_close(&a);
}

UNIT_TEST(a_node_that_receives_slowly)
{
    struct acceptance a;

    even_fleet(&a, 3);
    set_rate(&a, 0, 2, 50);
    set_rate(&a, 1, 2, 50);
    blame(&a);
    assert_int_equal(a.n_findings, 1);
    assert_int_equal(a.finding[0].subject, SUBJECT_NODE);
    assert_int_equal(a.finding[0].a, 2);
    assert_false(a.finding[0].both_ways);
    assert_string_equal(a.finding[0].text,
                        "what it receives is slow: 2 of 2 pairs of it, median 50.0 % of what other pairs have");
    acceptance_close(&a);
}

/* Between two slow nodes one delay may follow the other: 1 / (1 / 60 + 1 / 60 - 1 / 100) = 42.9. */
UNIT_TEST(two_nodes_explain_their_pair)
{
    for (int rate = 38; rate <= 60; rate += 5) { /* at 38 they do not */
        struct acceptance a;
        even_fleet(&a, 9);
        for (int j = 0; j < 9; j++)
            for (int node = 2; node <= 3 && j != 2 && j != 3; node++) {
                set_rate(&a, node, j, 60);
                set_rate(&a, j, node, 60);
            }
        set_rate(&a, 2, 3, rate);
        set_rate(&a, 3, 2, rate);
        blame(&a);
        assert_int_equal(findings_of(&a, SUBJECT_NODE, NULL), 2);
        assert_int_equal(findings_of(&a, SUBJECT_LINK, NULL), rate == 38);
        acceptance_close(&a);
    }
}

UNIT_TEST(the_border)
{
    for (int rate = 87; rate <= 93; rate += 6) {
        struct acceptance a;
        even_fleet(&a, 6);
        set_rate(&a, 0, 1, rate);
        blame(&a);
        assert_int_equal(a.n_findings, rate == 87);
        acceptance_close(&a);
    }
}

UNIT_TEST(latencies)
{
    struct acceptance a;

    even_fleet(&a, 8);
    for (int j = 0; j < 8; j++)
        if (j != 6)
            set_latency(&a, 6, j, 25e-6);
    set_latency(&a, 1, 4, 40e-6);
    *tournament_latency(&a.tournament, 1, 4, 1) = NAN;
    blame(&a);
    assert_int_equal(a.n_findings, 2);
    assert_int_equal(a.finding[0].subject, SUBJECT_NODE);
    assert_int_equal(a.finding[0].a, 6);
    assert_string_equal(a.finding[0].metric, "latency_s");
    assert_near(a.finding[0].measured, 25e-6);
    assert_near(a.finding[0].expected, 10e-6);
    assert_string_equal(a.finding[0].text,
                        "7 of 7 pairs of it are late, median 250.0 % of the latency that other pairs have");
    assert_int_equal(a.finding[1].subject, SUBJECT_LINK);
    assert_int_equal(a.finding[1].a, 1);
    assert_int_equal(a.finding[1].b, 4);
    assert_true(a.finding[1].both_ways);
    acceptance_close(&a);
}

/* accept.B4 */
UNIT_TEST(too_little_to_tell)
{
    struct acceptance a;

    even_fleet(&a, 6);
    set_rate(&a, 0, 1, 50);
    a.tournament.n_repeats = 1;
    blame(&a);
    a.tournament.n_repeats = 0;
    blame(&a);
    assert_int_equal(a.n_findings, 0);
    acceptance_close(&a);

    even_fleet(&a, 2); /* two nodes: the direction, as a link */
    set_rate(&a, 1, 0, 50);
    blame(&a);
    assert_int_equal(a.n_findings, 1);
    assert_int_equal(a.finding[0].subject, SUBJECT_LINK);
    assert_int_equal(a.finding[0].a, 1);
    assert_int_equal(a.finding[0].b, 0);
    assert_false(a.finding[0].both_ways);
    assert_near(a.finding[0].expected, 100);
    acceptance_close(&a);
}

/* What is 0, negative, infinite or NaN was not measured: neither slow nor fast. */
UNIT_TEST(what_was_not_measured)
{
    static const double not_measured[] = { NAN, 0, -1, INFINITY };

    for (int k = 0; k < 4; k++) {
        struct acceptance a;
        even_fleet(&a, 7);
        for (int j = 0; j < 7; j++)
            if (j != 3) {
                set_rate(&a, 3, j, not_measured[k]); /* a node that never sends */
                set_latency(&a, 3, j, not_measured[k]);
            }
        set_rate(&a, 0, 1, 60);
        blame(&a);
        assert_int_equal(a.n_findings, 1);
        assert_int_equal(a.finding[0].a, 0);
        assert_int_equal(a.finding[0].b, 1);
        acceptance_close(&a);
    }
}

/* accept.E1, E2: two of four repeats at half the rate are wild; four of five are the rate. */
UNIT_TEST(wild_repeats)
{
    for (int n_slow = 1; n_slow <= 5; n_slow++) {
        struct acceptance a;
        assert_int_equal(acceptance_open(&a, 6, 6), RC_OK);
        assert_int_equal(acceptance_add_tournament(&a, 5), RC_OK);
        a.tournament.n_repeats = 5;
        for (int r = 0; r < 5; r++)
            for (int k = 0; k < 36; k++)
                a.tournament.bytes_per_s[r * 36 + k] = k % 7 == 0 ? (double)NAN : 100 + (r + k) % 3;
        for (int r = 0; r < n_slow; r++)
            *tournament_rate(&a.tournament, r, 2, 4) = 50;
        blame(&a);
        assert_int_equal(a.n_findings, n_slow >= 4);
        acceptance_close(&a);
    }
}

/* accept.B5: groups of 12 and 4 nodes, and half the rate between them. */
UNIT_TEST(b5_groups_are_no_faulty_links)
{
    struct acceptance a;

    even_fleet(&a, 16);
    for (int i = 0; i < 12; i++)
        for (int j = 12; j < 16; j++) {
            set_rate(&a, i, j, 50);
            set_rate(&a, j, i, 50);
        }
    blame(&a);
    assert_int_equal(a.n_findings, 1);
    assert_int_equal(a.finding[0].subject, SUBJECT_FLEET);
    assert_near(a.finding[0].measured, 50);
    assert_near(a.finding[0].expected, 100);
    assert_string_equal(a.finding[0].text,
                        "96 pairs have, in the median, 50.0 % of the rate of the others: too many for "
                        "single links; the network between groups of nodes is uneven");
    acceptance_close(&a);

    even_fleet(&a, 9); /* three links are three links */
    for (int i = 0; i < 6; i += 2) {
        set_rate(&a, i, i + 1, 50);
        set_rate(&a, i + 1, i, 50);
    }
    blame(&a);
    assert_int_equal(findings_of(&a, SUBJECT_LINK, NULL), 3);
    assert_int_equal(a.n_findings, 3);
    acceptance_close(&a);
}

/* accept.B1: node i is number (5 i + 3) mod 9. */
UNIT_TEST(b1_numbers_do_not_matter)
{
    const struct synthetic_fleet f = { .n_nodes = 9,
                                       .n_repeats = 3,
                                       .seed = 4,
                                       .noise = 0.03,
                                       .wild_ratio = 0.02,
                                       .fault = { { FAULT_SLOW_NODE, 2, 0, true, 0.6, 0 },
                                                  { FAULT_SLOW_LINK, 4, 7, true, 0.6, 0 },
                                                  { FAULT_SLOW_LINK, 8, 1, false, 0.5, 0 } },
                                       .n_faults = 3 };
    int node_at[9];
    struct acceptance a, b;

    for (int i = 0; i < 9; i++)
        node_at[i] = (5 * i + 3) % 9;
    synthetic_fleet_measure(&a, &f, NULL);
    synthetic_fleet_measure(&b, &f, node_at);
    blame(&a);
    blame(&b);
    assert_int_equal(synthetic_fleet_found(&a, &f), 3);
    assert_int_equal(a.n_findings, 3);
    assert_int_equal(b.n_findings, 3);
    for (int i = 0; i < 3; i++) {
        const struct finding *x = &a.finding[i], *y = &b.finding[i];
        assert_int_equal(x->subject, y->subject);
        assert_true((node_at[x->a] == y->a && node_at[x->b] == y->b) ||
                    (x->both_ways && node_at[x->a] == y->b && node_at[x->b] == y->a));
        assert_int_equal(x->both_ways, y->both_ways);
        assert_near(x->measured, y->measured);
        assert_near(x->expected, y->expected);
        assert_near(x->q_value, y->q_value);
    }
    acceptance_close(&a);
    acceptance_close(&b);
}

/* q is what all looks, and both metrics, have together. */
UNIT_TEST(looks_and_metrics_share_the_rate)
{
    for (int has_latencies = 0; has_latencies < 2; has_latencies++) {
        const struct synthetic_fleet f = { .n_nodes = 8,
                                           .n_repeats = 3,
                                           .seed = 3,
                                           .noise = 0.03,
                                           .has_latencies = has_latencies,
                                           .fault = { { FAULT_SLOW_LINK, 2, 5, false, 0.8, 0 } },
                                           .n_faults = 1 };
        struct blame_terms terms = synthetic_terms;
        struct acceptance a;
        synthetic_fleet_measure(&a, &f, NULL);
        blame(&a);
        assert_int_equal(a.n_findings, 1);
        const double q_value = a.finding[0].q_value;
        terms.n_looks = 2;
        terms.false_discovery_ratio = 2.5 * q_value;
        blame_with(&a, &terms);
        assert_int_equal(a.n_findings, 2);
        assert_near(a.finding[1].q_value, 2 * q_value);
        terms.n_looks = 3;
        blame_with(&a, &terms);
        assert_int_equal(a.n_findings, 2);
        acceptance_close(&a);
    }
}

static int open_of(const struct acceptance *a, bool *open)
{
    int n_open = -1;

    assert_int_equal(blame_open_pairs(&a->tournament, &synthetic_terms, open, &n_open), RC_OK);
    return n_open;
}

UNIT_TEST(pairs_are_open_until_the_evidence_is_in)
{
    struct acceptance a;
    bool open[49];

    even_fleet(&a, 7);
    a.tournament.n_repeats = 1;
    assert_int_equal(open_of(&a, open), 42);
    assert_false(open[0]);
    a.tournament.n_repeats = 2;
    assert_int_equal(open_of(&a, open), 0);
    set_rate(&a, 0, 1, 60); /* and a link that is slow for sure */
    assert_int_equal(open_of(&a, open), 0);
    *tournament_rate(&a.tournament, 1, 2, 3) = NAN; /* one repeat of it */
    assert_int_equal(open_of(&a, open), 1);
    assert_true(open[2 * 7 + 3]);
    acceptance_close(&a);
}

/* At 3 % noise a pair 8 % below the others may be beyond 10 %, or not; the others are not. */
UNIT_TEST(a_pair_at_the_border_is_open)
{
    struct acceptance a;
    bool open[64];

    even_fleet(&a, 8);
    for (int r = 0; r < 3; r++)
        for (int k = 0; k < 64; k++)
            a.tournament.bytes_per_s[r * 64 + k] *= 1 + 0.03 * ((r * 5 + k * 3) % 7 - 3) / 3.0;
    for (int r = 0; r < 3; r++)
        *tournament_rate(&a.tournament, r, 6, 2) *= 0.92;
    const int n_open = open_of(&a, open);
    assert_true(open[6 * 8 + 2]);
    assert_true(n_open >= 1 && n_open <= 10);
    acceptance_close(&a);
}

UNIT_MAIN("blame")
