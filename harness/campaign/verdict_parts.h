/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_parts.h - shared by verdict*.c: the claims of a campaign, which are decided together. */
#ifndef HARNESS_CAMPAIGN_VERDICT_PARTS_H
#define HARNESS_CAMPAIGN_VERDICT_PARTS_H

#include "harness/campaign/campaign.h"

enum claim_kind {
    CLAIM_FASTER,
    CLAIM_EQUAL_CORES,
    CLAIM_PRICE,
    CLAIM_TARGET,
    CLAIM_LAYOUT,
    CLAIM_LAYOUT_TARGET,
    CLAIM_VALUE
};

/* Reasons to withhold a claim. Too many pairs (WITHHELD_RATIO) have a launch that is disturbed, without a steady state,
 * or faster than its bound. Or a point of the claim is significantly faster than its control, which exchanges nothing;
 * not in a simulation. */
enum withheld { WITHHELD_NOT, WITHHELD_DISTURBED, WITHHELD_UNSTEADY, WITHHELD_BOUND, WITHHELD_CONTROL };

struct claim {
    enum claim_kind kind;
    const struct point *a, *b; /* two modes; a mode and its control; a mode and one worker alone; two layouts; a value
                                  of an option and its first value */
    struct comparison x;       /* a over b; for the target, also of layouts: b's seconds over a's */
    bool holds;                /* C4; false if it is withheld */
    enum withheld withheld;
    const struct claim *price; /* WITHHELD_CONTROL: the claim that contradicts the control */
    const char *option;        /* of CLAIM_VALUE; borrowed from a point */
    size_t contest;            /* of layouts: equal for layouts with the same number of ranks; other claims have 0 */
};

struct claims { /* owned */
    const struct campaign *campaign;
    struct claim *claim;
    size_t n_claims;
    size_t n_tested; /* with two pairs or more, and not withheld by their launches */
};

/* All claims of a campaign, decided. RC_NOMEM; must be closed also then. */
enum rc claims_open(struct claims *all, const struct campaign *c) MUST_CHECK;
void claims_close(struct claims *all);
bool claim_is_tested(const struct claims *all, const struct claim *k);
enum rc claims_add(struct claims *all, enum claim_kind kind, const struct point *a, const struct point *b) MUST_CHECK;
/* Add the ratio of p's throughput to that of its control, if it has one. RC_NOMEM. */
enum rc claims_add_price(struct claims *all, const struct point *p) MUST_CHECK;
/* Is it the ratio of two simulated runs, which is exact? False: it is measured, withheld, or not known. */
bool claim_is_exact(const struct claims *all, const struct claim *k);
/* Is it significant alone, and not together with the other verdicts (paired.C4)? */
bool claim_fails_together(const struct claims *all, const struct claim *k);
/* Print why a claim with two pairs or more is withheld or does not hold, and what would help: the end of a line. */
void claim_tell_doubt(const struct claims *all, const struct claim *k, FILE *to);
/* The same for any claim on throughputs, also without pairs. */
void claim_tell_not_told(const struct claims *all, const struct claim *k, FILE *to);
/* Print "; single launches are far off, the median is 1.2 x" if it applies (paired.C3). */
void claim_tell_far_pairs(const struct comparison *x, double robust_ratio, FILE *to);

/* The most cores that other programs used during a disturbed launch of the claim's pairs; 0: not known, or none. */
double claim_others_cores(const struct claim *k);
/* Print why a claim is withheld: the end of a line, without and with the newline. */
void claim_tell_why_withheld(const struct claim *k, FILE *to);

/* For each mode at its largest number of workers: each value of each varied option, against the first value.
 * RC_NOMEM. */
enum rc claims_add_values(struct claims *all) MUST_CHECK;
void claim_tell_value(const struct claims *all, const struct claim *k, FILE *to);

/* --- verdict_layouts.c --- */

/* Add claims for the points comparable to like: all pairs of layouts with equal numbers of ranks that have launches and
 * cores. A claim says which is faster and, if some launch of them reached the target loss, which reaches it sooner.
 * Further claims compare each mode with the throughput without exchange. */
enum rc claims_add_layouts(struct claims *all, const struct point *like) MUST_CHECK;
/* Print all claims on layouts with the same number of ranks, together with the first of them. */
void claim_tell_layouts(const struct claims *all, const struct claim *k, FILE *to);
/* The same for their time to the target loss. If a layout did not reach it in every launch, the launches are counted
 * and there is no verdict, as in curves.J2. */
void claim_tell_layouts_target(const struct claims *all, const struct claim *k, FILE *to);
/* For the points comparable to like: print the layouts that are not compared because they have more threads than
 * cores. */
void layouts_tell_shared_cores(const struct campaign *c, const struct point *like, FILE *to);

#endif
