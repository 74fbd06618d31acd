/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport_sim.c - messages between ranks of the sim world, in virtual time.
 *
 * A send is eager: its payload is copied and starts to travel when it is posted, so complete() of a
 * send ends at once (the memory is the sender's again) and never waits for the link. Where the description of the
 * cluster says that senders wait for long messages, it ends when the message has arrived, received or not. A wait
 * without limit that nothing can end is RC_TIMEOUT (world.E3). Polling with DO_NOT_WAIT takes no virtual time:
 * a loop that polls must pause in between.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "harness/net/sim_mail.h"
#include "harness/net/transport.h"
#include "harness/net/xfer.h"
#include "harness/world/sim/sim_engine.h"
#include "harness/world/sim/world_sim.h"

extern const struct transport_ops transport_sim;

#define MESSAGE_BYTES_MAX (UINT64_C(1) << 53) /* bytes are counted in a double */

static struct port *self(struct transport *t)
{
    return (struct port *)t;
}

static enum rc sim_open(struct transport **out, struct world *w)
{
    struct fabric *fabric = NULL, **mine = &fabric;
    struct fabric ***everyones = NULL;
    enum rc rc;

    if (w->ops != &world_sim)
        return rc_raise(RC_UNSUPPORTED, "transport sim: runs in world sim, not in world %s", w->ops->module.name);
    if (w->rank == 0)
        everyones = calloc((size_t)w->n_ranks, sizeof *everyones);
    if (w->rank == 0 && !everyones)
        FAIL(RC_NOMEM, "transport sim: no memory for %d ranks", w->n_ranks);
    /* One address space: rank 0 learns where each rank wants the pointer, and puts it there. */
    TRY(world_gather(w, &mine, everyones, sizeof mine));
    TRY(world_check(w)); /* whole: so all are still in here, and their pointers are valid */
    if (w->rank == 0) {
        fabric = fabric_alloc(w);
        for (int r = 0; r < w->n_ranks; r++)
            *everyones[r] = fabric;
    }
    TRY(world_barrier(w));
    if (!fabric)
        FAIL(RC_NOMEM, "transport sim: no memory for %d ports", w->n_ranks);
    struct port *p = &fabric->port[w->rank];
    p->base = (struct transport){ .ops = &transport_sim, .world = w };
    p->open = true;
    TRY(world_barrier(w)); /* nobody sends to a port that is not open */
    *out = &p->base;
out:
    free(everyones);
    return rc;
}

static enum rc sim_post_send(struct transport *t, struct xfer *x)
{
    struct port *p = self(t), *to = &p->fabric->port[x->peer];
    const size_t n_bytes = xfer_n_bytes(x);
    struct sim_message *m = NULL;
    enum rc rc;

    TRY(sim_check(p->rank));
    if (x->peer == t->world->rank)
        FAIL(RC_INVAL, "transport sim: rank %d sends to itself", x->peer);
    if (n_bytes > MESSAGE_BYTES_MAX || x->n_hollow_bytes > MESSAGE_BYTES_MAX)
        FAIL(RC_INVAL, "transport sim: a message of %zu bytes and %zu hollow ones is too long", n_bytes,
             x->n_hollow_bytes);
    m = malloc(sizeof *m + n_bytes);
    if (!m)
        FAIL(RC_NOMEM, "transport sim: no memory for a message of %zu bytes", n_bytes);
    *m = (struct sim_message){ .transfer = { .arrived = sim_message_arrived },
                               .to = to,
                               .source = t->world->rank,
                               .tag = x->tag,
                               .n_bytes = n_bytes,
                               .n_hollow_bytes = x->n_hollow_bytes };
    xfer_copy_out(m->payload, x);
    if (sim_sender_waits(p->rank, to->rank, (uint64_t)n_bytes + m->n_hollow_bytes))
        TRY(receipt_open(m, p));
    TRY(port_channel(&m->channel, to, m->source, m->tag));
    sim_queue_put(&m->channel->flying, m);
    p->fabric->n_flying++;
    world_sim_sent(t->world, x->peer, (uint64_t)n_bytes + x->n_hollow_bytes);
    x->priv = m->receipt;
    atomic_store_explicit(&x->state, m->receipt ? MAIL_AWAITED : MAIL_SENT, memory_order_relaxed);
    rc = sim_send(p->rank, to->rank, (uint64_t)m->n_bytes + m->n_hollow_bytes, &m->transfer);
    if (rc == RC_OK)
        return RC_OK; /* net.S2 */
    p->fabric->n_flying--;
    sim_queue_take_out(&m->channel->flying, m);
    port_trim(to, m->channel);
out:
    if (m && m->receipt) {
        m->receipt->arrived = true; /* it never will */
        receipt_give_up(p->fabric, m->receipt);
    }
    free(m);
    return rc;
}

static enum rc sim_post_recv(struct transport *t, struct xfer *x)
{
    struct channel *c = NULL;
    struct sim_message *m;
    enum rc rc;

    TRY(port_channel(&c, self(t), x->peer, x->tag));
    x->next = NULL;
    m = sim_queue_take(&c->here);
    if (m) {
        port_match(self(t), x, m);
        port_trim(self(t), c);
        return RC_OK;
    }
    atomic_store_explicit(&x->state, MAIL_POSTED, memory_order_relaxed);
    x->priv = c;
    if (c->posted_last)
        c->posted_last->next = x;
    else
        c->posted_first = x;
    c->posted_last = x;
out:
    return rc;
}

/* Copy x's message out, and free it. */
static enum rc unpack(struct port *p, struct xfer *x)
{
    struct sim_message *m = x->priv;
    const size_t n_room_bytes = xfer_n_bytes(x);
    enum rc rc = RC_OK;

    if (m->n_bytes > n_room_bytes) /* net.T9 */
        rc = rc_raise(RC_MISMATCH, "message from rank %d, tag %u, has %zu bytes; the receiver has room for %zu",
                      m->source, m->tag, m->n_bytes, n_room_bytes);
    else
        xfer_deliver(x, NULL, 0, m->payload, m->n_bytes);
    x->n_hollow_bytes = m->n_hollow_bytes;
    sim_queue_take_out(&p->lent, m);
    free(m);
    return rc;
}

/* Take a receive back that no message came for (net.T3). */
static void withdraw(struct port *p, struct xfer *x)
{
    struct channel *c = x->priv;
    struct xfer *before = NULL;

    for (struct xfer *i = c->posted_first; i != x; i = i->next)
        before = i;
    if (before)
        before->next = x->next;
    else
        c->posted_first = x->next;
    if (c->posted_last == x)
        c->posted_last = before;
    port_trim(p, c);
}

static uint64_t deadline_ns(struct port *p, int timeout_ms)
{
    return timeout_ms > 0 ? sim_now_ns(p->rank) + (uint64_t)timeout_ms * 1000000u : SIM_NEVER;
}

/* Sleep until `what` may have come. *expired: it did not, in time. RC_PEER (net.T10). */
static enum rc wait_for(struct port *p, int peer, const void *what, int timeout_ms, uint64_t limit_ns, bool *expired)
{
    enum rc rc;

    *expired = timeout_ms == DO_NOT_WAIT;
    TRY(transport_check(&p->base, peer));
    if (*expired)
        return RC_OK;
    *expired = !sim_wait(p->rank, what, limit_ns);
out:
    return rc;
}

static enum mail_state state_of(const struct xfer *x)
{
    return (enum mail_state)atomic_load_explicit(&x->state, memory_order_relaxed);
}

/* A receive whose message has not come, or a send whose message has not arrived and is to. */
static bool is_under_way(const struct xfer *x)
{
    const enum mail_state state = state_of(x);

    return state == MAIL_POSTED || (state == MAIL_AWAITED && !((struct receipt *)x->priv)->arrived);
}

static enum rc sim_complete(struct transport *t, struct xfer *x, int timeout_ms)
{
    const uint64_t limit_ns = deadline_ns(self(t), timeout_ms);
    bool expired = false;
    enum rc rc = RC_OK;

    while (is_under_way(x)) {
        if (expired)
            FAIL(RC_TIMEOUT, "rank %d, tag %u: %s after %d ms", x->peer, x->tag,
                 x->receives ? "no message" : "a message has not arrived", timeout_ms == DO_NOT_WAIT ? 0 : timeout_ms);
        TRY(wait_for(self(t), x->peer, x->receives ? (void *)x : x->priv, timeout_ms, limit_ns, &expired));
    }
    if (state_of(x) == MAIL_MATCHED)
        rc = unpack(self(t), x);
out:
    if (state_of(x) == MAIL_POSTED)
        withdraw(self(t), x);
    if (state_of(x) == MAIL_AWAITED)
        receipt_give_up(self(t)->fabric, x->priv);
    x->priv = NULL;
    atomic_store_explicit(&x->state, MAIL_ENDED, memory_order_relaxed);
    return rc;
}

static enum rc sim_recv_message(struct transport *t, struct message *out, int timeout_ms)
{
    struct port *p = self(t);
    const uint64_t limit_ns = deadline_ns(self(t), timeout_ms);
    bool expired = false;
    struct sim_message *m;
    enum rc rc = RC_OK;

    while ((m = sim_queue_take(&p->any)) == NULL) {
        if ((expired && timeout_ms == DO_NOT_WAIT) || transport_loss_due(t)) /* net.T12 */
            return RC_OK;
        if (expired)
            FAIL(RC_TIMEOUT, "no message from any rank after %d ms", timeout_ms);
        TRY(wait_for(p, -1, &p->any, timeout_ms, limit_ns, &expired));
    }
    sim_queue_put(&p->lent, m);
    *out = (struct message){ .ptr = m->payload,
                             .n_bytes = m->n_bytes,
                             .n_hollow_bytes = m->n_hollow_bytes,
                             .peer = m->source,
                             .tag = m->tag,
                             .arrived_ns = m->arrived_ns,
                             .priv = m };
out:
    return rc;
}

static void sim_release(struct transport *t, struct message *m)
{
    struct sim_message *message = m->priv;

    sim_queue_take_out(&self(t)->lent, message);
    free(message);
    *m = (struct message){ .peer = -1 };
}

static void sim_close(struct transport **t)
{
    struct port *p = self(*t);

    *t = NULL;
    port_close(p);
}

const struct transport_ops transport_sim = {
    .module.name = "sim",
    .module.caps = TR_HOLLOW | TR_ASYNC | TR_COPIES,
    .module.needs_world = WORLD_VIRTUAL_TIME,
    .open = sim_open,
    .post_send = sim_post_send,
    .post_recv = sim_post_recv,
    .complete = sim_complete,
    .recv_message = sim_recv_message,
    .release = sim_release,
    .close = sim_close,
};
