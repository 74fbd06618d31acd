/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link_bench.h - times of messages within a host and between hosts, pair by pair, over the transport of a run. Also
 * measures whether messages of a host slow each other down.
 */
#ifndef HARNESS_BENCH_LINK_BENCH_H
#define HARNESS_BENCH_LINK_BENCH_H

#include "harness/bench/link_fit.h"
#include "harness/bench/pairing.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

struct link_bench_env { /* borrowed */
    struct world *world;
    const struct transport_ops *transport;
    int timeout_ms; /* per message */
};

struct local_sharing { /* one way, for the longest message, within the host of rank 0 */
    int n_pairs;       /* pairs that play at once; 0: fewer than four ranks on the host, not measured */
    double one_s;      /* a pair alone */
    double pairs_s;    /* each of n_pairs, all at once: the median */
    double fan_s;      /* one rank with two other ranks at once */
};

struct link_bench { /* over all ranks; on rank 0, elsewhere zeros except the counts of hosts */
    int n_hosts, n_most_host_ranks;
    struct link_fit link[LINK_N_CLASSES];
    struct local_sharing sharing;
};

/* Ping-pong of every pair (pairing.h), from 4 bytes to 16 MiB, then bursts of small messages, then both directions at
 * once. Each has 20 rounds (fewer for long messages: 32 MiB, at least 3), in virtual time SERIES_SIM_REPEATS. With
 * three or more hosts, also both directions at once around a ring of all hosts; that is then
 * link[LINK_BETWEEN].both_ratio. The reason: two ranks that exchange may wait for each other (Open MPI queues its
 * answer to a long message after the message in the same direction). With two hosts the ratio is then not known. Then
 * sharing. Messages have no data in virtual time. Collective over env->world, ends with a barrier. Opens and closes a
 * transport. Errors: those of the transport, RC_NOMEM. */
enum rc link_bench_measure(struct link_bench *out, const struct link_bench_env *env) MUST_CHECK;

#endif
