/* SPDX-License-Identifier: Apache-2.0 */
/*
 * squares.c - the loss of the linear model over all its data, a quadratic form of slope and offset; see squares.h.
 */
#include "harness/labs/squares.h"

#include "data/dataset.h"

enum rc squares_of_line(struct squares *out, uint64_t seed)
{
    struct dataset *d = NULL;
    struct squares s = { .x = 0 };
    enum rc rc;

    TRY(dataset_open_line(&d, seed));
    for (size_t i = 0; i < d->n_train; i++) {
        const double x = (double)d->feature[i], y = (double)d->target[i];
        s.x += x / (double)d->n_train;
        s.y += y / (double)d->n_train;
        s.xx += x * x / (double)d->n_train;
        s.xy += x * y / (double)d->n_train;
        s.yy += y * y / (double)d->n_train;
    }
    *out = s;
out:
    dataset_close(&d);
    return rc;
}

double squares_loss(const struct squares *s, double slope, double offset)
{
    return slope * slope * s->xx + 2 * slope * offset * s->x + offset * offset - 2 * slope * s->xy - 2 * offset * s->y +
           s->yy;
}

struct line_point squares_gradient(const struct squares *s, double slope, double offset)
{
    return (struct line_point){ 2 * (slope * s->xx + offset * s->x - s->xy), 2 * (slope * s->x + offset - s->y) };
}

struct line_point squares_least(const struct squares *s)
{
    const double slope = (s->xy - s->x * s->y) / (s->xx - s->x * s->x);

    return (struct line_point){ slope, s->y - slope * s->x };
}
