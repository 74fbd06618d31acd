/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span.h - the spans of time of a task's work, in a ring of the task, and how long two lists of spans overlap.
 *
 * Not a clock: the caller reads world_now_ns() before and after. So consecutive spans can share a reading.
 *
 * Invariants
 *   S1  A ring holds the last n_spans spans that were added to it, in the order in which they were added. Spans have
 *       numbers n_lost <= i < n_added; those before n_lost were overwritten.
 *   S2  Adding never fails, waits or allocates: span_ring_open() allocates all memory and writes to it once.
 *   S3  A ring belongs to one task. No other task reads or writes it before it is handed over, by an event or by
 *       world_join(), like a transport (world.K6).
 *   S4  Without a ring (NULL) nothing is recorded, and there is nothing to read: 0 spans added, 0 lost.
 *
 * Spans of a task nest or follow each other, because a task does one thing at a time: no two overlap only in part. A
 * span is added when it ends, so after the spans inside it.
 */
#ifndef HARNESS_WORLD_SPAN_H
#define HARNESS_WORLD_SPAN_H

#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"

struct span {
    uint64_t start_ns, end_ns; /* of world_now_ns(); start_ns <= end_ns */
    const char *what;          /* "forward", "reduce", "wait"; a static string, at most SPAN_NAME_BYTES with its end */
    int32_t segment;           /* or bucket; -1: none */
    int32_t chunk;             /* of a bucket, counted over all buckets */
    uint64_t n_bytes;          /* 0: does not apply */
    uint32_t step;             /* training step */
    uint64_t submitted_ns;     /* when its subject was ready, at most start_ns; 0: does not apply */
};

enum { SPAN_NAME_BYTES = 48 }; /* longest name of a span or a task, with the terminator */

struct span_ring;

/* A ring of n_spans (at least 1) spans of the task `name`, a static string. RC_NOMEM. */
enum rc span_ring_open(struct span_ring **out, const char *name, size_t n_spans) MUST_CHECK;
/* Copy *s into the ring. world.S2, S4: cannot fail; ring may be NULL. */
void span_ring_add(struct span_ring *ring, const struct span *s);
/* world.S1, S4. */
uint64_t span_ring_n_added(const struct span_ring *ring);
uint64_t span_ring_n_lost(const struct span_ring *ring);
/* Span number i, lent until it is overwritten; NULL: overwritten, or not added yet. Oldest first:
 * for (i = span_ring_n_lost(r); i < span_ring_n_added(r); i++). */
const struct span *span_ring_get(const struct span_ring *ring, uint64_t i);
const char *span_ring_name(const struct span_ring *ring);
void span_ring_close(struct span_ring **ring); /* NULL-safe, nulls */

/*
 * The time that is in a span of a and in a span of b: for example the wait for a communication in progress.
 *
 *   a, b  each in the order of time and disjoint: no span begins before the previous one has ended (it may begin at
 *         that moment, and may have length 0). Spans of one kind of one task are so, in the order of a ring.
 *
 * O(n_a + n_b), exact. Cannot fail.
 */
uint64_t spans_overlap_ns(const struct span *a, size_t n_a, const struct span *b, size_t n_b);

#endif
