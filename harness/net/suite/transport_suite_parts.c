/* SPDX-License-Identifier: Apache-2.0 */
/* transport_suite_parts.c - messages of header and body: net.T11, and what net.T5, T7 and T9 say about them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/net/suite/transport_suite_kit.h"

/* Lengths in bytes: how the sender divides the message, and the room the receiver has in each part. */
struct division {
    size_t n_sent_head, n_sent_body, n_room_head, n_room_body;
};

static const struct division divisions[] = {
    { 64, 3000001, 64, 3000001 }, /* as ps does it */
    { 64, 5000, 64, 6000 },       /* a shorter body than there is room for */
    { 64, 0, 64, 0 },             /* header only */
    { 64, 0, 64, 100 },           /* no body where there is room for one */
    { 0, 5000, 0, 5000 },         /* body only */
    { 0, 0, 64, 100 },            /* nothing */
    { 0, 1, 1, 0 },               /* body only, received as a header */
    { 1, 0, 0, 1 },               /* header only, received as a body */
    { 1, 1, 1, 1 },
    { 0, 70064, 64, 70000 }, /* sent in one part, received in two */
    { 64, 70000, 0, 70064 }, /* sent in two parts, received in one */
    { 33, 4097, 64, 4097 },  /* the receiver's header is longer than the sender's, */
    { 97, 4097, 64, 5000 },  /* or shorter */
    { 10, 20, 64, 100 },     /* shorter than the receiver's header */
    { 5000, 7, 5007, 0 },    /* just the receiver's header */
};

enum { N_DIVISIONS = sizeof divisions / sizeof *divisions, TAG_PARTS = 20 };

static size_t n_smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

struct sent { /* a message to be sent in two parts, each with guard bands */
    struct guarded head, body;
    struct xfer x;
};

/* The pattern of message `key` to peer, divided. */
static bool sent_fill(struct suite *s, struct sent *m, const struct division *d, int peer, uint32_t tag, uint32_t key)
{
    const size_t n_bytes = d->n_sent_head + d->n_sent_body;
    unsigned char *whole = calloc(1, n_bytes + 1);

    if (!EXPECT(s, whole) || !guarded_alloc(s, &m->head, d->n_sent_head) ||
        !guarded_alloc(s, &m->body, d->n_sent_body)) {
        free(whole);
        return false;
    }
    pattern_fill(whole, n_bytes, s->w->rank, peer, key);
    memcpy(m->head.ptr, whole, d->n_sent_head);
    memcpy(m->body.ptr, whole + d->n_sent_head, d->n_sent_body);
    free(whole);
    m->x = (struct xfer){ .head = m->head.ptr,
                          .n_head_bytes = d->n_sent_head,
                          .ptr = m->body.ptr,
                          .n_bytes = d->n_sent_body,
                          .peer = peer,
                          .tag = tag };
    return true;
}

static void sent_free(struct sent *m)
{
    guarded_free(&m->head);
    guarded_free(&m->body);
}

/* The parts, one behind the other, are the pattern of a message of d from `from` to this rank. */
static void expect_parts(struct suite *s, const struct division *d, int from, uint32_t key, const void *head,
                         size_t n_head_bytes, const void *body, size_t n_bytes)
{
    const size_t n_sent_bytes = d->n_sent_head + d->n_sent_body;
    const size_t n_wanted_bytes = n_smaller(n_sent_bytes, d->n_room_head);
    unsigned char *whole = calloc(1, n_sent_bytes + 1);

    if (EXPECT(s, whole) && EXPECT(s, n_head_bytes == n_wanted_bytes) &&
        EXPECT(s, n_bytes == n_sent_bytes - n_wanted_bytes)) {
        if (n_head_bytes > 0)
            memcpy(whole, head, n_head_bytes);
        if (n_bytes > 0)
            memcpy(whole + n_head_bytes, body, n_bytes);
        EXPECT(s, pattern_holds(whole, n_sent_bytes, from, s->w->rank, key));
    }
    free(whole);
}

