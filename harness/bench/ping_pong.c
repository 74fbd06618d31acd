/* SPDX-License-Identifier: Apache-2.0 */
/* ping_pong.c - messages between two ranks, there and back, timed by the rank that sends first; see ping_pong.h. */
#include "harness/bench/ping_pong.h"

#include <assert.h>
#include <stdio.h>

enum { TAG_PING_PONG = 0x50, TAG_BURST = 0x51, TAG_READY = 0x52, TAG_ASK = 0x53, TAG_ONE_WAY = 0x54 };

/* Message i of n_bytes, in the half of the buffer that is sent or received. */
static struct xfer message(const struct ping_pong *g, int peer, uint32_t tag, size_t n_bytes, size_t offset_bytes)
{
    struct xfer x = { .peer = peer, .tag = tag, .ptr = g->buffer ? g->buffer + offset_bytes : NULL };

    *(g->buffer ? &x.n_bytes : &x.n_hollow_bytes) = n_bytes;
    return x;
}

/* End x[n]: wait, or once one has failed (*rc), only end the rest, as they are in the caller's frame (net.T3). */
static void end_all(enum rc *rc, char why[RC_MESSAGE_BYTES], const struct ping_pong *g, struct xfer *x, int n)
{
    for (int i = 0; i < n; i++) {
        const enum rc ended = transport_wait(g->transport, &x[i], *rc == RC_OK ? g->timeout_ms : DO_NOT_WAIT);
        if (*rc == RC_OK && ended != RC_OK) {
            *rc = ended;
            snprintf(why, RC_MESSAGE_BYTES, "%s", rc_message());
        }
    }
}

/* Post rx[n_rx], then tx[n_tx]; end all; the first error. */
static enum rc exchange(const struct ping_pong *g, struct xfer *tx, int n_tx, struct xfer *rx, int n_rx)
{
    char why[RC_MESSAGE_BYTES] = "";
    int n_received = 0, n_sent = 0;
    enum rc rc = RC_OK;

    while (rc == RC_OK && n_received < n_rx && (rc = transport_recv(g->transport, &rx[n_received])) == RC_OK)
        n_received++;
    while (rc == RC_OK && n_sent < n_tx && (rc = transport_send(g->transport, &tx[n_sent])) == RC_OK)
        n_sent++;
    if (rc != RC_OK)
        snprintf(why, sizeof why, "%s", rc_message());
    end_all(&rc, why, g, rx, n_received);
    end_all(&rc, why, g, tx, n_sent);
    return rc == RC_OK ? RC_OK : rc_raise(rc, "%s", why);
}

static void tell_received(const struct ping_pong *g)
{
    for (int i = 0; g->received && i < g->n_peers; i++)
        g->received(g->received_arg, g->peer[i]);
}

/* Receive all of rx, then send tx. */
static enum rc answer(const struct ping_pong *g, struct xfer *rx, int n_rx, struct xfer *tx)
{
    enum rc rc;

    TRY(exchange(g, NULL, 0, rx, n_rx));
    tell_received(g);
    TRY(exchange(g, tx, 1, NULL, 0));
out:
    return rc;
}

enum rc ping_pong_play(struct series *out, const struct ping_pong *g, size_t n_bytes, int n_rounds)
{
    struct series series = series_begin(g->world);
    const int n_all = series.n_cold + n_rounds;
    enum rc rc = RC_OK;

    assert(g->n_peers >= 1 && g->n_peers <= PING_PONG_MAX_PEERS && (g->serves || g->n_peers == 1));
    while (series.n_repeats < n_all) {
        struct xfer tx[PING_PONG_MAX_PEERS], rx[PING_PONG_MAX_PEERS];
        for (int i = 0; i < g->n_peers; i++) {
            tx[i] = message(g, g->peer[i], TAG_PING_PONG, n_bytes, 0);
            rx[i] = message(g, g->peer[i], TAG_PING_PONG, n_bytes, n_bytes * (size_t)(i + 1));
        }
        const uint64_t started_ns = world_now_ns(g->world);
        if (g->serves)
            TRY(exchange(g, tx, g->n_peers, rx, g->n_peers));
        else
            TRY(answer(g, rx, 1, tx));
        if (g->serves)
            tell_received(g);
        series_add(&series, g->world, started_ns);
    }
    *out = series;
out:
    return rc;
}

