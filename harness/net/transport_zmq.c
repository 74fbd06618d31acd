/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport_zmq.c - messages over ZeroMQ: between threads (inproc://) and between processes (tcp://).
 *
 * Every rank binds one PULL socket (zmq_inbox.h), and connects one PUSH socket to each rank it sends to,
 * at the first message. Posting a send copies the message once, into a ZeroMQ message that the library owns
 * from then on; sending never blocks (no high-water mark), so a send is complete when posted (T1, T2). A receive is
 * complete when the inbox has set its state to INBOX_DONE.
 *
 * Ranks of one process share a ZeroMQ context, which the last rank to close terminates.
 */
#include "harness/net/transport_zmq.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <zmq.h>

#include "harness/net/transport.h"
#include "harness/net/xfer.h"
#include "harness/net/zmq_address.h"
#include "harness/net/zmq_frame.h"
#include "harness/net/zmq_inbox.h"
#include "harness/world/wait.h"
#include "harness/world/world.h"

extern const struct transport_ops transport_zmq;

enum { ENDPOINT_BYTES = 128, LINGER_MS = 5000, SLICE_MS = WAIT_SLICE_NS / 1000000, N_SPINS = 100 };

struct shared { /* by the ranks of one process */
    void *context;
    atomic_int n_users;
};

struct peer {
    void *socket; /* PUSH; NULL until the first send */
    uint64_t n_sent;
};

struct bootstrap { /* what every rank sends the others in open() */
    char endpoint[ENDPOINT_BYTES];
    unsigned char token[FRAME_TOKEN_BYTES]; /* random; every frame carries that of rank 0: others are from outside */
};

struct zmq {
    struct transport base;
    struct shared *shared;
    struct frame_pool *pool;
    struct inbox *inbox;
    struct bootstrap *bootstrap; /* [n_ranks] */
    struct peer *peer;           /* [n_ranks] */
};

static struct zmq *self(struct transport *t)
{
    return (struct zmq *)t;
}

static enum rc zmq_raise(const char *what)
{
    return rc_raise(errno == ENOMEM ? RC_NOMEM : RC_IO, "transport zmq: %s: %s", what, zmq_strerror(errno));
}

static bool set_int(void *socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof value) == 0;
}

/* Every rank may connect to every other: n_ranks + 1 sockets a rank. */
static struct shared *shared_open(int n_users, int n_ranks)
{
    struct shared *shared = calloc(1, sizeof *shared);
    int n_sockets = n_ranks < 255 ? n_users * (n_ranks + 1) : INT32_MAX;

    if (!shared)
        return NULL;
    shared->context = zmq_ctx_new();
    if (!shared->context) {
        free(shared);
        return NULL;
    }
    const int limit = zmq_ctx_get(shared->context, ZMQ_SOCKET_LIMIT);
    if (n_sockets > limit)
        n_sockets = limit;
    (void)zmq_ctx_set(shared->context, ZMQ_IO_THREADS, 1);
    (void)zmq_ctx_set(shared->context, ZMQ_MAX_SOCKETS, n_sockets < 64 ? 64 : n_sockets);
    atomic_init(&shared->n_users, n_users);
    return shared;
}

static void shared_leave(struct shared *shared)
{
    if (!shared || atomic_fetch_sub(&shared->n_users, 1) != 1)
        return;
    while (zmq_ctx_term(shared->context) != 0 && errno == EINTR)
        ;
    free(shared);
}

/* One context for all ranks of this process. Where ranks are threads, rank 0 creates it and the others get its address;
 * else each rank creates its own. */
static enum rc share_context(struct zmq *t)
{
    struct world *w = t->base.world;
    struct shared *own = NULL, **all = NULL;
    const bool one_process = (w->ops->module.caps & WORLD_SHARED_MEMORY) != 0;
    enum rc rc = RC_OK;

    if (!one_process || w->rank == 0)
        own = shared_open(one_process ? w->n_ranks : 1, w->n_ranks);
    all = calloc((size_t)w->n_ranks, sizeof *all);
    if (one_process && all)
        TRY(world_allgather(w, &own, all, sizeof own));
    t->shared = one_process && all ? all[0] : own;
    if (!t->shared || !all)
        FAIL(RC_NOMEM, "transport zmq: no ZeroMQ context");
out:
    free(all);
    return rc;
}

/* Listen, and exchange endpoint and token with all ranks. A rank that cannot listen still takes part, with endpoint "":
 * then all ranks fail, and none waits for a missing one. Collective. */
static enum rc exchange_endpoints(struct zmq *t)
{
    struct world *w = t->base.world;
    struct bootstrap own = { .endpoint = "" };
    char address[ENDPOINT_BYTES], message[RC_MESSAGE_BYTES];
    enum rc rc, own_rc;

    own_rc = zmq_address(address, sizeof address, w);
    if (own_rc == RC_OK)
        own_rc = inbox_listen(t->inbox, address, own.endpoint, sizeof own.endpoint);
    if (own_rc == RC_OK && getrandom(own.token, sizeof own.token, 0) != (ssize_t)sizeof own.token)
        own_rc = zmq_raise("no random numbers");

