/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zmq_kinds.h - the transports that are one implementation over ZeroMQ, and what a rank holds of each. Private to
 * harness/net.
 *
 *   transport  goes over
 *   zmq        what zmq_address.h chooses for where the ranks are
 *   ipc        sockets of one host's file system, also between threads
 *   tcp        TCP, also within a host or a process: at the interface that is given, else there at the loopback
 */
#ifndef HARNESS_NET_ZMQ_KINDS_H
#define HARNESS_NET_ZMQ_KINDS_H

#include "harness/net/transport.h"
#include "harness/net/zmq_address.h"
#include "harness/net/zmq_frame.h"
#include "harness/net/zmq_gate.h"
#include "harness/world/wait.h"

struct zmq_context;
struct inbox;
struct outbox;
struct zmq_tender;

struct zmq_kind {
    const struct transport_ops *ops;
    enum zmq_wanted wanted;
};

enum { ZMQ_SLICE_MS = WAIT_SLICE_NS / 1000000 };

struct bootstrap { /* what every rank sends the others in open() */
    char endpoint[ZMQ_ADDRESS_BYTES];
    char pass[GATE_PASS_BYTES]; /* "": it has no gate */
    uint64_t window;
    enum rc rc; /* it can listen; else the reason */
    char reason[RC_MESSAGE_BYTES];
    bool encrypts;                          /* its gate does */
    unsigned char token[FRAME_TOKEN_BYTES]; /* random; every frame carries that of rank 0: others are from outside */
};

struct zmq {
    struct transport base;
    struct zmq_context *context;
    enum zmq_wanted wanted;
    struct zmq_address address;
    struct zmq_gate *gate; /* NULL: only this host, and this user, reach this rank */
    struct inbox *inbox;
    struct outbox *outbox;       /* used under tender's lock */
    struct zmq_tender *tender;   /* NULL where connections are not made again */
    struct bootstrap *bootstrap; /* [world_n_peers()]; of guests that have entered */
    bool has_guests;
};

static inline struct zmq *zmq_self(struct transport *t)
{
    return (struct zmq *)t;
}

/* --- transport_zmq_open.c: the beginning and the end, of each kind --- */

/* The gate of a rank of w that is going to listen there, closed still; NULL: none is needed, only this host and this
 * user reach it. Over TCP it encrypts, as w->security says, on the loopback only where that is asked for. RC_INVAL: it
 * is asked for where nothing goes over TCP; else those of zmq_gate_open(). */
enum rc zmq_gate_for(struct zmq_gate **out, void *context, const struct world *w,
                     const struct zmq_address *address) MUST_CHECK;

enum rc zmq_open_transport(struct transport **out, struct world *w, const struct transport_plan *given,
                           const struct zmq_kind *kind) MUST_CHECK;
void zmq_close_transport(struct transport **tp);
/* Of a transport with guests: let in those that have entered meanwhile. RC_NOMEM, RC_IO. */
enum rc zmq_take_guests(struct zmq *t) MUST_CHECK;

/* --- transport_zmq.c: the other operations, of each kind --- */

enum rc zmq_post_send(struct transport *base, struct xfer *x) MUST_CHECK;
enum rc zmq_post_recv(struct transport *t, struct xfer *x) MUST_CHECK;
enum rc zmq_complete(struct transport *base, struct xfer *x, int timeout_ms) MUST_CHECK;
enum rc zmq_recv_message(struct transport *base, struct message *out, int timeout_ms) MUST_CHECK;
void zmq_release(struct transport *t, struct message *m);

/* --- zmq_kinds.c --- */

enum zmq_wanted zmq_kind_wanted(const struct transport_ops *ops); /* of one of these */

#endif
