/* SPDX-License-Identifier: Apache-2.0 */
/*
 * evidence.h - the value of repeats of one measurement (a pair of nodes, a rank), and how far chance alone moves it
 * away from the fleet. Values are on a scale on which higher is better, e.g. logarithms of rates. Private to accept/.
 *
 * Invariants
 *   E1  The value is the middle repeat; of an even number the better of the two middle ones. So one wild repeat of two,
 *       or two of four, blames nothing.
 *   E2  Repeats that contradict a bad value count. If the best quarter of them is farther above the value than noise
 *       explains, that distance is the uncertainty of the measurement (doubt). Repeats far below cause no doubt.
 *   -   Noise has two parts: the differences between repeats of a typical measurement (the median of their variances),
 *       and the differences between measurements beyond that, which no number of repeats averages out.
 *   E4  The probability of a deviation is the more lenient of two. The first is chance with that noise, by Student's t
 *       with the few degrees of freedom that a robust spread has. The second is chance with a fifth of the border of
 *       blame, by the normal distribution. So among nearly equal measurements nothing is blamed for a small deviation.
 */
#ifndef HARNESS_ACCEPT_EVIDENCE_H
#define HARNESS_ACCEPT_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>

struct evidence {
    int n;           /* repeats measured */
    double value;    /* accept.E1; NaN: fewer than two */
    double doubt;    /* accept.E2: standard deviation of a repeat */
    double variance; /* of repeats, divisor n - 1 */
};

/* Evaluate x[n], none NaN; reorders x. Cannot fail. */
struct evidence evidence_of(double *x, int n);

static inline bool evidence_is(const struct evidence *e)
{
    return e->n >= 2;
}

struct noise {
    double repeat;  /* standard deviation of one repeat; 0 if none was repeated */
    double typical; /* of a value, with a typical number of repeats */
    double between; /* of values, beyond repeats */
    double dof;     /* of between */
    double border;  /* deviations up to it are not blamed */
};

/* Border of blame on the logarithmic scale: for rates (higher is better), for times. */
double blame_border(double least_effect_ratio, bool higher_is_better);
/* Noise of the repeats of e[n]; entries without a value are skipped. between is 0, dof that of repeats. scratch[n]. */
struct noise noise_of_repeats(const struct evidence *e, size_t n, double border, double *scratch);
/* Add the differences between values: deviation[n] (overwritten) of healthy values, fitted with n_parameters. With
 * fewer than three, noise stays that of repeats. */
void noise_add_between(struct noise *noise, double *deviation, size_t n, size_t n_parameters);
/* Parts of noise_add_between(): the spread of deviation[n] (reordered; 0 for one), by all differences if they are few,
 * else by MAD; and its degrees of freedom. */
double spread_between(double *deviation, size_t n);
double dof_between(size_t n, size_t n_parameters);
/* Standard error of a value, due to its repeats. */
double noise_error(const struct noise *noise, const struct evidence *e);
/* accept.E4: probability of a deviation this large, or larger; 1 up to the border. */
double noise_p(const struct noise *noise, const struct evidence *e, double deviation);
/* Could more repeats still change on which side of the border the deviation is? */
bool noise_is_open(const struct noise *noise, const struct evidence *e, double deviation);

#endif
