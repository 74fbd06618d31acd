/* SPDX-License-Identifier: Apache-2.0 */
/* transport_suite_rules.c - what a transport refuses, how it times out, and how it dies: net.T3, T6 to T10. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/net/suite/transport_suite_kit.h"

enum { SLOW_BYTES = 300000 }; /* more than a transport sends before its receiver is there */

/* One good message each way around the ring: the transport lives. */
static void expect_alive(struct suite *s, struct transport *t)
{
    uint32_t out = (uint32_t)s->w->rank, in = 0;
    struct xfer tx = { .ptr = &out, .n_bytes = sizeof out, .peer = suite_next(s, 1), .tag = 77 };
    struct xfer rx = { .ptr = &in, .n_bytes = sizeof in, .peer = suite_prev(s, 1), .tag = 77 };

    if (s->w->n_ranks == 1)
        return;
    EXPECT_OK(s, transport_exchange(t, &tx, &rx, s->timeout_ms));
    EXPECT(s, in == (uint32_t)rx.peer);
}

/* net.T6: every later call with the next rank returns an error; the transport lives. */
static void expect_ended(struct suite *s, struct transport *t, enum rc why)
{
    uint32_t value = 0;
    struct xfer tx = { .ptr = &value, .n_bytes = sizeof value, .peer = suite_next(s, 1), .tag = 78 }, rx = tx;

    if (!EXPECT(s, transport_send(t, &tx) == why))
        (void)!transport_wait(t, &tx, DO_NOT_WAIT); /* it must not outlive this frame */
    if (!EXPECT(s, transport_recv(t, &rx) == why))
        (void)!transport_wait(t, &rx, DO_NOT_WAIT);
    EXPECT(s, t->dead == RC_OK);
}

/* Rank 0 gives up on a message of rank 1 that is sent only then: it must not be written any more. */
static void give_up(struct suite *s, struct transport *t, int timeout_ms)
{
    unsigned char late[40] = { 1 }, other[40];
    struct guarded in = { 0 };
    struct xfer tx = { .ptr = late, .n_bytes = sizeof late, .peer = 0, .tag = 1 };
    struct xfer rx = { .n_bytes = 40, .peer = 1, .tag = 1 };
    struct xfer rx2 = { .ptr = other, .n_bytes = sizeof other, .peer = 1, .tag = 2 };
    const bool gives_up = s->w->rank == 0 && s->w->n_ranks > 1 && guarded_alloc(s, &in, 40);

    if (gives_up) {
        rx.ptr = in.ptr;
        EXPECT_OK(s, transport_recv(t, &rx));
        EXPECT_OK(s, transport_recv(t, &rx2));
        EXPECT(s, transport_wait(t, &rx, timeout_ms) == RC_TIMEOUT);
        expect_ended(s, t, RC_TIMEOUT);
    }
    EXPECT_OK(s, world_barrier(s->w));
    if (s->w->rank == 1)
        EXPECT_OK(s, transport_send(t, &tx));
    EXPECT_OK(s, world_barrier(s->w));
    if (gives_up) {
        EXPECT(s, transport_wait(t, &rx2, 50) != RC_OK); /* a chance to write to rx */
        EXPECT(s, guarded_untouched(&in) && guarded_whole(&in));
        EXPECT(s, t->moved.msgs_recv == 0);
    }
    EXPECT_OK(s, world_barrier(s->w)); /* rank 1 does not take its message back before that */
    transport_close(&t);
    EXPECT(s, t == NULL);
    guarded_free(&in);
}

void case_timeout(struct suite *s, struct transport *t)
{
    give_up(s, t, DO_NOT_WAIT);
}

void case_timeout_ms(struct suite *s, struct transport *t)
{
    give_up(s, t, 20);
}

/* A limit is in ms: a message that comes after five thousandths of it is still received, and a send whose receiver
 * comes as late still ends well. A limit taken for us or ns has passed by then. */
