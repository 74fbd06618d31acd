/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport_suite.c - the list of cases, and those about named messages: net.T1 to T5.
 *
 * Each case gets a fresh transport, closed at once when this rank is done with it, whoever is not.
 * A case must not leave a rank waiting for ever: every wait has a limit.
 */
#include "harness/net/suite/transport_suite.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/rng.h"
#include "harness/net/suite/transport_suite_kit.h"

enum { SUITE_TIMEOUT_MS = 20000, N_BATCH = 8, N_ORDERED = 40, BIG_BYTES = 1 << 20 };

/* Every length, every distance, both ways at once; capacity exact or larger. */
static void case_exchange(struct suite *s, struct transport *t)
{
    const int r = s->w->rank;

    for (int d = 1; d < s->w->n_ranks && s->n_failures == 0; d++)
        for (uint32_t i = 0; i < SUITE_N_LENGTHS && s->n_failures == 0; i++) {
            const size_t n_bytes = suite_length_bytes[i];
            struct guarded out = { 0 }, in = { 0 };
            if (guarded_alloc(s, &out, n_bytes) && guarded_alloc(s, &in, n_bytes + i % 2 * 10)) {
                struct xfer tx = { .ptr = out.ptr, .n_bytes = n_bytes, .peer = suite_next(s, d), .tag = i };
                struct xfer rx = { .ptr = in.ptr, .n_bytes = in.n_bytes, .peer = suite_prev(s, d), .tag = i };
                pattern_fill(out.ptr, n_bytes, r, tx.peer, i);
                EXPECT_OK(s, transport_exchange(t, &tx, &rx, s->timeout_ms));
                EXPECT(s, rx.n_bytes == n_bytes);
                EXPECT(s, rx.n_hollow_bytes == 0);
                EXPECT(s, pattern_holds(in.ptr, n_bytes, rx.peer, r, i));
                EXPECT(s, guarded_whole(&in) && guarded_whole(&out));
                EXPECT(s, pattern_holds(out.ptr, n_bytes, r, tx.peer, i)); /* a send only reads */
            }
            guarded_free(&in);
            guarded_free(&out);
        }
    transport_close(&t);
}

struct batch { /* N_BATCH messages each way around the ring, tags 0 .. N_BATCH-1 */
    struct guarded out[N_BATCH], in[N_BATCH];
    struct xfer tx[N_BATCH], rx[N_BATCH];
};

static struct batch *batch_alloc(struct suite *s, size_t n_bytes)
{
    struct batch *b = calloc(1, sizeof *b);

    if (!EXPECT(s, b != NULL))
        return NULL;
    for (uint32_t i = 0; i < N_BATCH; i++) {
        if (!guarded_alloc(s, &b->out[i], n_bytes) || !guarded_alloc(s, &b->in[i], n_bytes))
            continue;
        pattern_fill(b->out[i].ptr, n_bytes, s->w->rank, suite_next(s, 1), i);
        b->tx[i] = (struct xfer){ .ptr = b->out[i].ptr, .n_bytes = n_bytes, .peer = suite_next(s, 1), .tag = i };
        b->rx[i] = (struct xfer){ .ptr = b->in[i].ptr, .n_bytes = n_bytes, .peer = suite_prev(s, 1), .tag = i };
    }
    return b;
}

static void batch_check(struct suite *s, struct batch *b)
{
    for (uint32_t i = 0; i < N_BATCH; i++) {
        EXPECT(s, b->rx[i].n_bytes == b->in[i].n_bytes);
        EXPECT(s, pattern_holds(b->in[i].ptr, b->in[i].n_bytes, suite_prev(s, 1), s->w->rank, i));
        EXPECT(s, guarded_whole(&b->in[i]));
    }
}

static void batch_free(struct batch *b)
{
    for (int i = 0; b && i < N_BATCH; i++) {
        guarded_free(&b->out[i]);
        guarded_free(&b->in[i]);
    }
    free(b);
}

