/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link_bench.h - what messages take between ranks of one host, and between hosts, pair by pair, by the transport of a
 * run; and whether messages of a host hold each other up.
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
    int timeout_ms; /* of each message */
};

struct local_sharing { /* one way, of the longest message, within the host of rank 0 */
    int n_pairs;       /* that play at once; 0: the host has fewer than four ranks, and nothing was measured */
    double one_s;      /* a pair alone */
    double pairs_s;    /* each of n_pairs, all at once: the median */
    double fan_s;      /* one rank with two others at once */
};

struct link_bench { /* of all ranks; on rank 0, zeros elsewhere but for the counts of hosts */
    int n_hosts, n_most_host_ranks;
    struct link_fit link[LINK_N_CLASSES];
    struct local_sharing sharing;
};

/* Ping-pong of every pair (pairing.h), from 4 bytes to 16 MiB, then bursts of small messages, then both ways at once:
 * of each 20 rounds (fewer of long ones: 32 MiB, 3 at least), in virtual time SERIES_SIM_REPEATS; of three hosts and
 * more both ways at once around a ring of all hosts, too, which is then link[LINK_BETWEEN].both_ratio: two ranks that
 * exchange may wait for each other (Open MPI's answer to a long message waits behind the one that goes the same way),
 * and of two hosts it is not known then. Then sharing. Messages are hollow in virtual time. Collective over env->world,
 * ends with a barrier. Opens and closes a transport. Errors: those of the transport, RC_NOMEM. */
enum rc link_bench_measure(struct link_bench *out, const struct link_bench_env *env) MUST_CHECK;

#endif
