/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zmq_outbox.h - what one rank sends to other ranks over ZeroMQ: for each peer a PUSH socket and a queue before it.
 * Private to transport_zmq.c.
 *
 *   post -> queue -> (window open) -> handed to ZeroMQ -> acknowledged
 *
 * Every frame reports how many messages its sender has received from the peer that it is for. A rank with nothing
 * to send sends an acknowledgement, a frame with only a head, as soon as the inbox owes one.
 *
 * Invariants
 *   O1  At most `window` messages to one peer are handed and not acknowledged. More messages wait in the queue, at most
 *       those that the caller has posted and not ended: a send is done when it was handed. So the memory for a rank's
 *       messages, here, in ZeroMQ, in transfer and in the inbox of the peer, is finite.
 *   O2  No deadlock: a rank that waits receives everything that comes, from any sender, awaited or not, and
 *       acknowledges half a window at once; acknowledgements wait for no window. So a closed window opens while its
 *       receiver waits, and a cycle of ranks that wait for one another's windows cannot last. A rank that does not wait
 *       computes, and will wait later.
 *   O3  With `reconnects` a message is kept until it is acknowledged. When a lost connection is replaced by another
 *       one, all kept messages are handed again, in order, followed by an acknowledgement. Messages are numbered: the
 *       receiver drops those that it has, and those that came before a missing one. So none is lost, and none comes
 *       twice, while both ranks live and neither has closed. outbox_tend() does that. A rank that computes does not
 *       call it; then a thread does (zmq_tender.h).
 *   O4  With `reconnects`, if there has been no connection to a peer for silence_ms, waits for it fail. Without it, a
 *       connection is made once, and its end is the peer's.
 *   O5  In a message that lends, a body of LEND_LEAST_BYTES and more is sent from the caller's memory. That is the
 *       caller's again when nothing here refers to it (with `reconnects`: it was acknowledged) and ZeroMQ has released
 *       it; and soon after outbox_drop(). Not if is_copying.
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
    uint64_t window;             /* net.O1; >= 1 */
    bool reconnects;             /* net.O3 */
    bool is_eager;               /* outbox_attach() will connect */
    bool is_copying;             /* net.O5: between threads ZeroMQ releases a message when its receiver does */
    int silence_ms;              /* net.O4 */
    uint64_t (*now_ns)(void);    /* the clock of silence_ms; NULL: wait_clock_ns() */
    const struct zmq_gate *gate; /* this rank's, if peers have one: zmq_gate.h; borrowed; NULL: no gates */
};

/* Over TCP, lets the kernel end a connection, in use or idle, on which nothing gets through for half of silence_ms.
 * (Heartbeats of ZeroMQ would end one that is busy with a message for as long.) */
bool zmq_set_keepalive(void *socket, int silence_ms) MUST_CHECK;

enum rc outbox_open(struct outbox **out, const struct outbox_env *env) MUST_CHECK;
/* Sets the endpoint of a peer, and the pass of its gate (NULL: no gate); lent until close. Before the first post. */
void outbox_set_endpoint(struct outbox *o, int peer, const char *endpoint, const char *pass);
/* Starts to connect, and waits for a connection, at most timeout_ms; *connected. RC_IO. */
enum rc outbox_attach(struct outbox *o, int peer, int timeout_ms, bool *connected) MUST_CHECK;

struct outbox_sent {         /* a posted message */
    uint64_t number;         /* for outbox_is_handed() */
    struct frame_lent *lent; /* NULL: it was copied */
};
/* Queues the message of x, copied, or (net.O5) with its body in place, and hands over what the window allows. Never
 * blocks. RC_PEER: the peer has closed its end (net.O4). RC_NOMEM, RC_IO. */
enum rc outbox_post(struct outbox *o, const struct xfer *x, uint64_t n_received, struct outbox_sent *out) MUST_CHECK;
/* net.O5: would a body of n_body_bytes be lent? */
bool outbox_sends_lent(const struct outbox *o, size_t n_body_bytes);
/* net.O5: is the body of x the caller's again? Then *lent is NULL. */
bool outbox_take_back(struct outbox *o, struct frame_lent **lent);
/* net.O5, after an error of a transfer with the peer: drops all that is queued for it, and its connection. */
void outbox_drop(struct outbox *o, int peer);
bool outbox_is_handed(const struct outbox *o, int peer, uint64_t number);
/* The peer has received n_acknowledged of our messages. An impossible number is ignored. */
void outbox_note_acknowledged(struct outbox *o, int peer, uint64_t n_acknowledged);
/* Sends an acknowledgement. If the connection does not take it, it is owed (net.O3), or the peer has closed and needs
 * none. */
enum rc outbox_acknowledge(struct outbox *o, int peer, uint64_t n_received) MUST_CHECK;

/* Hands over what has waited, and tends connections; an acknowledgement that is owed repeats the count of the last
 * frame to that peer. Call it often in each wait. RC_NOMEM, RC_IO: it may be called again. */
enum rc outbox_tend(struct outbox *o) MUST_CHECK;
/* RC_PEER: net.O4. Before it reports a missing connection, checks whether one was made since the last call. */
enum rc outbox_check(struct outbox *o, int peer) MUST_CHECK;
uint64_t outbox_n_reconnected(const struct outbox *o);

/* No rank will receive what this peer has not got. Before close. */
void outbox_give_up(struct outbox *o, int peer);
/* Lingers until handed messages have left, 5 s at most. NULL-safe, nulls. */
void outbox_close(struct outbox **o);

#endif
