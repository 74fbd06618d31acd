/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_half.c - the steps; the contract is in ring_half.h.
 *
 * Sources: Patarasuk and Yuan, J. Parallel Distrib. Comput. 69(2), 2009; of segments: Thakur, Rabenseifner and Gropp,
 * Int. J. High Performance Computing Applications 19(1), 2005.
 */
#include "allreduce/ring_half.h"

#include <stdio.h>

#include "harness/compute/compute.h"
#include "harness/net/transport.h"

enum { TAG_RING = 0x1000, N_TAGS = 0x1000 };

struct range ring_chunk(int i, int p, size_t n_elems)
{
    return range_part(n_elems, p, i >= 0 && i < p ? i : ((i % p) + p) % p);
}

uint32_t ring_tag(uint32_t k)
{
    return TAG_RING + k % N_TAGS;
}

/* A message with `range` of the data, to or from peer. Hollow: its bytes are in n_hollow_bytes, and it has no contents.
 */
static struct xfer message(const struct ring_half *h, int peer, uint32_t k, struct range range)
{
    const size_t n_bytes = range.n_elems * sizeof(float);

    return (struct xfer){ .peer = peer,
                          .tag = ring_tag(k),
                          .ptr = h->data ? h->data + range.offset_elems : NULL,
                          .n_bytes = h->data ? n_bytes : 0,
                          .n_hollow_bytes = h->data ? 0 : n_bytes };
}

/* One to be received, which the transport adds, if it can; else it is received at `beside` and added then. */
static struct xfer message_in(const struct ring_half *h, uint32_t k, struct range range, float *beside)
{
    struct xfer rx = message(h, h->circle->previous, k, range);

    rx.add = h->add && (h->collective->env.transport->ops->module.caps & TR_ADD);
    if (h->data && h->add && !rx.add)
        rx.ptr = beside;
    return rx;
}

/* Is all of `range` in rx? Adds it where the transport has not. */
static enum rc accept_message(const struct ring_half *h, const struct xfer *rx, struct range range)
{
    struct compute *compute = h->collective->env.compute;
    const size_t n_bytes = rx->n_bytes + rx->n_hollow_bytes;
    enum rc rc = RC_OK;

    if (n_bytes != range.n_elems * sizeof(float))
        FAIL(RC_MISMATCH, "ring: rank %d sent %zu bytes where %zu belong", rx->peer, n_bytes,
             range.n_elems * sizeof(float));
    if (h->add && !rx->add) {
        compute_accumulate(compute, h->data ? h->data + range.offset_elems : NULL, rx->ptr, range.n_elems);
        TRY(compute_sync(compute));
    }
out:
    return rc;
}

static enum rc wait_for(const struct ring_half *h, struct xfer *x)
{
    return transport_wait(h->collective->env.transport, x, h->collective->env.timeout_ms);
}

/* What arrives in a step, counted from 0, and is sent on in the next one; step -1: what is there at first. */
static struct range chunk_in(const struct ring_half *h, int step)
{
    return ring_chunk(h->first - step - 1, h->circle->n_members, h->n_elems);
}

/* --- of whole chunks --- */

static enum rc whole_step(const struct ring_half *h, int step, uint32_t k)
{
    struct transport *t = h->collective->env.transport;
    const struct range sent = chunk_in(h, step - 1), received = chunk_in(h, step);
    struct xfer tx = message(h, h->circle->next, k, sent), rx = message_in(h, k, received, h->scratch);
    enum rc rc = RC_OK;

    if (sent.n_elems > 0 && received.n_elems > 0) {
        TRY(transport_exchange(t, &tx, &rx, h->collective->env.timeout_ms));
    } else if (sent.n_elems > 0) { /* of many ranks and few elements */
        TRY(transport_send(t, &tx));
        TRY(wait_for(h, &tx));
    } else if (received.n_elems > 0) {
        TRY(transport_recv(t, &rx));
        TRY(wait_for(h, &rx));
    }
    if (received.n_elems > 0)
        TRY(accept_message(h, &rx, received));
out:
    return rc;
}

/* --- of segments --- */

enum { NOT_POSTED = -1 }; /* as the peer of a transfer in flight */

static struct xfer *receive_of(const struct ring_half *h, int k)
{
    return &h->flight[k];
}

static struct xfer *send_of(const struct ring_half *h, int step, int k)
{
    return &h->flight[(1 + step % 2) * RING_MOST_SEGMENTS + k];
}

/* Segment k of a chunk; empty where the chunk has fewer elements. */
static struct range segment_of(const struct ring_half *h, struct range chunk, int k)
{
    struct range segment = range_part(chunk.n_elems, h->n_segments, k);

    segment.offset_elems += chunk.offset_elems;
    return segment;
}

/* x was posted, or ended, with this result. */
static enum rc note(struct xfer *x, enum rc rc, bool is_ended)
{
    if (rc != RC_OK || is_ended)
        x->peer = NOT_POSTED;
    return rc;
}

/* Where segment k of any chunk is received beside the data: those of the next step come while others of this one wait.
 */
static float *place_beside(const struct ring_half *h, int k)
{
    const size_t p = (size_t)h->circle->n_members, n = (size_t)h->n_segments;
    const size_t n_largest = (h->n_elems + p - 1) / p;

    return h->data ? h->scratch + (size_t)k * ((n_largest + n - 1) / n) : NULL;
}

