/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buckets.h - which parts of the gradient are exchanged together, and in how many chunks.
 *
 *     segments, forward order    |  0  |  1  |      2      | 3 |   4   |
 *     buckets, last first        |     1     |      1      |     0     |    at most bucket_bytes, whole segments
 *     chunks of a bucket         |  1  |  2  |  3  |  4    |     0     |    at most partition_bytes
 *
 * Gradients become final from the last segment to the first, so buckets are filled in that order. A bucket is closed
 * before the next segment would make it larger than bucket_bytes. A larger segment forms a separate bucket. A chunk is
 * what one collective, or one push and pull, moves. (Bucket: Li et al., PyTorch Distributed, VLDB 2020; partition: Peng
 * et al., ByteScheduler, SOSP 2019.)
 *
 * Invariants
 *   B1  The plan is a pure function of the segments and the options: the same on every rank, in every world, with
 *       overlap on or off.
 *   B2  The chunks cover every parameter once. A bucket's chunks are ranges of the bucket's segments, in ascending
 *       order.
 *   B3  Without bucket_bytes there is one bucket (buckets_open_cut(): on each side of the cut), without
 *       partition_bytes one chunk a bucket.
 */
#ifndef HARNESS_EXCHANGE_BUCKETS_H
#define HARNESS_EXCHANGE_BUCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/range.h"
#include "harness/base/rc.h"

struct bucket_opts {
    uint64_t bucket_bytes;    /* 0: one bucket for all gradients */
    uint64_t partition_bytes; /* 0: one chunk per bucket */
};

struct bucket {
    size_t first_segment, n_segments; /* of the layout */
    size_t first_chunk, n_chunks;
};

struct buckets {
    size_t n_params, n_segments, n_buckets, n_chunks;
    struct segment *segment; /* [n_segments], forward order */
    size_t *bucket_of;       /* [n_segments] */
    struct bucket *bucket;   /* [n_buckets], in the order in which they become ready */
    struct range *chunk;     /* [n_chunks], by bucket */
};

/* segment[n_segments]: in forward order, without gaps, none empty; copied. Errors: RC_NOMEM; RC_INVAL if
 * partition_bytes is less than a parameter. */
enum rc buckets_open(struct buckets *out, const struct segment *segment, size_t n_segments,
                     const struct bucket_opts *opts) MUST_CHECK;
/* The same, but no bucket has segments on both sides of cut_elem, where a segment begins; 0: no cut. */
enum rc buckets_open_cut(struct buckets *out, const struct segment *segment, size_t n_segments,
                         const struct bucket_opts *opts, size_t cut_elem) MUST_CHECK;
/* The index of the segment that begins at offset_elems. Asserts that there is one. O(log n_segments). */
size_t buckets_segment_at(const struct buckets *b, size_t offset_elems);
/* The bucket of chunk k < n_chunks. O(log n_buckets). */
size_t buckets_of_chunk(const struct buckets *b, size_t k);
/* A digest of the plan: two plans with different buckets or chunks have different ones (except by chance, 1 in
 * 2^64). */
uint64_t buckets_digest(const struct buckets *b);
void buckets_close(struct buckets *b); /* accepts a zeroed one, leaves it zeroed */

/* --- the chunks that are ready and wait for their exchange; for one task --- */

/* By priority, the chunk with the lowest parameters goes first: the next forward pass needs it first. Else the oldest
 * goes first. */
#define NO_CHUNK SIZE_MAX

struct chunk_queue {
    const struct buckets *buckets; /* borrowed */
    bool by_priority;
    size_t *chunk; /* [n_chunks], the first n of them, oldest first */
    size_t n;
};

/* RC_NOMEM. */
enum rc chunk_queue_open(struct chunk_queue *out, const struct buckets *buckets, bool by_priority) MUST_CHECK;
/* At most n_chunks are in it at once. */
void chunk_queue_push(struct chunk_queue *q, size_t chunk);
/* The next; NO_CHUNK: none waits. O(n). */
size_t chunk_queue_pop(struct chunk_queue *q);
/* Takes this chunk out; false: it does not wait. O(n). */
bool chunk_queue_take(struct chunk_queue *q, size_t chunk);
void chunk_queue_close(struct chunk_queue *q); /* accepts a zeroed one */

#endif
