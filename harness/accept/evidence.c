/* SPDX-License-Identifier: Apache-2.0 */
/*
 * evidence.c - the value of repeats of one measurement (a pair of nodes, a rank), and how far chance alone moves it
 * away from the fleet; see evidence.h.
 */
#include "harness/accept/evidence.h"

#include <math.h>

#include "harness/measure/robust.h"
#include "harness/measure/sorted.h"

/* Of a normal number: standard deviation over the distance of quartile and median; the standard error of a median over
 * that of a mean. */
static const double QUARTER_TO_SD = 1.4826, MEDIAN_ERROR = 1.2533;
static const double FLOORS_PER_BORDER = 5, OPEN_ERRORS = 3, DOUBT_REPEATS = 4, MOST_EFFECT = 0.99, MOST_DOF = 15;

static size_t best_quarter(size_t n)
{
    return (3 * (n - 1) + 3) / 4;
}

struct evidence evidence_of(double *x, int n)
{
    struct evidence e = { .n = n, .value = NAN, .doubt = NAN, .variance = NAN };
    double mean = 0, squares = 0;

    if (n < 2)
        return e;
    sorted_make(x, (size_t)n);
    e.value = x[n / 2];
    e.doubt = QUARTER_TO_SD * (x[best_quarter((size_t)n)] - e.value);
    for (int i = 0; i < n; i++)
        mean += (x[i] - x[0]) / n; /* from the first, so that equal values have no spread at all */
    for (int i = 0; i < n; i++)
        squares += (x[i] - x[0] - mean) * (x[i] - x[0] - mean);
    e.variance = squares / (n - 1);
    return e;
}

double blame_border(double least_effect_ratio, bool higher_is_better)
{
    return higher_is_better ? -log1p(-fmin(least_effect_ratio, MOST_EFFECT)) : log1p(least_effect_ratio);
}

/* Median of the variance of n normal numbers of variance 1 (Wilson and Hilferty's approximation). */
static double median_variance(int n)
{
    return pow(1 - 2 / (9.0 * (n - 1)), 3);
}

struct noise noise_of_repeats(const struct evidence *e, size_t n, double border, double *scratch)
{
    struct noise noise = { .border = border };
    size_t n_values = 0;

    for (size_t i = 0; i < n; i++)
        if (evidence_is(&e[i])) {
            scratch[n_values++] = e[i].variance / median_variance(e[i].n);
            noise.dof += e[i].n - 1;
        }
    noise.dof = fmin(noise.dof, MOST_DOF);
    if (n_values == 0)
        return noise;
    noise.repeat = sqrt(robust_median(scratch, n_values));
    n_values = 0;
    for (size_t i = 0; i < n; i++)
        if (evidence_is(&e[i]))
            scratch[n_values++] = e[i].n;
    noise.typical = MEDIAN_ERROR * noise.repeat / sqrt(robust_median(scratch, n_values));
    return noise;
}

double spread_between(double *deviation, size_t n)
{
    if (n < 2)
        return 0;
    return n <= ROBUST_FEW ? robust_spread_of_few(deviation, n)
                           : robust_spread(deviation, n, robust_median(deviation, n));
}

double dof_between(size_t n, size_t n_parameters)
{
    const size_t n_free = n > n_parameters ? n - n_parameters : 0;

    return n <= ROBUST_FEW ? robust_dof_of_few(n_free) : robust_dof(n_free);
}

void noise_add_between(struct noise *noise, double *deviation, size_t n, size_t n_parameters)
{
    if (n < 3)
        return;
    const double all = spread_between(deviation, n);
    const double rest = all * all - noise->typical * noise->typical;

    noise->between = rest > 0 ? sqrt(rest) : 0;
    noise->dof = dof_between(n, n_parameters);
}

double noise_error(const struct noise *noise, const struct evidence *e)
{
    const double repeat = e->doubt > DOUBT_REPEATS * noise->repeat ? e->doubt : noise->repeat;

    return MEDIAN_ERROR * repeat / sqrt(e->n);
}

double noise_p(const struct noise *noise, const struct evidence *e, double deviation)
{
    const double error = noise_error(noise, e);

    if (!(deviation > noise->border))
        return 1;
    return fmax(robust_upper_tail(deviation, hypot(noise->between, error), noise->dof),
                normal_upper_tail(deviation * FLOORS_PER_BORDER / noise->border));
}

bool noise_is_open(const struct noise *noise, const struct evidence *e, double deviation)
{
    return fabs(deviation - noise->border) <= OPEN_ERRORS * noise_error(noise, e);
}