void case_slow_peer(struct suite *s, struct transport *t)
{
    const uint64_t late_ns = (uint64_t)s->timeout_ms * 1000000u / 200;
    unsigned char *bytes = calloc(1, SLOW_BYTES);
    struct xfer x = { .ptr = bytes, .n_bytes = SLOW_BYTES, .tag = 1 };
    struct message m = { .peer = -1 };

    if (!EXPECT(s, bytes != NULL) || s->w->n_ranks == 1)
        goto out;
    for (int kind = 0; kind < 3; kind++) { /* late: the send, the send to anybody, the receive */
        EXPECT_OK(s, world_barrier(s->w));
        if (s->w->rank == (kind == 2 ? 0 : 1))
            world_pause(s->w, late_ns);
        x.peer = 1 - s->w->rank;
        x.tag = kind == 1 ? TAG_ANY | 1 : 1;
        if (s->w->rank == 1) {
            memset(bytes, kind + 1, SLOW_BYTES);
            EXPECT_OK(s, transport_send(t, &x));
            EXPECT_OK(s, transport_wait(t, &x, s->timeout_ms));
        } else if (s->w->rank == 0 && kind == 1) {
            EXPECT_OK(s, transport_recv_message(t, &m, s->timeout_ms));
            EXPECT(s, m.n_bytes == SLOW_BYTES && ((const unsigned char *)m.ptr)[SLOW_BYTES - 1] == 2);
            transport_release(t, &m);
        } else if (s->w->rank == 0) {
            EXPECT_OK(s, transport_recv(t, &x));
            EXPECT_OK(s, transport_wait(t, &x, s->timeout_ms));
            EXPECT(s, x.n_bytes == SLOW_BYTES && bytes[0] == kind + 1 && bytes[SLOW_BYTES - 1] == kind + 1);
        }
    }
out:
    transport_close(&t);
    free(bytes);
}

/* Rank 1 looks for a message of rank 0, without waits of the transport, for thousands of pauses. */
static bool hears(struct suite *s, struct transport *t)
{
    struct message m = { .peer = -1 };

    for (int i = 0; i < s->timeout_ms / 2 && m.peer < 0; i++) {
        if (!EXPECT_OK(s, transport_recv_message(t, &m, DO_NOT_WAIT)))
            return false;
        if (m.peer < 0)
            world_pause(s->w, 1000000);
    }
    const bool heard = m.peer == 0;
    transport_release(t, &m);
    return heard;
}

/* timeout_ms is in ms: if a wait of 20 ms lasted a thousand times as long, rank 1 would not get in time what rank 0
 * sends after it. */
void case_short_limit(struct suite *s, struct transport *t)
{
    unsigned char byte = 0;
    struct xfer rx = { .ptr = &byte, .n_bytes = 1, .peer = 1, .tag = 1 };
    struct xfer tx = { .ptr = &byte, .n_bytes = 1, .peer = 1, .tag = TAG_ANY | 1 };
    struct transport *silent = NULL, *other = NULL;
    struct message m;

    EXPECT_OK(s, transport_open(&silent, s->ops, s->w));
    EXPECT_OK(s, transport_open(&other, s->ops, s->w));
    if (silent && other && s->w->n_ranks > 1 && s->w->rank == 0) {
        EXPECT_OK(s, transport_recv(t, &rx));
        EXPECT(s, transport_wait(t, &rx, 20) == RC_TIMEOUT);
        EXPECT(s, transport_recv_message(silent, &m, 20) == RC_TIMEOUT);
        EXPECT_OK(s, transport_send(other, &tx));
        (void)!transport_wait(other, &tx, s->timeout_ms);
    } else if (other && s->w->rank == 1) {
        EXPECT(s, hears(s, other));
    }
    EXPECT_OK(s, world_barrier(s->w)); /* nobody closes what another looks at */
    transport_close(&other);
    transport_close(&silent);
    transport_close(&t);
}

/* A message that is too long ends transfers with its sender. */
void case_dead(struct suite *s, struct transport *t)
{
    unsigned char out[64] = { 0 }, in[64], in2[64];
    struct xfer tx = { .ptr = out, .n_bytes = sizeof out, .peer = 0, .tag = 1 };
    struct xfer rx = { .ptr = in, .n_bytes = 10, .peer = 1, .tag = 1 };
    struct xfer rx2 = { .ptr = in2, .n_bytes = sizeof in2, .peer = 1, .tag = 2 };

    if (s->w->rank == 1) {
        EXPECT_OK(s, transport_send(t, &tx));
        (void)!transport_wait(t, &tx, s->timeout_ms);
    } else if (s->w->rank == 0 && s->w->n_ranks > 1) {
        EXPECT_OK(s, transport_recv(t, &rx2));
        EXPECT_OK(s, transport_recv(t, &rx));
        EXPECT(s, transport_wait(t, &rx, s->timeout_ms) == RC_MISMATCH);
        expect_ended(s, t, RC_MISMATCH);
        EXPECT(s, transport_wait(t, &rx2, 50) != RC_OK); /* ended all the same */
    }
    transport_close(&t);
}

