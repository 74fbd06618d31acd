/* SPDX-License-Identifier: Apache-2.0 */
/* losses.c - losses of points after as many samples: of unequal steps, or workers, the last losses say nothing. */
#include <math.h>

#include "harness/campaign/curves.h"

static const double WINDOW_RATIO = 0.1; /* of the samples: a mean over so many of the last */

double curve_loss_at(const struct curve *k, double samples_count)
{
    const double start = (1 - WINDOW_RATIO) * samples_count;

    if (k->n_points == 0 || !(k->samples_count[0] < samples_count) ||
        !(k->samples_count[k->n_points - 1] >= samples_count))
        return NAN;
    return curve_mean(k, CURVE_SAMPLES, k->samples_count[0] > start ? k->samples_count[0] : start, samples_count);
}

/* Samples of all workers at the end of the shortest launch of p; 0: not known. */
static double least_samples(const struct point *p)
{
    double least = 0;

    for (size_t i = 0; i < p->n_curves; i++) {
        const struct curve *k = &p->curve[i];
        const double last = k->n_points > 0 ? k->samples_count[k->n_points - 1] : 0;
        if (last > 0 && (least == 0 || last < least))
            least = last;
    }
    return least;
}

double campaign_equal_samples(const struct campaign *c, const struct point *p)
{
    double least = 0;

    for (size_t i = 0; i < c->n_points; i++) {
        const double mine = point_comparable(&c->point[i], p) ? least_samples(&c->point[i]) : 0;
        if (mine > 0 && (least == 0 || mine < least))
            least = mine;
    }
    return least > 0 ? least : NAN;
}

double point_samples(const struct point *p)
{
    return least_samples(p) > 0 ? least_samples(p) : NAN;
}

double point_loss_at(const struct point *p, double samples_count)
{
    double sum = 0;

    for (size_t i = 0; i < p->n_curves; i++)
        sum += curve_loss_at(&p->curve[i], samples_count);
    return p->n_curves > 0 ? sum / (double)p->n_curves : NAN;
}
