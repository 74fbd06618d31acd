/* SPDX-License-Identifier: Apache-2.0 */
/* transport_loss_suite.c - the cases; the contract is in transport_loss_suite.h. */
#include "harness/net/suite/transport_loss_suite.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "harness/net/suite/transport_suite_kit.h"
#include "harness/world/share.h"

/* In virtual time the others are in their waits after BEGUN_MS, and know of the loss after LATE_MS. */
enum { LOST = 1, N_BYTES = 5000, N_TAKEN = 20, POLL_MS = 1, BEGUN_MS = 50, LATE_MS = 400, LONG_BYTES = 8 << 20 };

struct facts {                   /* of a rank; read by all */
    _Atomic uint32_t has_met;    /* it has returned from the barrier of begin(), which a loss would end */
    _Atomic uint32_t has_looked; /* a wait of its transport looked whether it may go on (net.T10), behind begin() */
    _Atomic uint32_t n_late;     /* so did its wait for this late message, when it knew of the loss */
    _Atomic uint32_t has_posted; /* its message */
};

struct loss_case {
    struct suite base;
    const struct transport_loss_plan *plan;
    struct world *host;  /* NULL, as share: in virtual time */
    struct share *share; /* the facts */
    uint32_t n_late;     /* late messages so far: on rank 0 with the one that it waits for */
    bool has_begun;
};

/* --- facts --- */

static struct facts *facts_of(const struct loss_case *c, int rank)
{
    return c->share->peer[rank];
}

static struct { /* of all ranks of this process */
    pthread_mutex_t lock;
    const struct world_ops *inner;
    struct world_ops ops; /* those of inner, with look() */
} watched = { .lock = PTHREAD_MUTEX_INITIALIZER };

static _Thread_local struct loss_case *own_case;

/* world_check(), which every wait of a transport polls. */
static enum rc look(struct world *w)
{
    const enum rc rc = watched.inner->check(w);
    struct loss_case *c = own_case;

    if (c && c->base.w == w && c->has_begun) {
        atomic_store(&facts_of(c, w->rank)->has_looked, 1);
        if (world_is_lost(w, LOST))
            atomic_store(&facts_of(c, w->rank)->n_late, c->n_late);
    }
    return rc;
}

static void watch(struct loss_case *c)
{
    struct world *w = c->base.w;
    int host, n_hosts;

    if (w->ops->module.caps & WORLD_VIRTUAL_TIME ||
        !EXPECT_OK(&c->base, world_host_group(w, &c->host, &host, &n_hosts)) ||
        !EXPECT_OK(&c->base, world_share_open(c->host, sizeof(struct facts), &c->share)))
        return;
    (void)EXPECT(&c->base, n_hosts == 1);
    pthread_mutex_lock(&watched.lock);
    if (!watched.inner) {
        watched.inner = w->ops;
        watched.ops = *w->ops;
        watched.ops.check = look;
    }
    pthread_mutex_unlock(&watched.lock);
    own_case = c;
    w->ops = &watched.ops;
}

static void unwatch(struct loss_case *c)
{
    if (own_case)
        c->base.w->ops = watched.inner;
    own_case = NULL;
    world_share_close(&c->share);
    world_split_close(&c->host);
}

/* Outside all waits of transports; in virtual time: for so long. False: it did not come. */
static bool await_fact(struct loss_case *c, _Atomic uint32_t *fact, uint32_t least, int virtual_ms)
{
    if (!c->share) {
        world_pause(c->base.w, (uint64_t)virtual_ms * UINT64_C(1000000));
        return true;
    }
    for (int i = 0; atomic_load(fact) < least && i < c->plan->timeout_ms; i += POLL_MS)
        world_pause(c->base.w, POLL_MS * UINT64_C(1000000));
    return atomic_load(fact) >= least;
}

/* --- the loss --- */

static void lose(const struct loss_case *c)
{
    if (c->plan->hangs)
        world_hang(c->base.w);
    else
        world_die(c->base.w);
}

