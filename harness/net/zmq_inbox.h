/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zmq_inbox.h - the messages that arrive at one rank over ZeroMQ, checked and sorted. Private to transport_zmq.c.
 *
 * Frames from outside the group are dropped and counted. The rest go to the oldest posted receive
 * of their sender and tag, or wait until one is posted (net.T4); TAG_ANY ones wait for inbox_take_any (net.T8).
 * One thread.
 *
 * Invariants
 *   I1  A gap in a sender's sequence, because a connection was lost, ends messages from that sender (net.T6).
 *       If senders reconnect, a frame out of sequence is dropped instead: it has come already, or is sent again
 *       (net.O3).
 *   I2  A part longer than most_message_bytes and a head is not read: ZeroMQ ends its connection, and takes no memory
 *       for it. From a stranger's connection at most RECEIVED_MARK frames wait to be read. This does not apply if no
 *       stranger can connect (is_private): there net.O1 is the bound, and ZeroMQ drops messages that wait beyond
 *       its mark when the other end of an ipc:// connection closes.
 *   I3  At most most_waiting messages of one sender wait here; another one ends messages from it.
 *   I4  inbox_owes() is true once half a window of a sender has come, or many bytes, that no frame has acknowledged.
 */
#ifndef HARNESS_NET_ZMQ_INBOX_H
#define HARNESS_NET_ZMQ_INBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zmq.h>

#include "harness/base/rc.h"
#include "harness/net/zmq_frame.h"

struct xfer;
struct zmq_gate;
struct inbox;

/* State of a posted receive, in x->state. */
enum inbox_state {
    INBOX_POSTED = 1,
    INBOX_DONE,
    INBOX_TOO_LONG, /* net.T9; x->priv: the length; the capacities are unchanged */
};

struct arrival { /* one frame, received and not yet consumed */
    zmq_msg_t msg;
    int sender;
    uint32_t tag;
    zmq_msg_t body;  /* of a divided frame, else empty */
    const void *ptr; /* payload, or the first bytes of it in a divided frame; lent until inbox_end() */
    size_t n_bytes;
    const void *body_ptr; /* the rest; NULL: none */
    size_t n_body_bytes;
    void *copy; /* of the payload, if msg or body had it at an unaligned address; else NULL */
    struct arrival *next;
};

struct inbox_limits {          /* zeros: no limits */
    size_t most_message_bytes; /* net.I2 */
    bool is_private;           /* net.I2 */
    uint64_t most_waiting;     /* net.I3 */
    uint64_t window;           /* net.I4: of zmq_outbox.h; 0: no acknowledgements */
    bool reconnects;           /* net.I1 */
    int silence_ms;            /* with reconnects: zmq_set_keepalive() */
    struct zmq_gate *gate;     /* the gate for peers: zmq_gate.h; borrowed; NULL: any peer may connect */
};

enum rc inbox_open(struct inbox **out, void *context, int rank, int n_ranks) MUST_CHECK;
void inbox_close(struct inbox **in); /* NULL-safe, nulls */
/* Call before inbox_listen(). RC_IO. */
enum rc inbox_limit(struct inbox *in, const struct inbox_limits *limits) MUST_CHECK;

/* Binds to address; endpoint[n_bytes] := the actual address. RC_IO. */
enum rc inbox_listen(struct inbox *in, const char *address, char *endpoint, size_t n_bytes) MUST_CHECK;
/* Call before the first receive. */
void inbox_set_token(struct inbox *in, const unsigned char token[FRAME_TOKEN_BYTES]);

/* Posts a receive; it may be done at once. Never blocks. Cannot fail. */
void inbox_post(struct inbox *in, struct xfer *x);
/* Withdraws x if it is still posted. */
void inbox_withdraw(struct inbox *in, struct xfer *x);

enum { FROM_NOBODY = -1, FROM_STRANGER = -2 };
/* Receives one frame and sorts it, waiting at most timeout_ms (0: no wait). *from: its sender; FROM_NOBODY: none came;
 * FROM_STRANGER: it was dropped, as it is not of the group. */
enum rc inbox_receive(struct inbox *in, int timeout_ms, int *from) MUST_CHECK;

/* Number of messages of this sender that have come. */
uint64_t inbox_n_received(const struct inbox *in, int sender);
/* Number of our messages whose receipt it has reported. */
uint64_t inbox_n_acknowledged(const struct inbox *in, int sender);
/* net.I4 */
bool inbox_owes(const struct inbox *in, int sender);
/* A frame to this sender acknowledges all its messages so far. */
void inbox_note_told(struct inbox *in, int sender);

/* *out := the oldest TAG_ANY message, its payload aligned for any number; NULL: none. RC_NOMEM: it stays. */
enum rc inbox_take_any(struct inbox *in, struct arrival **out) MUST_CHECK;
void inbox_end(struct inbox *in, struct arrival *a);

/* RC_PEER once a frame of this sender was lost in transfer; RC_MISMATCH: net.I3. */
enum rc inbox_check(const struct inbox *in, int sender) MUST_CHECK;
/* A sender with such an error that was not returned before; -1: none. */
int inbox_broken_sender(struct inbox *in);

uint64_t inbox_n_dropped(const struct inbox *in);

#endif
