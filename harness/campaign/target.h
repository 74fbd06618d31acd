/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target.h - the time to the target loss: of which points, how soon against one worker alone, and why. Private to this
 * room.
 *
 * Invariants
 *   J1  Which points are compared is declared beforehand: of each mode that exchanges, the one at its largest worker
 *       count with a core for every worker, against one worker alone. It does not depend on what any launch gave: the
 *       best of several points is better than it is by chance.
 *   J2  A launch that did not reach the target is counted, not dropped: where there is one among those compared, how
 *       many reached it is told, and no verdict is made, as the pairs that are left are the lucky ones.
 *   J3  Seconds are samples / rate, launch by launch, so the ratio of seconds is that of the rates (of all samples
 *       until the target) over that of the samples needed, exactly: all three are geometric means over the same pairs.
 */
#ifndef HARNESS_CAMPAIGN_TARGET_H
#define HARNESS_CAMPAIGN_TARGET_H

#include "harness/campaign/campaign.h"

struct target_split { /* J3: of p over `single`; NaN: not known */
    size_t n_pairs;   /* launches in the same block of which both reached the target */
    double sooner_ratio;
    double rate_ratio, samples_ratio;
};

/* The point that J1 compares of a mode among those comparable to like; NULL: none. */
const struct point *target_point(const struct campaign *c, const struct point *like, const struct module *mode);
/* How many launches of p reached the target loss. */
size_t target_n_reached(const struct point *p);
/* Did every launch of both reach it (J2)? */
bool target_all_reached(const struct point *p, const struct point *single);
struct target_split target_split(const struct point *p, const struct point *single);

/* The line on p against `single`, each launched. judged: "sooner", "later", ...; "": no verdict is made in simulated
 * time. x: single's seconds over p's. */
void target_tell(const struct point *p, const struct point *single, const struct comparison *x, const char *judged,
                 FILE *to);

#endif
