/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zmq_frame.h - the content of one ZeroMQ message of transport_zmq.c, and the memory it is sent from.
 *
 * A frame is a head of FRAME_HEAD_BYTES, then the payload. Its token is 128 random bits shared by the ranks of one
 * open(): a frame without it comes from elsewhere. This keeps strays and other jobs out; it is
 * no encryption. Numbers are little-endian (bytes.h); the payload is as its sender has it.
 *
 *   offset  bytes  field
 *        0      4  magic
 *        4      4  sender
 *        8      4  tag
 *       12      4  kind
 *       16      8  sequence
 *       24      8  length of the payload
 *       32      8  n_received
 *       40      8  zeros: so the payload is aligned as the frame is
 *       48     16  token
 *
 * A DIVIDED frame is a message of two parts: the head and the first bytes of the payload, then the rest, which is sent
 * in place (xfer.lends).
 *
 * Private to transport_zmq.c and its tests.
 */
#ifndef HARNESS_NET_ZMQ_FRAME_H
#define HARNESS_NET_ZMQ_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zmq.h>

#include "harness/base/rc.h"

enum { FRAME_HEAD_BYTES = 64, FRAME_TOKEN_BYTES = 16 };

struct xfer;

enum frame_kind {
    FRAME_MESSAGE,
    FRAME_ACK, /* only n_received: no payload, tag and sequence 0 */
    FRAME_DIVIDED,
    FRAME_N_KINDS
};

struct frame {
    enum frame_kind kind;
    int sender;
    uint32_t tag;
    uint64_t sequence;   /* of the messages of this sender to this receiver, from 0 */
    uint64_t n_received; /* messages of the receiver that this sender has received */
    unsigned char token[FRAME_TOKEN_BYTES];
    uint64_t n_body_bytes; /* DIVIDED: in the second part; else 0. Set by frame_read() */
};

/* Send buffers of one rank, by powers of two. The rank's thread fills them, and any thread of ZeroMQ gives them back.
 * So a large message costs no page faults after the first. */
struct frame_pool;

enum rc frame_pool_open(struct frame_pool **out) MUST_CHECK;
/* NULL-safe, nulls. Memory still with ZeroMQ stays until it is given back. */
void frame_pool_close(struct frame_pool **pool);

/* Makes *msg from head and a copy of x's header and body, for DIVIDED ones only the header; x NULL: without payload.
 * Only the owner's thread. RC_NOMEM: msg must not be closed. */
enum rc frame_write(zmq_msg_t *msg, struct frame_pool *pool, const struct frame *head, const struct xfer *x) MUST_CHECK;

/* Memory of a caller while ZeroMQ may read it. */
struct frame_lent;
/* Makes *msg the second part: the body of x, in place. Only the owner's thread. RC_NOMEM: msg must not be closed. */
enum rc frame_lend(zmq_msg_t *msg, struct frame_pool *pool, const struct xfer *x, struct frame_lent **out) MUST_CHECK;
/* Has ZeroMQ released it? Then *lent is NULL; true if it was NULL already. Only the owner's thread. */
bool frame_take_back(struct frame_pool *pool, struct frame_lent **lent);

/* Reads the head of *msg; payload (for DIVIDED ones its first bytes) is lent by msg. False: not a frame of ours (too
 * short, other magic, other token than expected); then out is unspecified. */
bool frame_read(struct frame *out, const void **payload, size_t *n_bytes, zmq_msg_t *msg,
                const unsigned char token[FRAME_TOKEN_BYTES]);

#endif
