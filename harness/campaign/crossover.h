/* SPDX-License-Identifier: Apache-2.0 */
/* crossover.h - the numbers of GPUs at which one way to exchange becomes faster than another. */
#ifndef HARNESS_CAMPAIGN_CROSSOVER_H
#define HARNESS_CAMPAIGN_CROSSOVER_H

#include <stdbool.h>
#include <stddef.h>

enum { CROSSOVER_MOST = 8 };

struct crossovers {
    bool are_equal;              /* at every number of GPUs, within the tolerance */
    bool first_leads;            /* at the least number of GPUs; if they are equal there, at the next */
    double gpus[CROSSOVER_MOST]; /* ascending: the lead changes there */
    size_t n;                    /* their number; above CROSSOVER_MOST only the first ones are kept */
};

/*
 * first[n], second[n]: rates on n_gpus[n] GPUs, ascending. Between two numbers of GPUs the logarithm of the ratio of
 * both rates is interpolated linearly over the logarithm of GPUs. At points where both are equal, to 1 in 10^9, neither
 * leads. Pure.
 */
struct crossovers crossovers_find(const int *n_gpus, const double *first, const double *second, size_t n);

#endif