/* Between posting and posting all ranks meet: a post that waits for its peer never gets there. */
static void case_post(struct suite *s, struct transport *t)
{
    struct batch *b = s->w->n_ranks > 1 ? batch_alloc(s, BIG_BYTES) : NULL;

    for (int i = 0; b && i < N_BATCH && s->n_failures == 0; i++)
        EXPECT_OK(s, transport_recv(t, &b->rx[i]));
    EXPECT_OK(s, world_barrier(s->w));
    for (int i = 0; b && i < N_BATCH && s->n_failures == 0; i++)
        EXPECT_OK(s, transport_send(t, &b->tx[i]));
    EXPECT_OK(s, world_barrier(s->w));
    for (int i = 0; b && i < N_BATCH && s->n_failures == 0; i++) {
        EXPECT_OK(s, transport_wait(t, &b->rx[i], s->timeout_ms));
        EXPECT_OK(s, transport_wait(t, &b->tx[i], s->timeout_ms));
    }
    if (b && s->n_failures == 0)
        batch_check(s, b);
    transport_close(&t); /* before the memory of what may still be posted goes */
    batch_free(b);
}

/* Sends before receives, and each rank completes in another order. */
static void case_any_wait_order(struct suite *s, struct transport *t)
{
    struct batch *b = s->w->n_ranks > 1 ? batch_alloc(s, 70001) : NULL;
    const bool odd = s->w->rank % 2 == 1;

    for (int i = 0; b && i < N_BATCH && s->n_failures == 0; i++)
        EXPECT_OK(s, transport_send(t, &b->tx[i]));
    for (int i = 0; b && i < N_BATCH && s->n_failures == 0; i++)
        EXPECT_OK(s, transport_recv(t, &b->rx[N_BATCH - 1 - i]));
    for (int i = 0; b && i < N_BATCH && s->n_failures == 0; i++)
        EXPECT_OK(s, transport_wait(t, odd ? &b->tx[i] : &b->rx[i], s->timeout_ms));
    for (int i = N_BATCH - 1; b && i >= 0 && s->n_failures == 0; i--)
        EXPECT_OK(s, transport_wait(t, odd ? &b->rx[i] : &b->tx[i], s->timeout_ms));
    if (b && s->n_failures == 0)
        batch_check(s, b);
    transport_close(&t);
    batch_free(b);
}

/* The i-th message of a tag: its length and content say which it is. */
static size_t ordered_bytes(int i)
{
    return (size_t)(i * 37 % 11 * 100 + i);
}

static void order_receive(struct suite *s, struct transport *t, unsigned char *in, uint32_t tag, int i)
{
    struct xfer rx = { .ptr = in, .n_bytes = 2000, .peer = suite_prev(s, 1), .tag = tag };

    if (!EXPECT_OK(s, transport_recv(t, &rx)) || !EXPECT_OK(s, transport_wait(t, &rx, s->timeout_ms)))
        return;
    EXPECT(s, rx.n_bytes == ordered_bytes(i));
    EXPECT(s, pattern_holds(in, rx.n_bytes, rx.peer, s->w->rank, tag * 1000 + (uint32_t)i));
}

/* Two tags, two messages of each in turn, received one tag after the other. */
static void case_order(struct suite *s, struct transport *t)
{
    struct xfer tx[2 * N_ORDERED];
    unsigned char *out = malloc(2 * N_ORDERED * 2000), *in = malloc(2000);

    if (s->w->n_ranks > 1 && EXPECT(s, out && in)) {
        for (int i = 0; i < 2 * N_ORDERED && s->n_failures == 0; i++) {
            const uint32_t tag = 5 + (uint32_t)i / 2 % 2;
            const int nth = i / 4 * 2 + i % 2; /* of its tag */
            unsigned char *at = out + (size_t)i * 2000;
            tx[i] = (struct xfer){ .ptr = at, .n_bytes = ordered_bytes(nth), .peer = suite_next(s, 1), .tag = tag };
            pattern_fill(at, tx[i].n_bytes, s->w->rank, tx[i].peer, tag * 1000 + (uint32_t)nth);
            EXPECT_OK(s, transport_send(t, &tx[i]));
        }
        for (int i = 0; i < N_ORDERED && s->n_failures == 0; i++)
            order_receive(s, t, in, 6, i);
        for (int i = 0; i < N_ORDERED && s->n_failures == 0; i++)
            order_receive(s, t, in, 5, i);
        for (int i = 0; i < 2 * N_ORDERED && s->n_failures == 0; i++)
            EXPECT_OK(s, transport_wait(t, &tx[i], s->timeout_ms));
    }
    transport_close(&t);
    free(out);
    free(in);
}

