/* SPDX-License-Identifier: Apache-2.0 */
/*
 * squares.h - the loss of the linear model over all its data, a quadratic form of slope and offset:
 *
 *   loss(slope, offset) = mean((slope x + offset - y)^2)
 *
 * Five means over the data define it. Its least point is that of least squares.
 */
#ifndef HARNESS_LABS_SQUARES_H
#define HARNESS_LABS_SQUARES_H

#include <stdint.h>

#include "harness/base/rc.h"

struct squares { /* means over the samples */
    double x, y, xx, xy, yy;
};

struct line_point {
    double slope, offset;
};

/* For data set "line". RC_NOMEM. */
enum rc squares_of_line(struct squares *out, uint64_t seed) MUST_CHECK;
double squares_loss(const struct squares *s, double slope, double offset);
/* Gradient of the loss by slope and by offset. */
struct line_point squares_gradient(const struct squares *s, double slope, double offset);
struct line_point squares_least(const struct squares *s);

#endif
