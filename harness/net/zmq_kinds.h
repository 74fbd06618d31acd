/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zmq_kinds.h - the transports that are one implementation over ZeroMQ, and the state of a rank for each. Private to
 * harness/net.
 *
 *   transport  goes over
 *   zmq        the choice of zmq_address.h for the places of the ranks
 *   ipc        sockets of one host's file system, also between threads
 *   tcp        TCP, also within a host or a process: at the given interface, else within a host at the loopback
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

struct bootstrap { /* what every rank sends to all ranks in open() */
    char endpoint[ZMQ_ADDRESS_BYTES];
    char pass[GATE_PASS_BYTES]; /* "": no gate */
    uint64_t window;
    enum rc rc; /* RC_OK: it can listen; else the reason */
    char reason[RC_MESSAGE_BYTES];
    bool encrypts;                          /* its gate does */
    unsigned char token[FRAME_TOKEN_BYTES]; /* random; every frame carries that of rank 0: other frames are from
                                               outside */
};

struct zmq {
    struct transport base;
    struct zmq_context *context;
    enum zmq_wanted wanted;
    struct zmq_address address;
    struct zmq_gate *gate; /* NULL: only this host, and this user, can reach this rank */
    struct inbox *inbox;
    struct outbox *outbox;       /* used under tender's lock */
    struct zmq_tender *tender;   /* NULL if connections are not made again */
    struct bootstrap *bootstrap; /* [world_n_peers()]; includes late joiners that have entered */
    bool has_guests;
};

static inline struct zmq *zmq_self(struct transport *t)
{
    return (struct zmq *)t;
}

/* --- transport_zmq_open.c: open and close, for each kind --- */

/* Opens the gate of a rank of w that will listen there, still closed; NULL: not needed, because only this host and this
 * user can reach it. Over TCP it encrypts, as w->security says; on the loopback only if requested. RC_INVAL: encryption
 * is requested and nothing uses TCP; else those of zmq_gate_open(). */
enum rc zmq_gate_for(struct zmq_gate **out, void *context, const struct world *w,
                     const struct zmq_address *address) MUST_CHECK;

enum rc zmq_open_transport(struct transport **out, struct world *w, const struct transport_plan *given,
                           const struct zmq_kind *kind) MUST_CHECK;
void zmq_close_transport(struct transport **tp);
/* For a transport with late joiners: admits those that have entered meanwhile. RC_NOMEM, RC_IO. */
enum rc zmq_take_guests(struct zmq *t) MUST_CHECK;

/* --- transport_zmq.c: the other operations, for each kind --- */

enum rc zmq_post_send(struct transport *base, struct xfer *x) MUST_CHECK;
enum rc zmq_post_recv(struct transport *t, struct xfer *x) MUST_CHECK;
enum rc zmq_complete(struct transport *base, struct xfer *x, int timeout_ms) MUST_CHECK;
enum rc zmq_recv_message(struct transport *base, struct message *out, int timeout_ms) MUST_CHECK;
void zmq_release(struct transport *t, struct message *m);

/* --- zmq_kinds.c --- */

enum zmq_wanted zmq_kind_wanted(const struct transport_ops *ops); /* of one of these */

#endif
