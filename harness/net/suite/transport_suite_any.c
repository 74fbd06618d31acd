/* SPDX-License-Identifier: Apache-2.0 */
/* transport_suite_any.c - messages received from any rank (recv_message): net.T8, and T4 for them. */
#include <stdlib.h>
#include <string.h>

#include "harness/net/suite/transport_suite_kit.h"

enum { N_EACH = 6, MAX_BYTES = 70000 };

static size_t any_bytes(int i)
{
    static const size_t n_bytes[N_EACH] = { 0, 1, 33, 4097, MAX_BYTES, 8 };

    return n_bytes[i];
}

struct outgoing { /* N_EACH messages to rank 0 */
    unsigned char *bytes;
    struct xfer x[N_EACH];
};

/* Post N_EACH messages with TAG_ANY, tags first_tag, first_tag + step, ... */
static void post_each(struct suite *s, struct transport *t, struct outgoing *o, uint32_t first_tag, uint32_t step)
{
    o->bytes = malloc((size_t)N_EACH * MAX_BYTES);
    for (int i = 0; EXPECT(s, o->bytes != NULL) && i < N_EACH && s->n_failures == 0; i++) {
        unsigned char *at = o->bytes + (size_t)i * MAX_BYTES;
        pattern_fill(at, any_bytes(i), s->w->rank, 0, (uint32_t)i);
        o->x[i] = (struct xfer){
            .ptr = at, .n_bytes = any_bytes(i), .peer = 0, .tag = TAG_ANY | (first_tag + step * (uint32_t)i)
        };
        EXPECT_OK(s, transport_send(t, &o->x[i]));
    }
}

static void wait_each(struct suite *s, struct transport *t, struct outgoing *o)
{
    for (int i = 0; i < N_EACH && s->n_failures == 0; i++)
        EXPECT_OK(s, transport_wait(t, &o->x[i], s->timeout_ms));
}

/* m is the i-th message of its sender. */
static void check_message(struct suite *s, const struct message *m, int i, uint32_t tag)
{
    EXPECT(s, m->peer > 0 && m->peer < s->w->n_ranks);
    EXPECT(s, m->tag == (TAG_ANY | tag));
    EXPECT(s, m->n_bytes == any_bytes(i) && m->n_hollow_bytes == 0);
    EXPECT(s, m->n_bytes == 0 ||
                  ((uintptr_t)m->ptr % 8 == 0 && pattern_holds(m->ptr, m->n_bytes, m->peer, 0, (uint32_t)i)));
}

/* Between TAG_ANY messages, one with a plain tag of the same number: each kind finds its own way. */
void case_any(struct suite *s, struct transport *t)
{
    struct outgoing o = { 0 };
    uint32_t plain = (uint32_t)s->w->rank, got = 0;
    struct xfer tx = { .ptr = &plain, .n_bytes = sizeof plain, .peer = 0, .tag = 10 };
    const int n_senders = s->w->n_ranks - 1;
    int *n_from = calloc((size_t)s->w->n_ranks, sizeof *n_from);
    struct message m;

    if (s->w->rank > 0) {
        post_each(s, t, &o, 10, 1);
        EXPECT_OK(s, transport_send(t, &tx));
        wait_each(s, t, &o);
        EXPECT_OK(s, transport_wait(t, &tx, s->timeout_ms));
    } else {
        for (int i = 0; EXPECT(s, n_from != NULL) && i < n_senders * N_EACH && s->n_failures == 0; i++)
            if (EXPECT_OK(s, transport_recv_message(t, &m, s->timeout_ms))) {
                const int nth = (int)(m.tag & ~TAG_ANY) - 10;
                if (EXPECT(s, nth >= 0 && nth < N_EACH))
                    check_message(s, &m, nth, 10 + (uint32_t)nth);
                EXPECT(s, n_from[m.peer]++ < N_EACH);
                transport_release(t, &m);
                EXPECT(s, m.ptr == NULL && m.peer == -1);
            }
        for (int p = 1; p <= n_senders && s->n_failures == 0; p++) {
            struct xfer rx = { .ptr = &got, .n_bytes = sizeof got, .peer = p, .tag = 10 };
            EXPECT_OK(s, transport_recv(t, &rx));
            EXPECT_OK(s, transport_wait(t, &rx, s->timeout_ms));
            EXPECT(s, got == (uint32_t)p);
        }
        EXPECT(s, t->moved.msgs_recv == (uint64_t)n_senders * (N_EACH + 1));
    }
    transport_close(&t);
    free(n_from);
    free(o.bytes);
}

