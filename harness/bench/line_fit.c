/* SPDX-License-Identifier: Apache-2.0 */
/* line_fit.c - a robust fit of the line t = intercept + slope x to measured times; see line_fit.h. */
#include "harness/bench/line_fit.h"

#include <assert.h>
#include <math.h>

struct points {
    const double *x, *t_s;
    size_t n;
};

/* The sum that is to be least. */
static double cost(const struct line_fit *line, const struct points *p)
{
    double sum = 0;

    for (size_t i = 0; i < p->n; i++)
        sum += fabs(log(line_fit_s(line, p->x[i]) / p->t_s[i]));
    return sum;
}

/* Take a line that is better than the best so far; of equal ones the first stays. */
static void consider(struct line_fit *best, double *least, const struct points *p, double intercept_s, double slope_s)
{
    const struct line_fit line = { .intercept_s = intercept_s, .slope_s = slope_s };

    if (!(intercept_s >= 0) || !(slope_s >= 0))
        return;
    const double sum = cost(&line, p);
    if (sum < *least) {
        *least = sum;
        *best = line;
    }
}

struct line_fit line_fit_of(const double *x, const double *t_s, size_t n)
{
    const struct points p = { x, t_s, n };
    struct line_fit best = { 0 };
    double least = INFINITY;

    assert(n >= 1);
    for (size_t i = 0; i < n; i++) {
        assert(x[i] > 0 && t_s[i] > 0 && (i == 0 || x[i] > x[i - 1]));
        for (size_t k = 0; k < i; k++) {
            const double slope_s = (t_s[i] - t_s[k]) / (x[i] - x[k]);
            consider(&best, &least, &p, t_s[k] - slope_s * x[k], slope_s);
        }
        consider(&best, &least, &p, 0, t_s[i] / x[i]);
        if (n > 1)
            consider(&best, &least, &p, t_s[i], 0);
    }
    for (size_t i = 0; i < n; i++) {
        const double ratio = line_fit_residual_ratio(&best, x[i], t_s[i]);
        if (fabs(ratio) > fabs(best.worst_ratio)) {
            best.worst_ratio = ratio;
            best.worst = i;
        }
    }
    return best;
}

double line_fit_s(const struct line_fit *fit, double x)
{
    return fit->intercept_s + fit->slope_s * x;
}

double line_fit_residual_ratio(const struct line_fit *fit, double x, double t_s)
{
    return t_s / line_fit_s(fit, x) - 1;
}