    (void)snprintf(message, sizeof message, "%s", rc_message());
    if (own_rc != RC_OK)
        own.endpoint[0] = '\0';
    TRY(world_allgather(w, &own, t->bootstrap, sizeof own));
    if (own_rc != RC_OK)
        FAIL(own_rc, "%s", message);
    for (int r = 0; r < w->n_ranks; r++)
        if (t->bootstrap[r].endpoint[0] == '\0')
            FAIL(RC_PEER, "transport zmq: rank %d cannot listen", r);
    inbox_set_token(t->inbox, t->bootstrap[0].token);
out:
    return rc;
}

/* Is there nobody who would receive what is still to be sent to this peer? Where a loss ends the run, one error ends
 * all this rank does, and it has to be gone soon (world.W4). */
static bool is_given_up(const struct zmq *t, int peer)
{
    const struct world *w = t->base.world;

    if (t->base.dead != RC_OK || (t->base.peer_error && w->on_loss == ON_LOSS_ABORT))
        return true;
    return transport_peer_error(&t->base, peer) != RC_OK || world_is_lost(w, peer);
}

static void zmq_close_transport(struct transport **tp)
{
    struct zmq *t = self(*tp);

    for (int r = 0; t->peer && r < t->base.world->n_ranks; r++)
        if (t->peer[r].socket) {
            if (is_given_up(t, r))
                (void)set_int(t->peer[r].socket, ZMQ_LINGER, 0);
            zmq_close(t->peer[r].socket);
        }
    inbox_close(&t->inbox);
    frame_pool_close(&t->pool);
    shared_leave(t->shared);
    free(t->peer);
    free(t->bootstrap);
    free(t);
    *tp = NULL;
}

static enum rc zmq_open_transport(struct transport **out, struct world *w)
{
    struct transport *base = NULL;
    struct zmq *t;
    enum rc rc = RC_OK;

    if (w->ops->module.caps & WORLD_VIRTUAL_TIME)
        return rc_raise(RC_UNSUPPORTED, "transport zmq: real sockets cannot run in the virtual time of world %s",
                        w->ops->module.name);
    t = calloc(1, sizeof *t);
    if (!t)
        return rc_raise(RC_NOMEM, "transport zmq: no memory");
    base = &t->base;
    *base = (struct transport){ .ops = &transport_zmq, .world = w };
    t->bootstrap = calloc((size_t)w->n_ranks, sizeof *t->bootstrap);
    t->peer = calloc((size_t)w->n_ranks, sizeof *t->peer);
    if (!t->bootstrap || !t->peer)
        FAIL(RC_NOMEM, "transport zmq: no memory for %d ranks", w->n_ranks);
    TRY(frame_pool_open(&t->pool));
    TRY(share_context(t));
    TRY(inbox_open(&t->inbox, t->shared->context, w->rank, w->n_ranks));
    TRY(exchange_endpoints(t));
    *out = base;
    base = NULL;
out:
    if (base)
        zmq_close_transport(&base);
    return rc;
}

static enum rc connect_to(struct zmq *t, int rank)
{
    struct peer *peer = &t->peer[rank];
    enum rc rc = RC_OK;

    peer->socket = zmq_socket(t->shared->context, ZMQ_PUSH);
    /* All ranks have listened since open(), so a connection that ends means a dead peer: do not reconnect. */
    if (!peer->socket || !set_int(peer->socket, ZMQ_SNDHWM, 0) || !set_int(peer->socket, ZMQ_LINGER, LINGER_MS) ||
        !set_int(peer->socket, ZMQ_RECONNECT_IVL, -1) || zmq_connect(peer->socket, t->bootstrap[rank].endpoint) != 0) {
        rc = zmq_raise(t->bootstrap[rank].endpoint);
        if (peer->socket)
            zmq_close(peer->socket);
        peer->socket = NULL;
    }
    return rc;
}

static enum rc zmq_post_send(struct transport *base, struct xfer *x)
{
    struct zmq *t = self(base);
    struct peer *peer = &t->peer[x->peer];
    struct frame head = { .sender = base->world->rank, .tag = x->tag, .sequence = peer->n_sent };
    zmq_msg_t msg;
    enum rc rc;

    if (!peer->socket)
        TRY(connect_to(t, x->peer));
    memcpy(head.token, t->bootstrap[0].token, sizeof head.token);
    TRY(frame_write(&msg, t->pool, &head, x));
    while (zmq_msg_send(&msg, peer->socket, ZMQ_DONTWAIT) < 0) {
        if (errno == EINTR)
            continue;
        rc = errno == EAGAIN ? rc_raise(RC_PEER, "rank %d closed its end", x->peer) : zmq_raise("send");
        zmq_msg_close(&msg);
        goto out;
    }
    peer->n_sent++;
    x->priv = NULL;
    atomic_store_explicit(&x->state, INBOX_DONE, memory_order_relaxed);
out:
    return rc;
}

static enum rc zmq_post_recv(struct transport *t, struct xfer *x)
{
    inbox_post(self(t)->inbox, x);
    return RC_OK;
}