/* Receives of one tag, posted before anything is sent, fill in posting order. */
static void case_order_posted(struct suite *s, struct transport *t)
{
    struct batch *b = s->w->n_ranks > 1 ? batch_alloc(s, 300) : NULL;

    for (int i = 0; b && i < N_BATCH && s->n_failures == 0; i++) {
        b->rx[i].tag = b->tx[i].tag = 9;
        EXPECT_OK(s, transport_recv(t, &b->rx[i]));
    }
    EXPECT_OK(s, world_barrier(s->w));
    for (int i = 0; b && i < N_BATCH && s->n_failures == 0; i++)
        EXPECT_OK(s, transport_send(t, &b->tx[i]));
    for (int i = N_BATCH - 1; b && i >= 0 && s->n_failures == 0; i--)
        EXPECT_OK(s, transport_wait(t, &b->rx[i], s->timeout_ms));
    for (int i = 0; b && i < N_BATCH && s->n_failures == 0; i++)
        EXPECT_OK(s, transport_wait(t, &b->tx[i], s->timeout_ms));
    if (b && s->n_failures == 0)
        batch_check(s, b);
    transport_close(&t);
    batch_free(b);
}

/* After complete() the memory is the sender's again: writing to it changes no message. */
static void case_reuse(struct suite *s, struct transport *t)
{
    const size_t n_bytes = 50000;
    struct guarded out = { 0 }, in = { 0 };
    struct xfer tx, rx;

    if (s->w->n_ranks > 1 && guarded_alloc(s, &out, n_bytes) && guarded_alloc(s, &in, n_bytes))
        for (uint32_t i = 0; i < 10 && s->n_failures == 0; i++) {
            tx = (struct xfer){ .ptr = out.ptr, .n_bytes = n_bytes, .peer = suite_next(s, 1) };
            rx = (struct xfer){ .ptr = in.ptr, .n_bytes = n_bytes, .peer = suite_prev(s, 1) };
            pattern_fill(out.ptr, n_bytes, s->w->rank, tx.peer, i);
            EXPECT_OK(s, transport_recv(t, &rx));
            EXPECT_OK(s, transport_send(t, &tx));
            EXPECT_OK(s, transport_wait(t, &tx, s->timeout_ms));
            memset(out.ptr, 0, n_bytes);
            EXPECT_OK(s, transport_wait(t, &rx, s->timeout_ms));
            EXPECT(s, pattern_holds(in.ptr, n_bytes, rx.peer, s->w->rank, i));
        }
    transport_close(&t);
    guarded_free(&in);
    guarded_free(&out);
}

/* Payload bytes and messages of both directions, nothing else. */
static void case_traffic(struct suite *s, struct transport *t)
{
    unsigned char out[300] = { 0 }, in[300];

    for (size_t n_bytes = 0; n_bytes <= 300 && s->w->n_ranks > 1; n_bytes += 100) {
        struct xfer tx = { .ptr = out, .n_bytes = n_bytes, .peer = suite_next(s, 1), .tag = 3 };
        struct xfer rx = { .ptr = in, .n_bytes = sizeof in, .peer = suite_prev(s, 1), .tag = 3 };
        EXPECT_OK(s, transport_exchange(t, &tx, &rx, s->timeout_ms));
    }
    const uint64_t n_msgs = s->w->n_ranks > 1 ? 4 : 0;
    EXPECT(s, t->moved.msgs_sent == n_msgs && t->moved.bytes_sent == n_msgs * 150);
    EXPECT(s, t->moved.msgs_recv == n_msgs && t->moved.bytes_recv == n_msgs * 150);
    transport_close(&t);
}