/* Outside all waits of transports: until this rank sees the loss. */
static void await_loss(struct loss_case *c)
{
    struct world *w = c->base.w;

    for (int i = 0; !world_is_lost(w, LOST) && i < c->plan->timeout_ms; i += POLL_MS)
        world_pause(w, POLL_MS * UINT64_C(1000000));
    EXPECT(&c->base, world_is_lost(w, LOST));
}

/* This call ended with the loss, and says so. */
static bool is_told(enum rc rc)
{
    return rc == RC_PEER && strncmp(rc_message(), "rank 1 was lost: ", 17) == 0;
}
#define EXPECT_TOLD(c, call) suite_expect(&(c)->base, is_told(call), #call, __FILE__, __LINE__)
#define EXPECT_PEER(c, call) suite_expect(&(c)->base, (call) == RC_PEER, #call, __FILE__, __LINE__)

enum waiters { NOBODY, RANK_0, ALL };

/* Every rank has posted what it posts before the loss. */
static void meet(struct loss_case *c)
{
    struct world *w = c->base.w;

    EXPECT_OK(&c->base, world_barrier(w));
    c->has_begun = true;
    if (c->share)
        atomic_store(&facts_of(c, w->rank)->has_met, 1);
    for (int r = 0; c->share && w->rank == LOST && r < w->n_ranks; r++)
        EXPECT(&c->base, await_fact(c, &facts_of(c, r)->has_met, 1, 0));
}

/* ... and rank 1 goes, once `waiters` are in their waits. */
static void begin(struct loss_case *c, enum waiters waiters)
{
    struct world *w = c->base.w;
    bool all_wait = true;

    meet(c);
    if (w->rank != LOST)
        return;
    for (int r = 0; r < w->n_ranks && waiters != NOBODY; r++)
        if (r != LOST && (r == 0 || waiters == ALL))
            all_wait =
                await_fact(c, c->share ? &facts_of(c, r)->has_looked : NULL, 1, r == 0 ? BEGUN_MS : 0) && all_wait;
    if (!all_wait)
        world_abort(w, rc_raise(RC_TIMEOUT, "a rank does not come to its wait"));
    lose(c);
}

static void send_to_0(struct loss_case *c, struct transport *t, uint32_t tag)
{
    unsigned char bytes[N_BYTES];
    struct xfer x = { .ptr = bytes, .n_bytes = sizeof bytes, .peer = 0, .tag = tag };

    pattern_fill(bytes, sizeof bytes, 2, 0, tag);
    if (EXPECT_OK(&c->base, transport_send(t, &x))) {
        if (c->share)
            atomic_store(&facts_of(c, 2)->has_posted, 1);
        EXPECT_OK(&c->base, transport_wait(t, &x, c->plan->timeout_ms));
    }
}

/* A message from rank 2 to rank 0, once that knows of the loss and waits for it. */
static void send_late(struct loss_case *c, struct transport *t, uint32_t tag)
{
    await_loss(c);
    EXPECT(&c->base, await_fact(c, c->share ? &facts_of(c, 0)->n_late : NULL, ++c->n_late, LATE_MS));
    send_to_0(c, t, tag);
}

/* ... and its end. */
static void recv_late(struct loss_case *c, struct transport *t, uint32_t tag)
{
    unsigned char bytes[N_BYTES] = { 0 };
    struct xfer x = { .ptr = bytes, .n_bytes = sizeof bytes, .peer = 2, .tag = tag };

    c->n_late++;
    if (EXPECT_OK(&c->base, transport_recv(t, &x)) && EXPECT_OK(&c->base, transport_wait(t, &x, c->plan->timeout_ms)))
        EXPECT(&c->base, x.n_bytes == N_BYTES && pattern_holds(bytes, N_BYTES, 2, 0, tag));
}

