/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_parts.h - what the files verdict*.c share: claims of a campaign, which are decided together. */
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

/* Too many pairs (WITHHELD_RATIO) have a launch that is disturbed, without a steady state, or faster than its bound
 * beyond its interval; or a point of the claim is surely faster than its control, which exchanges nothing. */
enum withheld { WITHHELD_NOT, WITHHELD_DISTURBED, WITHHELD_UNSTEADY, WITHHELD_BOUND, WITHHELD_CONTROL };

struct claim {
    enum claim_kind kind;
    const struct point *a, *b; /* two modes; a mode and its control; a mode and one worker alone; two layouts; a value
                                  of an option and its first one */
    struct comparison x;       /* a over b; of the target, by layouts too: b's seconds over a's */
    bool holds;                /* C4; false where it is withheld */
    enum withheld withheld;
    const struct claim *price; /* of WITHHELD_CONTROL: which contradicts the control */
    const char *option;        /* of CLAIM_VALUE; borrowed from a point */
    size_t contest;            /* of layouts: those of as many ranks have the same number; others have 0 */
};

struct claims { /* owned */
    const struct campaign *campaign;
    struct claim *claim;
    size_t n_claims;
    size_t n_tested; /* of two pairs and more, and not withheld by their launches */
};

/* All claims of a campaign, decided. RC_NOMEM; to be closed also then. */
enum rc claims_open(struct claims *all, const struct campaign *c) MUST_CHECK;
void claims_close(struct claims *all);
bool claim_is_tested(const struct claims *all, const struct claim *k);
enum rc claims_add(struct claims *all, enum claim_kind kind, const struct point *a, const struct point *b) MUST_CHECK;
/* What p keeps of the throughput of its control, where it has one. RC_NOMEM. */
enum rc claims_add_price(struct claims *all, const struct point *p) MUST_CHECK;
/* Why a claim of two pairs and more is withheld or does not hold, and what would help: the end of a line. */
void claim_tell_doubt(const struct claims *all, const struct claim *k, FILE *to);
/* The same of any claim on throughputs: also where there are no pairs. */
void claim_tell_not_told(const struct claims *all, const struct claim *k, FILE *to);
/* "; single launches are far off, the median is 1.2 x" where they are (paired.C3). */
void claim_tell_far_pairs(const struct comparison *x, double robust_ratio, FILE *to);

/* --- verdict_withheld.c --- */

/* Before the claims are decided: by their launches. */
void claims_withhold_marked(struct claims *all);
/* Then: by what contradicts a control. */
void claims_withhold_contradicted(struct claims *all);
/* Why a claim is withheld: the end of a line, without and with the newline. */
void claim_tell_why_withheld(const struct claim *k, FILE *to);
void claim_tell_withheld(const struct claim *k, FILE *to);
/* A line: how many are withheld, and the rule. Nothing where none is. */
void claims_tell_rule(const struct claims *all, FILE *to);

/* --- verdict_values.c --- */

/* Of each mode at its largest number of workers: each value of each option that is varied, against the first one.
 * RC_NOMEM. */
enum rc claims_add_values(struct claims *all) MUST_CHECK;
void claim_tell_value(const struct claims *all, const struct claim *k, FILE *to);

/* --- verdict_layouts.c --- */

/* Of the points comparable to like, all pairs of layouts of as many ranks that have launches and cores: which is faster
 * and, where some launch of them reached the target loss, which reaches it sooner; and what each mode keeps of the
 * throughput without exchange. */
enum rc claims_add_layouts(struct claims *all, const struct point *like) MUST_CHECK;
/* All claims on layouts of as many ranks: told with the first of them. */
void claim_tell_layouts(const struct claims *all, const struct claim *k, FILE *to);
/* Likewise on their time to the target loss. What has not reached it in every launch is counted, without a verdict, as
 * in target.J2. */
void claim_tell_layouts_target(const struct claims *all, const struct claim *k, FILE *to);
/* Of the points comparable to like: which layouts are not compared because they have more threads than cores. */
void layouts_tell_shared_cores(const struct campaign *c, const struct point *like, FILE *to);

#endif
