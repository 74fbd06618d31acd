/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autotune_race.h - compares settings with the one in use, from trials of all of them in turns. Statistics only:
 * autotune.h runs the trials.
 *
 * Invariants
 *   J1  A round is one trial of the arm in use (0) and one of each other arm that is still in the race. The order
 *       differs from round to round, so that changes of the machine affect all arms.
 *   J2  An arm is compared with arm 0 in pairs of the same round, as steps of arm 0 / steps of the arm (paired.h).
 *       Above 1 it is faster. The interval is that of one of n_planned comparisons with a joint level of 95 %
 *       (Bonferroni).
 *   J3  An arm leaves the race after RACE_DROP_ROUNDS rounds or later if it is slower at 95 %. This only saves time
 *       (racing: Maron and Moore, Advances in Neural Information Processing Systems 6, 1994), and does not favour other
 *       arms: only an arm that was in all rounds is called faster than arm 0.
 *   J4  Another arm replaces arm 0 only if its whole interval is above 1, and its ratio is at least RACE_LEAST_RATIO.
 *       If there are several such arms, the one with the greatest ratio does.
 */
#ifndef HARNESS_CAMPAIGN_AUTOTUNE_RACE_H
#define HARNESS_CAMPAIGN_AUTOTUNE_RACE_H

#include <stdbool.h>

enum { RACE_MAX_ARMS = 17, RACE_MIN_ROUNDS = 5, RACE_MAX_ROUNDS = 20, RACE_DROP_ROUNDS = 3 };
#define RACE_LEAST_RATIO 1.005 /* a smaller gain does not justify a change of the default */

struct race_verdict { /* of an arm against arm 0, J2 */
    double ratio, ratio_low, ratio_high, p;
    /* ratio: NaN without a round; interval: infinitely wide with fewer than two */
};

struct race { /* no pointers: can be copied to another rank byte by byte */
    int n_arms;
    int n_rounds_wanted, n_rounds; /* done */
    int n_planned;                 /* J2 */
    bool is_out[RACE_MAX_ARMS];
    int n_out;
    int out_after[RACE_MAX_ARMS]; /* number of rounds, for arms that are out */
    double step_s[RACE_MAX_ARMS][RACE_MAX_ROUNDS];
    struct race_verdict verdict[RACE_MAX_ARMS]; /* [0]: not used */
};

/* Start with all arms in the race. None of these functions can fail. */
void race_init(struct race *r, int n_arms, int n_rounds, int n_planned);
/* The arm of turn 0 .. n_arms - 1 in the current round (J1), in the race or not. */
int race_arm_of_turn(const struct race *r, int turn);
/* Remove an arm that cannot be tried from all further rounds. May be called repeatedly. */
void race_leave(struct race *r, int arm);
/* End the round; every arm in the race has a step_s of it. */
void race_end_round(struct race *r);
/* Is there another round? */
bool race_goes_on(const struct race *r);
/* The winner by J4; 0: the one in use stays. */
int race_winner(const struct race *r);
/* The verdict by J2, from the first n rounds of an arm. */
struct race_verdict race_judge(const struct race *r, int arm, int n_rounds);

#endif