/* TR_ADD: received values are added to what is there, or elsewhere, on both ways a message can come. */
static void case_add(struct suite *s, struct transport *t)
{
    enum { N = 1001 };
    const bool possible = s->w->n_ranks > 1 && (s->ops->module.caps & TR_ADD);
    float out[N], sum[N], addend[N];
    struct xfer tx, rx;

    for (int i = 0; possible && i < 4; i++) { /* collective: on all ranks alike */
        const bool posted_first = i % 2, is_elsewhere = i / 2;
        tx = (struct xfer){ .ptr = out, .n_bytes = sizeof out, .peer = suite_next(s, 1), .tag = 1 };
        rx = (struct xfer){ .ptr = sum, .n_bytes = sizeof sum, .peer = suite_prev(s, 1), .tag = 1, .add = 1 };
        rx.addend = is_elsewhere ? addend : NULL;
        for (int k = 0; k < N; k++) {
            out[k] = (float)(s->w->rank * N + k);
            addend[k] = (float)k;
            sum[k] = is_elsewhere ? -1 : (float)k;
        }
        if (posted_first)
            EXPECT_OK(s, transport_recv(t, &rx));
        EXPECT_OK(s, transport_send(t, &tx));
        EXPECT_OK(s, world_barrier(s->w));
        if (!posted_first)
            EXPECT_OK(s, transport_recv(t, &rx));
        EXPECT_OK(s, transport_wait(t, &rx, s->timeout_ms));
        EXPECT_OK(s, transport_wait(t, &tx, s->timeout_ms));
        int n_wrong = 0;
        for (int k = 0; k < N; k++)
            n_wrong += sum[k] != (float)(suite_prev(s, 1) * N + 2 * k) || addend[k] != (float)k;
        EXPECT(s, n_wrong == 0);
    }
    transport_close(&t);
}

/* A second transport, and transports of the parts of a split world: the same tags, nothing mixes. */
static void case_apart(struct suite *s, struct transport *t)
{
    struct transport *other[2] = { NULL, NULL };
    struct world *part = NULL;
    uint32_t out[3], in[3] = { 0 };
    struct xfer tx[3], rx[3];

    EXPECT_OK(s, transport_open(&other[0], s->ops, s->w));
    if (EXPECT_OK(s, world_split(s->w, s->w->rank % 2, -s->w->rank, &part)))
        EXPECT_OK(s, transport_open(&other[1], s->ops, part));
    for (int i = 0; i < 3 && s->n_failures == 0; i++) {
        struct transport *on = i == 0 ? t : other[i - 1];
        const int n = on->world->n_ranks, r = on->world->rank;
        if (n == 1)
            continue;
        out[i] = (uint32_t)(i * 10000 + r);
        tx[i] = (struct xfer){ .ptr = &out[i], .n_bytes = sizeof out[i], .peer = (r + 1) % n };
        rx[i] = (struct xfer){ .ptr = &in[i], .n_bytes = sizeof in[i], .peer = (r + n - 1) % n };
        EXPECT_OK(s, transport_send(on, &tx[i]));
    }
    for (int i = 2; i >= 0 && s->n_failures == 0; i--) {
        struct transport *on = i == 0 ? t : other[i - 1];
        if (on->world->n_ranks == 1)
            continue;
        EXPECT_OK(s, transport_recv(on, &rx[i]));
        EXPECT_OK(s, transport_wait(on, &rx[i], s->timeout_ms));
        EXPECT(s, in[i] == (uint32_t)(i * 10000 + rx[i].peer));
        EXPECT_OK(s, transport_wait(on, &tx[i], s->timeout_ms));
    }
    transport_close(&other[1]);
    transport_close(&other[1]); /* twice is once */
    transport_close(&other[0]);
    world_split_close(&part);
    transport_close(&t);
}

/* Length and tag of round i between two ranks, known to both. */
static size_t random_bytes(int from, int to, int i)
{
    const uint64_t u = rng_u64(7, RNG_TEST, (uint64_t)((from * 1000 + to) * 1000 + i));

    return u % 8 == 0 ? 0 : (size_t)(u >> 32) % (u % 3 == 0 ? 20000 : 200);
}

