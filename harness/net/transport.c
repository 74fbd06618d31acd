/* SPDX-License-Identifier: Apache-2.0 */
/* transport.c - the list of transports, and wrappers that count (net.T5) and refuse (net.T6, T7, T8, T13). */
#include "harness/net/transport.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/net/message_log.h"
#include "harness/net/xfer.h"
#include "harness/world/world.h"

/* After so long every process has the last sign of life of one that has ended: twice the longest interval between them
 * (peers.h). */
enum { TOLD_MS = 500 };
enum { NOTICED_MS = 2000 }; /* by then every process knows what one has noticed: some looks (peers.h) and a heartbeat */

extern const struct transport_ops transport_inproc, transport_zmq, transport_ipc, transport_tcp, transport_mpi,
    transport_sim, transport_shm;

static const struct module *transport_at(int i)
{
    static const struct module *const all[] = {
        &transport_inproc.module,
#if GRADMARK_HAVE_MPI
        &transport_mpi.module,
#endif
        &transport_sim.module,
        &transport_zmq.module,
        &transport_ipc.module,
        &transport_tcp.module,
        &transport_shm.module,
        NULL,
    };

    return all[i];
}

static const struct module_absent absent[] = {
#if !GRADMARK_HAVE_MPI
    { "mpi", GRADMARK_MPI_WHY_NOT, 0 },
#endif
    { NULL, NULL, 0 },
};

const char transport_of_nothing[] = "none";
const struct module_kind transport_kind = { "transport", transport_at, absent, NULL, NULL };

enum rc transport_find(const struct transport_ops **out, const char *name)
{
    const struct module *m;
    enum rc rc;

    TRY(module_find(&m, &transport_kind, name));
    *out = (const struct transport_ops *)m;
out:
    return rc;
}

const char *transport_auto(const struct module *world, unsigned wanted_caps)
{
    for (int i = 0; transport_kind.at(i); i++) {
        const struct module *t = transport_kind.at(i);
        if (module_runs_in(t, world) && (t->caps & wanted_caps) == wanted_caps)
            return t->name;
    }
    return NULL;
}

enum rc transport_open(struct transport **out, const struct transport_ops *ops, struct world *w)
{
    *out = NULL;
    return ops->open(out, w);
}

enum rc transport_open_planned(struct transport **out, const struct transport_ops *ops, struct world *w,
                               const struct transport_plan *plan)
{
    enum rc rc;

    *out = NULL;
    TRY(ops->open_planned ? ops->open_planned(out, w, plan) : ops->open(out, w));
    (*out)->most_message_bytes = plan->most_message_bytes;
out:
    return rc;
}

enum rc transport_check(struct transport *t, int peer)
{
    enum rc rc;

    TRY(world_check(t->world));
    if (t->fails_together)
        TRY(world_check_losses(t->world));
    else if (peer >= 0 && world_is_lost(t->world, peer))
        rc = world_raise_loss(t->world, peer);
out:
    return rc;
}

bool transport_loss_due(struct transport *t)
{
    const struct world *w = t->world;
    const int n_lost = w->losses ? atomic_load_explicit(&w->losses->n_lost, memory_order_acquire) : 0;

    if (t->n_lost_run != n_lost) {
        t->n_lost_run = n_lost;
        t->n_lost_here = 0;
        for (int r = 0; r < world_n_peers(w); r++)
            t->n_lost_here += world_is_lost(w, r);
    }
    return t->n_lost_told != t->n_lost_here && !t->fails_together;
}

enum rc transport_peer_error(const struct transport *t, int peer)
{
    return t->peer_error ? t->peer_error[peer] : RC_OK;
}

static enum rc remember(struct transport *t, enum rc rc)
{
    if (rc != RC_OK)
        t->dead = rc; /* net.T6 */
    return rc;
}

/* Is rc, just raised, an error of one peer (net.T6)? Keeps the message. */
static bool is_of_peer(struct transport *t, enum rc rc)
{
    char message[RC_MESSAGE_BYTES];

    if (t->fails_together || (rc != RC_PEER && rc != RC_TIMEOUT && rc != RC_MISMATCH))
        return false;
    snprintf(message, sizeof message, "%s", rc_message());
    const bool run_goes_on = world_check(t->world) == RC_OK;
    (void)rc_raise(rc, "%s", message);
    return run_goes_on;
}

