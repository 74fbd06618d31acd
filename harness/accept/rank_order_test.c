/* SPDX-License-Identifier: Apache-2.0 */
/* rank_order_test.c - orders of made-up fleets, whose best order is known. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/accept/rank_contest.h"
#include "harness/base/rng.h"
#include "harness/base/suite/unit.h"

#define BYTES_PER_S 1e8
#define LATENCY_S 1e-5
#define MESSAGE_BYTES 1e5 /* 1 ms */
enum { MOST_NODES = 32, N_FLEETS = 300 };

/* Ranks of three nodes as a launcher that deals them out has them, of which the second has one more. */
static void open_dealt(struct acceptance *a)
{
    static const int node_of_rank[] = { 0, 1, 2, 0, 1, 2, 1 };

    assert_int_equal(acceptance_open(a, 3, 7), RC_OK);
    memcpy(a->node_of_rank, node_of_rank, sizeof node_of_rank);
}

static void assert_order(const int *order, const int *expected, int n)
{
    for (int i = 0; i < n; i++)
        assert_int_equal(order[i], expected[i]);
}

UNIT_TEST(ranks_of_a_node_are_neighbours_O1)
{
    static const int nodes[] = { 0, 2, 1 }, packed[] = { 0, 3, 2, 5, 1, 4, 6 };
    struct acceptance a;
    int order[7];

    open_dealt(&a);
    rank_order_of_nodes(order, &a, nodes);
    assert_order(order, packed, 7);
    acceptance_close(&a);
}

UNIT_TEST(nodes_take_turns_O1)
{
    static const int node_of_rank[] = { 0, 0, 1, 1, 1, 2, 2 }, spread[] = { 0, 2, 5, 1, 3, 6, 4 };
    struct acceptance a;
    int order[7];

    open_dealt(&a);
    memcpy(a.node_of_rank, node_of_rank, sizeof node_of_rank);
    rank_order_spread(order, &a);
    assert_order(order, spread, 7);
    acceptance_close(&a);
}

UNIT_TEST(launchers_know_words_for_two)
{
    static const int nodes[] = { 0, 1, 2 };
    struct acceptance a;
    int order[7];

    open_dealt(&a);
    assert_null(rank_order_distribution(&a, RANK_ORDER_LAUNCHER)); /* there is none yet */
    rank_order_of_nodes(order, &a, nodes);
    assert_int_equal(acceptance_add_rank_order(&a, RANK_ORDER_PACK, order), RC_OK);
    assert_int_equal(acceptance_add_rank_order(&a, RANK_ORDER_SHORTEST, order), RC_OK);
    rank_order_spread(order, &a);
    assert_int_equal(acceptance_add_rank_order(&a, RANK_ORDER_SPREAD, order), RC_OK);
    assert_int_equal(acceptance_add_rank_order(&a, RANK_ORDER_LAUNCHER, order), RC_OK);
    order[5] = 6;
    order[6] = 5;
    assert_int_equal(acceptance_add_rank_order(&a, RANK_ORDER_SWITCHES, order), RC_OK);
    assert_string_equal(rank_order_distribution(&a, RANK_ORDER_SHORTEST), "block");
    assert_string_equal(rank_order_distribution(&a, RANK_ORDER_LAUNCHER), "cyclic");
    assert_null(rank_order_distribution(&a, RANK_ORDER_SWITCHES));
    acceptance_close(&a);
}

/* --- switches --- */

UNIT_TEST(nodes_of_a_switch_are_neighbours_O2)
{
    static const char switches[][RANK_ORDER_SWITCHES_BYTES] = {
        "top.a.leaf1", "top.b.leaf3", "top.a.leaf2", "top.b.leaf4", "top.b.leaf3", "top.a.leaf10", "top.a.leaf1", ""
    };
    static const int expected[] = { 0, 6, 2, 5, 1, 4, 3, 7 };
    int node[8];

    assert_int_equal(rank_order_by_switches(node, switches, 8), RC_OK);
    assert_order(node, expected, 8);
}

