/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.h - half an allreduce around a ring, whose rank r sends to rank r + 1: reduce-scatter, or allgather.
 *
 * The vector is cut into p chunks (range_part); ranks and chunks are counted modulo p. Both halves of an allreduce have
 * p - 1 steps, s = 0 .. p - 2. `owned` is 1 in an allreduce, 0 in the types that are one half of it:
 *
 *   reduce-scatter  rank r sends chunk r - s - 1 + owned, receives the chunk before it and adds it to its own; at the
 *                   end it holds the sum of chunk r + owned.
 *   allgather       rank r holds chunk r + owned; it sends chunk r - s + owned and overwrites the chunk before it with
 *                   the one that it receives.
 *
 * Empty chunks (n < p) are not sent. Chunk i is always added in the order of ranks i, i + 1, ... (i + 1, i + 2, ... in
 * a separate reduce-scatter), so every run gets the same bits (A1); "root" adds in another order and has other bits.
 *
 * A chunk is sent whole or in segments. Each segment is sent on as soon as it is received and added, while the next
 * one is still on the wire. So a rank's processor and its link work at the same time; with whole chunks they work in
 * turn. The additions and their order are the same, and so are the bits.
 */
#ifndef ALLREDUCE_RING_H
#define ALLREDUCE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/range.h"
#include "harness/base/rc.h"
#include "harness/exchange/collective.h"

struct part_message;

enum { RING_MOST_SEGMENTS = 64 }; /* of a chunk */

/* Default of options: long enough that the cost of a message is its bytes, and short enough that the additions of one
 * overlap with the transfer of the next. On 4 hosts at 1 Gbit/s 64 MiB reach 0.99 of what TCP carries, with 4 MiB 0.96,
 * as whole chunks 0.90. */
#define RING_SEGMENT_TEXT "1048576"
enum { RING_SEGMENT_BYTES = 1048576 };

/* The number of segments of about segment_bytes (0: whole chunks) in each chunk of n_elems over p ranks. It is equal
 * for all chunks, and segments differ by one element at most. Pure. */
int ring_n_segments(uint64_t segment_bytes, size_t n_elems, int p);

struct ring_circle { /* of n_members ranks: this rank is member `index` and sends to rank `next` */
    int n_members, index, next, previous;
};

struct ring_half {                       /* the same on every member, except circle and data */
    const struct collective *collective; /* for its env */
    const struct ring_circle *circle;
    float *data;        /* [n_elems]; NULL: no data (A5) */
    const float *input; /* exchange.A13, with add: [n_elems]; NULL: in data */
    size_t n_elems;
    int first; /* the chunk that this rank sends in step 0 */
    bool add;
    int n_segments; /* of each chunk, at most RING_MOST_SEGMENTS */
    float
        *scratch; /* [of the largest chunk + RING_MOST_SEGMENTS]: for a transport that does not add in place (TR_ADD) */
    struct part_message *flight; /* [3 RING_MOST_SEGMENTS], contents are not kept; NULL: n_segments is 1 */
};

struct ring_half_ends {
    int not_sent, not_received; /* chunks, modulo p */
};

/* What a member of p sends and, with `adds`, adds in a half. Pure. */
struct collective_cost ring_half_cost(size_t n_elems, int p, int n_segments, struct ring_half_ends ends, bool adds,
                                      enum wire_format wire);
/* Cost of its critical path: the largest of p chunks crosses p - 1 links. Segments of a chunk follow one another: one
 * latency for all of them; and they are added while later ones are on their way, all but the very last one.
 * n_segments 1: whole chunks. Pure. */
struct collective_cost ring_half_path(size_t n_elems, int p, int n_segments, bool adds, enum wire_format wire);
/* Of an allreduce of p members: both halves. is_least: as in collective_group. Pure. */
struct collective_cost ring_allreduce_path(size_t n_elems, int p, int n_segments, enum wire_format wire, bool is_least);
/* Chunk i of n_elems over p ranks; i may be any integer, taken modulo p. */
struct range ring_chunk(int i, int p, size_t n_elems);
/* The tag of a message. k counts the messages of all runs (including those of a broadcast's root), so that a duplicate
 * of a message does not match a later receive. */
uint32_t ring_tag(uint32_t k);
/* Makes all steps. *n_steps: messages before, counted in segments, empty or not; set to those after. Errors: those of
 * transfers, with no outstanding message; RC_MISMATCH: a message of another length. */
enum rc ring_half(const struct ring_half *h, uint32_t *n_steps) MUST_CHECK;

#endif