struct wait {            /* for a message to arrive */
    int peer;            /* from it; -1: from any rank */
    uint64_t started_ns; /* 0: not yet */
    int timeout_ms;
    bool expired;
};

/* Wait until a message has arrived, but at most SLICE_MS, so that the caller's next call sees whether a rank died.
 * Polls N_SPINS times first where this rank may spin. Sets expired once timeout_ms have passed since the first call. */
static enum rc wait_slice(struct zmq *t, struct wait *wait)
{
    const bool may_spin = world_may_spin(t->base.world);
    uint64_t waited_ms = 0;
    int slice_ms = SLICE_MS;
    bool got = false;
    enum rc rc;

    TRY(transport_check(&t->base, wait->peer)); /* T10 */
    if (wait->timeout_ms == DO_NOT_WAIT) {
        wait->expired = true;
        goto out;
    }
    for (int i = 0; i < N_SPINS && may_spin && !got; i++) {
        TRY(inbox_receive(t->inbox, 0, &got));
        wait_relax();
    }
    if (got)
        goto out;
    if (wait->started_ns == 0)
        wait->started_ns = wait_clock_ns();
    if (wait->timeout_ms > 0) {
        waited_ms = (wait_clock_ns() - wait->started_ns) / 1000000u;
        wait->expired = waited_ms >= (uint64_t)wait->timeout_ms;
        if (!wait->expired && (uint64_t)wait->timeout_ms - waited_ms < SLICE_MS)
            slice_ms = wait->timeout_ms - (int)waited_ms;
    }
    if (!wait->expired)
        TRY(inbox_receive(t->inbox, slice_ms, &got));
out:
    return rc;
}

static enum rc zmq_complete(struct transport *base, struct xfer *x, int timeout_ms)
{
    struct zmq *t = self(base);
    struct wait wait = { .peer = x->peer, .timeout_ms = timeout_ms };
    bool got;
    enum rc rc = RC_OK;

    if (base->dead != RC_OK)
        FAIL(base->dead, "transport zmq: used after an error");
    for (;;) {
        const uint32_t state = atomic_load_explicit(&x->state, memory_order_relaxed);
        if (state == INBOX_DONE)
            return RC_OK;
        if (state == INBOX_TOO_LONG)
            return rc_raise(RC_MISMATCH, "message from rank %d, tag %u, has %zu bytes, the receiver has room for %zu",
                            x->peer, x->tag, (size_t)(uintptr_t)x->priv /* n_bytes, see zmq_inbox.h */,
                            xfer_n_bytes(x));
        TRY(inbox_receive(t->inbox, 0, &got));
        if (got)
            continue;
        TRY(inbox_check(t->inbox, x->peer));
        if (wait.expired)
            FAIL(RC_TIMEOUT, "rank %d, tag %u: receive not done after %d ms", x->peer, x->tag, timeout_ms);
        TRY(wait_slice(t, &wait));
    }
out:
    inbox_withdraw(t->inbox, x);
    return rc;
}

static enum rc zmq_recv_message(struct transport *base, struct message *out, int timeout_ms)
{
    struct zmq *t = self(base);
    struct wait wait = { .peer = -1, .timeout_ms = timeout_ms };
    struct arrival *a;
    bool got;
    enum rc rc;

    for (;;) {
        TRY(inbox_take_any(t->inbox, &a));
        if (a) {
            *out =
                (struct message){ .ptr = a->ptr, .n_bytes = a->n_bytes, .peer = a->sender, .tag = a->tag, .priv = a };
            break;
        }
        TRY(inbox_receive(t->inbox, 0, &got));
        if (got)
            continue;
        const int broken = inbox_broken_sender(t->inbox);
        if (broken >= 0) {
            out->peer = broken;
            TRY(inbox_check(t->inbox, broken));
        }
        if ((wait.expired && timeout_ms == DO_NOT_WAIT) || transport_loss_due(base)) /* T12 */
            break;
        if (wait.expired)
            FAIL(RC_TIMEOUT, "no message from any rank after %d ms", timeout_ms);
        TRY(wait_slice(t, &wait));
    }
out:
    return rc;
}

static void zmq_release(struct transport *t, struct message *m)
{
    inbox_end(self(t)->inbox, m->priv);
}

const char *transport_zmq_endpoint(const struct transport *t)
{
    return ((const struct zmq *)t)->bootstrap[t->world->rank].endpoint;
}

void *transport_zmq_context(const struct transport *t)
{
    return ((const struct zmq *)t)->shared->context;
}

uint64_t transport_zmq_n_dropped(const struct transport *t)
{
    return inbox_n_dropped(((const struct zmq *)t)->inbox);
}

const struct transport_ops transport_zmq = {
    .module.name = "zmq",
    .module.caps = TR_ADD | TR_ASYNC | TR_COPIES,
    .module.refuses_world = WORLD_VIRTUAL_TIME,
    .open = zmq_open_transport,
    .post_send = zmq_post_send,
    .post_recv = zmq_post_recv,
    .complete = zmq_complete,
    .recv_message = zmq_recv_message,
    .release = zmq_release,
    .close = zmq_close_transport,
};
