/* SPDX-License-Identifier: Apache-2.0 */
/*
 * curves.c - losses of all launches of a point at equal seconds, or at equal samples, and the losses of
 * points after as many samples; see curves.h.
 */
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

/* The time to the target loss against one worker alone, split into throughput and samples needed. */

const struct point *target_point(const struct campaign *c, const struct point *like, const struct module *mode)
{
    const int n_workers = campaign_largest(c, like, mode, NULL);

    return n_workers > 1 ? campaign_find_like(c, like, mode, n_workers) : NULL; /* J1 */
}

static bool reached(const struct launch *l)
{
    return l->seconds_to_target_s > 0;
}

size_t target_n_reached(const struct point *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_launches; i++)
        n += reached(&p->launch[i]);
    return n;
}

bool target_none_reached(const struct campaign *c, const struct point *like)
{
    bool has_launches = false;

    if (!(like->workload->default_target_loss > 0)) /* 0: its networks have none */
        return false;
    for (size_t i = 0; i < c->n_points; i++) {
        const struct point *p = &c->point[i];
        if (!point_comparable(p, like) || p->n_launches == 0)
            continue;
        if (p->is_inference || target_n_reached(p) > 0 || isnan(point_mean(p, offsetof(struct launch, loss_last))))
            return false;
        has_launches = true;
    }
    return has_launches;
}

void target_tell_steps(const struct campaign *c, const struct point *like, FILE *to)
{
    unsigned long long most = 0;

    for (size_t i = 0; i < c->n_points; i++) {
        const struct point *p = &c->point[i];
        if (point_comparable(p, like) && p->n_launches > 0 && p->n_steps > most)
            most = p->n_steps;
    }
    if (most > 0)
        fprintf(to, " in %llu step%s", most, most == 1 ? "" : "s");
    fprintf(to, ". " TARGET_REMEDY "\n");
}

struct target_split target_split(const struct point *p, const struct point *single)
{
    const size_t n_blocks = p->n_launches < single->n_launches ? p->n_launches : single->n_launches;
    double sum_sooner = 0, sum_samples = 0;
    size_t n = 0;

    for (size_t i = 0; i < n_blocks; i++) {
        const struct launch *mine = &p->launch[i], *alone = &single->launch[i];
        if (!reached(mine) || !reached(alone))
            continue;
        sum_sooner += log(alone->seconds_to_target_s / mine->seconds_to_target_s);
        sum_samples += log(mine->samples_to_target_count / alone->samples_to_target_count); /* NaN: not known */
        n++;
    }
    const double sooner = n ? exp(sum_sooner / (double)n) : NAN, samples = n ? exp(sum_samples / (double)n) : NAN;
    return (struct target_split){ n, sooner, sooner * samples, samples }; /* J3 */
}

/* "12.35", "0.47", "0.0042" */
static const char *ratio_text(char out[32], double ratio)
{
    snprintf(out, 32, ratio < 0.095 ? "%.2g" : "%.2f", ratio);
    return out;
}

static void tell_rate(const struct point *p, const struct point *single, FILE *to)
{
    if (isnan(p->learning_rate))
        return;
    fprintf(to, ", at rate %.3g", p->learning_rate);
    if (p->learning_rate != single->learning_rate && !isnan(single->learning_rate))
        fprintf(to, " (alone %.3g)", single->learning_rate);
}

/* J3; and where the samples needed differ, which updates the mode makes of them. */
static void tell_split(const struct target_split *split, const struct point *p, const struct point *single, FILE *to)
{
    char number[2][32];

    if (isnan(split->samples_ratio))
        return;
    ratio_text(number[0], split->rate_ratio);
    ratio_text(number[1], split->samples_ratio);
    fprintf(to, ", of which throughput %s x and samples needed %s x", number[0], number[1]);
    if (fabs(split->samples_ratio - 1) < 0.005)
        return;
    if (p->mode->caps & MODE_SYNCHRONOUS || p->n_averaged > 0)
        fprintf(to, "; %s makes one update a round, of the mean of %d gradients", p->mode->name,
                p->n_averaged > 0 ? p->n_averaged : p->n_workers);
    else
        fprintf(to, "; %s makes %d updates a round, each of one worker's gradient", p->mode->name, p->n_workers);
    tell_rate(p, single, to);
    if (p->lowers_stale)
        fprintf(to, ", over its staleness");
}

/* J2 */
static void tell_some_reached(const struct target_split *split, const struct point *p, const struct point *single,
                              FILE *to)
{
    char number[32];

    fprintf(to, "target loss reached in %zu of %zu launch%s with %s, %d workers, and in %zu of %zu alone: no verdict",
            target_n_reached(p), p->n_launches, p->n_launches == 1 ? "" : "es", p->mode->name, p->n_workers,
            target_n_reached(single), single->n_launches);
    if (split->n_pairs == 0)
        return;
    fprintf(to, "; in the %zu block%s where both did: %s x", split->n_pairs, split->n_pairs == 1 ? "" : "s",
            ratio_text(number, split->sooner_ratio));
    tell_split(split, p, single, to);
}

bool target_all_reached(const struct point *p, const struct point *single)
{
    return target_n_reached(p) == p->n_launches && target_n_reached(single) == single->n_launches;
}

void target_tell(const struct point *p, const struct point *single, const struct comparison *x, const char *judged,
                 FILE *to)
{
    const size_t at = offsetof(struct launch, seconds_to_target_s);
    const struct target_split split = target_split(p, single);
    char setting[LAUNCH_NAME_BYTES], number[3][32];

    point_setting(setting, sizeof setting, p, ", ", " ");
    fprintf(to, "%s: ", setting);
    if (!target_all_reached(p, single)) {
        tell_some_reached(&split, p, single, to);
        fprintf(to, ".\n");
        return;
    }
    fprintf(to, "target loss after %.3g s with %s, %d workers, and %.3g s alone: ", point_mean(p, at), p->mode->name,
            p->n_workers, point_mean(single, at));
    if (!judged[0] || isnan(x->ratio_low))
        fprintf(to, "%s x", ratio_text(number[0], split.sooner_ratio));
    else
        fprintf(to, "%s (%s x, 95 %%: %s to %s)", judged, ratio_text(number[0], x->ratio),
                ratio_text(number[1], x->ratio_low), ratio_text(number[2], x->ratio_high));
    tell_split(&split, p, single, to);
    fprintf(to, ".\n");
}
