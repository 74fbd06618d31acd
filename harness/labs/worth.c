/* SPDX-License-Identifier: Apache-2.0 */
/* worth.c - is a training worth several machines? From times to a target, including start-up; see worth.h. */
#include "harness/labs/worth.h"

#include <math.h>
#include <stdio.h>

#define LEAST_GAIN 1.05

static double whole_s(const struct way_to_target *w)
{
    return w && !isnan(w->to_target_s) ? w->start_s + w->to_target_s : (double)INFINITY;
}

static const struct way_to_target *sooner(const struct way_to_target *a, const struct way_to_target *b)
{
    return whole_s(b) < whole_s(a) ? b : a;
}

/* a is there surely before b, or with it. */
static bool surely_by(const struct way_to_target *a, const struct way_to_target *b)
{
    return whole_s(a) + a->start_half_s <= whole_s(b) - b->start_half_s;
}

/* The time to target alone, T, at which start + T is that of several, their start, so much later, + T / speedup. */
static double pays_from_s(const struct way_to_target *one, const struct way_to_target *several, double later_s)
{
    const double speedup = one->to_target_s / several->to_target_s;

    if (!(speedup > 1))
        return (double)INFINITY;
    return later_s > 0 ? later_s / (1 - 1 / speedup) : 0;
}

/* v->several against one alone, and against the best other way on one machine (NULL: none). */
static void judge(struct worth *v, const struct way_to_target *one, const struct way_to_target *elsewhere)
{
    const double one_s = whole_s(one), several_s = whole_s(v->several), half_s = v->several->start_half_s;
    const double later_s = v->several->start_s - one->start_s, later_half_s = half_s + one->start_half_s;

    v->gain_ratio = one_s / several_s;
    v->efficiency_ratio = v->gain_ratio / v->several->n_workers;
    v->pays_from_s = pays_from_s(one, v->several, later_s);
    v->pays_from_least_s = pays_from_s(one, v->several, later_s - later_half_s);
    v->pays_from_most_s = pays_from_s(one, v->several, later_s + later_half_s);
    if (one_s + one->start_half_s < LEAST_GAIN * (several_s - half_s)) /* which may be below 0 */
        v->reason = WORTH_NOT_SOONER;
    else if (elsewhere && surely_by(elsewhere, v->several))
        v->reason = WORTH_ANOTHER_WAY;
    else if ((one_s - one->start_half_s) / (several_s + half_s) < LEAST_GAIN) {
        v->reason = WORTH_UNSURE;
        v->against = one;
    } else if (elsewhere && !surely_by(v->several, elsewhere)) {
        v->reason = WORTH_UNSURE;
        v->against = elsewhere;
    } else
        v->reason = v->efficiency_ratio < 0.5 ? WORTH_DEAR : WORTH_WORTH_IT;
}

struct worth worth_of(const struct way_to_target *workers, size_t n_workers, const struct way_to_target *another,
                      size_t n_another)
{
    struct worth v = { .gain_ratio = (double)NAN,
                       .efficiency_ratio = (double)NAN,
                       .pays_from_s = (double)INFINITY,
                       .pays_from_least_s = (double)INFINITY,
                       .pays_from_most_s = (double)INFINITY };
    const struct way_to_target *elsewhere = NULL;

    for (size_t i = 1; i < n_workers; i++)
        v.several = sooner(v.several, &workers[i]);
    for (size_t i = 0; i < n_another; i++)
        elsewhere = sooner(elsewhere, &another[i]);
    v.alone = isinf(whole_s(&workers[0])) ? elsewhere : sooner(&workers[0], elsewhere);
    if (!v.several)
        return v;
    judge(&v, &workers[0], elsewhere);
    return v;
}

void worth_print(char *out, size_t n_bytes, const struct worth *v)
{
    const int n = v->several ? v->several->n_workers : 0;

    switch (v->reason) {
    case WORTH_NEVER:
        snprintf(out, n_bytes, "Do not distribute: no number of workers reached the target.");
        break;
    case WORTH_NOT_SOONER:
        snprintf(
            out, n_bytes,
            "Do not distribute: the best of several workers, %d, take %.2f times as long as one, start-up included.", n,
            1 / v->gain_ratio);
        break;
    case WORTH_ANOTHER_WAY:
        snprintf(out, n_bytes,
                 "Do not distribute: %d workers are %.2f times as fast as one, but one machine with %s is there sooner "
                 "(%.3f s, not %.3f).",
                 n, v->gain_ratio, v->alone->name, whole_s(v->alone), whole_s(v->several));
        break;
    case WORTH_UNSURE:
        snprintf(
            out, n_bytes,
            "Cannot tell: %d workers are there after %.3f s (%.3f to %.3f), one machine (%s) after %.3f s (%.3f to "
            "%.3f), by the start-up measured here.",
            n, whole_s(v->several), whole_s(v->several) - v->several->start_half_s,
            whole_s(v->several) + v->several->start_half_s, v->against->name, whole_s(v->against),
            whole_s(v->against) - v->against->start_half_s, whole_s(v->against) + v->against->start_half_s);
        break;
    case WORTH_DEAR:
        snprintf(
            out, n_bytes,
            "Distribute only if the answer is urgent: %d workers are %.2f times as fast as one, and each answer takes "
            "%.2f times the machine time.",
            n, v->gain_ratio, 1 / v->efficiency_ratio);
        break;
    case WORTH_WORTH_IT:
        if (isinf(v->gain_ratio))
            snprintf(out, n_bytes, "Distribute: %d workers reach the target, and one alone does not.", n);
        else
            snprintf(out, n_bytes, "Distribute: %d workers are %.2f times as fast as one, at an efficiency of %.0f %%.",
                     n, v->gain_ratio, 100 * v->efficiency_ratio);
        break;
    }
}
