/* SPDX-License-Identifier: Apache-2.0 */
/*
 * learning.h - decides from the training losses of a run whether it learned anything. It does not test how well it
 * learned, and does not know rates or modes: the caller finds the likely reason.
 *
 * A part is a tenth of the losses, at least LEARNING_PART of them: the first part, the last part. Whether losses differ
 * by more than noise is counted, not estimated: in at least LEARNING_SHARE of all pairs of a first-part and a last-part
 * loss. Counts are valid for any distribution, even for losses that grow a thousandfold within a part.
 *
 * Invariants, in this order: the first that applies decides
 *   G1  Losses that are not from training (no data, replayed, forward only): not known.
 *   G2  A loss of the last part that is not finite, or an infinite test loss: no. This holds for the shortest run.
 *   G3  Fewer than LEARNING_MIN_LOSSES losses: not known.
 *   G4  Rising: in LEARNING_SHARE of the pairs the later loss is the higher: no.
 *   G5  Below chance: the 95 % interval of the mean of the last part is below it, or LEARNING_SHARE of its losses are:
 *       yes.
 *   G6  At chance (not below it by G5): no, if the mean of the last part is at or above chance, or half of its interval
 *       is at most LEARNING_NOISE of chance. With a wider interval the test loss decides, because it has less noise.
 *       No, if it is above chance or at most LEARNING_NOISE of chance below it; else not known.
 *   G7  If the chance loss is not known: yes if in LEARNING_SHARE of the pairs the later loss is lower, else not known.
 *   G8  In a short run the caller expects too few samples for any model to learn. There G4 gives "no" only if the last
 *       part's median is above LEARNING_FAR times the first part's. G6 gives "no" only if it is above LEARNING_FAR
 *       times chance. Otherwise: not known.
 */
#ifndef HARNESS_MEASURE_LEARNING_H
#define HARNESS_MEASURE_LEARNING_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/rc.h"

enum { LEARNING_PART = 7, LEARNING_MIN_LOSSES = 3 * LEARNING_PART };
#define LEARNING_SHARE 0.9
#define LEARNING_NOISE 0.05
#define LEARNING_FAR 2.0

enum learned { LEARNED_YES, LEARNED_NO, LEARNED_NOT_KNOWN };
/* By the rules above. Yes: FELL. No: from NOT_FINITE to AT_CHANCE. Not known: the remaining ones. */
enum learning_why {
    LEARNING_FELL,
    LEARNING_NOT_FINITE,
    LEARNING_ROSE,
    LEARNING_AT_CHANCE,
    LEARNING_NO_LOSS,
    LEARNING_TOO_SHORT,
    LEARNING_TOO_NOISY,
};

struct losses {          /* of a run; borrowed */
    const double *value; /* [n]: of every round, mean over workers, in the order of training */
    size_t n;
    double chance;    /* loss of random guessing; NaN: not known */
    double test;      /* after the last step, over a test set; NaN: no test */
    bool is_training; /* measure.G1 */
    bool is_short;    /* measure.G8 */
};

struct learning {
    enum learned learned;
    enum learning_why why;
    double first, last;       /* medians of the first and last part (AT_CHANCE: last is the mean); NaN: not known */
    size_t first_broken_loss; /* NOT_FINITE: index of the first that is not finite, n: the test loss; else 0 */
};

/* Judge. O(n log n); scratch is allocated and freed inside. RC_NOMEM: out is unchanged. */
enum rc learning_judge(struct learning *out, const struct losses *in) MUST_CHECK;

/* "yes", "no", "not_known". */
const char *learned_word(enum learned learned);
/* "fell", "not_finite", "rose", "at_chance", "no_training_loss", "too_short", "too_noisy". */
const char *learning_why_word(enum learning_why why);

#endif