/* net.T6: a wait for the lost rank ends, and so does every later call with it; others go on. */
static void loss_wait(struct loss_case *c, struct transport *t)
{
    struct suite *s = &c->base;
    unsigned char in[3][40];
    struct xfer x[3], tx = { .ptr = in[0], .n_bytes = 40, .peer = LOST, .tag = 9 };

    for (int i = 0; s->w->rank == 0 && i < 3; i++) {
        x[i] = (struct xfer){ .ptr = in[i], .n_bytes = 40, .peer = LOST, .tag = (uint32_t)i };
        EXPECT_OK(s, transport_recv(t, &x[i]));
    }
    begin(c, RANK_0);
    if (s->w->rank == 2) {
        send_late(c, t, 3);
        send_late(c, t, 4);
    }
    if (s->w->rank != 0)
        return;
    EXPECT_TOLD(c, transport_wait(t, &x[0], c->plan->timeout_ms));
    recv_late(c, t, 3);
    EXPECT_PEER(c, transport_wait(t, &x[1], c->plan->timeout_ms));
    EXPECT_PEER(c, transport_send(t, &tx));
    EXPECT_PEER(c, transport_recv(t, &tx));
    EXPECT_PEER(c, transport_wait(t, &x[2], WAIT_FOREVER));
    recv_late(c, t, 4);
    EXPECT(s, t->dead == RC_OK && transport_peer_error(t, LOST) == RC_PEER && transport_peer_error(t, 2) == RC_OK);
    EXPECT(s, t->moved.msgs_recv == 2 && t->moved.bytes_recv == 2 * N_BYTES && t->moved.msgs_sent == 0);
}

/* net.T6: the first call with a rank that is lost already. */
static void loss_post(struct loss_case *c, struct transport *t)
{
    struct suite *s = &c->base;
    unsigned char byte = 0;
    struct xfer tx = { .ptr = &byte, .n_bytes = 1, .peer = LOST, .tag = 9 }, rx = tx;

    begin(c, NOBODY);
    if (s->w->rank == 2)
        send_late(c, t, 3);
    if (s->w->rank != 0)
        return;
    await_loss(c);
    EXPECT_TOLD(c, transport_send(t, &tx));
    EXPECT_PEER(c, transport_recv(t, &rx));
    recv_late(c, t, 3);
    EXPECT(s, t->dead == RC_OK && t->moved.msgs_sent == 0);
}

/* Sends under way to the lost rank end too, in the one or the other way, and their memory is free again. */
static void loss_send(struct loss_case *c, struct transport *t)
{
    static const size_t n_bytes[] = { N_BYTES, LONG_BYTES };
    struct suite *s = &c->base;
    unsigned char *bytes = s->w->rank == 0 ? calloc(1, LONG_BYTES) : NULL;
    struct xfer tx[2];

    for (int i = 0; s->w->rank == 0 && EXPECT(s, bytes != NULL) && i < 2; i++) {
        tx[i] = (struct xfer){ .ptr = bytes, .n_bytes = n_bytes[i], .peer = LOST, .tag = 9 };
        EXPECT_OK(s, transport_send(t, &tx[i]));
    }
    begin(c, NOBODY);
    if (s->w->rank == 2)
        send_late(c, t, 3);
    for (int i = 0; s->w->rank == 0 && i < 2; i++) {
        const enum rc rc = transport_wait(t, &tx[i], c->plan->timeout_ms); /* RC_OK: the transport has a copy */
        EXPECT(s, rc == RC_OK || (i == 0 ? is_told(rc) : rc == RC_PEER));
    }
    free(bytes);
    if (s->w->rank != 0)
        return;
    await_loss(c);
    EXPECT_PEER(c, transport_send(t, &tx[0]));
    recv_late(c, t, 3);
}

/* Rank 1 takes N_TAKEN messages and goes, while rank 0 sends it more: the one that cannot be sent tells of the loss,
 * even where the transport sees the peer's end before the world knows of it.
 * Regression: the error said that a connection had closed, not that the rank was lost. */
