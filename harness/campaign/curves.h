/* SPDX-License-Identifier: Apache-2.0 */
/*
 * curves.h - losses of all launches of a point at equal seconds, or at equal samples.
 *
 *   K1  A curve is linear between rounds. Before its first round a launch has the loss of that round, which is the loss
 *       of its initial parameters.
 *   K2  Curves that are compared have a common range. It begins at the earliest first round of all curves, and ends
 *       where the shortest curve ends.
 *   K3  A value represents a cell of the axis, equally for all launches: the mean of the curve over it. Cells grow with
 *       their distance from the start, until a hundred of them fill the axis. So they suit a linear axis and a
 *       logarithmic one.
 *   K4  A loss that is not a number counts as higher than any number: launches that diverged raise the median.
 */
#ifndef HARNESS_CAMPAIGN_CURVES_H
#define HARNESS_CAMPAIGN_CURVES_H

#include "harness/campaign/campaign.h"

enum curve_axis { CURVE_SECONDS, CURVE_SAMPLES, N_CURVE_AXES };
/* "seconds", "samples". */
const char *curve_axis_name(enum curve_axis axis);

/* Mean of the curve over [from, to] (K1), from <= to <= its last round. If from equals to, the loss of its first round
 * (K2: a range of one place ends there). k has a round. NaN: a loss among them is not a number. O(log rounds + rounds
 * inside). */
double curve_mean(const struct curve *k, enum curve_axis axis, double from, double to);

enum { MAX_CURVE_CELLS = 256 };

struct curve_cells { /* K3: cell i is [edge[i], edge[i + 1]] */
    size_t n;
    double edge[MAX_CURVE_CELLS + 1];
};

struct curve_range { /* K2 */
    double first, last;
};

/* A range without any curve. */
#define CURVE_RANGE_NONE ((struct curve_range){ INFINITY, INFINITY })
/* Extend the range by all launches of p. */
void curve_range_add(struct curve_range *r, const struct point *p, enum curve_axis axis);
/* Make the cells of a range that has a curve. At least one cell; if the range is one place, that is the cell. */
void curve_cells_make(struct curve_cells *out, const struct curve_range *r);

struct curve_spread {
    double median, low, high; /* over launches (K4); NaN: not a number */
};
/* Spread over all launches of p in [from, to]; a launch without a round diverged in its first. */
struct curve_spread point_losses(const struct point *p, enum curve_axis axis, double from, double to);

/*
 * The time to the target loss: which points are compared, how much sooner they are than one worker alone,
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
