/* SPDX-License-Identifier: Apache-2.0 */
/*
 * momentum.h - fits a momentum to a path through the loss of the linear model.
 *
 * W workers with memoryless step times apply, on average, sum_k p (1 - p)^k of the gradients k updates back, p = 1/W:
 *
 *   E(next - now) = (1 - 1/W) E(now - before) - (lr / W) gradient(now)
 *
 * This is momentum 1 - 1/W at rate lr / W (Mitliagkas, Zhang, Hadjis, Re: Asynchrony begets Momentum, 2016). At the
 * beginning all gradients are those of the first point, so the first update is lr times that gradient.
 */
#ifndef HARNESS_LABS_MOMENTUM_H
#define HARNESS_LABS_MOMENTUM_H

#include <stddef.h>

#include "harness/labs/squares.h"
#include "harness/labs/training.h"

struct observed_path {              /* borrowed */
    const struct squares *loss;     /* loss over its data */
    const struct path_point *point; /* after update 0, 1, ... */
};

/* out[n_points] := the path from 0, 0 by gradients of the loss alone, with momentum in [0, 1) at rate
 * lr (1 - momentum); the first update uses lr. Momentum 0: plain gradient descent. Cannot fail. */
void momentum_path(struct line_point *out, size_t n_points, const struct squares *loss, double momentum, double lr);
/* The momentum, to 0.001, whose paths have the least mean squared distance from all points of the given paths. Each
 * path has n_points. RC_NOMEM. */
enum rc momentum_fit(double *out, const struct observed_path *path, size_t n_paths, size_t n_points,
                     double lr) MUST_CHECK;

#endif
