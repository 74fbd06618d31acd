/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport_zmq.c - messages over ZeroMQ: between threads (inproc://), processes of a host (ipc://) and hosts (tcp://).
 * Which of them, and the tables of the transports: zmq_kinds.c.
 *
 * Every rank binds one PULL socket (zmq_inbox.h), and connects one PUSH socket to each rank it sends to
 * (zmq_outbox.h): at the first message, or over ipc:// in open(), which then removes the folder of the socket again, so
 * that nothing of a run is left behind, however it ends. Posting a send copies the message once, into a ZeroMQ message
 * that the library owns from then on, but for long bodies that are lent (zmq_outbox.O5); a send is done when the window
 * of its peer let it through, and what is lent has come back. A receive is
 * complete when the inbox has set its state to INBOX_DONE.
 *
 * A wait looks at most MOST_STRANGERS frames of strangers at a time before it reads the clock and asks whether a rank
 * was lost: a flood of them takes time, but no wait misses its end.
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
#include "harness/net/zmq_context.h"
#include "harness/net/zmq_files.h"
#include "harness/net/zmq_frame.h"
#include "harness/net/zmq_inbox.h"
#include "harness/net/zmq_kinds.h"
#include "harness/net/zmq_outbox.h"
#include "harness/net/zmq_tender.h"
#include "harness/world/wait.h"
#include "harness/world/world.h"

enum { SLICE_MS = WAIT_SLICE_NS / 1000000, N_SPINS = 100, MOST_STRANGERS = 64, ATTACH_MS = 20000 };
enum { SILENCE_MS = 120000 };                        /* where the plan has none */
enum { LEAST_WINDOW = 64, UNPLANNED_WINDOW = 1024 }; /* messages */
enum { SEND_QUEUED = INBOX_TOO_LONG + 1 };           /* state of a send, x->priv: its number in the outbox; */
enum { SEND_LENT = INBOX_TOO_LONG + 2 };             /* likewise, x->priv: its frame_lent */
enum { RELEASE_MS = 5000 };                          /* after an error, for ZeroMQ to let go of what is lent */

struct outcome { /* of a rank in attach() */
    enum rc rc;
    char reason[RC_MESSAGE_BYTES];
};

static struct zmq *self(struct transport *t)
{
    return (struct zmq *)t;
}

/* --- open: listen, tell the others where, connect --- */

static enum rc listen_somewhere(struct zmq *t, const struct transport_plan *plan, struct bootstrap *own)
{
    struct inbox_limits limits = { .most_message_bytes = plan->most_message_bytes,
                                   .most_waiting = plan->most_messages,
                                   .silence_ms = plan->silence_ms };
    enum rc rc;

    TRY(zmq_address_open(&t->address, t->base.world, t->wanted));
    TRY(zmq_files_check(t->address.reach, t->base.world->n_ranks));
    limits.is_private = t->address.reach == ZMQ_REACH_HOST;
    limits.reconnects = t->address.reach == ZMQ_REACH_HOSTS;
    limits.window = own->window;
    TRY(inbox_limit(t->inbox, &limits));
    TRY(inbox_listen(t->inbox, t->address.text, own->endpoint, sizeof own->endpoint));
    if (getrandom(own->token, sizeof own->token, 0) != (ssize_t)sizeof own->token)
        FAIL(RC_IO, "transport zmq: no random numbers: %s", strerror(errno));
out:
    return rc;
}

/* Exchange endpoint, window and token with all ranks. A rank that cannot listen still takes part and says why: then all
 * ranks fail, and none waits for a missing one. Collective. */
static enum rc exchange_endpoints(struct zmq *t, const struct transport_plan *plan)
{
    const uint64_t wanted = plan->most_messages > 0 ? plan->most_messages : UNPLANNED_WINDOW;
    struct world *w = t->base.world;
    struct bootstrap own;
    enum rc rc;

    memset(&own, 0, sizeof own); /* it is sent as bytes */
    own.window = wanted > LEAST_WINDOW ? wanted : LEAST_WINDOW;
    own.rc = listen_somewhere(t, plan, &own);
    if (own.rc != RC_OK)
        (void)snprintf(own.reason, sizeof own.reason, "%s", rc_message());
    TRY(world_allgather(w, &own, t->bootstrap, sizeof own));
    if (own.rc != RC_OK)
        FAIL(own.rc, "%s", own.reason);
    for (int r = 0; r < w->n_ranks; r++) {
        if (t->bootstrap[r].rc != RC_OK)
            FAIL(RC_PEER, "rank %d cannot listen: %s", r, t->bootstrap[r].reason);
        if (t->bootstrap[r].window != own.window)
            FAIL(RC_MISMATCH, "transport zmq: rank %d plans %llu messages to a rank, rank %d %llu", r,
                 (unsigned long long)t->bootstrap[r].window, w->rank, (unsigned long long)own.window);
    }
    inbox_set_token(t->inbox, t->bootstrap[0].token);
out:
    return rc;
}

static enum rc open_outbox(struct zmq *t, const struct transport_plan *plan)
{
    const struct world *w = t->base.world;
    struct outbox_env env = { .context = zmq_context_ptr(t->context),
                              .rank = w->rank,
                              .n_ranks = w->n_ranks,
                              .window = t->bootstrap[w->rank].window,
                              .reconnects = t->address.reach == ZMQ_REACH_HOSTS,
                              .is_eager = t->address.reach == ZMQ_REACH_HOST,
                              .is_copying = t->address.reach == ZMQ_REACH_PROCESS,
                              .silence_ms = plan->silence_ms };
    enum rc rc;

    memcpy(env.token, t->bootstrap[0].token, sizeof env.token);
    TRY(outbox_open(&t->outbox, &env));
    for (int r = 0; r < w->n_ranks; r++)
        outbox_set_endpoint(t->outbox, r, t->bootstrap[r].endpoint);
    if (env.reconnects)
        TRY(zmq_tender_open(&t->tender, t->outbox));
out:
    return rc;
}

/* Connect to a rank of this host. */
static enum rc attach_to(struct zmq *t, int rank)
{
    bool connected = false;
    enum rc rc = RC_OK;

    for (int waited_ms = 0; !connected; waited_ms += SLICE_MS) {
        if (waited_ms >= ATTACH_MS)
            FAIL(RC_TIMEOUT, "transport zmq: %s: rank %d does not answer within %d ms", t->bootstrap[rank].endpoint,
                 rank, ATTACH_MS);
        TRY(transport_check(&t->base, -1));
        TRY(outbox_attach(t->outbox, rank, SLICE_MS, &connected));
    }
out:
    return rc;
}

/* Connect to all ranks of this host, so that nobody needs the sockets' folders any more; they are removed, also where
 * that fails. Collective. */
static enum rc attach(struct zmq *t)
{
    struct world *w = t->base.world;
    struct outcome own, *all = calloc((size_t)w->n_ranks, sizeof *all);
    enum rc rc = RC_OK;

    if (!all)
        FAIL(RC_NOMEM, "transport zmq: no memory for %d ranks", w->n_ranks);
    memset(&own, 0, sizeof own);
    for (int r = 0; r < w->n_ranks && own.rc == RC_OK; r++)
        if (r != w->rank)
            own.rc = attach_to(t, r);
    if (own.rc != RC_OK)
        (void)snprintf(own.reason, sizeof own.reason, "%s", rc_message());
    TRY(world_allgather(w, &own, all, sizeof own));
    if (own.rc != RC_OK)
        FAIL(own.rc, "%s", own.reason);
    for (int r = 0; r < w->n_ranks; r++)
        if (all[r].rc != RC_OK)
            FAIL(RC_PEER, "rank %d cannot reach another one: %s", r, all[r].reason);
out:
    zmq_address_remove(&t->address);
    free(all);
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

void zmq_close_transport(struct transport **tp)
{
    struct zmq *t = self(*tp);

    zmq_tender_close(&t->tender);
    for (int r = 0; t->outbox && r < t->base.world->n_ranks; r++)
        if (is_given_up(t, r))
            outbox_give_up(t->outbox, r);
    outbox_close(&t->outbox);
    inbox_close(&t->inbox);
    zmq_address_remove(&t->address);
    zmq_context_close(&t->context);
    free(t->bootstrap);
    free(t);
    *tp = NULL;
}

enum rc zmq_open_transport(struct transport **out, struct world *w, const struct transport_plan *given,
                           const struct zmq_kind *kind)
{
    struct transport_plan plan = *given;
    struct transport *base = NULL;
    struct zmq *t;
    enum rc rc = RC_OK;

    if (w->ops->module.caps & WORLD_VIRTUAL_TIME)
        return rc_raise(RC_UNSUPPORTED, "transport %s: real sockets cannot run in the virtual time of world %s",
                        kind->ops->module.name, w->ops->module.name);
    t = calloc(1, sizeof *t);
    if (!t)
        return rc_raise(RC_NOMEM, "transport zmq: no memory");
    base = &t->base;
    *base = (struct transport){ .ops = kind->ops, .world = w };
    t->wanted = kind->wanted;
    plan.silence_ms = plan.silence_ms > 0 ? plan.silence_ms : SILENCE_MS;
    t->bootstrap = calloc((size_t)w->n_ranks, sizeof *t->bootstrap);
    if (!t->bootstrap)
        FAIL(RC_NOMEM, "transport zmq: no memory for %d ranks", w->n_ranks);
    zmq_files_raise();
    TRY(zmq_context_open(&t->context, w, kind->wanted == ZMQ_WANT_ANY));
    TRY(inbox_open(&t->inbox, zmq_context_ptr(t->context), w->rank, w->n_ranks));
    TRY(exchange_endpoints(t, &plan));
    TRY(open_outbox(t, &plan));
    if (t->address.reach == ZMQ_REACH_HOST)
        TRY(attach(t));
    *out = base;
    base = NULL;
out:
    if (base)
        zmq_close_transport(&base);
    return rc;
}

/* --- transfers --- */

enum rc zmq_post_send(struct transport *base, struct xfer *x)
{
    struct zmq *t = self(base);
    struct outbox_sent sent;
    enum rc rc;

    zmq_tender_lock(t->tender);
    rc = outbox_post(t->outbox, x, inbox_n_received(t->inbox, x->peer), &sent);
    const bool is_handed = rc == RC_OK && outbox_is_handed(t->outbox, x->peer, sent.number);
    zmq_tender_unlock(t->tender);
    TRY(rc);
    if (is_handed)
        inbox_note_told(t->inbox, x->peer);
    x->priv = sent.lent ? (void *)sent.lent : is_handed ? NULL : (void *)(uintptr_t)sent.number;
    atomic_store_explicit(&x->state,
                          sent.lent   ? SEND_LENT
                          : is_handed ? INBOX_DONE
                                      : SEND_QUEUED,
                          memory_order_relaxed);
out:
    return rc;
}

enum rc zmq_post_recv(struct transport *t, struct xfer *x)
{
    inbox_post(self(t)->inbox, x);
    return RC_OK;
}

/* A frame of rank `from` has come. */
static enum rc answer(struct zmq *t, int from)
{
    enum rc rc = RC_OK;

    outbox_note_acknowledged(t->outbox, from, inbox_n_acknowledged(t->inbox, from));
    if (inbox_owes(t->inbox, from)) {
        inbox_note_told(t->inbox, from);
        rc = outbox_acknowledge(t->outbox, from, inbox_n_received(t->inbox, from));
    }
    return rc;
}

/* One frame, as inbox_receive(), and what follows from it. */
static enum rc receive(struct zmq *t, int timeout_ms, int *from)
{
    enum rc rc;

    TRY(inbox_receive(t->inbox, timeout_ms, from));
    if (*from < 0)
        goto out;
    zmq_tender_lock(t->tender);
    rc = answer(t, *from);
    zmq_tender_unlock(t->tender);
out:
    return rc;
}

/* Is x a send that has ended? */
static bool is_sent(struct zmq *t, struct xfer *x)
{
    const uint32_t state = atomic_load_explicit(&x->state, memory_order_relaxed);
    struct frame_lent *lent = state == SEND_LENT ? x->priv : NULL;

    if (state == SEND_QUEUED)
        return outbox_is_handed(t->outbox, x->peer, (uintptr_t)x->priv);
    if (state != SEND_LENT || !outbox_take_back(t->outbox, &lent))
        return false;
    x->priv = NULL;
    return true;
}

/* Hand over what can be. x, if any: has it ended, then, where it is a send? RC_PEER: its peer is lost. */
static enum rc tend(struct zmq *t, struct xfer *x, bool *is_handed)
{
    enum rc rc;

    zmq_tender_lock(t->tender);
    TRY(outbox_tend(t->outbox));
    if (x) {
        TRY(outbox_check(t->outbox, x->peer));
        *is_handed = is_sent(t, x);
    }
out:
    zmq_tender_unlock(t->tender);
    return rc;
}

/* What has come, up to a frame of the group, or MOST_STRANGERS others: then *from is FROM_STRANGER. */
static enum rc look(struct zmq *t, int *from)
{
    enum rc rc = RC_OK;

    for (int i = 0; i < MOST_STRANGERS; i++) {
        TRY(receive(t, 0, from));
        if (*from != FROM_STRANGER)
            break;
    }
out:
    return rc;
}

struct wait {            /* for a message to arrive */
    int peer;            /* from it; -1: from any rank */
    uint64_t started_ns; /* 0: not yet */
    int timeout_ms;
    bool expired;
};

/* Wait until a frame has arrived, but at most SLICE_MS, so that the caller's next call sees whether a rank died.
 * Polls N_SPINS times first where this rank may spin. Sets expired once timeout_ms have passed since the first call. */
static enum rc wait_slice(struct zmq *t, struct wait *wait)
{
    const bool may_spin = world_may_spin(t->base.world);
    uint64_t waited_ms = 0;
    int slice_ms = SLICE_MS, from = FROM_NOBODY;
    enum rc rc;

    TRY(transport_check(&t->base, wait->peer)); /* T10 */
    TRY(tend(t, NULL, NULL));
    if (wait->timeout_ms == DO_NOT_WAIT) {
        wait->expired = true;
        goto out;
    }
    for (int i = 0; i < N_SPINS && may_spin && from == FROM_NOBODY; i++) {
        TRY(receive(t, 0, &from));
        wait_relax();
    }
    if (from >= 0)
        goto out;
    if (wait->started_ns == 0)
        wait->started_ns = wait_clock_ns();
    if (wait->timeout_ms > 0) {
        waited_ms = (wait_clock_ns() - wait->started_ns) / 1000000u;
        wait->expired = waited_ms >= (uint64_t)wait->timeout_ms;
        if (!wait->expired && (uint64_t)wait->timeout_ms - waited_ms < SLICE_MS)
            slice_ms = wait->timeout_ms - (int)waited_ms;
    }
    if (!wait->expired && from == FROM_NOBODY)
        TRY(receive(t, slice_ms, &from));
out:
    return rc;
}

/* T3, after an error: what is still lent is not read any more, as its peer's connection is dropped with it. */
static void take_back(struct zmq *t, struct xfer *x)
{
    const uint64_t started_ns = wait_clock_ns();
    struct backoff backoff = { 0 };

    if (atomic_load_explicit(&x->state, memory_order_relaxed) != SEND_LENT || !x->priv) {
        if (x->receives)
            inbox_withdraw(t->inbox, x);
        return;
    }
    zmq_tender_lock(t->tender);
    outbox_drop(t->outbox, x->peer);
    zmq_tender_unlock(t->tender);
    while (!is_sent(t, x) && wait_clock_ns() - started_ns < UINT64_C(1000000) * RELEASE_MS)
        backoff_pause(&backoff, WAIT_SLICE_NS / 20);
}

enum rc zmq_complete(struct transport *base, struct xfer *x, int timeout_ms)
{
    struct zmq *t = self(base);
    struct wait wait = { .peer = x->peer, .timeout_ms = timeout_ms };
    bool is_handed = false;
    int from;
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
        TRY(look(t, &from));
        if (from >= 0)
            continue;
        TRY(inbox_check(t->inbox, x->peer));
        TRY(tend(t, x, &is_handed));
        if (is_handed)
            return RC_OK;
        if (wait.expired)
            FAIL(RC_TIMEOUT, "rank %d, tag %u: %s not done after %d ms", x->peer, x->tag,
                 state >= SEND_QUEUED ? "send" : "receive", timeout_ms);
        TRY(wait_slice(t, &wait));
    }
out:
    take_back(t, x);
    return rc;
}

static void lend_arrival(struct message *out, struct arrival *a)
{
    *out = (struct message){ .ptr = a->ptr, .n_bytes = a->n_bytes, .peer = a->sender, .tag = a->tag, .priv = a };
    if (a->n_body_bytes == 0)
        return;
    out->head = a->ptr;
    out->n_head_bytes = a->n_bytes;
    out->ptr = a->body_ptr;
    out->n_bytes = a->n_body_bytes;
}

enum rc zmq_recv_message(struct transport *base, struct message *out, int timeout_ms)
{
    struct zmq *t = self(base);
    struct wait wait = { .peer = -1, .timeout_ms = timeout_ms };
    struct arrival *a;
    int from;
    enum rc rc;

    for (;;) {
        TRY(inbox_take_any(t->inbox, &a));
        if (a) {
            lend_arrival(out, a);
            break;
        }
        TRY(look(t, &from));
        if (from >= 0)
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

void zmq_release(struct transport *t, struct message *m)
{
    inbox_end(self(t)->inbox, m->priv);
}