/* What a send of this rank and a receive from its other neighbour of one division leave behind. */
static void exchange_parts(struct suite *s, struct transport *t, uint32_t i)
{
    const struct division *d = &divisions[i];
    const size_t n_bytes = d->n_sent_head + d->n_sent_body;
    const struct traffic before = t->moved;
    struct guarded head = { 0 }, body = { 0 };
    struct sent sent = { 0 };
    struct xfer rx = {
        .n_head_bytes = d->n_room_head, .n_bytes = d->n_room_body, .peer = suite_prev(s, 1), .tag = TAG_PARTS
    };

    if (sent_fill(s, &sent, d, suite_next(s, 1), TAG_PARTS, i) && guarded_alloc(s, &head, d->n_room_head) &&
        guarded_alloc(s, &body, d->n_room_body)) {
        rx.head = head.ptr;
        rx.ptr = body.ptr;
        EXPECT_OK(s, transport_exchange(t, &sent.x, &rx, s->timeout_ms));
        expect_parts(s, d, rx.peer, i, head.ptr, rx.n_head_bytes, body.ptr, rx.n_bytes);
        EXPECT(s, rx.n_hollow_bytes == 0);
        EXPECT(s, guarded_whole(&head) && guarded_whole(&body));
        EXPECT(s, guarded_whole(&sent.head) && guarded_whole(&sent.body));
        EXPECT(s, sent.x.n_head_bytes == d->n_sent_head && sent.x.n_bytes == d->n_sent_body);
        EXPECT(s, t->moved.msgs_sent == before.msgs_sent + 1 && t->moved.bytes_sent == before.bytes_sent + n_bytes);
        EXPECT(s, t->moved.msgs_recv == before.msgs_recv + 1 && t->moved.bytes_recv == before.bytes_recv + n_bytes);
    }
    guarded_free(&head);
    guarded_free(&body);
    sent_free(&sent);
}

void case_parts(struct suite *s, struct transport *t)
{
    for (uint32_t i = 0; i < N_DIVISIONS && s->w->n_ranks > 1 && s->n_failures == 0; i++)
        exchange_parts(s, t, i);
    transport_close(&t);
}

/* The same messages to rank 0, whoever they are from; all held before the first is released. */
void case_parts_any(struct suite *s, struct transport *t)
{
    const int n_all = (s->w->n_ranks - 1) * N_DIVISIONS;
    struct message *m = calloc((size_t)n_all + 1, sizeof *m);
    struct sent sent[N_DIVISIONS] = { { .x = { 0 } } };
    uint32_t n_from[16] = { 0 }, *i_of = calloc((size_t)n_all + 1, sizeof *i_of); /* which message m[k] is */
    int n_held = 0;

    for (uint32_t i = 0; s->w->rank > 0 && i < N_DIVISIONS && s->n_failures == 0; i++)
        if (sent_fill(s, &sent[i], &divisions[i], 0, TAG_ANY | TAG_PARTS, i))
            EXPECT_OK(s, transport_send(t, &sent[i].x));
    for (uint32_t i = 0; s->w->rank > 0 && i < N_DIVISIONS && s->n_failures == 0; i++)
        EXPECT_OK(s, transport_wait(t, &sent[i].x, s->timeout_ms));
    /* Which message comes next is not known before: every second one is received as one part. */
    for (; EXPECT(s, m && i_of) && s->w->rank == 0 && n_held < n_all && s->n_failures == 0; n_held++) {
        if (!EXPECT_OK(s, transport_recv_divided(t, &m[n_held], n_held % 2 ? 0 : 64, s->timeout_ms)))
            break;
        i_of[n_held] = n_from[m[n_held].peer % 16]++ % N_DIVISIONS; /* net.T4 */
    }
    for (int k = 0; k < n_held && s->n_failures == 0; k++) {
        struct division d = divisions[i_of[k]];
        d.n_room_head = k % 2 ? 0 : 64;
        expect_parts(s, &d, m[k].peer, i_of[k], m[k].head, m[k].n_head_bytes, m[k].ptr, m[k].n_bytes);
    }
    for (int k = n_held - 1; k >= 0; k--) {
        transport_release(t, &m[k]);
        EXPECT(s, !m[k].head && !m[k].copy && m[k].peer == -1);
    }
    EXPECT(s, t->moved.msgs_recv == (uint64_t)n_held);
    transport_close(&t);
    for (int i = 0; i < N_DIVISIONS; i++)
        sent_free(&sent[i]);
    free(i_of);
    free(m);
}

