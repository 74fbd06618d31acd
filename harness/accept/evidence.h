/* SPDX-License-Identifier: Apache-2.0 */
/*
 * evidence.h - what the repeats of one measurement (a pair of nodes, a rank) say, and how far from the others chance
 * alone takes it. Values are on a scale on which higher is better: logarithms of rates, say. Private to this room.
 *
 * Invariants
 *   E1  The value is the middle repeat, of an even number the better of the two in the middle: one wild repeat of two,
 *       two of four, blame nobody.
 *   E2  Repeats that contradict a bad value count: where the best quarter of them is farther above the value than noise
 *       takes it, the measurement is as uncertain as they are apart (doubt). Repeats far below are not in doubt.
 *   E3  Noise is what a typical measurement's repeats differ by (the median of their variances), and what measurements
 *       differ by from each other beyond that, which no number of repeats averages out.
 *   E4  A deviation is as probable as the more lenient of two says: chance of that noise, by Student's t with the few
 *       degrees of freedom that a robust spread has; and chance of a fifth of the border of blame, by the normal
 *       distribution, so that among measurements that hardly differ nobody is blamed for little.
 */
#ifndef HARNESS_ACCEPT_EVIDENCE_H
#define HARNESS_ACCEPT_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>

struct evidence {
    int n;           /* repeats measured */
    double value;    /* E1; NaN: fewer than two */
    double doubt;    /* E2: standard deviation of a repeat */
    double variance; /* of repeats, divisor n - 1 */
};

/* Of x[n], none NaN; reorders x. Cannot fail. */
struct evidence evidence_of(double *x, int n);

static inline bool evidence_is(const struct evidence *e)
{
    return e->n >= 2;
}

struct noise {
    double repeat;  /* standard deviation of one repeat; 0 where none was repeated */
    double typical; /* of a value, of a typical number of repeats */
    double between; /* of values, beyond repeats */
    double dof;     /* of between */
    double border;  /* deviations up to it are nobody's fault */
};

/* Border of blame on the logarithmic scale: of rates (higher is better), of times. */
double blame_border(double least_effect_ratio, bool higher_is_better);
/* Noise of repeats of e[n], those without a value left out; between 0, dof that of the repeats. scratch[n]. */
struct noise noise_of_repeats(const struct evidence *e, size_t n, double border, double *scratch);
/* What values differ by from each other: deviation[n] (overwritten) of healthy ones, fitted with n_parameters. Fewer
 * than three: noise stays that of repeats. */
void noise_add_between(struct noise *noise, double *deviation, size_t n, size_t n_parameters);
/* Its parts: the spread of deviation[n] (reordered; 0 of one), by all differences where they are few, else by MAD; and
 * its degrees of freedom. */
double spread_between(double *deviation, size_t n);
double dof_between(size_t n, size_t n_parameters);
/* Standard error of a value that repeats cause. */
double noise_error(const struct noise *noise, const struct evidence *e);
/* E4: probability of a deviation this large, or larger; 1 up to the border. */
double noise_p(const struct noise *noise, const struct evidence *e, double deviation);
/* Could more repeats still change on which side of the border the deviation is? */
bool noise_is_open(const struct noise *noise, const struct evidence *e, double deviation);

#endif
