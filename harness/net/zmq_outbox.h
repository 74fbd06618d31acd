/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zmq_outbox.h - what one rank sends to the others over ZeroMQ: of each peer a PUSH socket and a queue before it.
 * Private to transport_zmq.c.
 *
 *   post -> queue -> (window open) -> handed to ZeroMQ -> acknowledged
 *
 * Every frame tells how many messages its sender has received from the peer that it is for. Where a rank has nothing
 * to send, it sends an acknowledgement, a frame of a head alone, as soon as the inbox owes one.
 *
 * Invariants
 *   O1  Of the messages to one peer at most `window` are handed and not acknowledged. The others wait in the queue,
 *       which has at most as many as the caller has posted and not ended: a send is done when it was handed. So what a
 *       rank's messages occupy, here, in ZeroMQ, on the way and in the inbox of the peer, is finite.
 *   O2  No deadlock: a rank that waits for anything receives all that comes, whoever sent it and whether it is awaited
 *       or not, and acknowledges half a window at once; acknowledgements wait for no window. So a window that is shut
 *       opens while its receiver waits, and a cycle of ranks that wait for one another's windows cannot last. A rank
 *       that does not wait computes, and will.
 *   O3  With `reconnects` a message is kept until it is acknowledged. When a connection was lost and another one is
 *       made, all that is kept is handed again, in order, and then an acknowledgement. A message goes by its number,
 *       and the receiver drops those that it has, and those which came before one that is missing: none is lost, none
 *       comes twice, while both ranks live and neither has closed. That is done by outbox_tend(), which a rank that
 *       computes does not call: there a thread does (zmq_tender.h).
 *   O4  With `reconnects`, a peer to which there has been no connection for silence_ms is an error of waits for it.
 *       Without it, a connection is made once, and its end is the peer's.
 *   O5  Of a message that lends, a body of LEND_LEAST_BYTES and more is sent from the caller's memory, which is the
 *       caller's again when nothing here refers to it (with `reconnects`: it was acknowledged) and ZeroMQ has let go of
 *       it; and soon after outbox_drop(). Not where is_copying.
 *
 * One thread at a time.
 */
#ifndef HARNESS_NET_ZMQ_OUTBOX_H
#define HARNESS_NET_ZMQ_OUTBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/rc.h"
#include "harness/net/zmq_frame.h"

struct xfer;
struct zmq_gate;
struct outbox;

enum { LEND_LEAST_BYTES = 1 << 15 }; /* a shorter copy is faster than a second part */

struct outbox_env {
    void *context; /* of ZeroMQ; borrowed */
    int rank, n_ranks;
    unsigned char token[FRAME_TOKEN_BYTES];
    uint64_t window;             /* O1; >= 1 */
    bool reconnects;             /* O3 */
    bool is_eager;               /* outbox_attach() will connect */
    bool is_copying;             /* O5: between threads ZeroMQ lets go of a message when its receiver does */
    int silence_ms;              /* O4 */
    uint64_t (*now_ns)(void);    /* the clock of silence_ms; NULL: wait_clock_ns() */
    const struct zmq_gate *gate; /* this rank's, where peers have one: zmq_gate.h; borrowed; NULL: they have none */
};

/* Over TCP, let the kernel end a connection on which half of silence_ms nothing gets through, in use or idle.
 * (Heartbeats of ZeroMQ would end one that is busy with a message for as long.) */
bool zmq_set_keepalive(void *socket, int silence_ms) MUST_CHECK;

enum rc outbox_open(struct outbox **out, const struct outbox_env *env) MUST_CHECK;
/* Where peer listens, and the pass of its gate (NULL: it has none); lent until close. Before the first post. */
void outbox_set_endpoint(struct outbox *o, int peer, const char *endpoint, const char *pass);
/* Begin to connect, and wait until there is a connection, but at most timeout_ms; *connected. RC_IO. */
enum rc outbox_attach(struct outbox *o, int peer, int timeout_ms, bool *connected) MUST_CHECK;

struct outbox_sent {         /* a message that was posted */
    uint64_t number;         /* for outbox_is_handed() */
    struct frame_lent *lent; /* NULL: it was copied */
};
/* Queue the message of x, copied, or (O5) with its body where it is, and hand over what the window lets through. Never
 * blocks. RC_PEER: the peer has closed its end (O4). RC_NOMEM, RC_IO. */
enum rc outbox_post(struct outbox *o, const struct xfer *x, uint64_t n_received, struct outbox_sent *out) MUST_CHECK;
/* O5: would a body of so many bytes be? */
bool outbox_sends_lent(const struct outbox *o, size_t n_body_bytes);
/* O5: is the body of x the caller's again? Then *lent is NULL. */
bool outbox_take_back(struct outbox *o, struct frame_lent **lent);
/* O5, after an error of a transfer with the peer: drop all that is queued for it, and its connection. */
void outbox_drop(struct outbox *o, int peer);
bool outbox_is_handed(const struct outbox *o, int peer, uint64_t number);
/* The peer has received n_acknowledged of our messages. A number that cannot be is ignored. */
void outbox_note_acknowledged(struct outbox *o, int peer, uint64_t n_acknowledged);
/* Send an acknowledgement; where the connection does not take it, it is owed (O3), or the peer has closed and needs
 * none. */
enum rc outbox_acknowledge(struct outbox *o, int peer, uint64_t n_received) MUST_CHECK;

/* Hand over what has waited, and look after connections; an acknowledgement that is owed says what the last frame to
 * that peer said. For each wait, often. RC_NOMEM, RC_IO: it may be called again. */
enum rc outbox_tend(struct outbox *o) MUST_CHECK;
/* RC_PEER: O4. Looks whether a connection was made since the last call before it says that there is none. */
enum rc outbox_check(struct outbox *o, int peer) MUST_CHECK;
uint64_t outbox_n_reconnected(const struct outbox *o);

/* Nobody will receive what this peer has not got. Before close. */
void outbox_give_up(struct outbox *o, int peer);
/* Lingers until what was handed has left, 5 s at most. NULL-safe, nulls. */
void outbox_close(struct outbox **o);

#endif