/* How long the world may take to notice a process that has ended; 0: it may not notice at all. With ON_LOSS_REPORT it
 * looks for such; without, in most worlds, an ended process is no more than a silent one. */
static uint64_t most_ms_until_noticed(const struct world *w)
{
    if (w->on_loss == ON_LOSS_REPORT)
        return NOTICED_MS;
    if (w->peers && w->peers->abort_ns > 0)
        return w->peers->abort_ns / 1000000 + NOTICED_MS;
    return w->ops->module.caps & WORLD_SEES_ENDS ? NOTICED_MS : 0;
}

/* A connection may end before the world has noticed that the peer's process has: wait for that, and say so. Of a peer
 * that lives, in a run that goes on, the error is rc, just raised. */
static enum rc name_cause(struct transport *t, int peer, enum rc rc)
{
    struct world *w = t->world;
    char message[RC_MESSAGE_BYTES];
    uint64_t n_ticks = 0;

    if (rc != RC_PEER)
        return rc;
    snprintf(message, sizeof message, "%s", rc_message());
    for (uint64_t i = 0, n = most_ms_until_noticed(w); i <= n; i++) {
        const enum rc cause = transport_check(t, peer);
        if (cause != RC_OK)
            return cause;
        if (i == TOLD_MS)
            n_ticks = world_n_ticks(w, peer);
        if (i == n || (i > TOLD_MS && world_n_ticks(w, peer) != n_ticks)) /* it lives */
            break;
        world_pause(w, 1000000);
    }
    return rc_raise(rc, "%s", message);
}

/* The result of a transfer with one peer. */
static enum rc remember_of(struct transport *t, int peer, enum rc rc)
{
    if (rc == RC_OK)
        return rc;
    rc = name_cause(t, peer, rc);
    if (is_of_peer(t, rc)) {
        if (!t->peer_error)
            t->peer_error = calloc((size_t)world_n_peers(t->world), sizeof *t->peer_error);
        if (t->peer_error) {
            if (t->peer_error[peer] == RC_OK)
                t->peer_error[peer] = rc;
            return rc;
        }
    }
    return remember(t, rc);
}

/* net.T6: the error that this transport, or transfers with `peer`, ended with before; -1: the transport alone. */
static enum rc refuse_dead(struct transport *t, int peer)
{
    const char *name = t->ops->module.name;

    if (t->dead != RC_OK)
        return rc_raise(t->dead, "transport %s: used after an error", name);
    if (peer >= 0 && transport_peer_error(t, peer) != RC_OK)
        return rc_raise(t->peer_error[peer], "transport %s: used with rank %d after an error with it", name, peer);
    if (peer >= 0 && t->world->losses && world_is_lost(t->world, peer))
        return remember_of(t, peer, world_raise_loss(t->world, peer));
    return RC_OK;
}

static enum rc refuse(struct transport *t, const struct xfer *x, bool receives)
{
    enum rc rc;

    if (t->dead != RC_OK)
        return refuse_dead(t, -1);
    if (x->peer < 0 || x->peer >= world_n_peers(t->world) || x->peer == t->world->rank)
        return rc_raise(RC_INVAL, "transport %s: rank %d has no peer %d among %d ranks", t->ops->module.name,
                        t->world->rank, x->peer, t->world->n_ranks);
    TRY(refuse_dead(t, x->peer));
    if (x->n_hollow_bytes > 0 && !(t->ops->module.caps & TR_HOLLOW)) /* net.T7 */
        return rc_raise(RC_UNSUPPORTED, "transport %s: carries real bytes only, %zu hollow ones were posted",
                        t->ops->module.name, x->n_hollow_bytes);
    /* net.T13 */
    if (!receives && t->most_message_bytes > 0 && xfer_n_bytes(x) + x->n_hollow_bytes > t->most_message_bytes)
        return rc_raise(RC_INVAL, "transport %s: a message of %zu bytes, where the plan's longest has %zu",
                        t->ops->module.name, xfer_n_bytes(x) + x->n_hollow_bytes, t->most_message_bytes);
    if (receives && (x->tag & TAG_ANY)) /* net.T8 */
        return rc_raise(RC_INVAL, "transport %s: tag %#x is received by recv_message only", t->ops->module.name,
                        x->tag);
    if (x->add && !(t->ops->module.caps & TR_ADD))
        return rc_raise(RC_UNSUPPORTED, "transport %s: cannot add in place", t->ops->module.name);
out:
    return rc;
}