static void loss_stream(struct loss_case *c, struct transport *t)
{
    struct suite *s = &c->base;
    unsigned char bytes[N_BYTES] = { 0 };
    struct xfer x;
    enum rc rc = RC_OK;

    meet(c);
    for (int i = 0; s->w->rank == LOST && i < N_TAKEN; i++) {
        x = (struct xfer){ .ptr = bytes, .n_bytes = sizeof bytes, .peer = 0, .tag = 9 };
        if (!EXPECT_OK(s, transport_recv(t, &x)) || !EXPECT_OK(s, transport_wait(t, &x, c->plan->timeout_ms)))
            break;
    }
    if (s->w->rank == LOST)
        lose(c);
    if (s->w->rank == 2)
        send_late(c, t, 3);
    if (s->w->rank != 0)
        return;
    for (int i = 0; rc == RC_OK && i < c->plan->timeout_ms; i += POLL_MS) {
        x = (struct xfer){ .ptr = bytes, .n_bytes = sizeof bytes, .peer = LOST, .tag = 9 };
        rc = transport_send(t, &x);
        if (rc == RC_OK)
            rc = transport_wait(t, &x, c->plan->timeout_ms);
        if (rc == RC_OK)
            world_pause(s->w, POLL_MS * UINT64_C(1000000));
    }
    EXPECT_TOLD(c, rc);
    recv_late(c, t, 3);
    EXPECT(s, t->dead == RC_OK && transport_peer_error(t, LOST) == RC_PEER);
}

/* net.T6: who waits for another rank goes on to wait for it. */
static void loss_others(struct loss_case *c, struct transport *t)
{
    begin(c, RANK_0);
    if (c->base.w->rank == 0)
        recv_late(c, t, 3);
    else if (c->base.w->rank == 2)
        send_late(c, t, 3);
    EXPECT(&c->base, t->dead == RC_OK);
}

static void expect_dead(struct loss_case *c, struct transport *t, int peer)
{
    unsigned char byte = 0;
    struct xfer x = { .ptr = &byte, .n_bytes = 1, .peer = peer, .tag = 9 };
    struct message m;

    EXPECT(&c->base, t->dead == RC_PEER);
    EXPECT_PEER(c, transport_send(t, &x));
    EXPECT_PEER(c, transport_recv(t, &x));
    EXPECT_PEER(c, transport_recv_message(t, &m, c->plan->timeout_ms));
}

/* net.T6, fails_together: ranks that wait for each other, and not for the lost one. */
static void loss_together(struct loss_case *c, struct transport *t)
{
    struct suite *s = &c->base;
    const int n = s->w->n_ranks, peer = suite_next(s, 1) == LOST ? 2 % n : suite_next(s, 1);
    unsigned char in[40];
    struct xfer rx = { .ptr = in, .n_bytes = sizeof in, .peer = peer, .tag = 1 };

    EXPECT_OK(s, transport_recv(t, &rx));
    begin(c, ALL);
    EXPECT_TOLD(c, transport_wait(t, &rx, c->plan->timeout_ms));
    expect_dead(c, t, peer);
}

/* ... and those whose first wait comes after the loss: for a message of any rank. */
static void loss_together_later(struct loss_case *c, struct transport *t)
{
    struct suite *s = &c->base;
    const int peer = suite_next(s, 1) == LOST ? 2 : suite_next(s, 1);
    struct message m;

    begin(c, NOBODY);
    await_loss(c);
    EXPECT_TOLD(c, transport_recv_message(t, &m, c->plan->timeout_ms));
    EXPECT(s, m.peer == -1 && m.ptr == NULL);
    expect_dead(c, t, peer);
}

/* World events up to the loss of rank 1: it must be there. */
static bool finds_the_loss(struct loss_case *c)
{
    struct peer_event e;

    for (int i = 0; i < 4 * c->base.w->n_ranks; i++) {
        if (world_peer_next(c->base.w, &e) != RC_OK || e.peer < 0)
            return false;
        if (e.peer == LOST && e.state == PEER_LOST)
            return true;
    }
    return false;
}

