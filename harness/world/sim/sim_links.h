/* SPDX-License-Identifier: Apache-2.0 */
/* sim_links.h - the state that sim_network.c and sim_links.c share: links, the flows that cross them and that they
 * hold.
 */
#ifndef HARNESS_WORLD_SIM_SIM_LINKS_H
#define HARNESS_WORLD_SIM_SIM_LINKS_H

#include <stddef.h>

#include "harness/world/sim/sim_network.h"

struct crossing {
    struct sim_flow *flow;
    int hop; /* of the flow */
};

struct held {
    double tag; /* the service at which the flow is done */
    uint64_t order;
    struct sim_flow *flow;
};

struct link {
    struct sim_event event; /* the first flow that it holds is done */
    double bytes_per_s, latency_s;
    double level;     /* rate of each flow that it holds; infinite: it is not full */
    double published; /* the level known to the flows' other links */
    double others;    /* full: the rate of flows that it does not hold */
    double spare;     /* not full: the rate that new flows may take without a new computation */
    double service_bytes, since_s;
    struct crossing *crossing; /* [n_flows] */
    struct held *heap;         /* [n_held + 1]: from 1 */
    int n_flows, n_held, n_planned, n_room;
    int n_visits; /* share_out() at this instant */
    bool has_new; /* it holds a flow that other links count at another rate */
    bool is_dirty, is_moved;
    struct link *next_dirty, *next_moved;
};

struct link_end { /* the links that a message crosses at one of its ends */
    uint32_t link[TOPOLOGY_MAX_END];
    int n_links;
    double latency_s, limit_bytes_per_s;
};

struct rank_links {
    int slot, group;
    struct link_end out, in, local_out, local_in, group_up, group_down;
};

struct sim_network {
    struct sim_clock *clock;
    struct link *link;
    size_t n_links;
    struct rank_links *rank; /* [n_ranks] */
    uint64_t n_flows_ever;
    struct link *first_dirty, *last_dirty, *first_moved;
    struct { /* for each flow of the link that shares out its rate */
        double bytes_per_s;
        int hop;
    } * offer;
    int n_offers_room;
};

void link_add(struct link *l, struct sim_flow *f, int hop);
void link_remove(struct link *l, const struct sim_hop *hop);
void link_hold(struct link *l, struct sim_flow *f, double tag);
void link_let_go(struct link *l, struct sim_flow *f);
/* Undo sim_network_plan(). */
void link_withdraw(struct sim_network *n, struct sim_flow *f);

static inline struct sim_flow *sim_event_flow(struct sim_event *e)
{
    return (struct sim_flow *)e; /* first member */
}

static inline struct link *sim_event_link(struct sim_event *e)
{
    return (struct link *)e; /* first member */
}

#endif
