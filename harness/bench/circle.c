/* SPDX-License-Identifier: Apache-2.0 */
/* circle.c - the rounds of a tournament in which every two players meet once, by the circle method; see circle.h. */
#include "harness/bench/circle.h"

/* An odd number of players is filled up by one that is not there. */
int circle_n_rounds(int n_players)
{
    return n_players > 1 ? (n_players + 1) / 2 * 2 - 1 : 0;
}

/* In round c players a and b meet whose sum is 2 c, modulo the number of rounds; who would meet itself meets the last.
 */
int circle_opponent(int n_players, int round, int player)
{
    const int n = circle_n_rounds(n_players), last = n;
    int other;

    if (n == 0)
        return -1;
    other = (2 * round % n + n - player % n) % n;
    if (player == last)
        other = round;
    else if (other == player)
        other = last;
    return other < n_players ? other : -1;
}
