/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topology.h - the places of a job's ranks on a cluster, and the links that a message crosses. Pure functions.
 *
 * The topology is a tree. Ranks are on hosts. Hosts connect (by a network card in each direction) to the switch of
 * their group. Groups connect to one network that has no limit itself. A "slot" is a host of the job, 0 <= slot <
 * n_slots. job_placement decides which host of the cluster it is, and so its group.
 *
 * Invariants
 *   D1  Rank r is in slot r / ranks_per_host_count. If servers are beside workers, the workers' slots instead take one
 *       server each in turn, up to their number of workers, and then start again. Such a server uses the network card
 *       of its worker.
 *   D2  To another slot: card up, [group up, group down,] card down. Each card has half of link_latency_s. Each side of
 *       the groups' network has half of group_latency_s. A card that is not full duplex (link_duplex_ratio below 2)
 *       adds a second link, which both directions share.
 *   D3  Before and after these, if the cluster stages a worker's messages: the copy between device and host.
 *   D4  At both ends of the path, if the protocol limits a process: that limit, for both directions together. Within a
 *       slot this applies only to grpc.
 */
#ifndef HARNESS_CLUSTER_TOPOLOGY_H
#define HARNESS_CLUSTER_TOPOLOGY_H

#include "harness/cluster/cluster.h"

struct topology { /* a job on a cluster; a plain value */
    struct cluster cluster;
    int n_workers, n_ranks; /* ranks 0 .. n_workers-1 are workers, the rest servers */
    int n_slots;
    int n_hosts, n_groups; /* of the cluster; of the job if the cluster has as many as needed */
};

enum topology_link_kind {
    LINK_LOCAL,     /* within a slot; index: the slot (shared by all or not shared) or the sending rank */
    LINK_LOCAL_IN,  /* into a rank, if each rank has a separate rate; index: the rank */
    LINK_PROCESS,   /* index: the rank */
    LINK_STAGE_OUT, /* index: the rank */
    LINK_STAGE_IN,
    LINK_NIC_UP, /* index: slot x nics_per_host_count + card */
    LINK_NIC_DOWN,
    LINK_NIC_BOTH, /* of a card that is not full duplex: both directions together */
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

/* n_workers 0: all ranks are workers. Requires a successful cluster_check(). */
void topology_init(struct topology *out, const struct cluster *c, int n_workers, int n_ranks);

int topology_slot(const struct topology *t, int rank);
int topology_host(const struct topology *t, int slot); /* of the cluster */
int topology_group(const struct topology *t, int slot);
int topology_host_rank(const struct topology *t, int rank); /* among the job's ranks in its slot */
int topology_n_host_ranks(const struct topology *t, int slot);
int topology_nic(const struct topology *t, int rank); /* index of its card within its host (cluster.D1) */
/* Slowdown of the cards of a slot: slow_link_ratio for the drawn slots of workers, else 1. */
double topology_slow_ratio(const struct topology *t, int slot);

/* Costs of the protocol in use. With bare all are 0 except rate_ratio. */
struct protocol_cost topology_protocol(const struct topology *t);
/* Time that a message from one rank to another occupies each of the two. */
double topology_message_s(const struct topology *t, int from, int to);
/* Does the sender of a message of n_bytes wait until it arrives (eager_bytes of its protocol)? Pure. */
bool topology_sender_waits(const struct topology *t, int from, int to, double n_bytes);

/* The links that a message of rank crosses to the switch of its group, and from the switch to the rank, in order.
 * Returns their number. */
int topology_links_out(const struct topology *t, int rank, struct topology_link out[TOPOLOGY_MAX_END]);
int topology_links_in(const struct topology *t, int rank, struct topology_link out[TOPOLOGY_MAX_END]);
/* The link from the switch of a group to the network of groups (is_up), or back. */
struct topology_link topology_group_link(const struct topology *t, int group, bool is_up);
/* The links that a message of rank crosses to another rank in its slot, and from that rank. */
int topology_local_out(const struct topology *t, int rank, struct topology_link out[TOPOLOGY_MAX_END]);
int topology_local_in(const struct topology *t, int rank, struct topology_link out[TOPOLOGY_MAX_END]);
/* All links from one rank to another; returns their number. */
int topology_path(const struct topology *t, int from, int to, struct topology_link out[TOPOLOGY_MAX_PATH]);
/* The sum over these links when idle: seconds of a message of n_bytes, from post to arrival. It adds latencies, both
 * message_s, and n_bytes over the lowest rate. */
double topology_message_time_s(const struct topology *t, int from, int to, double n_bytes);

/*
 * How long messages keep each link of a topology and each process busy, to find the bottleneck of a job.
 *
 * Invariants
 *   Q1  A message loads every link of its topology_path() by its bytes over the link's rate. That is the least time
 *       that the link needs, whatever other messages use it. Links that messages do not share have no load.
 *   Q2  Among equally busy links, the one with the lowest index is the busiest.
 */

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
