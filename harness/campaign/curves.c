/* SPDX-License-Identifier: Apache-2.0 */
/* curves.c - see curves.h; and losses of points after as many samples. */
#include "harness/campaign/curves.h"

#include <assert.h>
#include <math.h>

#include "harness/measure/sorted.h"

static const double GROWTH_RATIO = 0.1;    /* of a cell against its distance from 0: 24 to a decade */
static const double MOST_RATIO = 0.01;     /* of a cell against the range */
static const double LEAST_RATIO = 1e-6;    /* likewise: a range may begin at 0 */
static const double LEFT_OVER_RATIO = 0.5; /* of a cell: so short a rest belongs to the last one */

const char *curve_axis_name(enum curve_axis axis)
{
    return axis == CURVE_SECONDS ? "seconds" : "samples";
}

static const double *places(const struct curve *k, enum curve_axis axis)
{
    return axis == CURVE_SECONDS ? k->seconds : k->samples_count;
}

/* Integral of the straight line from (x0, y0) to (x1, y1) over the part of it in [from, to]; 0 where that is none. */
static double integral_in(double x0, double y0, double x1, double y1, double from, double to)
{
    const double low = x0 > from ? x0 : from, high = x1 < to ? x1 : to, slope = (y1 - y0) / (x1 - x0);

    return low < high ? (high - low) * (y0 + slope * (0.5 * (low + high) - x0)) : 0;
}

/* The first round behind `from`; n_points: none. Places do not decrease, so halve. */
static size_t first_behind(const double *x, size_t n_points, double from)
{
    size_t low = 0, high = n_points;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (x[middle] > from)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

double curve_mean(const struct curve *k, enum curve_axis axis, double from, double to)
{
    const double *x = places(k, axis);
    double sum = 0;

    assert(k->n_points > 0);
    if (!(from < to)) /* a range of one place, K2 */
        return k->loss[0];
    if (from < x[0])
        sum += ((to < x[0] ? to : x[0]) - from) * k->loss[0];
    const size_t first = first_behind(x, k->n_points, from);
    for (size_t i = first > 0 ? first : 1; i < k->n_points && x[i - 1] < to; i++)
        sum += integral_in(x[i - 1], k->loss[i - 1], x[i], k->loss[i], from, to);
    return sum / (to - from);
}

void curve_range_add(struct curve_range *r, const struct point *p, enum curve_axis axis)
{
    for (size_t i = 0; i < p->n_curves; i++) {
        const struct curve *k = &p->curve[i];
        if (k->n_points == 0)
            continue;
        r->first = fmin(r->first, places(k, axis)[0]);
        r->last = fmin(r->last, places(k, axis)[k->n_points - 1]);
    }
}

void curve_cells_make(struct curve_cells *out, const struct curve_range *r)
{
    const double whole = r->last - r->first;
    double at = r->first;
    size_t n = 0;

    assert(whole >= 0 && isfinite(whole));
    out->edge[0] = at;
    while (n == 0 || at < r->last) {
        const double width = fmin(fmax(GROWTH_RATIO * at, LEAST_RATIO * whole), MOST_RATIO * whole);
        const bool is_last = at + (1 + LEFT_OVER_RATIO) * width >= r->last;
        assert(n < MAX_CURVE_CELLS);
        at = is_last ? r->last : at + width;
        out->edge[++n] = at;
    }
    out->n = n;
}

static double number(double value)
{
    return isfinite(value) ? value : (double)NAN;
}

struct curve_spread point_losses(const struct point *p, enum curve_axis axis, double from, double to)
{
    double loss[MAX_LAUNCHES];
    size_t n = 0;

    for (size_t i = 0; i < p->n_curves; i++) {
        const double mean = p->curve[i].n_points > 0 ? curve_mean(&p->curve[i], axis, from, to) : (double)NAN;
        loss[n++] = isfinite(mean) ? mean : (double)INFINITY; /* K4 */
    }
    if (n == 0)
        return (struct curve_spread){ NAN, NAN, NAN };
    sorted_make(loss, n);
    return (struct curve_spread){ number(sorted_median(loss, n)), number(loss[0]), number(loss[n - 1]) };
}

/* --- losses after as many samples: of unequal steps, or workers, the last losses say nothing --- */

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
