/* SPDX-License-Identifier: Apache-2.0 */
/* momentum.c - fits a momentum to a path through the loss of the linear model; see momentum.h. */
#include "harness/labs/momentum.h"

#include <math.h>
#include <stdlib.h>

#define MOST_MOMENTUM 0.999
#define FIT_WIDTH 0.0005

void momentum_path(struct line_point *out, size_t n_points, const struct squares *loss, double momentum, double lr)
{
    struct line_point p = { 0, 0 };
    struct line_point g = squares_gradient(loss, p.slope, p.offset);
    struct line_point step = { -lr * g.slope, -lr * g.offset }; /* before the first update */

    for (size_t i = 0; i < n_points; i++) {
        out[i] = p;
        g = squares_gradient(loss, p.slope, p.offset);
        step.slope = momentum * step.slope - lr * (1 - momentum) * g.slope;
        step.offset = momentum * step.offset - lr * (1 - momentum) * g.offset;
        p.slope += step.slope;
        p.offset += step.offset;
    }
}

/* Sum of squared distances; scratch[n_points]. */
static double distance(const struct observed_path *path, size_t n_paths, size_t n_points, double momentum, double lr,
                       struct line_point *scratch)
{
    double sum = 0;

    for (size_t k = 0; k < n_paths; k++) {
        momentum_path(scratch, n_points, path[k].loss, momentum, lr);
        for (size_t i = 0; i < n_points; i++) {
            const double ds = path[k].point[i].slope - scratch[i].slope;
            const double dy = path[k].point[i].offset - scratch[i].offset;
            sum += ds * ds + dy * dy;
        }
    }
    return sum;
}

enum rc momentum_fit(double *out, const struct observed_path *path, size_t n_paths, size_t n_points, double lr)
{
    struct line_point *scratch = malloc(n_points * sizeof *scratch + 1);
    double low = 0, high = MOST_MOMENTUM;

    if (!scratch)
        return rc_raise(RC_NOMEM, "no memory for a path of %zu points", n_points);
    while (high - low > FIT_WIDTH) { /* the distance has one least point between them */
        const double a = low + (high - low) * 0.4, b = low + (high - low) * 0.6;
        if (distance(path, n_paths, n_points, a, lr, scratch) < distance(path, n_paths, n_points, b, lr, scratch))
            high = b;
        else
            low = a;
    }
    free(scratch);
    *out = (low + high) / 2;
    return RC_OK;
}
