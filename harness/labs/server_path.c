/* SPDX-License-Identifier: Apache-2.0 */
/* server_path.c - the parameters of a server after each update, from what its workers read; see server_path.h. */
#include "harness/labs/server_path.h"

#include <math.h>
#include <stdlib.h>

/* By time; of the same one, by where they were. */
static int in_order(const void *a, const void *b)
{
    const struct path_point *p = a, *q = b;

    if (p->time_s != q->time_s)
        return p->time_s < q->time_s ? -1 : 1;
    return (p->samples_count > q->samples_count) - (p->samples_count < q->samples_count);
}

enum rc server_path_open(struct server_path *out, const struct training_path *t, double batch)
{
    const size_t n_steps = t->n_points - 1, n_updates = n_steps * (size_t)t->n_workers;
    struct path_point *point = calloc(n_updates + 1, sizeof *point);

    if (!point)
        return rc_raise(RC_NOMEM, "no memory for %zu updates", n_updates);
    point[0] = t->point[0];
    for (size_t i = 0; i < n_updates; i++) {
        point[1 + i] = t->point[i / n_steps * t->n_points + i % n_steps + 1];
        point[1 + i].samples_count = (double)i; /* where it was, for the order of equal times */
    }
    qsort(point + 1, n_updates, sizeof *point, in_order);
    for (size_t i = 0; i <= n_updates; i++)
        point[i].samples_count = (double)i * batch;
    *out = (struct server_path){ n_updates + 1, point };
    return RC_OK;
}

void server_path_close(struct server_path *p)
{
    free(p->point);
    *p = (struct server_path){ 0, NULL };
}

double excess_loss(const struct squares *s, const struct path_point *p)
{
    const struct line_point least = squares_least(s);

    return squares_loss(s, p->slope, p->offset) - squares_loss(s, least.slope, least.offset);
}

double server_path_time_to(const struct server_path *p, const struct squares *s, double target, size_t n_mean)
{
    for (size_t i = 1; i + n_mean <= p->n_points; i++) {
        double sum = 0;
        for (size_t k = i; k < i + n_mean; k++)
            sum += excess_loss(s, &p->point[k]);
        if (sum <= target * (double)n_mean) /* not where it is NaN */
            return p->point[i].time_s;
    }
    return (double)NAN;
}
