/* SPDX-License-Identifier: Apache-2.0 */
/* crossover.h - on how many GPUs one way to exchange becomes faster than another. */
#ifndef HARNESS_CAMPAIGN_CROSSOVER_H
#define HARNESS_CAMPAIGN_CROSSOVER_H

#include <stdbool.h>
#include <stddef.h>

enum { CROSSOVER_MOST = 8 };

struct crossovers {
    bool are_equal;              /* at every number of GPUs, as far as one can tell */
    bool first_leads;            /* at the least number of GPUs, or where they are equal there, behind it */
    double gpus[CROSSOVER_MOST]; /* ascending: the lead changes there */
    size_t n;                    /* how many there are; above CROSSOVER_MOST the first of them are kept */
};

/*
 * first[n], second[n]: rates on n_gpus[n] GPUs, ascending. Between two numbers of GPUs the logarithm of the ratio of
 * both rates is taken to be a straight line over the logarithm of GPUs. Points where both are equal, to 1 in 10^9, lead
 * to nobody. Pure.
 */
struct crossovers crossovers_find(const int *n_gpus, const double *first, const double *second, size_t n);

#endif
