/* SPDX-License-Identifier: Apache-2.0 */
/* memory_plan.c - greedy placement in several orders; the best one stays. */
#include "models/engine/memory_plan.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int comparison(const void *a, const void *b);

struct attempt { /* to place all items in one order */
    const struct memory_item **order;
    struct memory_item *item;    /* copies, offset_bytes filled in */
    struct memory_item **placed; /* those that have an offset, sorted by it */
    size_t n_placed, n_bytes;
};

static size_t aligned(size_t n_bytes)
{
    return (n_bytes + MEMORY_ALIGN_BYTES - 1) / MEMORY_ALIGN_BYTES * MEMORY_ALIGN_BYTES;
}

static const struct memory_item *item_of(const void *p)
{
    return *(const struct memory_item *const *)p;
}

/* Ties: by index in the array, so that there is only one order (B2). */
static int by_index(const struct memory_item *a, const struct memory_item *b)
{
    return (a > b) - (a < b);
}

static int larger_first(const void *p, const void *q)
{
    const struct memory_item *a = item_of(p), *b = item_of(q);

    return a->n_bytes != b->n_bytes ? (a->n_bytes < b->n_bytes ? 1 : -1) : by_index(a, b);
}

static int older_first(const void *p, const void *q)
{
    const struct memory_item *a = item_of(p), *b = item_of(q);

    return a->first_op != b->first_op ? (a->first_op > b->first_op ? 1 : -1) : larger_first(p, q);
}

static int longer_lived_first(const void *p, const void *q)
{
    const struct memory_item *a = item_of(p), *b = item_of(q);
    const int n_ops_a = a->last_op - a->first_op, n_ops_b = b->last_op - b->first_op;

    return n_ops_a != n_ops_b ? (n_ops_a < n_ops_b ? 1 : -1) : larger_first(p, q);
}

/* What lives longest and weighs most_bytes. */
static int greater_area_first(const void *p, const void *q)
{
    const struct memory_item *a = item_of(p), *b = item_of(q);
    const double area_a = (double)a->n_bytes * (a->last_op - a->first_op + 1);
    const double area_b = (double)b->n_bytes * (b->last_op - b->first_op + 1);

    return area_a != area_b ? (area_a < area_b ? 1 : -1) : by_index(a, b);
}

static bool lifetimes_overlap(const struct memory_item *a, const struct memory_item *b)
{
    return a->first_op <= b->last_op && b->first_op <= a->last_op;
}

/* The smallest gap between placed items that are alive at the same time; else the end of the last of them. */
static size_t offset_for(const struct attempt *p, const struct memory_item *it)
{
    const size_t n_bytes = aligned(it->n_bytes);
    size_t end = 0, best = SIZE_MAX, best_gap = SIZE_MAX;

    for (size_t i = 0; i < p->n_placed; i++) {
        const struct memory_item *other = p->placed[i];
        if (!lifetimes_overlap(it, other))
            continue;
        if (other->offset_bytes > end && other->offset_bytes - end >= n_bytes && other->offset_bytes - end < best_gap) {
            best = end;
            best_gap = other->offset_bytes - end;
        }
        const size_t behind = other->offset_bytes + aligned(other->n_bytes);
        end = behind > end ? behind : end;
    }
    return best != SIZE_MAX ? best : end;
}

static void place(struct attempt *p, struct memory_item *it)
{
    size_t i = p->n_placed;

    it->offset_bytes = offset_for(p, it);
    for (; i > 0 && p->placed[i - 1]->offset_bytes > it->offset_bytes; i--)
        p->placed[i] = p->placed[i - 1];
    p->placed[i] = it;
    p->n_placed++;
    const size_t end = it->offset_bytes + aligned(it->n_bytes);
    p->n_bytes = end > p->n_bytes ? end : p->n_bytes;
}

static void place_all(struct attempt *p, const struct memory_item *item, size_t n_items, comparison *before)
{
    p->n_placed = p->n_bytes = 0;
    for (size_t i = 0; i < n_items; i++)
        p->order[i] = &item[i];
    qsort(p->order, n_items, sizeof *p->order, before);
    memcpy(p->item, item, n_items * sizeof *item);
    for (size_t i = 0; i < n_items; i++)
        place(p, &p->item[p->order[i] - item]);
}

static size_t max_live_bytes(const struct memory_item *item, size_t n_items)
{
    size_t most_bytes = 0;

    for (size_t i = 0; i < n_items; i++) { /* the sum can only rise at the first op of an item */
        size_t sum = 0;
        for (size_t k = 0; k < n_items; k++)
            if (item[k].first_op <= item[i].first_op && item[i].first_op <= item[k].last_op)
                sum += aligned(item[k].n_bytes);
        most_bytes = sum > most_bytes ? sum : most_bytes;
    }
    return most_bytes;
}

enum rc memory_plan(struct memory_sums *out, struct memory_item *item, size_t n_items)
{
    comparison *const orders[] = { larger_first, greater_area_first, longer_lived_first, older_first };
    struct memory_item *best = calloc(n_items + 1, sizeof *best);
    struct attempt p = { .order = calloc(n_items + 1, sizeof *p.order),
                         .item = calloc(n_items + 1, sizeof *p.item),
                         .placed = calloc(n_items + 1, sizeof *p.placed) };
    struct memory_sums sums = { .planned_bytes = SIZE_MAX };
    enum rc rc = RC_OK;

    if (best == NULL || p.order == NULL || p.item == NULL || p.placed == NULL)
        FAIL(RC_NOMEM, "no memory to plan %zu buffers", n_items);
    for (size_t i = 0; i < n_items; i++)
        sums.unplanned_bytes += aligned(item[i].n_bytes);
    sums.live_bytes = max_live_bytes(item, n_items);
    for (size_t k = 0; k < sizeof orders / sizeof orders[0] && sums.planned_bytes > sums.live_bytes; k++) {
        place_all(&p, item, n_items, orders[k]);
        if (p.n_bytes < sums.planned_bytes) {
            sums.planned_bytes = p.n_bytes;
            memcpy(best, p.item, n_items * sizeof *best);
        }
    }
    memcpy(item, best, n_items * sizeof *best);
    *out = sums;
out:
    free(best);
    free(p.order);
    free(p.item);
    free(p.placed);
    return rc;
}
