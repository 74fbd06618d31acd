/* SPDX-License-Identifier: Apache-2.0 */
/*
 * piece_queue.h - the pieces of a gradient that are ready and wait for their exchange. For one task.
 *
 * By priority, the piece with the lowest parameters goes first: the next forward pass needs it first. Else the oldest.
 */
#ifndef HARNESS_EXCHANGE_PIECE_QUEUE_H
#define HARNESS_EXCHANGE_PIECE_QUEUE_H

#include <stdbool.h>

#include "harness/exchange/buckets.h"

#define NO_PIECE SIZE_MAX

struct piece_queue {
    const struct buckets *buckets; /* borrowed */
    bool by_priority;
    size_t *piece; /* [n_pieces], the first n of them, oldest first */
    size_t n;
};

/* RC_NOMEM. */
enum rc piece_queue_open(struct piece_queue *out, const struct buckets *buckets, bool by_priority) MUST_CHECK;
/* At most n_pieces are in it at once. */
void piece_queue_push(struct piece_queue *q, size_t piece);
/* The next; NO_PIECE: none waits. O(n). */
size_t piece_queue_pop(struct piece_queue *q);
/* Takes this piece out; false: it does not wait. O(n). */
bool piece_queue_take(struct piece_queue *q, size_t piece);
/* Does the piece with the first parameters wait? No piece is more important. O(n). */
bool piece_queue_has_first(const struct piece_queue *q);
void piece_queue_close(struct piece_queue *q); /* accepts a zeroed one */

#endif
