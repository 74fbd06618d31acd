/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_network.h - flows of bytes over the links of a topology: the rate of each flow, and when each is done.
 *
 * A fluid model. It knows nothing of running ranks; sim_clock.h keeps the time.
 *
 * Invariants
 *   F1  Rates are max-min fair: a flow has the least of its links' levels, and a link that is full gives its level to
 *       all flows that no other link holds below it. A link that is not full has no level.
 *   F2  That holds to within FAIR_RATIO: a link reports a change of its level once it exceeds that. If one flow more or
 *       less changes a level by more, as with fewer than 200 flows on a link, it is exact.
 *   F3  A flow on links that no other flow uses takes n_bytes over the least of their rates, to the digit.
 *   -   The changes of one instant take effect at once, in sim_network_settle(), before time passes.
 */
#ifndef HARNESS_WORLD_SIM_SIM_NETWORK_H
#define HARNESS_WORLD_SIM_SIM_NETWORK_H

#include "harness/cluster/topology.h"
#include "harness/world/sim/sim_clock.h"

#define FAIR_RATIO 0.005

struct sim_hop {
    uint32_t link;
    uint32_t place;             /* among the link's flows */
    double counted_bytes_per_s; /* rate of this flow as counted by a link that is not its bottleneck: its rate, or what
                                   that may become without notice to the link */
};

struct sim_flow {           /* zeroed until sim_network_plan() */
    struct sim_event event; /* for the owner of the flow before it joins; then: it is done, if no link holds it */
    struct sim_flow *next;  /* free for the owner of the flow while it is in no link */
    uint64_t order;         /* of sim_network_plan() */
    double latency_s;
    double n_bytes;           /* still to come, while no link holds the flow */
    double limit_bytes_per_s; /* of links that flows do not share; infinite: no such link */
    int n_hops;
    int bottleneck; /* the hop that holds it; -1: its own limit */
    uint32_t place; /* in the heap of that link */
    struct sim_hop hop[TOPOLOGY_MAX_PATH];
};

struct sim_network;

/* RC_NOMEM. t and clock outlive it. */
enum rc sim_network_open(struct sim_network **out, const struct topology *t, struct sim_clock *clock) MUST_CHECK;
void sim_network_close(struct sim_network **n);

/* Finds the flow's path from rank to rank, and makes room for it. RC_NOMEM: nothing has changed. */
enum rc sim_network_plan(struct sim_network *n, struct sim_flow *out, int from, int to, double n_bytes) MUST_CHECK;
/* A planned flow of at least one byte begins now; its latency has passed. */
void sim_network_join(struct sim_network *n, struct sim_flow *f);
/* A planned flow will not join: releases its room. */
void sim_network_forget(struct sim_network *n, struct sim_flow *f);
/* Computes all rates again, if flows joined or left. */
void sim_network_settle(struct sim_network *n);
/* The clock gave a link's event, or that of a flow that joined: takes out the flows that are done, chained by next. */
struct sim_flow *sim_network_take_done(struct sim_network *n, struct sim_event *e);
/* The current rate of the flow, after sim_network_settle(). */
double sim_network_bytes_per_s(const struct sim_network *n, const struct sim_flow *f);

#endif