/* TR_ADD: the body is added, the header is not; at any border, on both ways a message can come. */
void case_parts_add(struct suite *s, struct transport *t)
{
    enum { N = 501, HEAD_BYTES = 8 };
    static const size_t n_sent_head[] = { HEAD_BYTES, 0, 2, HEAD_BYTES + 6 };
    const bool possible = s->w->n_ranks > 1 && (s->ops->module.caps & TR_ADD);
    unsigned char message[HEAD_BYTES + N * sizeof(float)], head[HEAD_BYTES];
    float sum[N], addend[N], value;

    for (int i = 0; i < 16 && possible && s->n_failures == 0; i++) {
        struct xfer tx = { .head = message,
                           .n_head_bytes = n_sent_head[i % 8 / 2],
                           .ptr = message + n_sent_head[i % 8 / 2],
                           .n_bytes = sizeof message - n_sent_head[i % 8 / 2],
                           .peer = suite_next(s, 1) };
        struct xfer rx = { .head = head,
                           .n_head_bytes = HEAD_BYTES,
                           .ptr = sum,
                           .n_bytes = sizeof sum,
                           .peer = suite_prev(s, 1),
                           .add = 1,
                           .addend = i / 8 ? addend : NULL };
        pattern_fill(message, HEAD_BYTES, s->w->rank, tx.peer, (uint32_t)i);
        for (int k = 0; k < N; k++) {
            value = (float)(s->w->rank * N + k);
            addend[k] = (float)k;
            sum[k] = i / 8 ? -1 : (float)k;
            memcpy(message + HEAD_BYTES + (size_t)k * sizeof value, &value, sizeof value);
        }
        if (i % 2)
            EXPECT_OK(s, transport_recv(t, &rx));
        EXPECT_OK(s, transport_send(t, &tx));
        EXPECT_OK(s, world_barrier(s->w));
        if (i % 2 == 0)
            EXPECT_OK(s, transport_recv(t, &rx));
        EXPECT_OK(s, transport_wait(t, &rx, s->timeout_ms));
        EXPECT_OK(s, transport_wait(t, &tx, s->timeout_ms));
        int n_wrong = 0;
        for (int k = 0; k < N; k++)
            n_wrong += sum[k] != (float)(rx.peer * N + 2 * k);
        EXPECT(s, n_wrong == 0);
        EXPECT(s, rx.n_head_bytes == HEAD_BYTES && pattern_holds(head, HEAD_BYTES, rx.peer, s->w->rank, (uint32_t)i));
    }
    transport_close(&t);
}

/* After complete(), and with TR_COPIES after the post already, both parts are the sender's again. */
void case_parts_reuse(struct suite *s, struct transport *t)
{
    const struct division d = { 64, 50000, 64, 50000 };
    unsigned char *in = malloc(50064);

    for (uint32_t i = 0; EXPECT(s, in) && i < 10 && s->w->n_ranks > 1 && s->n_failures == 0; i++) {
        struct sent sent = { 0 };
        struct xfer rx = { .head = in, .n_head_bytes = 64, .ptr = in + 64, .n_bytes = 50000, .peer = suite_prev(s, 1) };
        if (sent_fill(s, &sent, &d, suite_next(s, 1), 0, i)) {
            EXPECT_OK(s, transport_recv(t, &rx));
            EXPECT_OK(s, transport_send(t, &sent.x));
            if (!(s->ops->module.caps & TR_COPIES))
                EXPECT_OK(s, transport_wait(t, &sent.x, s->timeout_ms));
            memset(sent.head.ptr, 0, 64);
            memset(sent.body.ptr, 0, 50000);
            if (s->ops->module.caps & TR_COPIES)
                EXPECT_OK(s, transport_wait(t, &sent.x, s->timeout_ms));
            EXPECT_OK(s, transport_wait(t, &rx, s->timeout_ms));
            expect_parts(s, &d, rx.peer, i, in, rx.n_head_bytes, in + 64, rx.n_bytes);
        }
        EXPECT_OK(s, world_barrier(s->w)); /* nobody closes while another reads */
        sent_free(&sent);
    }
    transport_close(&t);
    free(in);
}

enum { LENT_REQUEST = 5, LENT_ANSWER, LENT_LAST };

/* Post what is lent, of sent, to peer, and write to it where the transport says that it may be. */
static void post_lent(struct suite *s, struct transport *t, struct sent *sent, int peer, uint32_t tag)
{
    sent->x.peer = peer;
    sent->x.tag = tag;
    sent->x.lends = true;
    EXPECT_OK(s, transport_send(t, &sent->x));
    if (!transport_sends_lent(t, sent->x.n_bytes)) /* it was copied */
        memset(sent->x.ptr, 0, sent->x.n_bytes);
}

/* It is the sender's again, who writes to it. */
static void end_lent(struct suite *s, struct transport *t, struct sent *sent, const struct division *d)
{
    EXPECT_OK(s, transport_wait(t, &sent->x, s->timeout_ms));
    memset(sent->head.ptr, 0, d->n_sent_head);
    memset(sent->body.ptr, 0, d->n_sent_body);
    sent_free(sent);
}

static void take_lent(struct suite *s, struct transport *t, unsigned char *in, const struct division *d, int peer,
                      uint32_t tag, uint32_t i)
{
    struct xfer rx = {
        .head = in, .n_head_bytes = d->n_room_head, .ptr = in + d->n_room_head, .n_bytes = d->n_room_body
    };

    rx.peer = peer;
    rx.tag = tag;
    EXPECT_OK(s, transport_recv(t, &rx));
    EXPECT_OK(s, transport_wait(t, &rx, s->timeout_ms));
    expect_parts(s, d, peer, i, in, rx.n_head_bytes, in + d->n_room_head, rx.n_bytes);
}

