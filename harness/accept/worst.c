/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worst.c - the worst rank of a metric, and the worst pair of a tournament, by the medians of their repeats; see
 * worst.h.
 */
#include "harness/accept/worst.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "harness/measure/interval.h"
#include "harness/measure/robust.h"

/* out[0 .. return - 1] := the finite ones of x, in order. */
static int take_finite(double out[ACCEPT_MAX_REPEATS], const double *x, int n, size_t stride)
{
    int n_finite = 0;

    assert(n <= ACCEPT_MAX_REPEATS);
    for (int i = 0; i < n; i++)
        if (isfinite(x[(size_t)i * stride]))
            out[n_finite++] = x[(size_t)i * stride];
    return n_finite;
}

double finite_median(const double *x, int n, size_t stride, int *n_finite)
{
    double finite[ACCEPT_MAX_REPEATS];

    *n_finite = take_finite(finite, x, n, stride);
    return robust_median(finite, (size_t)*n_finite);
}

/* The interval of the mean, made to hold the median. */
static void set_interval(struct worst *w, const double *x, int n, size_t stride)
{
    double finite[ACCEPT_MAX_REPEATS];
    const int n_finite = take_finite(finite, x, n, stride);
    const struct interval i = interval_of_launches(finite, (size_t)n_finite);

    w->low = isnan(i.low) ? NAN : fmin(i.low, w->value);
    w->high = isnan(i.high) ? NAN : fmax(i.high, w->value);
}

/* Take the repeats x of (a, b) into account. */
static void consider(struct worst *w, int a, int b, const double *x, int n, size_t stride, bool higher_is_better)
{
    int n_finite;
    const double value = finite_median(x, n, stride, &n_finite);

    if (n_finite == 0) {
        if (w->missing_a < 0) {
            w->missing_a = a;
            w->missing_b = b;
        }
        return;
    }
    w->n_subjects++;
    w->n_samples += n_finite;
    if (w->a >= 0 && !(higher_is_better ? value < w->value : value > w->value))
        return;
    w->a = a;
    w->b = b;
    w->value = value;
    set_interval(w, x, n, stride);
}

static const struct worst nobody = {
    .a = -1, .b = -1, .value = NAN, .low = NAN, .high = NAN, .missing_a = -1, .missing_b = -1
};

struct worst worst_rank(const struct acceptance *a, int metric)
{
    const struct rank_metric *m = &a->metric[metric];
    struct worst w = nobody;

    for (int r = 0; m->value && r < a->n_ranks; r++)
        consider(&w, r, a->node_of_rank[r], m->value + (size_t)r * (size_t)m->n_repeats, m->n_repeats, 1,
                 m->higher_is_better);
    return w;
}

struct worst worst_pair(const struct tournament *t, bool latency)
{
    const size_t n = (size_t)t->n_nodes;
    const double *x = latency ? t->latency_s : t->bytes_per_s;
    struct worst w = nobody;

    for (size_t i = 0; x && i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (i != j)
                consider(&w, (int)i, (int)j, x + i * n + j, t->n_repeats, n * n, !latency);
    return w;
}
