/* SPDX-License-Identifier: Apache-2.0 */
/*
 * curves.h - losses of all launches of a point at equal seconds, or at equal samples.
 *
 *   K1  A curve goes straight from round to round. Before its first round a launch has the loss of that round, which is
 *       the loss of the parameters it began with.
 *   K2  Curves that are compared begin and end at the same places: at the first round of the first of them all, and
 *       where the shortest of them ends.
 *   K3  A value stands for a cell of the axis, all launches alike: the mean of the curve over it. Cells grow with their
 *       distance from the start, until a hundred of them fill the axis: so they suit a linear axis and a logarithmic
 *       one.
 *   K4  A loss that is not a number is as high as can be: launches that diverged raise the median.
 */
#ifndef HARNESS_CAMPAIGN_CURVES_H
#define HARNESS_CAMPAIGN_CURVES_H

#include "harness/campaign/campaign.h"

enum curve_axis { CURVE_SECONDS, CURVE_SAMPLES, N_CURVE_AXES };
/* "seconds", "samples". */
const char *curve_axis_name(enum curve_axis axis);

/* Mean of the curve over [from, to] (K1), from <= to <= its last round; where from is to, the loss of its first round
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

/* No curve yet. */
#define CURVE_RANGE_NONE ((struct curve_range){ INFINITY, INFINITY })
/* Take all launches of p into the range. */
void curve_range_add(struct curve_range *r, const struct point *p, enum curve_axis axis);
/* Of a range that has a curve. At least one cell; where the range is one place, that is the cell. */
void curve_cells_make(struct curve_cells *out, const struct curve_range *r);

struct curve_spread {
    double median, low, high; /* over launches (K4); NaN: not a number */
};
/* Of all launches of p in [from, to]; one without a round diverged in its first. */
struct curve_spread point_losses(const struct point *p, enum curve_axis axis, double from, double to);

#endif
