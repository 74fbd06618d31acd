/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_half.c - the steps; the contract is in ring_half.h.
 *
 * Sources: Patarasuk and Yuan, J. Parallel Distrib. Comput. 69(2), 2009; of segments: Thakur, Rabenseifner and Gropp,
 * Int. J. High Performance Computing Applications 19(1), 2005.
 */
#include "allreduce/ring_half.h"

#include "allreduce/part_message.h"

enum { TAG_RING = 0x1000, N_TAGS = 0x1000 };

struct range ring_chunk(int i, int p, size_t n_elems)
{
    return range_part(n_elems, p, i >= 0 && i < p ? i : ((i % p) + p) % p);
}

int ring_n_segments(uint64_t segment_bytes, size_t n_elems, int p)
{
    const size_t n_most = segment_bytes / sizeof(float);
    const size_t n_largest = (n_elems + (size_t)p - 1) / (size_t)p;

    if (n_most == 0 || n_largest <= n_most)
        return 1;
    const size_t n = (n_largest + n_most - 1) / n_most;
    return n < RING_MOST_SEGMENTS ? (int)n : RING_MOST_SEGMENTS;
}

uint32_t ring_tag(uint32_t k)
{
    return TAG_RING + k % N_TAGS;
}

/* A message with this part of the data, to or from peer; one to be received is at `beside` before it is added. */
static struct part_message message(const struct ring_half *h, int peer, uint32_t k, struct range part, float *beside)
{
    return (struct part_message){ .collective = h->collective,
                                  .data = h->data,
                                  .part = part,
                                  .peer = peer,
                                  .tag = ring_tag(k),
                                  .add = h->add,
                                  .beside = beside };
}

/* What arrives in a step, counted from 0, and is sent on in the next one; step -1: what is there at first. */
static struct range chunk_in(const struct ring_half *h, int step)
{
    return ring_chunk(h->first - step - 1, h->circle->n_members, h->n_elems);
}

/* --- of whole chunks --- */

static enum rc whole_step(const struct ring_half *h, int step, uint32_t k)
{
    struct part_message sent = message(h, h->circle->next, k, chunk_in(h, step - 1), NULL);
    struct part_message received = message(h, h->circle->previous, k, chunk_in(h, step), h->scratch);

    return part_transfer(&sent, &received);
}

/* --- of segments --- */

static struct part_message *receive_of(const struct ring_half *h, int k)
{
    return &h->flight[k];
}

static struct part_message *send_of(const struct ring_half *h, int step, int k)
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
    struct part_message *m = receive_of(h, k);

    *m = message(h, h->circle->previous, n_before + (uint32_t)(step * h->n_segments + k),
                 segment_of(h, chunk_in(h, step), k), place_beside(h, k));
    return part_receive(m);
}

/* Behind the one of two steps ago, whose place it takes. */
static enum rc post_send(const struct ring_half *h, int step, int k, uint32_t n_before)
{
    struct part_message *m = send_of(h, step, k);
    enum rc rc;

    TRY(part_end(m));
    *m = message(h, h->circle->next, n_before + (uint32_t)(step * h->n_segments + k),
                 segment_of(h, chunk_in(h, step - 1), k), NULL);
    TRY(part_send(m));
out:
    return rc;
}

static enum rc all_in_segments(const struct ring_half *h, int n_steps, uint32_t n_before)
{
    const int n = h->n_segments;
    enum rc rc = RC_OK;

    for (int i = 0; i < 3 * RING_MOST_SEGMENTS; i++)
        h->flight[i].is_posted = false;
    for (int k = 0; k < n; k++)
        TRY(post_receive(h, 0, k, n_before));
    for (int k = 0; k < n; k++)
        TRY(post_send(h, 0, k, n_before));
    for (int i = 0; i < n_steps * n; i++) {
        const int step = i / n, k = i % n;
        TRY(part_end(receive_of(h, k)));
        if (step + 1 == n_steps)
            continue;
        TRY(post_receive(h, step + 1, k, n_before));
        TRY(post_send(h, step + 1, k, n_before));
    }
    for (int i = 0; i < 2 * n; i++)
        TRY(part_end(send_of(h, i / n, i % n)));
out:
    return rc == RC_OK ? rc : part_give_up(h->flight, 3 * RING_MOST_SEGMENTS, rc);
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

struct collective_cost ring_half_cost(size_t n_elems, int p, int n_segments, struct ring_half_ends ends, bool adds,
                                      enum wire_format wire)
{
    const uint64_t n_most = (uint64_t)n_segments;
    struct collective_cost cost = { 0 };

    for (int i = 0; i < p; i++) {
        const size_t n_chunk = ring_chunk(i, p, n_elems).n_elems;
        const size_t n_sent = i == ends.not_sent % p ? 0 : n_chunk;
        const size_t n_received = i == ends.not_received % p ? 0 : n_chunk;
        cost.msgs += n_sent < n_most ? n_sent : n_most; /* segments of an element or more */
        cost = collective_cost_sum(cost, collective_send_cost(n_sent, wire));
        cost = collective_cost_sum(cost, collective_receive_cost(n_received, wire, adds));
    }
    return cost;
}

struct collective_cost ring_half_path(size_t n_elems, int p, bool adds, enum wire_format wire)
{
    const size_t n_links = (size_t)p - 1, n_largest = (n_elems + (size_t)p - 1) / (size_t)p;
    struct collective_cost path = collective_cost_sum(collective_send_cost(n_links * n_largest, wire),
                                                      collective_receive_cost(n_links * n_largest, wire, adds));

    path.msgs = n_elems > 0 ? n_links : 0; /* segments of a chunk are on their way at once */
    return path;
}
