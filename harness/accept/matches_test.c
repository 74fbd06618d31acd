/* SPDX-License-Identifier: Apache-2.0 */
/* matches_test.c - turns of the rounds of tournaments whose nodes share kernels, or not. */
#include "harness/accept/matches.h"

#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/bench/circle.h"

enum { MAX_NODES = 17 };

struct tournament_of {
    bool wanted[MAX_NODES * MAX_NODES];
    int kernel[MAX_NODES], scratch[MAX_NODES], turn[MAX_NODES];
    struct matches m;
};

/* Nodes i and i + n_kernels share a kernel. */
static void set_up(struct tournament_of *t, int n_nodes, int n_kernels)
{
    memset(t->wanted, 1, sizeof t->wanted);
    for (int i = 0; i < n_nodes; i++)
        t->kernel[i] = i % n_kernels;
    t->m = (struct matches){ n_nodes, t->wanted, t->kernel, t->scratch };
}

/* accept.K1, K2 of one round; returns its turns. */
static int look(struct tournament_of *t, int round)
{
    const int n = t->m.n_nodes, n_turns = match_turns(t->turn, &t->m, round);

    for (int a = 0; a < n; a++) {
        const int b = circle_opponent(n, round, a);
        if (b < 0 || !match_is_wanted(&t->m, a, b)) {
            assert_int_equal(t->turn[a], -1);
            continue;
        }
        assert_in_range(t->turn[a], 0, n_turns - 1);
        assert_int_equal(t->turn[a], t->turn[b]);
        for (int other = 0; other < n; other++)
            if (t->turn[other] == t->turn[a] && other != a && other != b)
                assert_true(t->kernel[other] != t->kernel[a] && t->kernel[other] != t->kernel[b]);
    }
    return n_turns;
}

UNIT_TEST(kernels_are_never_shared_K1)
{
    static struct tournament_of t;

    for (int n_nodes = 2; n_nodes <= MAX_NODES; n_nodes++)
        for (int n_kernels = 1; n_kernels <= n_nodes; n_kernels++) {
            set_up(&t, n_nodes, n_kernels);
            for (int round = 0; round < circle_n_rounds(n_nodes); round++) {
                const int n_turns = look(&t, round);
                if (n_kernels == 1)
                    assert_int_equal(n_turns, n_nodes / 2); /* one after the other */
                if (n_kernels == n_nodes)
                    assert_int_equal(n_turns, 1); /* all at once */
            }
        }
}

UNIT_TEST(unwanted_matches_have_no_turn_K2)
{
    static struct tournament_of t;
    int n_turns = 0;

    set_up(&t, 9, 1);
    memset(t.wanted, 0, sizeof t.wanted);
    t.wanted[2 * 9 + 7] = t.wanted[7 * 9 + 3] = t.wanted[0 * 9 + 1] = true;
    for (int round = 0; round < circle_n_rounds(9); round++)
        n_turns += look(&t, round);
    assert_int_equal(n_turns, 3);
    assert_true(match_is_wanted(&t.m, 7, 2) && match_is_wanted(&t.m, 3, 7) && !match_is_wanted(&t.m, 2, 3));
}

UNIT_MAIN("matches")
