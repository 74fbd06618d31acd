/* SPDX-License-Identifier: Apache-2.0 */
/* synthetic_fleet.h - tournaments and metrics of fleets that are not there, with the faults and the noise asked for. */
#ifndef HARNESS_ACCEPT_SUITE_SYNTHETIC_FLEET_H
#define HARNESS_ACCEPT_SUITE_SYNTHETIC_FLEET_H

#include "harness/accept/blame.h"
#include "harness/accept/inject.h"

struct synthetic_fleet {
    int n_nodes, n_node_ranks, n_repeats; /* n_node_ranks 0: 1 */
    uint64_t seed;
    double noise, pair_noise, node_noise; /* sd of logarithms: of each repeat; of what stays of a pair, of a node */
    double wild_ratio;                    /* of pairs, and of ranks, that have half the rate in one repeat */
    bool has_latencies;
    struct fault fault[8]; /* FAULT_SLOW_NODE, _LINK, _RANK */
    int n_faults;
};

#define SYNTHETIC_BYTES_PER_S 1e8
#define SYNTHETIC_LATENCY_S 20e-6
#define SYNTHETIC_FLOPS_PER_S 5e9

static const struct blame_terms synthetic_terms = { 0.05, 0.1, 1 };

/* Opens a, with a tournament and METRIC_GEMM of this fleet. node_at[n_nodes]: where in a the fleet's node is; NULL:
 * where it is. */
void synthetic_fleet_measure(struct acceptance *a, const struct synthetic_fleet *f, const int *node_at);
/* Faults of node and link that have a finding which names them as what they are, in both directions where they are. */
int synthetic_fleet_found(const struct acceptance *a, const struct synthetic_fleet *f);
/* Findings that no fault is the reason of. */
int synthetic_fleet_false(const struct acceptance *a, const struct synthetic_fleet *f);
/* Findings of a subject; metric NULL: any. */
int findings_of(const struct acceptance *a, enum subject subject, const char *metric);

#endif
