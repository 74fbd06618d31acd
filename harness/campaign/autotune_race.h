/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autotune_race.h - which of some settings is faster than the one in use, from trials of all in turns. Statistics
 * alone: who makes the trials, and of what, is autotune.h.
 *
 * Invariants
 *   J1  A round is one trial of the arm in use (0) and of each other that is still in the race, in an order that
 *       differs from round to round: what the machine does meanwhile, it does to all of them.
 *   J2  An arm is compared with arm 0 in pairs of the same round, as steps of arm 0 / steps of the arm (paired.h):
 *       above 1 it is faster. The interval is that of one of n_planned comparisons which hold together at 95 %
 *       (Bonferroni).
 *   J3  An arm leaves the race after RACE_DROP_ROUNDS rounds or later where it is slower with 95 %. That is a way to
 *       spend less (racing: Maron and Moore, Advances in Neural Information Processing Systems 6, 1994), and takes no
 *       arm's place from another: faster than arm 0 is only called what was in all rounds.
 *   J4  Arm 0 is left for another only if the whole interval of that one is above 1, and its ratio at least
 *       RACE_LEAST_RATIO; of several such, for the one with the greatest ratio.
 */
#ifndef HARNESS_CAMPAIGN_AUTOTUNE_RACE_H
#define HARNESS_CAMPAIGN_AUTOTUNE_RACE_H

#include <stdbool.h>

enum { RACE_MAX_ARMS = 17, RACE_MIN_ROUNDS = 5, RACE_MAX_ROUNDS = 20, RACE_DROP_ROUNDS = 3 };
#define RACE_LEAST_RATIO 1.005 /* less is nothing to leave a default for */

struct race_verdict { /* of an arm against arm 0, J2 */
    double ratio, ratio_low, ratio_high, p;
    /* ratio: NaN of no round; interval: infinitely wide of fewer than two */
};

struct race { /* no pointers: its bytes are the same thing on another rank */
    int n_arms;
    int n_rounds_wanted, n_rounds; /* done */
    int n_planned;                 /* J2 */
    bool is_out[RACE_MAX_ARMS];
    int n_out;
    int out_after[RACE_MAX_ARMS]; /* rounds, of those that are out */
    double step_s[RACE_MAX_ARMS][RACE_MAX_ROUNDS];
    struct race_verdict verdict[RACE_MAX_ARMS]; /* [0]: not used */
};

/* All in the race. None of these can fail. */
void race_init(struct race *r, int n_arms, int n_rounds, int n_planned);
/* The arm whose turn is turn 0 .. n_arms - 1 of the round under way (J1), in the race or not. */
int race_arm_of_turn(const struct race *r, int turn);
/* An arm that cannot be tried is in no round from now on. Once or more often. */
void race_leave(struct race *r, int arm);
/* All that are in have a step_s of this round, which has ended. */
void race_end_round(struct race *r);
/* Is there another round? */
bool race_goes_on(const struct race *r);
/* J4; 0: the one in use stays. */
int race_winner(const struct race *r);
/* J2, of the first n rounds of an arm. */
struct race_verdict race_judge(const struct race *r, int arm, int n_rounds);

#endif
