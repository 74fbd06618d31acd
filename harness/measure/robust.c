/* SPDX-License-Identifier: Apache-2.0 */
/*
 * robust.c - middle and spread of numbers that include outliers, the probability of a deviation, and the joint
 * significance of many deviations; see robust.h.
 */
#include "harness/measure/robust.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "harness/measure/interval.h"
#include "harness/measure/sorted.h"

static const double MAD_TO_SD = 1.482602218505602, DISTANCE_TO_SD = 2.2219, DOF_PER_TWO = 0.9, MOST_DOF = 15;

struct ranked_p {
    double p;
    size_t index;
};

double robust_median(double *x, size_t n)
{
    if (n == 0)
        return NAN;
    sorted_make(x, n);
    return sorted_median(x, n);
}

double robust_spread(double *x, size_t n, double middle)
{
    for (size_t i = 0; i < n; i++)
        x[i] = fabs(x[i] - middle);
    return MAD_TO_SD * robust_median(x, n);
}

/* The factors are those of Croux and Rousseeuw, Computational Statistics 1, 1992. */
static double few_factor(size_t n)
{
    static const double factor[] = { 0, 0, 0.399, 0.994, 0.512, 0.844, 0.611, 0.857, 0.669, 0.872 };

    if (n < sizeof factor / sizeof *factor)
        return factor[n];
    return (double)n / ((double)n + (n % 2 ? 1.4 : 3.8));
}

double robust_spread_of_few(const double *x, size_t n)
{
    double distance[ROBUST_FEW * (ROBUST_FEW - 1) / 2] = { 0 };
    const size_t h = n / 2 + 1;
    size_t k = 0;

    assert(n >= 2 && n <= ROBUST_FEW);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            distance[k++] = fabs(x[i] - x[j]);
    sorted_make(distance, k);
    return DISTANCE_TO_SD * few_factor(n) * distance[h * (h - 1) / 2 - 1];
}

double robust_dof_of_few(size_t n)
{
    const size_t n_twos = n / 2;

    if (n < 3)
        return 0;
    return n == 3 ? 1 : fmin(2 * (double)(n_twos - 1), MOST_DOF);
}

double robust_dof(size_t n)
{
    const size_t n_twos = n / 2;
    const double dof = DOF_PER_TWO * (double)n_twos;

    return dof < MOST_DOF ? dof : MOST_DOF;
}

double normal_upper_tail(double z)
{
    return erfc(z / sqrt(2)) / 2;
}

double robust_upper_tail(double deviation, double spread, double dof)
{
    if (!(dof > 0))
        return 1;
    if (spread == 0)
        return deviation > 0 ? 0 : 1;
    const double t = deviation / spread;
    if (isinf(dof))
        return normal_upper_tail(t);
    return t > 0 ? student_two_sided(t, dof) / 2 : 1 - student_two_sided(-t, dof) / 2;
}

static int by_p(const void *a, const void *b)
{
    const struct ranked_p *x = a, *y = b;

    return (x->p > y->p) - (x->p < y->p);
}

enum rc robust_q_values(double *q, const double *p, size_t n, size_t n_tests)
{
    struct ranked_p *ranked = malloc((n > 0 ? n : 1) * sizeof *ranked);
    double least = 1;

    assert(n_tests >= n);
    if (!ranked)
        return rc_raise(RC_NOMEM, "no memory for %zu probabilities", n);
    for (size_t i = 0; i < n; i++)
        ranked[i] = (struct ranked_p){ p[i], i };
    qsort(ranked, n, sizeof *ranked, by_p);
    for (size_t k = n; k-- > 0;) { /* measure.M4, from the largest p: equal p get equal q, in whatever order */
        const double here = ranked[k].p * (double)n_tests / (double)(k + 1);
        least = here < least ? here : least;
        q[ranked[k].index] = least;
    }
    free(ranked);
    return RC_OK;
}

#define TAIL 0.025

/* The most k >= 1 with P(fewer than k of n on one side) <= TAIL, of a binomial of probability 1/2; 0: none. */
static size_t rank_of_low(size_t n)
{
    double one = exp2(-(double)n), below = one; /* P(i of n), P(at most i) */
    size_t k = 0;

    while (below <= TAIL) {
        one *= (double)(n - k) / (double)(k + 1);
        below += one;
        k++;
    }
    return k;
}

struct interval median_interval(double *x, size_t n)
{
    struct interval i = { NAN, NAN, NAN, (double)n };

    if (n == 0)
        return i;
    sorted_make(x, n);
    i.mean = sorted_median(x, n);
    const size_t k = rank_of_low(n);
    if (k > 0) {
        i.low = x[k - 1];
        i.high = x[n - k];
    }
    return i;
}