/* Lent until released, however many are held, in whatever order they go back. */
void case_any_held(struct suite *s, struct transport *t)
{
    const int n_all = (s->w->n_ranks - 1) * N_EACH;
    struct outgoing o = { 0 };
    struct message *m = calloc((size_t)n_all + 1, sizeof *m);
    int n_held = 0;

    if (s->w->rank > 0) {
        post_each(s, t, &o, 0, 1);
        wait_each(s, t, &o);
    } else if (EXPECT(s, m != NULL)) {
        while (n_held < n_all && EXPECT_OK(s, transport_recv_message(t, &m[n_held], s->timeout_ms)))
            n_held++;
        for (int i = 0; i < n_held; i++)
            if (EXPECT(s, (m[i].tag & ~TAG_ANY) < N_EACH))
                check_message(s, &m[i], (int)(m[i].tag & ~TAG_ANY), m[i].tag & ~TAG_ANY);
        for (int i = 0; i < n_held; i += 2)
            transport_release(t, &m[i]);
        for (int i = n_held - 1; i >= 0; i--)
            transport_release(t, &m[i]); /* the even ones again: nothing happens */
    }
    transport_close(&t);
    free(m);
    free(o.bytes);
}

/* No message: no error with DO_NOT_WAIT, RC_TIMEOUT after a wait. */
void case_any_none(struct suite *s, struct transport *t)
{
    uint32_t value = 1;
    struct xfer tx = { .ptr = &value, .n_bytes = sizeof value, .peer = 0, .tag = TAG_ANY | 5 };
    struct message m = { .ptr = &value, .peer = 7 };

    EXPECT_OK(s, transport_recv_message(t, &m, DO_NOT_WAIT));
    EXPECT(s, m.ptr == NULL && m.peer == -1);
    transport_release(t, &m); /* of none: nothing happens */
    EXPECT(s, t->dead == RC_OK && t->moved.msgs_recv == 0);
    EXPECT_OK(s, world_barrier(s->w));
    if (s->w->rank == 1) {
        EXPECT_OK(s, transport_send(t, &tx));
        EXPECT_OK(s, transport_wait(t, &tx, s->timeout_ms));
    } else if (s->w->rank == 0 && s->w->n_ranks > 1) {
        for (int i = 0; i < s->timeout_ms && s->n_failures == 0 && m.peer < 0; i++) { /* a poll gets there, too */
            world_pause(s->w, 1000000);
            EXPECT_OK(s, transport_recv_message(t, &m, DO_NOT_WAIT));
        }
        EXPECT(s, m.peer == 1 && m.tag == (TAG_ANY | 5) && m.n_bytes == sizeof value);
        transport_release(t, &m);
    }
    EXPECT_OK(s, world_barrier(s->w)); /* a transport that is dead sends no more */
    EXPECT(s, transport_recv_message(t, &m, 20) == RC_TIMEOUT);
    EXPECT(s, t->dead == RC_TIMEOUT);
    transport_close(&t);
}

/* net.T4: from one sender with one tag, in posting order. */
void case_any_order(struct suite *s, struct transport *t)
{
    const int n_all = (s->w->n_ranks - 1) * N_EACH;
    struct outgoing o = { 0 };
    int *n_from = calloc((size_t)s->w->n_ranks, sizeof *n_from);
    struct message m;

    if (s->w->rank > 0) {
        post_each(s, t, &o, 3, 0);
        wait_each(s, t, &o);
    }
    for (int i = 0; s->w->rank == 0 && EXPECT(s, n_from != NULL) && i < n_all && s->n_failures == 0; i++)
        if (EXPECT_OK(s, transport_recv_message(t, &m, s->timeout_ms))) {
            const int nth = n_from[m.peer]++;
            if (EXPECT(s, nth < N_EACH))
                check_message(s, &m, nth, 3);
            transport_release(t, &m);
        }
    transport_close(&t);
    free(n_from);
    free(o.bytes);
}

/* A rank that is done closes while its messages are still on their way. */
void case_linger(struct suite *s, struct transport *t)
{
    struct outgoing o = { 0 };
    unsigned char in[100];
    struct xfer tx = { .ptr = in, .n_bytes = sizeof in, .peer = 0, .tag = 1 };
    struct message m;

    if (s->w->rank > 0) {
        pattern_fill(in, sizeof in, s->w->rank, 0, 50);
        EXPECT_OK(s, transport_send(t, &tx));
        post_each(s, t, &o, 0, 1);
        EXPECT_OK(s, transport_wait(t, &tx, s->timeout_ms));
        wait_each(s, t, &o);
    } else {
        world_pause(s->w, 20000000);
        for (int p = 1; p < s->w->n_ranks && s->n_failures == 0; p++) {
            struct xfer rx = { .ptr = in, .n_bytes = sizeof in, .peer = p, .tag = 1 };
            EXPECT_OK(s, transport_recv(t, &rx));
            EXPECT_OK(s, transport_wait(t, &rx, s->timeout_ms));
            EXPECT(s, pattern_holds(in, sizeof in, p, 0, 50));
        }
        for (int i = 0; i < (s->w->n_ranks - 1) * N_EACH && s->n_failures == 0; i++)
            if (EXPECT_OK(s, transport_recv_message(t, &m, s->timeout_ms))) {
                check_message(s, &m, (int)(m.tag & ~TAG_ANY) % N_EACH, m.tag & ~TAG_ANY);
                transport_release(t, &m);
            }
    }
    transport_close(&t);
    free(o.bytes);
}
