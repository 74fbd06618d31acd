/* SPDX-License-Identifier: Apache-2.0 */
/*
 * circle.h - the rounds of a tournament in which everybody meets everybody once, by the circle method. Pure functions.
 *
 * Invariants
 *   O1  In a round a player has one opponent at most, whose opponent is that player.
 *   O2  Over all rounds every two players meet exactly once. Of an even number all play in every round, of an odd one
 *       each idles in one.
 */
#ifndef HARNESS_BENCH_CIRCLE_H
#define HARNESS_BENCH_CIRCLE_H

/* n - 1 of an even number of players, n of an odd one; one player, or none: 0. */
int circle_n_rounds(int n_players);
/* The opponent of `player` in `round`; -1: it idles. */
int circle_opponent(int n_players, int round, int player);

#endif