enum rc ping_pong_burst(struct series *out, const struct ping_pong *g, size_t n_bytes, int n_messages, int n_rounds)
{
    struct series series = series_begin(g->world);
    const int n_all = series.n_cold + n_rounds;
    enum rc rc = RC_OK;

    assert(n_messages <= PING_PONG_MAX_BURST && g->n_peers == 1);
    while (series.n_repeats < n_all) {
        struct xfer many[PING_PONG_MAX_BURST];
        struct xfer back = message(g, g->peer[0], TAG_BURST, n_bytes, n_bytes * (size_t)n_messages);
        for (int i = 0; i < n_messages; i++)
            many[i] = message(g, g->peer[0], TAG_BURST, n_bytes, n_bytes * (size_t)i);
        const uint64_t started_ns = world_now_ns(g->world);
        if (g->serves)
            TRY(exchange(g, many, n_messages, &back, 1));
        else
            TRY(answer(g, many, n_messages, &back));
        series_add(&series, g->world, started_ns);
    }
    *out = series;
out:
    return rc;
}

enum rc ping_pong_exchange(double *mean_s, const struct ping_pong *g, size_t n_bytes, int n_rounds)
{
    uint64_t started_ns = 0;
    enum rc rc = RC_OK;

    assert(n_rounds >= 1 && g->n_peers >= 1);
    for (int i = -1; i < n_rounds; i++) {
        struct xfer tx = message(g, g->peer[0], TAG_PING_PONG, n_bytes, 0);
        struct xfer rx = message(g, g->peer[g->n_peers - 1], TAG_PING_PONG, n_bytes, n_bytes);
        if (i == 0)
            started_ns = world_now_ns(g->world);
        TRY(exchange(g, &tx, 1, &rx, 1));
    }
    *mean_s = (double)(world_now_ns(g->world) - started_ns) * 1e-9 / n_rounds;
out:
    return rc;
}

/* Receives are posted before the question leaves, so that what comes in has a place to go. */
static enum rc ask(uint64_t *asked_ns, const struct ping_pong *g, size_t n_bytes, int n_messages)
{
    struct xfer question = message(g, g->peer[0], TAG_ASK, 0, 0), many[PING_PONG_MAX_BURST];
    struct xfer ready = message(g, g->peer[0], TAG_READY, 0, 0);
    enum rc rc;

    for (int i = 0; i < n_messages; i++)
        many[i] = message(g, g->peer[0], TAG_ONE_WAY, n_bytes, n_bytes * (size_t)(i + 1));
    TRY(exchange(g, NULL, 0, &ready, 1));
    *asked_ns = world_now_ns(g->world);
    TRY(exchange(g, &question, 1, many, n_messages));
out:
    return rc;
}

static enum rc give(uint64_t *asked_ns, const struct ping_pong *g, size_t n_bytes, int n_messages)
{
    struct xfer question = message(g, g->peer[0], TAG_ASK, 0, 0), many[PING_PONG_MAX_BURST];
    struct xfer ready = message(g, g->peer[0], TAG_READY, 0, 0);
    enum rc rc;

    TRY(exchange(g, &ready, 1, &question, 1));
    *asked_ns = world_now_ns(g->world);
    for (int i = 0; i < n_messages; i++)
        many[i] = message(g, g->peer[0], TAG_ONE_WAY, n_bytes, 0);
    TRY(exchange(g, many, n_messages, NULL, 0));
out:
    return rc;
}

enum rc ping_pong_one_way(uint64_t *asked_ns, const struct ping_pong *g, size_t n_bytes, int n_messages)
{
    assert(n_messages >= 1 && n_messages <= PING_PONG_MAX_BURST && g->n_peers == 1);
    return g->serves ? ask(asked_ns, g, n_bytes, n_messages) : give(asked_ns, g, n_bytes, n_messages);
}
