/* SPDX-License-Identifier: Apache-2.0 */
/*
 * part_message.h - a message with a part of an array: algorithms send it, or receive it into the array or add it there.
 *
 * An empty part is not sent; its functions do nothing. A no-data message (A5) has its bytes in xfer.n_hollow_bytes.
 * In a call with 16 bits a float (A10) a part is narrowed when its send is posted, and widened after it was received.
 * In transfer it is in collective.halves, at the same place as in `data`. So no two outstanding messages may have an
 * element in common, unless both are sent; then all but the first are marked (is_narrowed). A part that is sent on as
 * received may be marked, too.
 * Whatever these functions return, a message is outstanding only if they say so (T3).
 */
#ifndef ALLREDUCE_PART_MESSAGE_H
#define ALLREDUCE_PART_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/range.h"
#include "harness/base/rc.h"
#include "harness/exchange/collective.h"
#include "harness/net/transport.h"

struct part_message {
    const struct collective *collective; /* for its env, and its name in errors */
    float *data;                         /* the array; NULL: no data */
    const float *from; /* exchange.A13: what is sent, or what a received part is added to on its way to data, is here;
                          NULL: in data */
    struct range part; /* of data */
    int peer;
    uint32_t tag;
    bool add;         /* adds what is received to data */
    float *beside;    /* add without from, 32 bits: [part.n_elems], where it is received if the transport does not add
                   (TR_ADD) */
    bool is_narrowed; /* to be sent in 16 bits: a message posted earlier, in either direction, has the same part */
    bool is_posted;   /* outstanding; this and what follows: zeros at first, then private to these functions */
    struct xfer xfer;
};

/* Posts a message, which is outstanding until part_end() or part_give_up(); after an error it is not. Errors: those of
 * the transport. */
enum rc part_send(struct part_message *m) MUST_CHECK;
enum rc part_receive(struct part_message *m) MUST_CHECK;
/* Waits for the end of a posted message, at most env.timeout_ms; adds what came. Does nothing if it is not outstanding.
 * Errors: those of the transport; RC_MISMATCH: it is of another length. */
enum rc part_end(struct part_message *m) MUST_CHECK;
/* Posts both, ends both, then adds; the first error wins. NULL: no message. */
enum rc part_transfer(struct part_message *sent, struct part_message *received) MUST_CHECK;
/* A10, on the rank that has a sum, before it is sent: rounds it to what the other ranks will have. In a call with 32
 * bits: does nothing. */
enum rc part_round(const struct collective *c, float *data, struct range part) MUST_CHECK;
/* After an error: ends the outstanding messages of m[n_messages] without waiting. Returns `why`, whose message
 * stays. */
enum rc part_give_up(struct part_message *m, size_t n_messages, enum rc why) MUST_CHECK;

#endif