/* xfer.lends: requests to the next rank, and answers to the one before, each of which ends behind the next request. */
void case_lent(struct suite *s, struct transport *t)
{
    enum { N_ROUNDS = 10, MOST_BYTES = 1 << 20 };
    static const size_t n_body[] = { 0, 64, 32767, 32768, MOST_BYTES };
    unsigned char *in = malloc(64 + MOST_BYTES), last[2] = { 0 };
    const int next = suite_next(s, 1), prev = suite_prev(s, 1);
    struct xfer tx = { .ptr = last, .n_bytes = 1, .peer = next, .tag = LENT_LAST }, rx = tx;
    struct sent request, answer = { 0 };
    struct division d, before = { 0 };

    rx.ptr = last + 1;
    rx.peer = prev;
    for (uint32_t i = 0; EXPECT(s, in) && i < N_ROUNDS && s->w->n_ranks > 1 && s->n_failures == 0; i++) {
        d = (struct division){ 64, n_body[i % 5], 64, n_body[i % 5] };
        if (!sent_fill(s, &request, &d, next, LENT_REQUEST, i))
            break;
        post_lent(s, t, &request, next, LENT_REQUEST);
        take_lent(s, t, in, &d, prev, LENT_REQUEST, i);
        if (i > 0)
            end_lent(s, t, &answer, &before);
        if (!sent_fill(s, &answer, &d, prev, LENT_ANSWER, i))
            break;
        post_lent(s, t, &answer, prev, LENT_ANSWER);
        take_lent(s, t, in, &d, next, LENT_ANSWER, i);
        end_lent(s, t, &request, &d);
        before = d;
    }
    if (s->w->n_ranks > 1 && s->n_failures == 0) {
        EXPECT_OK(s, transport_exchange(t, &tx, &rx, s->timeout_ms));
        end_lent(s, t, &answer, &before);
    }
    transport_close(&t);
    free(in);
}

/* One byte more than header and body have room for: both lengths are named, no byte beyond is written. */
void case_parts_too_long(struct suite *s, struct transport *t)
{
    const struct division d = { 64, 238, 60, 241 };
    const bool receives = s->w->rank == 0 && s->w->n_ranks > 1;
    struct guarded head = { 0 }, body = { 0 };
    struct sent sent = { 0 };

    if (receives && guarded_alloc(s, &head, d.n_room_head) && guarded_alloc(s, &body, d.n_room_body)) {
        struct xfer rx = { .head = head.ptr, .n_head_bytes = 60, .ptr = body.ptr, .n_bytes = 241, .peer = 1, .tag = 1 };
        EXPECT_OK(s, transport_recv(t, &rx));
        EXPECT(s, transport_wait(t, &rx, s->timeout_ms) == RC_MISMATCH);
        EXPECT(s, strstr(rc_message(), "302") && strstr(rc_message(), "301"));
        EXPECT(s, guarded_whole(&head) && guarded_whole(&body));
    } else if (s->w->rank == 1 && sent_fill(s, &sent, &d, 0, 1, 0)) {
        EXPECT_OK(s, transport_send(t, &sent.x));
        (void)!transport_wait(t, &sent.x, s->timeout_ms);
    }
    transport_close(&t);
    guarded_free(&head);
    guarded_free(&body);
    sent_free(&sent);
}

/* TR_HOLLOW: a real header before a body without content, as ps sends it in simulations. */
void case_parts_hollow(struct suite *s, struct transport *t)
{
    unsigned char out[64], in[64] = { 0 };
    struct xfer tx = { .head = out, .n_head_bytes = 64, .n_hollow_bytes = 1000, .peer = suite_next(s, 1), .tag = 4 };
    struct xfer rx = { .head = in, .n_head_bytes = 64, .n_hollow_bytes = 1000, .peer = suite_prev(s, 1), .tag = 4 };

    if (s->w->n_ranks > 1 && (s->ops->module.caps & TR_HOLLOW)) {
        pattern_fill(out, sizeof out, s->w->rank, tx.peer, 3);
        EXPECT_OK(s, transport_exchange(t, &tx, &rx, s->timeout_ms));
        EXPECT(s, rx.n_head_bytes == 64 && rx.n_bytes == 0 && rx.n_hollow_bytes == 1000);
        EXPECT(s, pattern_holds(in, sizeof in, rx.peer, s->w->rank, 3));
        EXPECT(s, t->moved.bytes_sent == 1064 && t->moved.bytes_recv == 1064);
    }
    transport_close(&t);
}
