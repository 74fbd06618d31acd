/* SPDX-License-Identifier: Apache-2.0 */
/* topology.c - places of ranks, and paths of messages, by arithmetic. */
#include "harness/cluster/topology.h"

#include <assert.h>
#include <stdlib.h>

#include "harness/base/rng.h"

enum {
    PLACEMENT_KEY = 0x7061636b,
    SLOW_LINKS_KEY = 0x6c696e6b
}; /* of rng_permute(): no other permutation of this seed has it */

static int rounded_up(int n, int by)
{
    return (n + by - 1) / by;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

static bool servers_are_beside(const struct topology *t)
{
    return t->cluster.server_placement == SERVERS_BESIDE;
}

void topology_init(struct topology *out, const struct cluster *c, int n_workers, int n_ranks)
{
    struct topology t = { .cluster = *c, .n_workers = n_workers > 0 ? n_workers : n_ranks, .n_ranks = n_ranks };

    t.n_slots = rounded_up(servers_are_beside(&t) ? t.n_workers : n_ranks, c->n_ranks_per_host);
    t.n_hosts = c->n_hosts > 0 ? c->n_hosts : t.n_slots;
    t.n_groups = c->n_hosts_per_group > 0 ? rounded_up(t.n_hosts, c->n_hosts_per_group) : 1;
    *out = t;
}

/* Do cards carry less both ways than twice what they carry one way? */
static bool is_half(const struct topology *t)
{
    return t->cluster.link_duplex_ratio < 2;
}

/* Number i of all hosts, where each group in turn gives one: the last group may have fewer, and is out first. */
static int spread_host(const struct topology *t, int i)
{
    const int n_each = t->cluster.n_hosts_per_group, n_last = t->n_hosts - (t->n_groups - 1) * n_each;
    const int n_full = n_last * t->n_groups;

    if (i < n_full)
        return i % t->n_groups * n_each + i / t->n_groups;
    return (i - n_full) % (t->n_groups - 1) * n_each + n_last + (i - n_full) / (t->n_groups - 1);
}

int topology_host(const struct topology *t, int slot)
{
    assert(slot >= 0 && slot < t->n_slots);
    if (t->cluster.job_placement == PLACE_RANDOM)
        return (int)rng_permute(t->cluster.seed, PLACEMENT_KEY, (uint64_t)slot, (uint64_t)t->n_hosts);
    return t->cluster.job_placement == PLACE_SPREAD && t->n_groups > 1 ? spread_host(t, slot) : slot;
}

int topology_group(const struct topology *t, int slot)
{
    return t->n_groups > 1 ? topology_host(t, slot) / t->cluster.n_hosts_per_group : 0;
}

/* Where n_workers servers have a place each: the last slot, which may have fewer workers, is full after so many turns.
 */
static int n_last_turns(const struct topology *t)
{
    return t->n_workers - (t->n_slots - 1) * t->cluster.n_ranks_per_host;
}

/* Of server i, beside: slots give a place each in turn, one beside each of their workers. */
static int slot_of_server(const struct topology *t, int i)
{
    const int place = i % t->n_workers, n_by_all = n_last_turns(t) * t->n_slots;

    return place < n_by_all ? place % t->n_slots : (place - n_by_all) % (t->n_slots - 1);
}

int topology_slot(const struct topology *t, int rank)
{
    assert(rank >= 0 && rank < t->n_ranks);
    return rank >= t->n_workers && servers_are_beside(t) ? slot_of_server(t, rank - t->n_workers)
                                                         : rank / t->cluster.n_ranks_per_host;
}

/* Workers of a slot, where servers are beside them; else ranks. */
static int n_in_order(const struct topology *t, int slot)
{
    const int n_all = servers_are_beside(t) ? t->n_workers : t->n_ranks;

    return least(t->cluster.n_ranks_per_host, n_all - slot * t->cluster.n_ranks_per_host);
}

static int n_in_turn(int n, int slot, int n_slots)
{
    return n / n_slots + (slot < n % n_slots);
}

/* Of servers 0 to n-1, beside. */
static int n_servers_in(const struct topology *t, int slot, int n)
{
    const int n_rounds = n / t->n_workers, n_more = n % t->n_workers, n_by_all = n_last_turns(t) * t->n_slots;
    const int n_of_all = least(n_more, n_by_all);
    int n_in = n_rounds * n_in_order(t, slot) + n_in_turn(n_of_all, slot, t->n_slots);

    if (slot < t->n_slots - 1)
        n_in += n_in_turn(n_more - n_of_all, slot, t->n_slots - 1);
    return n_in;
}

int topology_host_rank(const struct topology *t, int rank)
{
    if (rank < t->n_workers || !servers_are_beside(t))
        return rank % t->cluster.n_ranks_per_host;
    const int slot = topology_slot(t, rank);
    return n_in_order(t, slot) + n_servers_in(t, slot, rank - t->n_workers);
}

int topology_n_host_ranks(const struct topology *t, int slot)
{
    return n_in_order(t, slot) + (servers_are_beside(t) ? n_servers_in(t, slot, t->n_ranks - t->n_workers) : 0);
}

/* A server beside a worker has that one's. */
int topology_nic(const struct topology *t, int rank)
{
    const int slot = topology_slot(t, rank), host_rank = topology_host_rank(t, rank);

    return host_rank % n_in_order(t, slot) % t->cluster.n_nics_per_host;
}

double topology_slow_ratio(const struct topology *t, int slot)
{
    const int n_of_workers = rounded_up(t->n_workers, t->cluster.n_ranks_per_host);

    if (t->cluster.n_slow_links == 0 || slot >= n_of_workers)
        return 1;
    return rng_permute(t->cluster.seed, SLOW_LINKS_KEY, (uint64_t)slot, (uint64_t)n_of_workers) <
                   (uint64_t)t->cluster.n_slow_links
               ? t->cluster.slow_link_ratio
               : 1;
}

struct protocol_cost topology_protocol(const struct topology *t)
{
    switch ((enum cluster_protocol)t->cluster.protocol) {
    case PROTOCOL_TCP:
        return t->cluster.tcp;
    case PROTOCOL_RDMA:
        return t->cluster.rdma;
    case PROTOCOL_GRPC:
        return t->cluster.grpc;
    case PROTOCOL_BARE:
        break;
    }
    return (struct protocol_cost){ .rate_ratio = 1 };
}

static bool is_spoken_locally(const struct topology *t)
{
    return t->cluster.protocol == PROTOCOL_GRPC;
}

/* Not: it stays on a host, where nothing of the protocol is spent. */
static bool is_spoken(const struct topology *t, int from, int to)
{
    return is_spoken_locally(t) || topology_slot(t, from) != topology_slot(t, to);
}

double topology_message_s(const struct topology *t, int from, int to)
{
    return is_spoken(t, from, to) ? topology_protocol(t).message_s : 0;
}

bool topology_sender_waits(const struct topology *t, int from, int to, double n_bytes)
{
    const double eager_bytes = topology_protocol(t).eager_bytes;

    return eager_bytes > 0 && n_bytes > eager_bytes && is_spoken(t, from, to);
}

/* Add the limit of the process of rank, if it has one (cluster.D4). */
static int add_process(const struct topology *t, int rank, struct topology_link *out)
{
    const double limit_bytes_per_s = topology_protocol(t).process_bytes_per_s;

    if (!(limit_bytes_per_s > 0))
        return 0;
    *out = (struct topology_link){ LINK_PROCESS, rank, limit_bytes_per_s, 0, true };
    return 1;
}

/* Add the copy between device and host of rank, if it makes one (cluster.D3). */
static int add_stage(const struct topology *t, int rank, enum topology_link_kind kind, struct topology_link *out)
{
    const struct cluster *c = &t->cluster;

    if (!(c->staging_bytes_per_s > 0) || rank >= t->n_workers)
        return 0;
    *out = (struct topology_link){ kind, rank, c->staging_bytes_per_s, c->staging_latency_s, true };
    return 1;
}

/* One way of the card that rank uses (cluster.D2). */
static struct topology_link nic_link(const struct topology *t, int rank, enum topology_link_kind kind)
{
    const struct cluster *c = &t->cluster;
    const struct protocol_cost p = topology_protocol(t);
    const int index = topology_slot(t, rank) * c->n_nics_per_host + topology_nic(t, rank);

    return (struct topology_link){ kind, index,
                                   c->link_bytes_per_s * p.rate_ratio / topology_slow_ratio(t, topology_slot(t, rank)),
                                   (c->link_latency_s + p.latency_s) / 2, true };
}

/* Add what the card that rank uses carries both ways, if that is less than one way and the other (cluster.D2). */
static int add_both_ways(const struct topology *t, int rank, struct topology_link *out)
{
    if (!is_half(t))
        return 0;
    *out = nic_link(t, rank, LINK_NIC_BOTH);
    out->bytes_per_s *= t->cluster.link_duplex_ratio;
    out->latency_s = 0;
    return 1;
}

int topology_links_out(const struct topology *t, int rank, struct topology_link out[TOPOLOGY_MAX_END])
{
    int n = add_process(t, rank, out);

    n += add_stage(t, rank, LINK_STAGE_OUT, out + n);
    n += add_both_ways(t, rank, out + n);
    out[n] = nic_link(t, rank, LINK_NIC_UP);
    return n + 1;
}

int topology_links_in(const struct topology *t, int rank, struct topology_link out[TOPOLOGY_MAX_END])
{
    int n = 1;

    out[0] = nic_link(t, rank, LINK_NIC_DOWN);
    n += add_both_ways(t, rank, out + n);
    n += add_stage(t, rank, LINK_STAGE_IN, out + n);
    return n + add_process(t, rank, out + n);
}

struct topology_link topology_group_link(const struct topology *t, int group, bool is_up)
{
    const struct cluster *c = &t->cluster;
    const double cards_bytes_per_s = c->link_bytes_per_s * c->n_nics_per_host * c->n_hosts_per_group;

    return (struct topology_link){ is_up ? LINK_GROUP_UP : LINK_GROUP_DOWN, group,
                                   cards_bytes_per_s / c->oversubscription_ratio, c->group_latency_s / 2, true };
}

/* Of the link of rank within its host. */
static double local_bytes_per_s(const struct topology *t, int rank)
{
    const struct cluster *c = &t->cluster;

    return rank >= t->n_workers && c->server_local_bytes_per_s > 0 ? c->server_local_bytes_per_s : c->local_bytes_per_s;
}

int topology_local_out(const struct topology *t, int rank, struct topology_link out[TOPOLOGY_MAX_END])
{
    const struct cluster *c = &t->cluster;
    const double protocol_s = is_spoken_locally(t) ? topology_protocol(t).latency_s : 0;
    const int n = is_spoken_locally(t) ? add_process(t, rank, out) : 0;

    out[n] = (struct topology_link){ LINK_LOCAL, c->local_sharing == SHARING_RANK ? rank : topology_slot(t, rank),
                                     local_bytes_per_s(t, rank), c->local_latency_s + protocol_s,
                                     c->local_sharing != SHARING_NONE };
    return n + 1;
}

int topology_local_in(const struct topology *t, int rank, struct topology_link out[TOPOLOGY_MAX_END])
{
    const struct cluster *c = &t->cluster;
    int n = 0;

    if (c->local_sharing == SHARING_RANK)
        out[n++] = (struct topology_link){ LINK_LOCAL_IN, rank, local_bytes_per_s(t, rank), 0, true };
    return n + (is_spoken_locally(t) ? add_process(t, rank, out + n) : 0);
}

int topology_path(const struct topology *t, int from, int to, struct topology_link out[TOPOLOGY_MAX_PATH])
{
    const int here = topology_slot(t, from), there = topology_slot(t, to);
    int n;

    if (here == there) {
        n = topology_local_out(t, from, out);
        return n + topology_local_in(t, to, out + n);
    }
    n = topology_links_out(t, from, out);
    if (topology_group(t, here) != topology_group(t, there)) {
        out[n++] = topology_group_link(t, topology_group(t, here), true);
        out[n++] = topology_group_link(t, topology_group(t, there), false);
    }
    return n + topology_links_in(t, to, out + n);
}

double topology_message_time_s(const struct topology *t, int from, int to, double n_bytes)
{
    struct topology_link link[TOPOLOGY_MAX_PATH];
    const int n = topology_path(t, from, to, link);
    double latency_s = 2 * topology_message_s(t, from, to), bytes_per_s = link[0].bytes_per_s;

    for (int i = 0; i < n; i++) {
        latency_s += link[i].latency_s;
        bytes_per_s = link[i].bytes_per_s < bytes_per_s ? link[i].bytes_per_s : bytes_per_s;
    }
    return latency_s + n_bytes / bytes_per_s;
}

/* Sums for each link. */

enum rc link_loads_open(struct link_loads *out, const struct topology *t)
{
    const int n_cards = t->n_slots * t->cluster.n_nics_per_host;
    const int n_local = t->n_slots > t->n_ranks ? t->n_slots : t->n_ranks;
    struct link_loads l = {
        .topology = t,
        .n = { [LINK_LOCAL] = n_local,
               [LINK_LOCAL_IN] = t->n_ranks,
               [LINK_PROCESS] = t->n_ranks,
               [LINK_STAGE_OUT] = t->n_ranks,
               [LINK_STAGE_IN] = t->n_ranks,
               [LINK_NIC_UP] = n_cards,
               [LINK_NIC_DOWN] = n_cards,
               [LINK_NIC_BOTH] = n_cards,
               [LINK_GROUP_UP] = t->n_groups,
               [LINK_GROUP_DOWN] = t->n_groups,
               [LOAD_HANDLING] = t->n_ranks,
               [LOAD_SERVER] = t->n_ranks },
    };
    enum rc rc = RC_OK;

    for (int k = 0; k < N_LOADS; k++) {
        l.load[k] = calloc((size_t)l.n[k], sizeof *l.load[k]);
        if (!l.load[k])
            FAIL(RC_NOMEM, "no memory for the loads of %d links", l.n[k]);
        for (int i = 0; i < l.n[k]; i++)
            l.load[k][i].index = i;
    }
    *out = l;
    l = (struct link_loads){ .topology = NULL };
out:
    link_loads_close(&l);
    return rc;
}

void link_loads_close(struct link_loads *l)
{
    for (int k = 0; k < N_LOADS; k++)
        free(l->load[k]);
    *l = (struct link_loads){ .topology = NULL };
}

void link_loads_add(struct link_loads *l, int from, int to, uint64_t n_bytes)
{
    struct topology_link path[TOPOLOGY_MAX_PATH];
    const int n = topology_path(l->topology, from, to, path);
    const double handling_s = topology_message_s(l->topology, from, to);

    for (int i = 0; i < n; i++) /* cluster.Q1 */
        if (path[i].is_shared) {
            struct link_load *load = &l->load[path[i].kind][path[i].index];
            load->n_bytes += n_bytes;
            load->busy_s += (double)n_bytes / path[i].bytes_per_s;
        }
    l->load[LOAD_HANDLING][from].busy_s += handling_s;
    l->load[LOAD_HANDLING][to].busy_s += handling_s;
}

void link_loads_serve(struct link_loads *l, int rank, double seconds)
{
    l->load[LOAD_SERVER][rank].busy_s += seconds;
}

struct link_load link_loads_busiest(const struct link_loads *l, int kind)
{
    struct link_load most = { .index = 0 };

    for (int i = 0; i < l->n[kind]; i++)
        if (l->load[kind][i].busy_s > most.busy_s)
            most = l->load[kind][i];
    return most;
}

uint64_t link_loads_network_bytes(const struct link_loads *l)
{
    uint64_t n_bytes = 0;

    for (int i = 0; i < l->n[LINK_NIC_UP]; i++)
        n_bytes += l->load[LINK_NIC_UP][i].n_bytes;
    return n_bytes;
}

const char *load_kind_name(int kind)
{
    static const char *const name[N_LOADS] = {
        [LINK_LOCAL] = "local",           [LINK_LOCAL_IN] = "local_in", [LINK_PROCESS] = "process",
        [LINK_STAGE_OUT] = "stage_out",   [LINK_STAGE_IN] = "stage_in", [LINK_NIC_UP] = "nic_up",
        [LINK_NIC_DOWN] = "nic_down",     [LINK_NIC_BOTH] = "nic_both", [LINK_GROUP_UP] = "group_up",
        [LINK_GROUP_DOWN] = "group_down", [LOAD_HANDLING] = "handling", [LOAD_SERVER] = "server_compute",
    };

    return name[kind];
}
