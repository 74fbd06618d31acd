/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jitter_fit.c - which of the distributions of cluster/cluster.h fits repeated times of equal work, and its size;
 * see jitter_fit.h.
 */
#include "harness/bench/jitter_fit.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "harness/measure/sorted.h"

/* A base that is less than so much of the least time is not that of these times. */
#define LEAST_BASE_RATIO 0.5

/* The second L-moment of X of mean 1: half of what two draws differ by. */
static double scale_of(enum cluster_jitter kind)
{
    switch (kind) {
    case JITTER_EXPONENTIAL:
        return 0.5;
    case JITTER_HALFNORMAL:
        return 0.41421356237309503; /* sqrt(2) - 1 */
    case JITTER_LOGNORMAL:
        return 0.52049987781304654; /* erf(1/2): its sigma is 1 */
    case JITTER_NONE:
        break;
    }
    return 0;
}

/* P(X <= x) */
static double share_below(enum cluster_jitter kind, double x)
{
    if (!(x > 0))
        return 0;
    switch (kind) {
    case JITTER_EXPONENTIAL:
        return -expm1(-x);
    case JITTER_HALFNORMAL: /* |N| sqrt(pi / 2) */
        return erf(x / 1.7724538509055159);
    case JITTER_LOGNORMAL: /* e^(N - 1/2) */
        return 0.5 * erfc(-(log(x) + 0.5) / 1.4142135623730951);
    case JITTER_NONE:
        break;
    }
    return 1;
}

static double distance(const struct jitter_fit *fit, const double *t_s, size_t n)
{
    double most = 0;

    for (size_t i = 0; i < n; i++) {
        const double share = share_below(fit->kind, (t_s[i] / fit->base_s - 1) / fit->ratio);
        most = fmax(most, fmax(share - (double)i / (double)n, (double)(i + 1) / (double)n - share));
    }
    return most;
}

struct jitter_fit jitter_fit_of(double *t_s, size_t n)
{
    struct jitter_fit best = { .kind = JITTER_NONE, .distance = INFINITY, .n_times = n };
    double mean_s = 0, rising_s = 0;

    assert(n >= 2);
    sorted_make(t_s, n);
    for (size_t i = 0; i < n; i++) {
        mean_s += t_s[i] / (double)n;
        rising_s += t_s[i] * ((double)i / (double)(n - 1)) / (double)n;
    }
    const double moment_s = 2 * rising_s - mean_s; /* the second L-moment */
    for (int kind = JITTER_EXPONENTIAL; kind <= JITTER_LOGNORMAL; kind++) {
        struct jitter_fit fit = { .kind = (enum cluster_jitter)kind, .n_times = n };
        const double added_s = moment_s / scale_of(fit.kind);
        fit.base_s = mean_s - added_s;
        if (fit.base_s < LEAST_BASE_RATIO * t_s[0]) /* a few are so long that no distribution is as uneven */
            fit.base_s = t_s[0];
        fit.ratio = mean_s / fit.base_s - 1;
        if (fit.ratio < JITTER_LEAST_RATIO)
            continue;
        fit.distance = distance(&fit, t_s, n);
        if (fit.distance < best.distance)
            best = fit;
    }
    if (best.kind == JITTER_NONE)
        best = (struct jitter_fit){ .kind = JITTER_NONE, .base_s = mean_s, .n_times = n };
    return best;
}
