/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link_loads.h - how long messages keep each link of a topology and each process busy, to find the bottleneck of a job.
 *
 * Invariants
 *   Q1  A message loads every link of its topology_path() by its bytes over the link's rate. That is the least time
 *       that the link needs, whatever other messages use it. Links that messages do not share have no load.
 *   Q2  Among equally busy links, the one with the lowest index is the busiest.
 */
#ifndef HARNESS_CLUSTER_LINK_LOADS_H
#define HARNESS_CLUSTER_LINK_LOADS_H

#include "harness/cluster/topology.h"

enum load_kind {                                   /* the kinds of links, then these */
                 LOAD_HANDLING = TOPOLOGY_N_KINDS, /* a process that sends and receives; index: the rank */
                 LOAD_SERVER,                      /* the processor of a parameter server; index: the rank */
                 N_LOADS
};

struct link_load { /* the busiest of a kind; zeros: no such link */
    int index;     /* as in topology_link */
    double busy_s;
    uint64_t n_bytes; /* sent over it; 0 if it is not a link */
};

struct link_loads { /* owned; topology is borrowed */
    const struct topology *topology;
    struct link_load *load[N_LOADS];
    int n[N_LOADS];
};

/* RC_NOMEM. */
enum rc link_loads_open(struct link_loads *out, const struct topology *t) MUST_CHECK;
void link_loads_close(struct link_loads *l); /* accepts a zeroed one */
/* Add a message from one rank to another. Cannot fail. */
void link_loads_add(struct link_loads *l, int from, int to, uint64_t n_bytes);
/* Add `seconds` of computing by the server of this rank. */
void link_loads_serve(struct link_loads *l, int rank, double seconds);
/* cluster.Q2. kind: an enum topology_link_kind or load_kind. */
struct link_load link_loads_busiest(const struct link_loads *l, int kind);
/* Bytes sent by the network cards of all hosts. */
uint64_t link_loads_network_bytes(const struct link_loads *l);
/* "nic_up", as in records. */
const char *load_kind_name(int kind);

#endif