/* Rank 0 gives up on a message of rank 1: transfers with all other ranks go on, and messages of rank 1 are dropped. */
void case_one_peer(struct suite *s, struct transport *t)
{
    unsigned char in[64], out[64];
    struct xfer rx = { .ptr = in, .n_bytes = sizeof in, .peer = 1, .tag = 1 };
    struct xfer any = { .ptr = out, .n_bytes = sizeof out, .peer = 0, .tag = TAG_ANY | 1 };
    struct message m;

    if (s->w->n_ranks > 1 && s->w->rank == 0) {
        EXPECT_OK(s, transport_recv(t, &rx));
        EXPECT(s, transport_wait(t, &rx, DO_NOT_WAIT) == RC_TIMEOUT);
    }
    EXPECT_OK(s, world_barrier(s->w));
    pattern_fill(out, sizeof out, s->w->rank, 0, 8);
    if (s->w->rank > 0)
        EXPECT_OK(s, transport_send(t, &any));
    EXPECT_OK(s, world_barrier(s->w));
    for (int r = 2; s->w->rank == 0 && r < s->w->n_ranks; r++) {
        struct xfer named = { .ptr = in, .n_bytes = sizeof in, .peer = r, .tag = 2 };
        EXPECT_OK(s, transport_recv(t, &named));
        EXPECT_OK(s, transport_wait(t, &named, s->timeout_ms));
        EXPECT(s, pattern_holds(in, sizeof in, r, 0, 9));
        EXPECT_OK(s, transport_recv_message(t, &m, s->timeout_ms));
        EXPECT(s, m.peer >= 2 && m.n_bytes == sizeof out && pattern_holds(m.ptr, m.n_bytes, m.peer, 0, 8));
        transport_release(t, &m);
    }
    if (s->w->rank == 0 && s->w->n_ranks > 1)
        EXPECT(s, transport_recv_message(t, &m, 50) == RC_TIMEOUT); /* what rank 1 has sent */
    if (s->w->rank >= 2) {
        unsigned char more[64];
        struct xfer tx = { .ptr = more, .n_bytes = sizeof more, .peer = 0, .tag = 2 };
        pattern_fill(more, sizeof more, s->w->rank, 0, 9);
        EXPECT_OK(s, transport_send(t, &tx));
        EXPECT_OK(s, transport_wait(t, &tx, s->timeout_ms));
    }
    if (s->w->rank > 0)
        EXPECT_OK(s, transport_wait(t, &any, s->timeout_ms));
    EXPECT_OK(s, world_barrier(s->w));
    transport_close(&t);
}

/* ... but for a transport whose ranks end together. */
void case_together(struct suite *s, struct transport *t)
{
    const int n = s->w->n_ranks;
    unsigned char byte = 0;
    struct xfer rx = { .ptr = &byte, .n_bytes = 1, .peer = 1, .tag = 1 };
    struct message m;

    t->fails_together = true;
    expect_alive(s, t);
    EXPECT_OK(s, world_barrier(s->w)); /* all have their messages */
    if (n > 1 && s->w->rank == 0) {
        EXPECT_OK(s, transport_recv(t, &rx));
        EXPECT(s, transport_wait(t, &rx, DO_NOT_WAIT) == RC_TIMEOUT);
        EXPECT(s, t->dead == RC_TIMEOUT);
        for (int r = 1; r < n; r++) {
            struct xfer x = { .ptr = &byte, .n_bytes = 1, .peer = r, .tag = 2 };
            EXPECT(s, transport_recv(t, &x) == RC_TIMEOUT);
            EXPECT(s, transport_send(t, &x) == RC_TIMEOUT);
        }
        EXPECT(s, transport_recv_message(t, &m, DO_NOT_WAIT) == RC_TIMEOUT);
    }
    EXPECT_OK(s, world_barrier(s->w));
    transport_close(&t);
}

/* Hollow bytes arrive as a number, or are refused without harm. */
void case_hollow(struct suite *s, struct transport *t)
{
    uint32_t out = 5, in = 0;
    struct xfer tx = { .ptr = &out, .n_bytes = 4, .n_hollow_bytes = 1000, .peer = suite_next(s, 1), .tag = 4 };
    struct xfer rx = { .ptr = &in, .n_bytes = 4, .peer = suite_prev(s, 1), .tag = 4 };

    if (s->w->n_ranks > 1 && (s->ops->module.caps & TR_HOLLOW)) {
        EXPECT_OK(s, transport_exchange(t, &tx, &rx, s->timeout_ms));
        EXPECT(s, in == 5 && rx.n_bytes == 4 && rx.n_hollow_bytes == 1000);
        EXPECT(s, t->moved.bytes_sent == 1004 && t->moved.bytes_recv == 1004);
    } else if (s->w->n_ranks > 1) {
        EXPECT(s, transport_send(t, &tx) == RC_UNSUPPORTED);
        EXPECT(s, t->moved.msgs_sent == 0);
    }
    expect_alive(s, t);
    transport_close(&t);
}

