/* SPDX-License-Identifier: Apache-2.0 */
/* transport_suite_plan.c - net.T13: what a plan refuses, and more, longer and longer held messages than any window
 * has. */
#include <stdlib.h>
#include <string.h>

#include "harness/net/suite/transport_suite_kit.h"

enum { N_MANY = 1500, TAG_MANY = 1, TAG_LAST = 2 };

struct many {
    uint32_t out[N_MANY + 1], in;
    struct xfer tx[N_MANY + 1];
};

static void receive_one(struct suite *s, struct transport *t, struct many *m, uint32_t tag, uint32_t expected)
{
    struct xfer rx = { .ptr = &m->in, .n_bytes = sizeof m->in, .peer = suite_prev(s, 1), .tag = tag };

    m->in = 0;
    if (EXPECT_OK(s, transport_recv(t, &rx)) && EXPECT_OK(s, transport_wait(t, &rx, s->timeout_ms)))
        EXPECT(s, m->in == expected && rx.n_bytes == sizeof m->in);
}

/* Every rank posts more sends than a window holds, and awaits the message behind them first: it comes (net.T2), and
 * then the others in their order (net.T4). */
void case_many(struct suite *s, struct transport *t)
{
    struct many *m = calloc(1, sizeof *m);

    if (!EXPECT(s, m != NULL) || s->w->n_ranks == 1)
        goto out;
    for (uint32_t i = 0; i <= N_MANY; i++) {
        m->out[i] = i + 1000;
        m->tx[i] = (struct xfer){ .ptr = &m->out[i],
                                  .n_bytes = sizeof m->out[i],
                                  .peer = suite_next(s, 1),
                                  .tag = i < N_MANY ? TAG_MANY : TAG_LAST };
        EXPECT_OK(s, transport_send(t, &m->tx[i]));
    }
    receive_one(s, t, m, TAG_LAST, N_MANY + 1000);
    for (uint32_t i = 0; i < N_MANY && s->n_failures == 0; i++)
        receive_one(s, t, m, TAG_MANY, i + 1000);
    for (uint32_t i = 0; i <= N_MANY; i++)
        EXPECT_OK(s, transport_wait(t, &m->tx[i], s->timeout_ms));
out:
    transport_close(&t);
    free(m);
}

/* The longest message of a plan is sent; a longer one is refused, in header or body, and the transport lives. */
void case_plan(struct suite *s, struct transport *t)
{
    enum { MOST_BYTES = 100 };
    const struct transport_plan plan = { .most_message_bytes = MOST_BYTES, .most_messages = 2 };
    unsigned char out[MOST_BYTES + 1], in[MOST_BYTES + 1], head = 0;
    struct xfer tx = { .ptr = out, .n_bytes = MOST_BYTES + 1, .peer = suite_next(s, 1), .tag = 5 };
    struct xfer rx = { .ptr = in, .n_bytes = sizeof in, .peer = suite_prev(s, 1), .tag = 5 };
    struct transport *planned = NULL;

    transport_close(&t);
    if (!EXPECT_OK(s, transport_open_planned(&planned, s->ops, s->w, &plan)) || s->w->n_ranks == 1)
        goto out;
    pattern_fill(out, sizeof out, s->w->rank, tx.peer, 1);
    EXPECT(s, transport_send(planned, &tx) == RC_INVAL);
    tx.n_bytes = MOST_BYTES;
    tx.head = &head;
    tx.n_head_bytes = 1;
    EXPECT(s, transport_send(planned, &tx) == RC_INVAL);
    tx.n_head_bytes = 0;
    for (int i = 0; i < 3 && s->n_failures == 0; i++) {
        rx.n_bytes = sizeof in;
        EXPECT_OK(s, transport_exchange(planned, &tx, &rx, s->timeout_ms));
        EXPECT(s, rx.n_bytes == MOST_BYTES && pattern_holds(in, MOST_BYTES, rx.peer, s->w->rank, 1));
    }
out:
    transport_close(&planned);
}

/* Longer than any buffer between two ranks: both send to the other, wait for that first, and receive then (net.T2). */
void case_long(struct suite *s, struct transport *t)
{
    enum { LONG_BYTES = 5 * (1 << 20) + 3 };
    unsigned char *out = malloc(LONG_BYTES), *in = malloc(LONG_BYTES);
    struct xfer tx = { .ptr = out, .n_bytes = LONG_BYTES, .peer = suite_next(s, 1), .tag = 3 };
    struct xfer rx = { .ptr = in, .n_bytes = LONG_BYTES, .peer = suite_prev(s, 1), .tag = 3 };

    if (!EXPECT(s, out && in) || s->w->n_ranks == 1)
        goto out;
    pattern_fill(out, LONG_BYTES, s->w->rank, tx.peer, 3);
    EXPECT_OK(s, transport_send(t, &tx));
    EXPECT_OK(s, transport_recv(t, &rx));
    EXPECT_OK(s, transport_wait(t, &tx, s->timeout_ms));
    EXPECT_OK(s, transport_wait(t, &rx, s->timeout_ms));
    EXPECT(s, rx.n_bytes == LONG_BYTES && pattern_holds(in, LONG_BYTES, rx.peer, s->w->rank, 3));
out:
    transport_close(&t);
    free(out);
    free(in);
}

enum { N_HOARDED = 40, HOARDED_BYTES = 300000 };

/* Rank 0 holds all that rank 1 sends, more than any buffer has, and gets more (net.T2); all are whole at the end
 * (net.T8). */
static void hoard(struct suite *s, struct transport *t, struct message *held)
{
    int n = 0;

    while (n < N_HOARDED && EXPECT_OK(s, transport_recv_message(t, &held[n], s->timeout_ms)))
        n++;
    for (int i = 0; i < n; i++) {
        const uint32_t nth = held[i].tag & ~TAG_ANY;
        EXPECT(s, nth == (uint32_t)i && held[i].n_bytes == HOARDED_BYTES - nth &&
                      pattern_holds(held[i].ptr, held[i].n_bytes, 1, 0, nth));
        transport_release(t, &held[i]);
    }
}

void case_hoard(struct suite *s, struct transport *t)
{
    struct message *held = calloc(N_HOARDED, sizeof *held);
    struct xfer *tx = calloc(N_HOARDED, sizeof *tx);
    unsigned char *out = s->w->rank == 1 ? malloc((size_t)N_HOARDED * HOARDED_BYTES) : NULL;

    if (!EXPECT(s, held && tx && (out || s->w->rank != 1)) || s->w->n_ranks == 1)
        goto out;
    if (s->w->rank == 0)
        hoard(s, t, held);
    for (uint32_t i = 0; s->w->rank == 1 && i < N_HOARDED; i++) {
        unsigned char *at = out + (size_t)i * HOARDED_BYTES;
        tx[i] = (struct xfer){ .ptr = at, .n_bytes = HOARDED_BYTES - i, .peer = 0, .tag = TAG_ANY | i };
        pattern_fill(at, tx[i].n_bytes, 1, 0, i);
        EXPECT_OK(s, transport_send(t, &tx[i]));
    }
    for (int i = 0; s->w->rank == 1 && i < N_HOARDED; i++)
        EXPECT_OK(s, transport_wait(t, &tx[i], s->timeout_ms));
out:
    transport_close(&t);
    free(held);
    free(tx);
    free(out);
}
