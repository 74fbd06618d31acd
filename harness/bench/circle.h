/* SPDX-License-Identifier: Apache-2.0 */
/*
 * circle.h - the rounds of a tournament in which every two players meet once, by the circle method. Pure functions.
 *
 * Invariants
 *   O1  In a round a player has at most one opponent, whose opponent is that player.
 *   O2  Over all rounds every two players meet exactly once. With an even number all play in every round; with an odd
 *       number each is idle in one round.
 */
#ifndef HARNESS_BENCH_CIRCLE_H
#define HARNESS_BENCH_CIRCLE_H

/* n - 1 for an even number of players, n for an odd one; 0 for one player or none. */
int circle_n_rounds(int n_players);
/* The opponent of `player` in `round`; -1: idle. */
int circle_opponent(int n_players, int round, int player);

#endif