/* Misuse is an error that names itself, and leaves the transport alive. */
void case_refusals(struct suite *s, struct transport *t)
{
    uint32_t value = 0;
    struct xfer x = { .ptr = &value, .n_bytes = sizeof value, .peer = suite_next(s, 1), .tag = TAG_ANY | 1 };

    EXPECT(s, transport_recv(t, &x) == RC_INVAL);
    x.tag = 1;
    x.peer = s->w->rank;
    EXPECT(s, transport_send(t, &x) == RC_INVAL);
    x.peer = s->w->n_ranks;
    EXPECT(s, transport_send(t, &x) == RC_INVAL);
    x.peer = -1;
    EXPECT(s, transport_recv(t, &x) == RC_INVAL);
    EXPECT(s, strstr(rc_message(), "-1") != NULL);
    if (!(s->ops->module.caps & TR_ADD) && s->w->n_ranks > 1) {
        x.peer = suite_next(s, 1);
        x.add = 1;
        EXPECT(s, transport_recv(t, &x) == RC_UNSUPPORTED);
    }
    expect_alive(s, t);
    transport_close(&t);
}

static void mismatch(struct suite *s, size_t n_sent_bytes, size_t n_room_bytes, bool posted_first)
{
    struct transport *t = NULL;
    struct guarded in = { 0 }, out = { 0 };
    struct xfer tx = { .n_bytes = n_sent_bytes, .peer = 0, .tag = 1 };
    struct xfer rx = { .n_bytes = n_room_bytes, .peer = 1, .tag = 1 };
    const bool receives = s->w->rank == 0 && s->w->n_ranks > 1, sends = s->w->rank == 1;
    char sent[24], room[24];

    (void)snprintf(sent, sizeof sent, "%zu", n_sent_bytes);
    (void)snprintf(room, sizeof room, "%zu", n_room_bytes);
    if (!EXPECT_OK(s, transport_open(&t, s->ops, s->w)) || !guarded_alloc(s, &in, n_room_bytes) ||
        !guarded_alloc(s, &out, n_sent_bytes))
        goto out;
    tx.ptr = out.ptr;
    rx.ptr = in.ptr;
    if (receives && posted_first)
        EXPECT_OK(s, transport_recv(t, &rx));
    EXPECT_OK(s, world_barrier(s->w));
    if (sends)
        EXPECT_OK(s, transport_send(t, &tx));
    EXPECT_OK(s, world_barrier(s->w));
    if (receives && !posted_first)
        EXPECT_OK(s, transport_recv(t, &rx));
    if (receives) {
        EXPECT(s, transport_wait(t, &rx, s->timeout_ms) == RC_MISMATCH);
        EXPECT(s, strstr(rc_message(), sent) != NULL);
        EXPECT(s, strstr(rc_message(), room) != NULL);
        EXPECT(s, guarded_whole(&in));
    }
    if (sends)
        (void)!transport_wait(t, &tx, s->timeout_ms);
out:
    transport_close(&t);
    guarded_free(&in);
    guarded_free(&out);
}

void case_mismatch(struct suite *s, struct transport *t)
{
    transport_close(&t);
    for (int posted_first = 0; posted_first < 2; posted_first++) { /* collective: on all ranks alike */
        mismatch(s, 201, 107, posted_first);
        mismatch(s, 1, 0, posted_first);
        mismatch(s, 300001, 1003, posted_first);
    }
}

static enum rc planted_check(struct world *w)
{
    (void)w;
    return rc_raise(RC_PEER, "rank 99 failed: planted by the suite");
}

/* world_check() starts to fail while a wait is in progress: as when a rank dies, yet nobody has to. Not
 * in virtual time, where the world itself ends the waits of its actors. */
void case_dead_rank(struct suite *s, struct transport *t)
{
    const struct world_ops *real = s->w->ops;
    struct world_ops planted = *real;
    struct transport *other = NULL;
    unsigned char in[40];
    struct xfer rx = { .ptr = in, .n_bytes = sizeof in, .peer = suite_next(s, 1), .tag = 1 };
    struct message m;

    EXPECT_OK(s, transport_open(&other, s->ops, s->w));
    if (other && s->w->n_ranks > 1 && !(real->module.caps & WORLD_VIRTUAL_TIME)) {
        planted.check = planted_check;
        EXPECT_OK(s, transport_recv(t, &rx));
        s->w->ops = &planted;
        EXPECT(s, transport_wait(t, &rx, s->timeout_ms) == RC_PEER);
        EXPECT(s, strstr(rc_message(), "rank 99") != NULL);
        EXPECT(s, transport_recv_message(other, &m, s->timeout_ms) == RC_PEER);
        s->w->ops = real;
    }
    transport_close(&other);
    transport_close(&t);
}