UNIT_TEST(slurm_tells_switches)
{
    char out[RANK_ORDER_SWITCHES_BYTES], longest[2 * RANK_ORDER_SWITCHES_BYTES];

    rank_contest_switches(out, "spine.leaf3.host7", "host7");
    assert_string_equal(out, "spine.leaf3");
    rank_contest_switches(out, "s[0-1].leaf.h.example", "h.example");
    assert_string_equal(out, "s[0-1].leaf");
    rank_contest_switches(out, "host7", "host7"); /* Slurm knows no switches */
    assert_string_equal(out, "");
    rank_contest_switches(out, "leaf3.host70", "host7");
    assert_string_equal(out, "");
    rank_contest_switches(out, "leaf3host7", "host7");
    assert_string_equal(out, "");
    rank_contest_switches(out, NULL, "host7");
    assert_string_equal(out, "");
    rank_contest_switches(out, "leaf3.host7", NULL);
    assert_string_equal(out, "");
    memset(longest, 'x', sizeof longest);
    memcpy(longest + RANK_ORDER_SWITCHES_BYTES - 1, ".host7", sizeof ".host7");
    rank_contest_switches(out, longest, "host7");
    assert_int_equal(strlen(out), RANK_ORDER_SWITCHES_BYTES - 1);
    longest[RANK_ORDER_SWITCHES_BYTES - 1] = 'x';
    memcpy(longest + RANK_ORDER_SWITCHES_BYTES, ".host7", sizeof ".host7");
    rank_contest_switches(out, longest, "host7");
    assert_string_equal(out, ""); /* no part of it, which would be another switch */
}

/* --- the shortest way around --- */

struct fleet_of { /* switches within switches: nodes i and j have those above level common(i, j) in common */
    int n_nodes, leaf[MOST_NODES], spine[MOST_NODES]; /* a leaf is below one spine */
    double noise;
};

static double draw(uint64_t fleet, uint64_t i)
{
    return (double)(rng_u64(fleet, RNG_TEST, i) % 1000000) / 1000000;
}

static struct fleet_of fleet_of_seed(uint64_t seed, double noise)
{
    struct fleet_of f = { .n_nodes = 2 + (int)(draw(seed, 0) * (MOST_NODES - 1)), .noise = noise };
    const int n_spines = 1 + (int)(draw(seed, 1) * 3), n_leaves = n_spines * (1 + (int)(draw(seed, 2) * 4));

    for (int i = 0; i < f.n_nodes; i++) {
        f.leaf[i] = (int)(draw(seed, 3 + (uint64_t)i) * n_leaves);
        f.spine[i] = f.leaf[i] % n_spines;
    }
    return f;
}

/* A hop to another leaf has half of the rate, one to another spine a quarter. */
static double slowness(const struct fleet_of *f, int i, int j)
{
    return f->leaf[i] == f->leaf[j] ? 1 : f->spine[i] == f->spine[j] ? 2 : 4;
}

static void measure(struct acceptance *a, const struct fleet_of *f, uint64_t seed)
{
    assert_int_equal(acceptance_open(a, f->n_nodes, f->n_nodes), RC_OK);
    assert_int_equal(acceptance_add_tournament(a, 3), RC_OK);
    a->tournament.n_repeats = 3;
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < f->n_nodes; i++)
            for (int j = 0; j < f->n_nodes; j++) {
                const uint64_t which = (uint64_t)((k * MOST_NODES + i) * MOST_NODES + j) + 1000;
                if (i == j)
                    continue;
                *tournament_rate(&a->tournament, k, i, j) =
                    BYTES_PER_S / slowness(f, i, j) * (1 + f->noise * (draw(seed, which) - 0.5));
                *tournament_latency(&a->tournament, k, i, j) = LATENCY_S;
            }
}

/* How often the way around leaves a group of nodes for another one. */
static int n_crossings(const int *node, const int *group, int n)
{
    int n_crossed = 0;

    for (int i = 0; i < n; i++)
        n_crossed += group[node[i]] != group[node[(i + 1) % n]];
    return n_crossed;
}

static int n_groups(const int *group, int n)
{
    int n_different = 0;

    for (int i = 0, k; i < n; i++) {
        for (k = 0; group[k] != group[i];)
            k++;
        n_different += k == i;
    }
    return n_different;
}

static void assert_each_once(const int *node, int n)
{
    bool is_seen[MOST_NODES] = { false };

    assert_int_equal(node[0], 0);
    for (int i = 0; i < n; i++) {
        assert_in_range(node[i], 0, n - 1);
        assert_false(is_seen[node[i]]);
        is_seen[node[i]] = true;
    }
}

static void assert_short(const struct fleet_of *f, uint64_t seed)
{
    const int n = f->n_nodes, n_leaves = n_groups(f->leaf, n), n_spines = n_groups(f->spine, n);
    struct acceptance a;
    int node[MOST_NODES];
    bool is_known = false;

    measure(&a, f, seed);
    assert_int_equal(rank_order_shortest(node, &is_known, &a.tournament, MESSAGE_BYTES, 0.1), RC_OK);
    assert_true(is_known);
    assert_each_once(node, n);
    assert_int_equal(n_crossings(node, f->leaf, n), n_leaves > 1 ? n_leaves : 0);
    assert_int_equal(n_crossings(node, f->spine, n), n_spines > 1 ? n_spines : 0);
    acceptance_close(&a);
}

