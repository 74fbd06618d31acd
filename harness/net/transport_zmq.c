/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport_zmq.c - messages over ZeroMQ: between threads (inproc://), processes of a host (ipc://) and hosts (tcp://).
 * Which of them, and the tables of the transports: zmq_kinds.c; how ranks find each other: transport_zmq_open.c.
 *
 * Every rank binds one PULL socket (zmq_inbox.h), and connects one PUSH socket to each rank it sends to
 * (zmq_outbox.h): at the first message, or over ipc:// in open(), which then removes the folder of the socket again, so
 * that nothing of a run is left behind, however it ends. Posting a send copies the message once, into a ZeroMQ message
 * that the library owns from then on, but for long bodies that are lent (net.O5); a send is done when the window
 * of its peer let it through, and what is lent has come back. A receive is
 * complete when the inbox has set its state to INBOX_DONE.
 *
 * A wait looks at most MOST_STRANGERS frames of strangers at a time before it reads the clock and asks whether a rank
 * was lost: a flood of them takes time, but no wait misses its end.
 */
#include "harness/net/transport_zmq.h"

#include <stdatomic.h>

#include "harness/net/xfer.h"
#include "harness/net/zmq_context.h"
#include "harness/net/zmq_inbox.h"
#include "harness/net/zmq_kinds.h"
#include "harness/net/zmq_outbox.h"
#include "harness/net/zmq_tender.h"
#include "harness/world/wait.h"
#include "harness/world/world.h"

enum { N_SPINS = 100, MOST_STRANGERS = 64, LENT_SLICE_MS = 1 };
enum { SEND_QUEUED = INBOX_TOO_LONG + 1 }; /* state of a send, x->priv: its number in the outbox; */
enum { SEND_LENT = INBOX_TOO_LONG + 2 };   /* likewise, x->priv: its frame_lent */
enum { RELEASE_MS = 5000 };                /* after an error, for ZeroMQ to let go of what is lent */

/* --- transfers --- */

enum rc zmq_post_send(struct transport *base, struct xfer *x)
{
    struct zmq *t = zmq_self(base);
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
    inbox_post(zmq_self(t)->inbox, x);
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
    bool is_lent; /* for a send of the caller's bytes: that ZeroMQ has sent them wakes nobody */
    bool expired;
};

/* Wait until a frame has arrived, but at most ZMQ_SLICE_MS, so that the caller's next call sees whether a rank died.
 * At most LENT_SLICE_MS for what is lent.
 * Polls N_SPINS times first where this rank may spin. Sets expired once timeout_ms have passed since the first call. */
static enum rc wait_slice(struct zmq *t, struct wait *wait)
{
    const bool is_socket = t->address.reach != ZMQ_REACH_PROCESS;
    const bool may_spin = is_socket ? zmq_may_poll(t->base.world) : world_may_spin(t->base.world);
    uint64_t waited_ms = 0;
    int slice_ms = wait->is_lent ? LENT_SLICE_MS : ZMQ_SLICE_MS, from = FROM_NOBODY;
    enum rc rc;

    TRY(transport_check(&t->base, wait->peer)); /* net.T10 */
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
        if (!wait->expired && (uint64_t)wait->timeout_ms - waited_ms < (uint64_t)slice_ms)
            slice_ms = wait->timeout_ms - (int)waited_ms;
    }
    if (!wait->expired && from == FROM_NOBODY)
        TRY(receive(t, slice_ms, &from));
out:
    return rc;
}

/* net.T3, after an error: what is still lent is not read any more, as its peer's connection is dropped with it. */
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
    struct zmq *t = zmq_self(base);
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
        wait.is_lent = state == SEND_LENT;
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
    struct zmq *t = zmq_self(base);
    struct wait wait = { .peer = -1, .timeout_ms = timeout_ms };
    struct arrival *a;
    int from;
    enum rc rc;

    if (t->has_guests)
        TRY(zmq_take_guests(t));
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
        if ((wait.expired && timeout_ms == DO_NOT_WAIT) || transport_loss_due(base)) /* net.T12 */
            break;
        if (t->has_guests)
            TRY(zmq_take_guests(t));
        if (wait.expired)
            FAIL(RC_TIMEOUT, "no message from any rank after %d ms", timeout_ms);
        TRY(wait_slice(t, &wait));
    }
out:
    return rc;
}

void zmq_release(struct transport *t, struct message *m)
{
    inbox_end(zmq_self(t)->inbox, m->priv);
}