enum rc transport_send(struct transport *t, struct xfer *x)
{
    enum rc rc;

    world_tick(t->world);
    TRY(refuse(t, x, false));
    x->receives = false;
    x->posted_ns = t->log ? world_now_ns(t->world) : 0;
    TRY(remember_of(t, x->peer, t->ops->post_send(t, x)));
    t->moved.msgs_sent++; /* net.T5 */
    t->moved.bytes_sent += xfer_n_bytes(x) + x->n_hollow_bytes;
out:
    return rc;
}

enum rc transport_recv(struct transport *t, struct xfer *x)
{
    enum rc rc;

    world_tick(t->world);
    TRY(refuse(t, x, true));
    x->receives = true;
    x->posted_ns = t->log ? world_now_ns(t->world) : 0;
    TRY(remember_of(t, x->peer, t->ops->post_recv(t, x)));
out:
    return rc;
}

/* End x, which cannot end well any more (net.T3). */
static enum rc end_refused(struct transport *t, struct xfer *x)
{
    char message[RC_MESSAGE_BYTES];
    const enum rc why = t->dead != RC_OK ? t->dead : transport_peer_error(t, x->peer);

    snprintf(message, sizeof message, "transport %s: transfer with rank %d after an error", t->ops->module.name,
             x->peer);
    (void)!t->ops->complete(t, x, DO_NOT_WAIT);
    return rc_raise(why, "%s", message);
}

/* net.T14 */
static void note_transfer(struct transport *t, const struct xfer *x)
{
    const struct logged_message m = { .start_ns = x->posted_ns,
                                      .end_ns = world_now_ns(t->world),
                                      .n_bytes = x->n_bytes + x->n_hollow_bytes,
                                      .n_head_bytes = x->n_head_bytes,
                                      .tag = x->tag,
                                      .peer = x->peer,
                                      .is_received = x->receives,
                                      .is_added = x->receives && x->add };

    message_log_add(t->log, &m, x->ptr);
}

/* net.T14: of any rank. */
static void note_message(struct transport *t, const struct message *m)
{
    const uint64_t now_ns = world_now_ns(t->world);
    const struct logged_message noted = { .start_ns =
                                              m->arrived_ns > 0 && m->arrived_ns < now_ns ? m->arrived_ns : now_ns,
                                          .end_ns = now_ns,
                                          .n_bytes = m->n_bytes + m->n_hollow_bytes,
                                          .n_head_bytes = m->n_head_bytes,
                                          .tag = m->tag,
                                          .peer = m->peer,
                                          .is_received = 1 };

    message_log_add(t->log, &noted, m->ptr);
}

enum rc transport_wait(struct transport *t, struct xfer *x, int timeout_ms)
{
    world_tick(t->world);
    if (t->dead != RC_OK || transport_peer_error(t, x->peer) != RC_OK)
        return end_refused(t, x);
    const enum rc rc = remember_of(t, x->peer, t->ops->complete(t, x, timeout_ms));

    if (rc == RC_OK && x->receives) {
        t->moved.msgs_recv++;
        t->moved.bytes_recv += xfer_n_bytes(x) + x->n_hollow_bytes;
    }
    if (rc == RC_OK && t->log)
        note_transfer(t, x);
    return rc;
}

enum rc transport_exchange(struct transport *t, struct xfer *tx, struct xfer *rx, int timeout_ms)
{
    char first_message[RC_MESSAGE_BYTES];
    enum rc rc = transport_recv(t, rx);

    if (rc != RC_OK)
        return rc;
    const bool sent = (rc = transport_send(t, tx)) == RC_OK;
    if (rc == RC_OK)
        rc = transport_wait(t, rx, timeout_ms);
    if (rc == RC_OK)
        return transport_wait(t, tx, timeout_ms);
    /* Both are ended whatever happened (net.T3); the first error is reported. */
    snprintf(first_message, sizeof first_message, "%s", rc_message());
    (void)!transport_wait(t, sent ? tx : rx, DO_NOT_WAIT);
    return rc_raise(rc, "%s", first_message);
}

/* Move the border between head and ptr to n_head_bytes, or to the end of a shorter message (net.T11). */
static enum rc divide(struct message *m, size_t n_head_bytes)
{
    const size_t n_bytes = m->n_head_bytes + m->n_bytes;
    const size_t n_first = n_head_bytes < n_bytes ? n_head_bytes : n_bytes;

