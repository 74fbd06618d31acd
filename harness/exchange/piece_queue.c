/* SPDX-License-Identifier: Apache-2.0 */
/* piece_queue.c - an array, as there are hundreds of pieces at most. */
#include "harness/exchange/piece_queue.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum rc piece_queue_open(struct piece_queue *out, const struct buckets *buckets, bool by_priority)
{
    *out = (struct piece_queue){ .buckets = buckets, .by_priority = by_priority };
    out->piece = calloc(buckets->n_pieces, sizeof *out->piece);
    return out->piece ? RC_OK : rc_raise(RC_NOMEM, "no memory for a queue of %zu pieces", buckets->n_pieces);
}

void piece_queue_push(struct piece_queue *q, size_t piece)
{
    assert(q->n < q->buckets->n_pieces);
    q->piece[q->n++] = piece;
}

static size_t take_at(struct piece_queue *q, size_t i)
{
    const size_t piece = q->piece[i];

    memmove(&q->piece[i], &q->piece[i + 1], (q->n - i - 1) * sizeof *q->piece);
    q->n--;
    return piece;
}

size_t piece_queue_pop(struct piece_queue *q)
{
    const struct range *range = q->buckets->piece;
    size_t next = 0;

    if (q->n == 0)
        return NO_PIECE;
    for (size_t i = 1; q->by_priority && i < q->n; i++)
        if (range[q->piece[i]].offset_elems < range[q->piece[next]].offset_elems)
            next = i;
    return take_at(q, next);
}

bool piece_queue_take(struct piece_queue *q, size_t piece)
{
    for (size_t i = 0; i < q->n; i++)
        if (q->piece[i] == piece)
            return take_at(q, i) == piece;
    return false;
}

bool piece_queue_has_first(const struct piece_queue *q)
{
    for (size_t i = 0; i < q->n; i++)
        if (q->buckets->piece[q->piece[i]].offset_elems == 0)
            return true;
    return false;
}

void piece_queue_close(struct piece_queue *q)
{
    free(q->piece);
    *q = (struct piece_queue){ 0 };
}
