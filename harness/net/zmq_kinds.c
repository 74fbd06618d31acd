/* SPDX-License-Identifier: Apache-2.0 */
/* zmq_kinds.c - the tables of the transports over ZeroMQ, and a look inside one; see zmq_kinds.h and transport_zmq.h.
 */
#include "harness/net/zmq_kinds.h"

#include <zmq.h>

#include "harness/net/transport_zmq.h"
#include "harness/net/zmq_context.h"
#include "harness/net/zmq_inbox.h"
#include "harness/net/zmq_outbox.h"
#include "harness/net/zmq_tender.h"
#include "harness/world/world.h"

const char *transport_zmq_endpoint(const struct transport *t)
{
    return ((const struct zmq *)t)->bootstrap[t->world->rank].endpoint;
}

const char *transport_zmq_peer_endpoint(const struct transport *t, int peer)
{
    return ((const struct zmq *)t)->bootstrap[peer].endpoint;
}

void *transport_zmq_context(const struct transport *t)
{
    return zmq_context_ptr(((const struct zmq *)t)->context);
}

uint64_t transport_zmq_n_reconnected(const struct transport *t)
{
    const struct zmq *z = (const struct zmq *)t;

    zmq_tender_lock(z->tender);
    const uint64_t n_reconnected = outbox_n_reconnected(z->outbox);
    zmq_tender_unlock(z->tender);
    return n_reconnected;
}

enum { ASKED_MS = 500 };

uint64_t transport_zmq_n_dropped(const struct transport *t)
{
    return inbox_n_dropped(((const struct zmq *)t)->inbox);
}

uint64_t transport_zmq_n_outside(const struct transport *t)
{
    const struct zmq *z = (const struct zmq *)t;

    return z->gate ? zmq_gate_n_outside(z->gate) : 0;
}

static bool zmq_sends_lent(const struct transport *t, size_t n_body_bytes)
{
    return outbox_sends_lent(((const struct zmq *)t)->outbox, n_body_bytes);
}

/* A rank's own connection is outside until its handshake has ended and the gate's thread has seen that: it gets a
 * while.
 */
static uint64_t zmq_n_strangers(const struct transport *t)
{
    for (int i = 0; i < ASKED_MS && transport_zmq_n_outside(t) > 0; i++)
        (void)zmq_poll(NULL, 0, 1);
    return transport_zmq_n_dropped(t) + transport_zmq_n_outside(t);
}

/* --- tables --- */

static const struct transport_plan any_plan = { .most_message_bytes = 0 };

#define ZMQ_KIND_(KIND, WANTED, CAPS)                                                                              \
    extern const struct transport_ops transport_##KIND;                                                            \
    static enum rc KIND##_open_planned(struct transport **out, struct world *w, const struct transport_plan *plan) \
    {                                                                                                              \
        return zmq_open_transport(out, w, plan, &(struct zmq_kind){ &transport_##KIND, WANTED });                  \
    }                                                                                                              \
    static enum rc KIND##_open(struct transport **out, struct world *w)                                            \
    {                                                                                                              \
        return KIND##_open_planned(out, w, &any_plan);                                                             \
    }                                                                                                              \
    static enum rc KIND##_check_host(const struct module *world, const char *interface)                            \
    {                                                                                                              \
        return zmq_address_check_host(world, interface, WANTED);                                                   \
    }                                                                                                              \
    const struct transport_ops transport_##KIND = {                                                                \
        .module.name = #KIND,                                                                                      \
        .module.caps = TR_ADD | TR_ASYNC | TR_COPIES | TR_CUTS | (CAPS),                                           \
        .module.refuses_world = WORLD_VIRTUAL_TIME,                                                                \
        .check_host = KIND##_check_host,                                                                           \
        .open = KIND##_open,                                                                                       \
        .open_planned = KIND##_open_planned,                                                                       \
        .post_send = zmq_post_send,                                                                                \
        .post_recv = zmq_post_recv,                                                                                \
        .complete = zmq_complete,                                                                                  \
        .recv_message = zmq_recv_message,                                                                          \
        .release = zmq_release,                                                                                    \
        .sends_lent = zmq_sends_lent,                                                                              \
        .n_strangers = zmq_n_strangers,                                                                            \
        .close = zmq_close_transport,                                                                              \
    }

ZMQ_KIND_(zmq, ZMQ_WANT_ANY, TR_ENCRYPTS | TR_GUESTS);
ZMQ_KIND_(ipc, ZMQ_WANT_HOST, 0);
ZMQ_KIND_(tcp, ZMQ_WANT_TCP, TR_ENCRYPTS | TR_GUESTS);

enum zmq_wanted zmq_kind_wanted(const struct transport_ops *ops)
{
    return ops == &transport_ipc ? ZMQ_WANT_HOST : ops == &transport_tcp ? ZMQ_WANT_TCP : ZMQ_WANT_ANY;
}
