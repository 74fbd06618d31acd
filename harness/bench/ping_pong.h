/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ping_pong.h - messages between two ranks, there and back, timed by the rank that sends first.
 *
 * Both clock readings are on one rank, and the message that it awaits is sent only after its own has arrived. So no
 * time is shorter than the messages need. In an exchange both send at once. The message may have arrived before it was
 * awaited, and seems to take no time: exchanges are therefore timed only in groups.
 */
#ifndef HARNESS_BENCH_PING_PONG_H
#define HARNESS_BENCH_PING_PONG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/bench/series.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

enum { PING_PONG_MAX_BURST = 64, PING_PONG_MAX_PEERS = 2 };

struct ping_pong { /* between this rank and another; borrowed */
    struct world *world;
    struct transport *transport;
    char *buffer; /* 1 + n_peers messages, the sent one first, and a burst with its answer; NULL: no data */
    int peer[PING_PONG_MAX_PEERS]; /* a responding rank has one */
    int n_peers;
    bool serves; /* sends first, and measures */
    /* For fault injection: called for each message of ping_pong_play() that this rank received, before its answer and
     * before clocks are read. May be NULL. */
    void (*received)(const void *arg, int peer);
    const void *received_arg;
    int timeout_ms;
};

/* Play n_rounds, after those that the series discards, of messages of n_bytes: to all peers at once, and one back from
 * each. *out: seconds there and back, on the rank that serves; on the other rank undefined. Both ranks call with equal
 * numbers. n_rounds at most SERIES_MAX_REPEATS. Errors: those of the transport. */
enum rc ping_pong_play(struct series *out, const struct ping_pong *g, size_t n_bytes, int n_rounds) MUST_CHECK;
/* The same for n_messages (at most PING_PONG_MAX_BURST) of n_bytes to the one peer, all posted before any is awaited,
 * and one message back once all have arrived. */
enum rc ping_pong_burst(struct series *out, const struct ping_pong *g, size_t n_bytes, int n_messages,
                        int n_rounds) MUST_CHECK;
/* Mean seconds of one of n_rounds of messages of n_bytes in both directions at once, after one discarded round. The
 * awaited message may arrive early, but not a round ahead. On each rank. With two peers it sends to the first and
 * receives from the second, and these do likewise: a ring. n_rounds >= 1. */
enum rc ping_pong_exchange(double *mean_s, const struct ping_pong *g, size_t n_bytes, int n_rounds) MUST_CHECK;
/* Send n_messages (at most PING_PONG_MAX_BURST) of n_bytes one way; the serving rank receives. It waits until the other
 * rank has called too. Then it sends an empty request, at *asked_ns of the world's clock, and returns when all have
 * arrived. So the time includes a round trip without data. The other rank may return before they have arrived; its
 * *asked_ns is when the request arrived. buffer: one message to send and n_messages to receive. */
enum rc ping_pong_one_way(uint64_t *asked_ns, const struct ping_pong *g, size_t n_bytes, int n_messages) MUST_CHECK;

#endif