static enum rc post_receive(const struct ring_half *h, int step, int k, uint32_t n_before)
{
    const struct range segment = segment_of(h, chunk_in(h, step), k);
    struct xfer *x = receive_of(h, k);

    if (segment.n_elems == 0)
        return RC_OK;
    *x = message_in(h, n_before + (uint32_t)(step * h->n_segments + k), segment, place_beside(h, k));
    return note(x, transport_recv(h->collective->env.transport, x), false);
}

static enum rc end_send(const struct ring_half *h, int step, int k)
{
    struct xfer *x = send_of(h, step, k);

    return x->peer == NOT_POSTED ? RC_OK : note(x, wait_for(h, x), true);
}

/* Behind the one of two steps ago, whose place it takes. */
static enum rc post_send(const struct ring_half *h, int step, int k, uint32_t n_before)
{
    const struct range segment = segment_of(h, chunk_in(h, step - 1), k);
    struct xfer *x = send_of(h, step, k);
    enum rc rc;

    TRY(end_send(h, step, k));
    if (segment.n_elems == 0)
        goto out;
    *x = message(h, h->circle->next, n_before + (uint32_t)(step * h->n_segments + k), segment);
    TRY(note(x, transport_send(h->collective->env.transport, x), false));
out:
    return rc;
}

static enum rc receive(const struct ring_half *h, int step, int k)
{
    struct xfer *x = receive_of(h, k);
    enum rc rc = RC_OK;

    if (x->peer == NOT_POSTED)
        return RC_OK;
    TRY(note(x, wait_for(h, x), false));
    TRY(accept_message(h, x, segment_of(h, chunk_in(h, step), k)));
out:
    x->peer = NOT_POSTED;
    return rc;
}

/* After an error, whose message stays: nothing is in flight any more (T3). */
static enum rc give_up(const struct ring_half *h, enum rc why)
{
    char message[RC_MESSAGE_BYTES];

    snprintf(message, sizeof message, "%s", rc_message());
    for (int i = 0; i < 3 * RING_MOST_SEGMENTS; i++)
        if (h->flight[i].peer != NOT_POSTED)
            (void)!transport_wait(h->collective->env.transport, &h->flight[i], DO_NOT_WAIT);
    return rc_raise(why, "%s", message);
}

static enum rc all_in_segments(const struct ring_half *h, int n_steps, uint32_t n_before)
{
    const int n = h->n_segments;
    enum rc rc = RC_OK;

    for (int i = 0; i < 3 * RING_MOST_SEGMENTS; i++)
        h->flight[i].peer = NOT_POSTED;
    for (int k = 0; k < n; k++)
        TRY(post_receive(h, 0, k, n_before));
    for (int k = 0; k < n; k++)
        TRY(post_send(h, 0, k, n_before));
    for (int i = 0; i < n_steps * n; i++) {
        const int step = i / n, k = i % n;
        TRY(receive(h, step, k));
        if (step + 1 == n_steps)
            continue;
        TRY(post_receive(h, step + 1, k, n_before));
        TRY(post_send(h, step + 1, k, n_before));
    }
    for (int i = 0; i < 2 * n; i++)
        TRY(end_send(h, i / n, i % n));
out:
    return rc == RC_OK ? rc : give_up(h, rc);
}

enum rc ring_half(const struct ring_half *h, uint32_t *n_steps)
{
    const int n_here = h->circle->n_members - 1;
    const uint32_t n_before = *n_steps;
    enum rc rc = RC_OK;

    *n_steps += (uint32_t)(n_here * h->n_segments);
    if (h->n_segments > 1 && n_here > 0)
        return all_in_segments(h, n_here, n_before);
    for (int step = 0; step < n_here; step++)
        TRY(whole_step(h, step, n_before + (uint32_t)step));
out:
    return rc;
}

struct collective_cost ring_half_cost(size_t n_elems, int p, int n_segments, struct ring_half_ends ends, bool adds)
{
    const uint64_t n_most = (uint64_t)n_segments;
    struct collective_cost cost = { 0 };

    for (int i = 0; i < p; i++) {
        const uint64_t n_chunk = ring_chunk(i, p, n_elems).n_elems;
        const uint64_t n_sent = i == ends.not_sent % p ? 0 : n_chunk;
        cost.msgs += n_sent < n_most ? n_sent : n_most; /* segments of an element or more */
        cost.bytes += n_sent * sizeof(float);
        cost.adds += adds && i != ends.not_received % p ? n_chunk : 0;
    }
    cost.memory_bytes = cost.adds * COLL_ADD_BYTES;
    return cost;
}

struct collective_cost ring_half_path(size_t n_elems, int p, int n_segments, bool adds)
{
    const uint64_t n_links = (uint64_t)p - 1, n_largest = (n_elems + (size_t)p - 1) / (size_t)p;
    const uint64_t n_adds = adds ? n_links * n_largest : 0;

    return (struct collective_cost){ .msgs = n_elems > 0 ? n_links * (uint64_t)n_segments : 0,
                                     .bytes = n_links * n_largest * sizeof(float),
                                     .adds = n_adds,
                                     .memory_bytes = n_adds * COLL_ADD_BYTES };
}
