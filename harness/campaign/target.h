/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target.h - the time to the target loss: which points are compared, how much sooner they are than one worker alone,
 * and why. Private to campaign/.
 *
 * Invariants
 *   J1  The compared points are fixed in advance: for each mode that exchanges, the point at its largest worker count
 *       with a core for every worker, against one worker alone. The choice does not depend on results of launches: the
 *       best of several points would look better than it is, by chance.
 *   J2  A launch that did not reach the target is counted, not dropped. If there is one among the compared launches,
 *       their number is reported and there is no verdict, since the remaining pairs are the lucky ones.
 *   J3  Seconds are samples / rate, launch by launch. So the ratio of seconds is the ratio of rates (of all samples
 *       until the target) over the ratio of samples needed, exactly: all three are geometric means over the same pairs.
 */
#ifndef HARNESS_CAMPAIGN_TARGET_H
#define HARNESS_CAMPAIGN_TARGET_H

#include "harness/campaign/campaign.h"

struct target_split { /* J3: of p over `single`; NaN: not known */
    size_t n_pairs;   /* launches in the same block that both reached the target */
    double sooner_ratio;
    double rate_ratio, samples_ratio;
};

/* The point of a mode that J1 compares, among those comparable to like; NULL: none. */
const struct point *target_point(const struct campaign *c, const struct point *like, const struct module *mode);
/* Number of launches of p that reached the target loss. */
size_t target_n_reached(const struct point *p);
/* Did every launch of both reach it (J2)? */
bool target_all_reached(const struct point *p, const struct point *single);
/* Did the launches of the points comparable to like train towards a target loss, and none reached it? */
bool target_none_reached(const struct campaign *c, const struct point *like);
/* Then: print " in 200 steps. Use ...", the end of a line. */
void target_tell_steps(const struct campaign *c, const struct point *like, FILE *to);
#define TARGET_REMEDY "Use more --steps, or a larger --target-loss."
struct target_split target_split(const struct point *p, const struct point *single);

/* Print the line about p against `single`; both have launches. judged: "sooner", "later", ...; "": no verdict in
 * simulated time. x: single's seconds over p's. */
void target_tell(const struct point *p, const struct point *single, const struct comparison *x, const char *judged,
                 FILE *to);

#endif
