/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calibration.h - a measured cluster, and the cluster description with which the sim world reproduces the measurement.
 *
 * cluster/topology.h has the simulator's costs. A message to another host takes 2 message_s + link_latency_s + n /
 * rate. With one-way times alpha + beta n and an overhead o at either end: link_latency_s = alpha - 2 o,
 * link_bits_per_s = 8 / beta, both including the protocol's share; the protocol's own latency is 0 and its rate_ratio
 * 1. If the longest message takes t in both directions at once, link_duplex_ratio = 2 beta n / (t - alpha), 1 to 2.
 * Within a host there is no cost per message: local_latency_s is all of alpha.
 */
#ifndef HARNESS_BENCH_CALIBRATION_H
#define HARNESS_BENCH_CALIBRATION_H

#include "harness/bench/compute_bench.h"
#include "harness/bench/link_bench.h"
#include "harness/cluster/cluster.h"

struct calibration {
    int n_ranks;
    struct link_bench links;
    struct compute_bench compute;
    double server_memory_bytes_per_s, server_flops_per_s; /* of a host whose workers compute elsewhere; 0: same */
};

/* The names of the link classes, for tables: "between hosts", "within a host". */
const char *calibration_class_name(enum link_class of);
/* Which messages of a host share its rate; SHARING_NONE also if nothing was measured (n_pairs 0). */
enum cluster_sharing calibration_sharing(const struct local_sharing *s);
/*
 * *out, with the source of each value in *sources: the measurement and its extent; "assumed: ..." for all other values.
 *
 * The protocol is PROTOCOL_TCP if an overhead per message was found, else PROTOCOL_BARE.
 *
 * RC_INVAL: a measured value is outside of the range of its key; names both.
 */
enum rc calibration_describe(struct cluster *out, struct cluster_sources *sources, const struct calibration *c,
                             const char *name) MUST_CHECK;

/* What the sources of a noisy calibration say, and what helps. */
#define CALIBRATION_DOUBTFUL "measured while other programs ran"
#define CALIBRATION_REMEDY ". Run gradmark calibrate again on an idle machine.\n"

/* Is the jitter so large that other programs are the likely cause? */
bool calibration_is_noisy(const struct calibration *m);

/* Make the jitter of the description of a noisy calibration assumed: it is that of other programs. */
void calibration_doubt(struct cluster *c, struct cluster_sources *sources, const struct calibration *m);
/* Print a line if calibration_doubt() marked the description with these sources; name: of its file. */
void calibration_tell_doubt(const struct cluster_sources *sources, const char *name, FILE *to);

#endif
