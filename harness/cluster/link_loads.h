/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link_loads.h - how long messages keep each link of a topology busy, and each process: what a job waits for.
 *
 * Invariants
 *   Q1  A message loads every link that topology_path() says it crosses, by its bytes over the link's rate: the least
 *       time that the link needs for them, whoever else uses it. Links that messages do not share have no load.
 *   Q2  Of links that are equally busy the one with the least index is the busiest.
 */
#ifndef HARNESS_CLUSTER_LINK_LOADS_H
#define HARNESS_CLUSTER_LINK_LOADS_H

#include "harness/cluster/topology.h"

enum load_kind {                                   /* the kinds of links, and then */
                 LOAD_HANDLING = TOPOLOGY_N_KINDS, /* a process that sends and receives; index: the rank */
                 LOAD_SERVER,                      /* the processor of a parameter server; index: the rank */
                 N_LOADS
};

struct link_load { /* of the busiest of a kind; zeros: there is none */
    int index;     /* as topology_link has it */
    double busy_s;
    uint64_t n_bytes; /* that crossed it; 0 of what is no link */
};

struct link_loads { /* owned; topology is borrowed */
    const struct topology *topology;
    struct link_load *load[N_LOADS];
    int n[N_LOADS];
};

/* RC_NOMEM. */
enum rc link_loads_open(struct link_loads *out, const struct topology *t) MUST_CHECK;
void link_loads_close(struct link_loads *l); /* accepts a zeroed one */
/* A message from one rank to another. Cannot fail. */
void link_loads_add(struct link_loads *l, int from, int to, uint64_t n_bytes);
/* The server of this rank has computed for so long. */
void link_loads_serve(struct link_loads *l, int rank, double seconds);
/* Q2. kind: an enum topology_link_kind or load_kind. */
struct link_load link_loads_busiest(const struct link_loads *l, int kind);
/* Sent by network cards, of all hosts together. */
uint64_t link_loads_network_bytes(const struct link_loads *l);
/* "nic_up", as records have it. */
const char *load_kind_name(int kind);

#endif
