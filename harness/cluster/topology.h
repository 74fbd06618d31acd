/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topology.h - where the ranks of a job are on a cluster, and which links a message crosses. Pure functions.
 *
 * A tree: ranks on hosts, hosts (by a network card each way) on the switch of their group, groups on one network that
 * has no limit itself. A "slot" is a host of the job, 0 <= slot < n_slots; which host of the cluster it is decides
 * job_placement, and that decides which group it is in.
 *
 * Invariants
 *   D1  Worker r is in slot r / ranks_per_host_count; a server, too, or beside: the slots of workers take a server each
 *       in turn, as many as they have workers, and then again. Such a server has the network card of its worker.
 *   D2  To another slot: card up, [group up, group down,] card down. link_latency_s is half on either card, and
 *       group_latency_s half on either side of the groups' network. A card that is not full duplex (link_duplex_ratio
 *       below 2) is crossed once more, by both directions together.
 *   D3  Before and behind these, at a worker whose cluster stages: its copy between device and host.
 *   D4  At either end of all that, where the protocol limits a process: that limit, for both directions together.
 *       Within a slot this holds of grpc alone.
 */
#ifndef HARNESS_CLUSTER_TOPOLOGY_H
#define HARNESS_CLUSTER_TOPOLOGY_H

#include "harness/cluster/cluster.h"

struct topology { /* a job on a cluster; a plain value */
    struct cluster cluster;
    int n_workers, n_ranks; /* ranks 0 .. n_workers-1 are workers, the others servers */
    int n_slots;
    int n_hosts, n_groups; /* of the cluster; where it has as many as needed: of the job */
};

enum topology_link_kind {
    LINK_LOCAL,     /* within a slot; index: the slot (shared by none or all of it) or the rank that sends */
    LINK_LOCAL_IN,  /* into a rank, where each rank has its own rate; index: the rank */
    LINK_PROCESS,   /* index: the rank */
    LINK_STAGE_OUT, /* index: the rank */
    LINK_STAGE_IN,
    LINK_NIC_UP, /* index: slot x nics_per_host_count + card */
    LINK_NIC_DOWN,
    LINK_NIC_BOTH, /* of a card that is not full duplex: what it carries in both directions together */
    LINK_GROUP_UP, /* index: the group */
    LINK_GROUP_DOWN,
    TOPOLOGY_N_KINDS
};

struct topology_link {
    enum topology_link_kind kind;
    int index;
    double bytes_per_s, latency_s;
    bool is_shared; /* false: messages on it do not slow each other */
};

enum { TOPOLOGY_MAX_END = 5, TOPOLOGY_MAX_PATH = 2 * TOPOLOGY_MAX_END };

/* n_workers 0: all ranks are. cluster_check() has passed. */
void topology_init(struct topology *out, const struct cluster *c, int n_workers, int n_ranks);
/* Is it hosts on one switch, without anything but card and local link? Then a plain star of hosts describes it. */
bool topology_is_flat(const struct topology *t);

int topology_slot(const struct topology *t, int rank);
int topology_host(const struct topology *t, int slot); /* of the cluster */
int topology_group(const struct topology *t, int slot);
int topology_host_rank(const struct topology *t, int rank); /* among the job's ranks in its slot */
int topology_n_host_ranks(const struct topology *t, int slot);
int topology_nic(const struct topology *t, int rank); /* of its host: which card it uses (D1) */
/* Times so slow the cards of a slot are: slow_link_ratio of those that are drawn of the workers' slots, else 1. */
double topology_slow_ratio(const struct topology *t, int slot);

/* What the protocol in use costs; all but rate_ratio 0: bare. */
struct protocol_cost topology_protocol(const struct topology *t);
/* For how long a message from one rank to another occupies each of the two. */
double topology_message_s(const struct topology *t, int from, int to);
/* The sender of a message of n_bytes waits until it has arrived (eager_bytes of the protocol that carries it). Pure. */
bool topology_sender_waits(const struct topology *t, int from, int to, double n_bytes);

/* The links that a message of rank crosses to the switch of its group, and from there; in order; returns how many. */
int topology_links_out(const struct topology *t, int rank, struct topology_link out[TOPOLOGY_MAX_END]);
int topology_links_in(const struct topology *t, int rank, struct topology_link out[TOPOLOGY_MAX_END]);
/* The same from the switch of a group to the network of groups (is_up), and back. */
struct topology_link topology_group_link(const struct topology *t, int group, bool is_up);
/* The links that a message of rank crosses towards another of its slot, and from there. */
int topology_local_out(const struct topology *t, int rank, struct topology_link out[TOPOLOGY_MAX_END]);
int topology_local_in(const struct topology *t, int rank, struct topology_link out[TOPOLOGY_MAX_END]);
/* All of them, from one rank to another; returns how many. */
int topology_path(const struct topology *t, int from, int to, struct topology_link out[TOPOLOGY_MAX_PATH]);
/* What they add up to, idle: seconds of a message of n_bytes, from post to arrival, as a sum of latencies, both
 * message_s, and n_bytes over the least rate. */
double topology_message_time_s(const struct topology *t, int from, int to, double n_bytes);

#endif
