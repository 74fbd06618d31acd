/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster.h - a description of a cluster for the sim world, read from YAML.
 *
 *   name: four-nodes            # text
 *   hosts_count: 4              # 0: as many as the ranks need
 *   ranks_per_host_count: 1
 *   link_bits_per_s: 1e9        # each host to the switch, full duplex
 *   link_latency_s: 25e-6       # one way, host to host
 *   local_bytes_per_s: 5e9      # between ranks of one host
 *   local_latency_s: 1e-6
 *   flops_per_s: 20e9           # of one rank
 *   memory_bytes_per_s: 8e9     # of one rank, streaming
 *   cores_per_rank_count: 1     # on which a rank's tasks compute, each at flops_per_s
 *
 * All keys but name, cores_per_rank_count and the two local ones are required; an unknown key is an error.
 */
#ifndef HARNESS_CLUSTER_CLUSTER_H
#define HARNESS_CLUSTER_CLUSTER_H

#include "harness/base/rc.h"

/* More ranks than this are refused: each is an actor with a stack. */
enum { CLUSTER_MAX_RANKS = 8192 };

struct cluster {
    char name[64];
    int n_hosts; /* 0: as many as the ranks need */
    int n_ranks_per_host;
    double link_bytes_per_s, link_latency_s;
    double local_bytes_per_s, local_latency_s;
    double flops_per_s, memory_bytes_per_s; /* of one core */
    int n_cores_per_rank;
};

/* The built-in default: as many hosts as needed, one rank each, 1 Gbit/s, 25 us, 20 GFLOP/s, 8 GB/s. */
void cluster_default(struct cluster *out);
/* RC_INVAL: "FILE: cannot be read: ..." or "FILE:LINE: key: what is wrong and what would be right". */
enum rc cluster_load(struct cluster *out, const char *path) MUST_CHECK;
/* RC_INVAL when n_ranks do not fit; names the numbers. */
enum rc cluster_check(const struct cluster *c, int n_ranks) MUST_CHECK;

#endif
