/* SPDX-License-Identifier: Apache-2.0 */
/* circle_test.c - tournaments of 1 to 33 players, and of 256. */
#include "harness/base/suite/unit.h"
#include "harness/bench/circle.h"

#include <string.h>

enum { MAX_PLAYERS = 256 };

/* bench.O1, O2 of n players. */
static void play(int n)
{
    static int met[MAX_PLAYERS][MAX_PLAYERS];
    int n_idle[MAX_PLAYERS] = { 0 };

    memset(met, 0, sizeof met);
    assert_int_equal(circle_n_rounds(n), n % 2 ? n : n - 1);
    for (int round = 0; round < circle_n_rounds(n); round++)
        for (int a = 0; a < n; a++) {
            const int b = circle_opponent(n, round, a);
            if (b < 0) {
                n_idle[a]++;
                continue;
            }
            assert_true(b < n && b != a);
            assert_int_equal(circle_opponent(n, round, b), a);
            met[a][b]++;
        }
    for (int a = 0; a < n; a++) {
        assert_int_equal(n_idle[a], n % 2);
        for (int b = 0; b < n; b++)
            assert_int_equal(met[a][b], a != b);
    }
}

UNIT_TEST(everybody_meets_everybody_once_O2)
{
    for (int n = 2; n <= 33; n++)
        play(n);
    play(MAX_PLAYERS - 1);
    play(MAX_PLAYERS);
}

UNIT_TEST(one_player_has_no_round)
{
    assert_int_equal(circle_n_rounds(1), 0);
    assert_int_equal(circle_n_rounds(0), 0);
    assert_int_equal(circle_opponent(1, 0, 0), -1);
}

UNIT_MAIN("circle")
