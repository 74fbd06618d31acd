/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ping_pong.h - messages of two ranks, there and back, timed by the one that sends first.
 *
 * Both clock readings are of one rank, and the message that it awaits is not sent before its own has arrived. So no
 * time is less than the messages need. In an exchange, where both send at once, the message may have come before it was
 * awaited, and seems to take nothing: of exchanges only many together are timed.
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

struct ping_pong { /* of this rank with another; borrowed */
    struct world *world;
    struct transport *transport;
    char *buffer; /* 1 + n_peers messages, the sent one first, and a burst with its answer; NULL: messages are hollow */
    int peer[PING_PONG_MAX_PEERS]; /* who responds has one */
    int n_peers;
    bool serves; /* sends first, and measures */
    /* For drills: called for each message of ping_pong_play() that this rank has received, before its answer and before
     * clocks are read. NULL: nobody is. */
    void (*received)(const void *arg, int peer);
    const void *received_arg;
    int timeout_ms;
};

/* n_rounds, after those that the series discards, of messages of n_bytes: to all peers at once, and one back from each.
 * *out: seconds there and back, of the rank that serves; of the other nothing that means anything. Both ranks call with
 * equal numbers. n_rounds at most SERIES_MAX_REPEATS. Errors: those of the transport. */
enum rc ping_pong_play(struct series *out, const struct ping_pong *g, size_t n_bytes, int n_rounds) MUST_CHECK;
/* The same of n_messages (at most PING_PONG_MAX_BURST) of n_bytes to the one peer, all posted before any is awaited,
 * and one back once all have come. */
enum rc ping_pong_burst(struct series *out, const struct ping_pong *g, size_t n_bytes, int n_messages,
                        int n_rounds) MUST_CHECK;
/* Seconds of one of n_rounds of messages of n_bytes both ways at once, after one that is discarded: the mean. A rank
 * may have what it awaits before it does, but not a round ahead. Of each rank. With two peers it sends to the first and
 * receives from the second, which do likewise: around a ring. n_rounds >= 1. */
enum rc ping_pong_exchange(double *mean_s, const struct ping_pong *g, size_t n_bytes, int n_rounds) MUST_CHECK;
/* n_messages (at most PING_PONG_MAX_BURST) of n_bytes one way: who serves receives. It waits until the other one has
 * called, too, asks by an empty message, at *asked_ns of the world's clock, and returns when all have come: so their
 * bytes take a round trip of no bytes less than that. The other one may return before they have come; its *asked_ns is
 * when it was asked. buffer: one message to send and n_messages to receive. */
enum rc ping_pong_one_way(uint64_t *asked_ns, const struct ping_pong *g, size_t n_bytes, int n_messages) MUST_CHECK;

#endif