/* All ranks to all ranks, random lengths, three tags. */
static void case_random(struct suite *s, struct transport *t)
{
    enum { N_ROUNDS = 60, MAX_BYTES = 20000 };
    const int n = s->w->n_ranks, r = s->w->rank;
    unsigned char *out = malloc((size_t)n * MAX_BYTES), *in = malloc((size_t)n * MAX_BYTES);
    struct xfer *tx = calloc((size_t)n, sizeof *tx), *rx = calloc((size_t)n, sizeof *rx);

    for (int i = 0; EXPECT(s, out && in && tx && rx) && i < N_ROUNDS && s->n_failures == 0; i++) {
        for (int p = 0; p < n; p++) {
            const size_t at = (size_t)p * MAX_BYTES;
            tx[p] = (struct xfer){ out + at, random_bytes(r, p, i), .peer = p, .tag = (uint32_t)i % 3 };
            rx[p] = (struct xfer){ in + at, MAX_BYTES, .peer = p, .tag = (uint32_t)i % 3 };
            if (p == r)
                continue;
            pattern_fill(out + at, tx[p].n_bytes, r, p, (uint32_t)i);
            EXPECT_OK(s, transport_send(t, &tx[p]));
            EXPECT_OK(s, transport_recv(t, &rx[p]));
        }
        for (int k = 1; k < n && s->n_failures == 0; k++) {
            const int p = suite_next(s, k);
            EXPECT_OK(s, transport_wait(t, &rx[p], s->timeout_ms));
            EXPECT(s, rx[p].n_bytes == random_bytes(p, r, i));
            EXPECT(s, pattern_holds(rx[p].ptr, rx[p].n_bytes, p, r, (uint32_t)i));
        }
        for (int k = 1; k < n && s->n_failures == 0; k++)
            EXPECT_OK(s, transport_wait(t, &tx[suite_next(s, k)], s->timeout_ms));
    }
    transport_close(&t);
    free(rx);
    free(tx);
    free(in);
    free(out);
}

static const struct suite_case {
    const char *name;
    suite_case_fn *run;
} cases[] = {
    { "T1 post does not wait", case_post },
    { "T2 exchange", case_exchange },
    { "T2 any order of waits", case_any_wait_order },
    { "T2 long both ways", case_long },
    { "T4 order", case_order },
    { "T4 order of posted receives", case_order_posted },
    { "T3 reuse", case_reuse },
    { "T3 do not wait", case_timeout },
    { "T3 timeout", case_timeout_ms },
    { "T5 traffic", case_traffic },
    { "T6 dead", case_dead },
    { "T7 hollow", case_hollow },
    { "T8 refusals", case_refusals },
    { "T8 any", case_any },
    { "T8 any held", case_any_held },
    { "T8 many held", case_hoard },
    { "T8 any none", case_any_none },
    { "T8 any order", case_any_order },
    { "T9 mismatch", case_mismatch },
    { "T10 dead rank", case_dead_rank },
    { "T6 one peer", case_one_peer },
    { "T6 together", case_together },
    { "T3 slow peer", case_slow_peer },
    { "T3 short limit", case_short_limit },
    { "add", case_add },
    { "T11 parts", case_parts },
    { "T11 parts for any", case_parts_any },
    { "T11 parts added", case_parts_add },
    { "T11 parts reused", case_parts_reuse },
    { "T3 lent until the end", case_lent },
    { "T11 parts too long", case_parts_too_long },
    { "T11 parts hollow", case_parts_hollow },
    { "K6 tasks", case_tasks },
    { "K6 two tasks", case_two_tasks },
    { "T13 many messages", case_many },
    { "T13 plan", case_plan },
    { "linger", case_linger },
    { "apart", case_apart },
    { "random", case_random },
};

static bool failed_anywhere(struct suite *s)
{
    int *all = calloc((size_t)s->w->n_ranks, sizeof *all), n_all = 0;

    if (EXPECT(s, all != NULL) && EXPECT_OK(s, world_allgather(s->w, &s->n_failures, all, sizeof *all)))
        for (int r = 0; r < s->w->n_ranks; r++)
            n_all += all[r];
    free(all);
    if (n_all > 0 && s->n_failures == 0)
        s->n_failures = 1;
    return s->n_failures > 0;
}

int transport_suite_limited(struct world *w, const struct transport_ops *ops, const char *limited, int timeout_ms,
                            const char **failed_case)
{
    struct suite s = { .w = w, .ops = ops };

    *failed_case = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct transport *t = NULL;
        s.name = cases[i].name;
        s.timeout_ms = strncmp(s.name, limited, strlen(limited)) == 0 ? timeout_ms : SUITE_TIMEOUT_MS;
        if (EXPECT_OK(&s, transport_open(&t, ops, w)) && EXPECT(&s, t && t->world == w))
            cases[i].run(&s, t);
        if (failed_anywhere(&s)) {
            *failed_case = s.name;
            break;
        }
    }
    return s.n_failures;
}

int transport_suite(struct world *w, const struct transport_ops *ops)
{
    const char *failed_case;

    return transport_suite_limited(w, ops, "", SUITE_TIMEOUT_MS, &failed_case);
}
