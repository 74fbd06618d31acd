/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster.h - a description of a cluster for the sim world: built in (a preset) or read from YAML.
 *
 *   name: four-nodes            # text
 *   hosts_count: 4              # a comment after a value is its source ...
 *   ranks_per_host_count: 1     # assumed: ... and if it begins with this word, the value has no other source
 *                               # (an indented comment line continues the one above)
 *
 * The table cluster_keys defines the keys, their units, ranges, meanings and defaults. It drives the parser,
 * --cluster-set, `gradmark info --cluster` and the records. hosts_count, ranks_per_host_count, link_bits_per_s,
 * link_latency_s, flops_per_s and memory_bytes_per_s are required; an unknown key is an error. The links that a message
 * crosses: topology.h. The time that work takes on a rank: noise_step_ratio().
 */
#ifndef HARNESS_CLUSTER_CLUSTER_H
#define HARNESS_CLUSTER_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"

/* The limit of ranks: each rank is an actor with a stack. */
enum { CLUSTER_MAX_RANKS = 8192, CLUSTER_MAX_KEYS = 64, CLUSTER_SOURCE_BYTES = 256, CLUSTER_PLACE_BYTES = 160 };

/* The protocol of messages to other hosts; grpc also within a host. */
enum cluster_protocol { PROTOCOL_BARE, PROTOCOL_TCP, PROTOCOL_RDMA, PROTOCOL_GRPC };
/* Which messages within a host share a rate. */
enum cluster_sharing { SHARING_NONE, SHARING_RANK, SHARING_HOST };
/* Of gradients for servers. */
enum cluster_aggregation { AGGREGATION_NONE, AGGREGATION_HOST };
enum cluster_start { START_TOGETHER, START_SPREAD };
enum cluster_job_placement { PLACE_PACK, PLACE_SPREAD, PLACE_RANDOM };
/* Precision of the products that flops_per_s counts. */
enum cluster_precision { FLOPS_FP32, FLOPS_TF32, FLOPS_BF16, FLOPS_FP16, FLOPS_FP8 };
enum cluster_server_placement { SERVERS_OWN, SERVERS_BESIDE };
enum cluster_jitter { JITTER_NONE, JITTER_EXPONENTIAL, JITTER_HALFNORMAL, JITTER_LOGNORMAL };

struct protocol_cost {
    double latency_s;           /* one way, added to the link's */
    double message_s;           /* time that a message occupies its sending process, and its receiving one */
    double eager_bytes;         /* the sender of a longer message waits until it has arrived; 0: no sender waits */
    double rate_ratio;          /* share of the link's rate that messages reach */
    double process_bytes_per_s; /* sent and received by one process together; 0: no limit */
};

struct collective_software { /* what it adds to a collective of several workers */
    double copy_bytes_per_s; /* into the buffer of the collective, and back; 0: no copies */
    double sum_bytes_per_s;  /* at which its sums stream through memory; 0: as a worker's */
};

struct cluster { /* the members have the meaning of their keys in cluster_keys */
    char name[64];
    int n_hosts; /* 0: as many as needed */
    int n_ranks_per_host;
    double link_bytes_per_s, link_latency_s, link_duplex_ratio;
    double local_bytes_per_s, local_latency_s;
    double flops_per_s, memory_bytes_per_s; /* of one core */
    int flops_precision;                    /* enum cluster_precision */
    int n_cores_per_rank;

    int n_nics_per_host;
    int protocol; /* enum cluster_protocol, and so on */
    struct protocol_cost tcp, rdma, grpc;
    int n_hosts_per_group; /* 0: no groups */
    double oversubscription_ratio, group_latency_s;
    int local_sharing;
    double staging_bytes_per_s, staging_latency_s; /* 0: no staging */
    struct collective_software collective;
    int job_placement, server_placement;
    int server_aggregation, start;
    double server_flops_per_s, server_memory_bytes_per_s, server_local_bytes_per_s; /* 0: as a worker's */
    int jitter;
    double jitter_ratio;
    int n_stragglers;
    double straggler_ratio;
    int n_slow_links;
    double slow_link_ratio;

    uint64_t seed;                   /* for random placement, jitter and stragglers: the run's seed; not a key */
    uint64_t assumed;                /* bit i: the value of cluster_keys[i] is an assumption */
    uint64_t unlimited;              /* bit i: a rate of computing that the description lacks: it takes no time */
    char place[CLUSTER_PLACE_BYTES]; /* source of hosts_count: "FILE:LINE", "--cluster-set"; "": built in */
};

struct cluster_sources { /* for each value of cluster_keys, to print; "": not given */
    char text[CLUSTER_MAX_KEYS][CLUSTER_SOURCE_BYTES];
};

/* The built-in default, entirely assumed: as many hosts as needed, one rank each, 1 Gbit/s, 25 us, 20 GFLOP/s, 8
 * GB/s. */
void cluster_default(struct cluster *out);
/* Find a preset by name, else load the file of that name; "": the default. sources: may be NULL. RC_INVAL: "FILE:
 * cannot be read: ..." or "FILE:LINE: key: ..." with the problem and valid values; if name is neither, it lists the
 * presets. */
enum rc cluster_find(struct cluster *out, struct cluster_sources *sources, const char *name) MUST_CHECK;
/* The same for files only. */
enum rc cluster_load(struct cluster *out, struct cluster_sources *sources, const char *path) MUST_CHECK;
/* Change values: "key=value,key=value"; "": none. Their source becomes "--cluster-set". RC_INVAL names the setting; *c
 * is unchanged then. */
enum rc cluster_set(struct cluster *c, struct cluster_sources *sources, const char *settings) MUST_CHECK;
/* RC_INVAL: n_ranks do not fit (the first n_workers are workers, the rest servers); names the numbers. */
enum rc cluster_check(const struct cluster *c, int n_workers, int n_ranks) MUST_CHECK;
/* RC_INVAL: the description lacks a rate of computing (cluster.unlimited); names them all. For a user of a cluster to
 * which nothing else says how long computing takes, as profiles of replayed models do. */
enum rc cluster_check_compute(const struct cluster *c) MUST_CHECK;
/* Has each of n_workers its own memory, as a GPU has, though they share hosts? Then none sums in the memory of another.
 * A description says so by staging_bytes_per_s, or by a server_memory_bytes_per_s below memory_bytes_per_s: a server
 * streams through the memory of its host, and workers with a faster one have another. Pure. */
bool cluster_memories_are_apart(const struct cluster *c, int n_workers);
/* Name of preset i; NULL after the last. */
const char *cluster_preset_name(int i);
bool cluster_is_preset(const char *name);

/*
 * How much slower than described a rank computes: stragglers, and jitter from step to step. Pure functions.
 *
 * Invariants
 *   V1  The same cluster, with its seed, rank and step give the same factor, to the bit, in any order of calls. Factors
 *       of different ranks and steps are independent.
 *   V2  A factor is at least 1: jitter only adds time, so that no run is faster than its parts allow. Its mean is 1 +
 *       jitter_ratio (times straggler_ratio).
 */

/* Factor on the compute time of worker `rank` of n_workers in every step; higher ranks are servers: 1. */
double noise_straggler_ratio(const struct cluster *c, int rank, int n_workers);
/* Factor on the compute time of worker `rank` of n_workers in its step 0, if workers start spread; else 1. */
double noise_start_ratio(const struct cluster *c, int rank, int n_workers, int64_t step);
/* Factor on a worker's compute time in this step; step < 0 (outside of steps): 1. */
double noise_step_ratio(const struct cluster *c, int rank, int64_t step);

#endif
