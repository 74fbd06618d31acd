/* SPDX-License-Identifier: Apache-2.0 */
/* flows_kit.h - messages on a cluster, drawn at random, and when each arrives: by sim_network.c, and by the definition.
 */
#ifndef HARNESS_WORLD_SUITE_FLOWS_KIT_H
#define HARNESS_WORLD_SUITE_FLOWS_KIT_H

#include <stdint.h>

#include "harness/cluster/topology.h"

enum { KIT_FLOWS = 1024 };

struct kit_flow {
    int from, to;
    double at_s, n_bytes;
};

struct kit_flows {
    struct topology topology;
    int n;
    struct kit_flow flow[KIT_FLOWS];
};

/* A cluster of few ranks and up to n messages among them, of 1 B to 10 MB, within some milliseconds. */
void kit_flows_draw(struct kit_flows *out, uint64_t seed, int n);
/* arrived_s[i] := when flow[i] is there, by sim_network.c. Returns 0; else that is broken: 1. */
int kit_flows_play(const struct kit_flows *k, double *arrived_s);
/* The same by the definition of max-min fairness: all rates anew whenever a flow begins or ends. */
void kit_flows_by_definition(const struct kit_flows *k, double *arrived_s);
/* The largest difference of flows' durations, relative to them. */
double kit_flows_error(const struct kit_flows *k, const double *arrived_s, const double *expected_s);

#endif