/* Whatever leaves nodes are on: no switch is left twice. */
UNIT_TEST(each_switch_is_left_once_O4)
{
    for (uint64_t seed = 1; seed <= N_FLEETS; seed++) {
        const struct fleet_of f = fleet_of_seed(seed, 0.05);
        assert_short(&f, seed);
    }
}

/* Of a hop in the direction that is the worse one. */
static double hop_s(const struct acceptance *a, int i, int j)
{
    const double there = *tournament_rate(&a->tournament, 0, i, j), back = *tournament_rate(&a->tournament, 0, j, i);

    return LATENCY_S + MESSAGE_BYTES / fmin(there, back);
}

/* Costs that follow no tree: what is found is at least the best among its neighbours. */
UNIT_TEST(no_reversal_gains_in_the_end_O3)
{
    for (uint64_t seed = 1; seed <= N_FLEETS; seed++) {
        struct fleet_of f = { .n_nodes = 12, .noise = 1.6 };
        const int n = f.n_nodes;
        struct acceptance a;
        int node[MOST_NODES];
        bool is_known = false;
        measure(&a, &f, seed);
        a.tournament.n_repeats = 1;
        assert_int_equal(rank_order_shortest(node, &is_known, &a.tournament, MESSAGE_BYTES, 0.1), RC_OK);
        assert_each_once(node, n);
        for (int i = 0; i < n; i++)
            for (int j = i + 2; j < n; j++) {
                const int from = node[i], to = node[i + 1], far = node[j], behind = node[(j + 1) % n];
                assert_false(hop_s(&a, from, far) + hop_s(&a, to, behind) <
                             0.9 * (1 - 1e-9) * (hop_s(&a, from, to) + hop_s(&a, far, behind)));
            }
        acceptance_close(&a);
    }
}

/* Of nodes that differ by noise alone the order stays. */
UNIT_TEST(noise_changes_nothing_O3)
{
    for (uint64_t seed = 1; seed <= N_FLEETS; seed++) {
        struct fleet_of f = { .n_nodes = 16, .noise = 0.08 };
        struct acceptance a;
        int node[MOST_NODES];
        bool is_known = false;
        measure(&a, &f, seed);
        assert_int_equal(rank_order_shortest(node, &is_known, &a.tournament, MESSAGE_BYTES, 0.1), RC_OK);
        for (int i = 0; i < f.n_nodes; i++)
            assert_int_equal(node[i], i);
        acceptance_close(&a);
    }
}

static void set_pair(struct acceptance *a, int i, int j, double bytes_per_s)
{
    for (int k = 0; k < a->tournament.n_repeats; k++)
        *tournament_rate(&a->tournament, k, i, j) = bytes_per_s;
}

/* 0 - 1 is slow in one direction: the way goes around it. Of what was measured in one direction that one counts. */
UNIT_TEST(the_worse_direction_counts_O3)
{
    static const int around[] = { 0, 2, 1, 3 }, straight[] = { 0, 1, 2, 3 };
    struct fleet_of f = { .n_nodes = 4 };
    struct acceptance a;
    int node[4];
    bool is_known = false;

    measure(&a, &f, 1);
    set_pair(&a, 1, 0, BYTES_PER_S / 4);
    assert_int_equal(rank_order_shortest(node, &is_known, &a.tournament, MESSAGE_BYTES, 0.1), RC_OK);
    assert_true(is_known);
    assert_order(node, around, 4);
    assert_int_equal(rank_order_shortest(node, &is_known, &a.tournament, 40, 0.1),
                     RC_OK); /* 2 % of latency and bytes */
    assert_order(node, straight, 4);
    set_pair(&a, 1, 0, NAN);
    assert_int_equal(rank_order_shortest(node, &is_known, &a.tournament, MESSAGE_BYTES, 0.1), RC_OK);
    assert_true(is_known);
    assert_order(node, straight, 4);
    acceptance_close(&a);
}

UNIT_TEST(pairs_must_be_known)
{
    struct fleet_of f = { .n_nodes = 4 };
    struct acceptance a;
    int node[4] = { 9, 9, 9, 9 };
    bool is_known = true;

    measure(&a, &f, 1);
    set_pair(&a, 2, 3, NAN);
    set_pair(&a, 3, 2, NAN);
    assert_int_equal(rank_order_shortest(node, &is_known, &a.tournament, MESSAGE_BYTES, 0.1), RC_OK);
    assert_false(is_known);
    assert_int_equal(node[0], 9);
    acceptance_close(&a);
}

UNIT_MAIN("rank_order")