/* Rank 0 receives a message for any rank of rank 2, and no other. */
static void recv_only_late(struct loss_case *c, struct transport *t)
{
    struct suite *s = &c->base;
    struct message m;

    c->n_late++;
    EXPECT_OK(s, transport_recv_message(t, &m, c->plan->timeout_ms));
    EXPECT(s, m.peer == 2 && m.n_bytes == N_BYTES && pattern_holds(m.ptr, N_BYTES, 2, 0, TAG_ANY | 3));
    transport_release(t, &m);
    EXPECT_OK(s, transport_recv_message(t, &m, DO_NOT_WAIT));
    EXPECT(s, m.peer == -1);
    EXPECT(s, t->dead == RC_OK && t->moved.msgs_recv == 1);
}

/* net.T12: from a wait, once. */
static void loss_server(struct loss_case *c, struct transport *t)
{
    struct suite *s = &c->base;
    struct message m = { .ptr = s, .peer = 7 };

    begin(c, RANK_0);
    if (s->w->rank == 2)
        send_late(c, t, TAG_ANY | 3);
    if (s->w->rank != 0)
        return;
    EXPECT_OK(s, transport_recv_message(t, &m, c->plan->timeout_ms));
    EXPECT(s, m.peer == -1 && m.ptr == NULL);
    EXPECT(s, finds_the_loss(c));
    recv_only_late(c, t);
}

/* net.T12: before messages that have come, of which those of the lost rank are dropped. */
static void loss_server_later(struct loss_case *c, struct transport *t)
{
    struct suite *s = &c->base;
    struct message m = { .ptr = s, .peer = 7 };
    static const unsigned char bytes[40]; /* outlive the rank that sends them */
    struct xfer x = { .ptr = (void *)(uintptr_t)bytes, .n_bytes = sizeof bytes, .peer = 0, .tag = TAG_ANY | 1 };

    if (s->w->rank == LOST)
        EXPECT_OK(s, transport_send(t, &x));
    begin(c, NOBODY);
    if (s->w->rank == 2) {
        await_loss(c);
        send_to_0(c, t, TAG_ANY | 3);
    }
    if (s->w->rank != 0)
        return;
    await_loss(c);
    EXPECT(s, await_fact(c, c->share ? &facts_of(c, 2)->has_posted : NULL, 1, 3 * LATE_MS)); /* so both are posted */
    EXPECT_OK(s, transport_recv_message(t, &m, c->plan->timeout_ms));
    EXPECT(s, m.peer == -1 && m.ptr == NULL);
    recv_only_late(c, t);
}

static const struct {
    const char *name;
    void (*run)(struct loss_case *c, struct transport *t); /* on all ranks; does not return on the lost one */
    bool fails_together;
} cases[] = {
    { .name = "loss wait", .run = loss_wait },
    { .name = "loss post", .run = loss_post },
    { .name = "loss send", .run = loss_send },
    { .name = "loss stream", .run = loss_stream },
    { .name = "loss others", .run = loss_others },
    { .name = "loss together", .run = loss_together, .fails_together = true },
    { .name = "loss together later", .run = loss_together_later, .fails_together = true },
    { .name = "loss server", .run = loss_server },
    { .name = "loss server later", .run = loss_server_later },
};

const char *transport_loss_case(int nth)
{
    return nth < (int)(sizeof cases / sizeof *cases) ? cases[nth].name : NULL;
}

int transport_loss_suite(struct world *w, const struct transport_ops *ops, const struct transport_loss_plan *plan)
{
    struct loss_case c = { .base = { .w = w, .ops = ops, .name = cases[plan->nth].name }, .plan = plan };
    struct transport *t = NULL;

    watch(&c);
    if (c.base.n_failures == 0 && EXPECT_OK(&c.base, transport_open(&t, ops, w))) {
        t->fails_together = cases[plan->nth].fails_together;
        cases[plan->nth].run(&c, t);
    }
    transport_close(&t);
    unwatch(&c);
    return c.base.n_failures;
}
