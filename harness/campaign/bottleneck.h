/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bottleneck.h - what a simulated step waits for: of all that works in it, the part that is busy for most of it, by
 * what the simulation counted (cluster/link_loads.h).
 *
 * Invariants
 *   N1  The share of a part is the least time it needs for its work of a step over the step's time: at most 1, but
 *       for the parameters that worker 0 takes home behind the last step.
 *   N2  Where no part is busy for half of a step there is no bottleneck: parts wait for each other in turn.
 */
#ifndef HARNESS_CAMPAIGN_BOTTLENECK_H
#define HARNESS_CAMPAIGN_BOTTLENECK_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/campaign/simulations.h"
#include "harness/cluster/topology.h"

enum { BOTTLENECK_BYTES = 200, BOTTLENECK_COMPUTE = N_LOADS, N_PARTS = N_LOADS + 1 };

struct bottleneck {
    int part, second; /* an enum load_kind, or BOTTLENECK_COMPUTE: the busiest and the next */
    double ratio, second_ratio;
    double network_ratio; /* of the busiest network card */
    bool is_one;          /* N2 */
};

/* s has been simulated on t. Pure. */
struct bottleneck bottleneck_find(const struct simulation *s);
/* "the network card of fc6/w's server, 96 %"; exchange: "ring", "ps". */
void bottleneck_text(char *out, size_t n_bytes, const struct bottleneck *b, const struct simulation *s,
                     const struct topology *t, const char *exchange);
/* The busiest part alone, in few letters: "server's network, 96 %". */
void bottleneck_short_text(char *out, size_t n_bytes, const struct bottleneck *b, const struct simulation *s,
                           const struct topology *t);

#endif
