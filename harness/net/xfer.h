/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xfer.h - header and body of a message (net.T11): copied together, and copied out again. Only for transports.
 *
 * Cannot fail; allocates nothing.
 */
#ifndef HARNESS_NET_XFER_H
#define HARNESS_NET_XFER_H

#include "harness/net/transport.h"

/* Length of a send, capacity of a receive; without hollow bytes. */
static inline size_t xfer_n_bytes(const struct xfer *x)
{
    return x->n_head_bytes + x->n_bytes;
}

/* out[xfer_n_bytes(x)] := the bytes of x, a send. */
void xfer_copy_out(void *out, const struct xfer *x);

/* Delivers to x, a receive, a message of head[n_head_bytes] and then body[n_bytes], both at any address, at most
 * xfer_n_bytes(x) together. Copies it, or adds the body if x->add (to x->addend, if there is one), and sets both
 * lengths received. No overlap. */
void xfer_deliver(struct xfer *x, const void *head, size_t n_head_bytes, const void *body, size_t n_bytes);

/* The same piece by piece: n_bytes of the message, from offset_bytes on, after xfer_set_received(). Pieces may come in
 * any order. If x->add, each begins in the body at a whole float and, except the last, ends with one. */
void xfer_deliver_piece(struct xfer *x, size_t offset_bytes, const void *bytes, size_t n_bytes);

/* Sets the received lengths of x for a message of n_bytes that is already in place. */
void xfer_set_received(struct xfer *x, size_t n_bytes);

#endif
