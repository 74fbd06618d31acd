/* SPDX-License-Identifier: Apache-2.0 */
/*
 * part_message.h - a message with a part of an array: how algorithms send one, and receive it over what the array holds
 * or added to it.
 *
 * An empty part is not sent; its functions do nothing. A hollow message (A5) has its bytes in xfer.n_hollow_bytes.
 * In a call with 16 bits a float (A10) a part is narrowed as its send is posted, and widened when it has come; on its
 * way it is in collective.halves, at the place that it has in `data`. So of the messages in flight no two may have an
 * element in common, unless both are sent; then all but the first are marked (is_narrowed). What came and is sent on as
 * it is may be marked, too.
 * Whatever these functions return, a message is in flight only where they say so (T3).
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
    const struct collective *collective; /* its env is used, and its name in errors */
    float *data;                         /* the array; NULL: hollow */
    struct range part;                   /* of data */
    int peer;
    uint32_t tag;
    bool add; /* what is received, to data */
    float *
        beside; /* add, 32 bits: [part.n_elems], where it is received if the transport does not add in place (TR_ADD) */
    bool is_narrowed; /* to be sent in 16 bits: a message that was posted before, either way, has the same part */
    bool is_posted;   /* in flight; this and what follows: zeros at first, then of these functions */
    struct xfer xfer;
};

/* Post one, which is in flight until part_end() or part_give_up(). Errors: those of the transport, and it is not. */
enum rc part_send(struct part_message *m) MUST_CHECK;
enum rc part_receive(struct part_message *m) MUST_CHECK;
/* Wait for the end of one that was posted, at most env.timeout_ms; add what came. One that is not in flight: nothing.
 * Errors: those of the transport; RC_MISMATCH: it is of another length. */
enum rc part_end(struct part_message *m) MUST_CHECK;
/* Post both, end both, then add; the first error wins. NULL: none. */
enum rc part_transfer(struct part_message *sent, struct part_message *received) MUST_CHECK;
/* A10, of the rank that has a sum, before it is sent: what the others will have. In a call with 32 bits: nothing. */
enum rc part_round(const struct collective *c, float *data, struct range part) MUST_CHECK;
/* After an error: end those in flight of m[n_messages] without waiting. Returns `why`, whose message stays. */
enum rc part_give_up(struct part_message *m, size_t n_messages, enum rc why) MUST_CHECK;

#endif
