/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bottleneck.h - what limits a way to exchange, and where another one becomes faster.
 *
 * The bottleneck of a simulated step: the part that is busy for most of it, by the counts of the
 * simulation (cluster/topology.h).
 *
 * Invariants
 *   N1  The share of a part is the least time it needs for its work of a step, over the step's time. It is at most 1,
 *       except for the parameters that worker 0 pulls after the last step.
 *   N2  If no part is busy for half of a step, there is no bottleneck: parts wait for each other in turn.
 */
#ifndef HARNESS_CAMPAIGN_BOTTLENECK_H
#define HARNESS_CAMPAIGN_BOTTLENECK_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/campaign/simulations.h"
#include "harness/cluster/topology.h"

enum { BOTTLENECK_BYTES = 200, BOTTLENECK_COMPUTE = N_LOADS, N_PARTS = N_LOADS + 1 };

struct bottleneck {
    int part, second; /* the busiest part and the next: an enum load_kind, or BOTTLENECK_COMPUTE */
    double ratio, second_ratio;
    double network_ratio; /* of the busiest network card */
    bool is_one;          /* there is a bottleneck (N2) */
};

/* s has been simulated on t. Pure. */
struct bottleneck bottleneck_find(const struct simulation *s);
/* "the network card of fc6/w's server, 96 %"; exchange: "ring", "ps". */
void bottleneck_text(char *out, size_t n_bytes, const struct bottleneck *b, const struct simulation *s,
                     const struct topology *t, const char *exchange);
/* Only the busiest part, in short words: "server's network, 96 %". */
void bottleneck_short_text(char *out, size_t n_bytes, const struct bottleneck *b, const struct simulation *s,
                           const struct topology *t);

/* The numbers of GPUs at which one way to exchange becomes faster than another. */

enum { CROSSOVER_MOST = 8 };
#define CROSSOVER_EQUAL 1e-3 /* rates that differ by less, relatively, count as equal */

struct crossovers {
    bool are_equal;              /* at every number of GPUs, within the tolerance */
    bool first_leads;            /* at the least number of GPUs; if they are equal there, at the next */
    double gpus[CROSSOVER_MOST]; /* ascending: the lead changes there */
    size_t n;                    /* their number; above CROSSOVER_MOST only the first ones are kept */
};

/*
 * first[n], second[n]: rates on n_gpus[n] GPUs, ascending. Between two numbers of GPUs the logarithm of the ratio of
 * both rates is interpolated linearly over the logarithm of GPUs. At points where both are equal, within
 * CROSSOVER_EQUAL, neither leads. Pure.
 */
struct crossovers crossovers_find(const int *n_gpus, const double *first, const double *second, size_t n);

#endif