    if (m->n_head_bytes != n_first) {
        const unsigned char *whole = m->n_head_bytes == 0 ? m->ptr : m->head;
        if (m->n_head_bytes > 0 && m->n_bytes > 0) { /* in two places, neither of which has what is wanted */
            m->copy = malloc(n_bytes);
            if (!m->copy)
                return rc_raise(RC_NOMEM, "no memory for a message of %zu bytes from rank %d", n_bytes, m->peer);
            memcpy(m->copy, m->head, m->n_head_bytes);
            memcpy((char *)m->copy + m->n_head_bytes, m->ptr, m->n_bytes);
            whole = m->copy;
        }
        m->head = whole;
        m->ptr = whole + n_first;
    }
    m->n_head_bytes = n_first;
    m->n_bytes = n_bytes - n_first;
    return RC_OK;
}

/* The next message of a peer that is as good as any; *out is empty where there is none. */
static enum rc next_message(struct transport *t, struct message *out, int timeout_ms)
{
    enum rc rc;

    for (;;) {
        if (transport_loss_due(t))
            return RC_OK;
        rc = t->ops->recv_message(t, out, timeout_ms);
        if (rc != RC_OK)
            return out->peer >= 0 ? remember_of(t, out->peer, rc) : remember(t, rc);
        if (out->peer < 0 || (transport_peer_error(t, out->peer) == RC_OK && !world_is_lost(t->world, out->peer)))
            return RC_OK;
        transport_release(t, out); /* net.T6, T12 */
    }
}

enum rc transport_recv_divided(struct transport *t, struct message *out, size_t n_head_bytes, int timeout_ms)
{
    enum rc rc;

    *out = (struct message){ .peer = -1 };
    world_tick(t->world);
    TRY(refuse_dead(t, -1));
    TRY(next_message(t, out, timeout_ms));
    if (out->peer < 0) {
        (void)transport_loss_due(t);
        t->n_lost_told = t->n_lost_here; /* net.T12 */
        goto out;
    }
    rc = remember(t, divide(out, n_head_bytes));
    if (rc != RC_OK) {
        transport_release(t, out);
        goto out;
    }
    t->moved.msgs_recv++;
    t->moved.bytes_recv += out->n_head_bytes + out->n_bytes + out->n_hollow_bytes;
    if (t->log)
        note_message(t, out);
out:
    return rc;
}

enum rc transport_recv_message(struct transport *t, struct message *out, int timeout_ms)
{
    return transport_recv_divided(t, out, 0, timeout_ms);
}

void transport_release(struct transport *t, struct message *m)
{
    free(m->copy);
    if (m->peer >= 0)
        t->ops->release(t, m);
    *m = (struct message){ .peer = -1 };
}

const char *transport_encryption(const struct transport *t)
{
    if (t->encrypts)
        return "curve";
    return t->uses_tcp || t->world->n_host_ranks < t->world->n_ranks ? "clear" : "local";
}

enum rc transport_check_host(const struct transport_ops *ops, const struct module *world, const char *interface)
{
    return ops->check_host ? ops->check_host(world, interface) : RC_OK;
}

enum rc transport_check_encrypts(const struct transport_ops *ops, bool is_asked)
{
    char others[128];

    if (!is_asked || (ops && ops->module.caps & TR_ENCRYPTS))
        return RC_OK;
    module_names_with(others, sizeof others, &transport_kind, TR_ENCRYPTS);
    return rc_raise(RC_INVAL, "--secure: %s%s encrypts nothing; use --transport %s",
                    ops ? "transport " : "a run that sends nothing", ops ? ops->module.name : "", others);
}

bool transport_sends_lent(const struct transport *t, size_t n_body_bytes)
{
    return t->ops->sends_lent ? t->ops->sends_lent(t, n_body_bytes) : !(t->ops->module.caps & TR_COPIES);
}

uint64_t transport_n_strangers(const struct transport *t)
{
    return t->ops->n_strangers ? t->ops->n_strangers(t) : 0;
}

void transport_close(struct transport **t)
{
    if (!t || !*t)
        return;
    enum rc *peer_error = (*t)->peer_error; /* close() may ask for them */

    (*t)->ops->close(t);
    free(peer_error);
}
