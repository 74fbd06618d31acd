/* SPDX-License-Identifier: Apache-2.0 */
/* memory_plan.c - greedy placement in several orders; the best one stays. */
#include "models/engine/memory_plan.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int comparison(const void *a, const void *b);

struct placing { /* one attempt */
    const struct memory_item **order;
    struct memory_item *item;   /* copies, at_bytes filled in */
    struct memory_item **lying; /* those placed so far, by at_bytes */
    size_t n_lying, n_bytes;
};

static size_t aligned(size_t n_bytes)
{
    return (n_bytes + MEMORY_ALIGN_BYTES - 1) / MEMORY_ALIGN_BYTES * MEMORY_ALIGN_BYTES;
}

static const struct memory_item *item_of(const void *p)
{
    return *(const struct memory_item *const *)p;
}

/* Ties: by place in the array, so that the order is one (B2). */
static int by_place(const struct memory_item *a, const struct memory_item *b)
{
    return (a > b) - (a < b);
}

static int larger_first(const void *p, const void *q)
{
    const struct memory_item *a = item_of(p), *b = item_of(q);

    return a->n_bytes != b->n_bytes ? (a->n_bytes < b->n_bytes ? 1 : -1) : by_place(a, b);
}

static int older_first(const void *p, const void *q)
{
    const struct memory_item *a = item_of(p), *b = item_of(q);

    return a->birth != b->birth ? (a->birth > b->birth ? 1 : -1) : larger_first(p, q);
}

static int longer_lived_first(const void *p, const void *q)
{
    const struct memory_item *a = item_of(p), *b = item_of(q);
    const int life_a = a->death - a->birth, life_b = b->death - b->birth;

    return life_a != life_b ? (life_a < life_b ? 1 : -1) : larger_first(p, q);
}

/* What lives longest and weighs most. */
static int greater_area_first(const void *p, const void *q)
{
    const struct memory_item *a = item_of(p), *b = item_of(q);
    const double area_a = (double)a->n_bytes * (a->death - a->birth + 1);
    const double area_b = (double)b->n_bytes * (b->death - b->birth + 1);

    return area_a != area_b ? (area_a < area_b ? 1 : -1) : by_place(a, b);
}

static bool meet(const struct memory_item *a, const struct memory_item *b)
{
    return a->birth <= b->death && b->birth <= a->death;
}

/* The tightest gap between those that are alive at the same time; else behind the last of them. */
static size_t gap_for(const struct placing *p, const struct memory_item *it)
{
    const size_t n_bytes = aligned(it->n_bytes);
    size_t end = 0, best = SIZE_MAX, best_gap = SIZE_MAX;

    for (size_t i = 0; i < p->n_lying; i++) {
        const struct memory_item *other = p->lying[i];
        if (!meet(it, other))
            continue;
        if (other->at_bytes > end && other->at_bytes - end >= n_bytes && other->at_bytes - end < best_gap) {
            best = end;
            best_gap = other->at_bytes - end;
        }
        const size_t behind = other->at_bytes + aligned(other->n_bytes);
        end = behind > end ? behind : end;
    }
    return best != SIZE_MAX ? best : end;
}

static void lay(struct placing *p, struct memory_item *it)
{
    size_t i = p->n_lying;

    it->at_bytes = gap_for(p, it);
    for (; i > 0 && p->lying[i - 1]->at_bytes > it->at_bytes; i--)
        p->lying[i] = p->lying[i - 1];
    p->lying[i] = it;
    p->n_lying++;
    const size_t end = it->at_bytes + aligned(it->n_bytes);
    p->n_bytes = end > p->n_bytes ? end : p->n_bytes;
}

static void place_all(struct placing *p, const struct memory_item *item, size_t n_items, comparison *before)
{
    p->n_lying = p->n_bytes = 0;
    for (size_t i = 0; i < n_items; i++)
        p->order[i] = &item[i];
    qsort(p->order, n_items, sizeof *p->order, before);
    memcpy(p->item, item, n_items * sizeof *item);
    for (size_t i = 0; i < n_items; i++)
        lay(p, &p->item[p->order[i] - item]);
}

static size_t most_alive(const struct memory_item *item, size_t n_items)
{
    size_t most = 0;

    for (size_t i = 0; i < n_items; i++) { /* the sum can only rise where something is born */
        size_t sum = 0;
        for (size_t k = 0; k < n_items; k++)
            if (item[k].birth <= item[i].birth && item[i].birth <= item[k].death)
                sum += aligned(item[k].n_bytes);
        most = sum > most ? sum : most;
    }
    return most;
}

enum rc memory_plan(struct memory_sums *out, struct memory_item *item, size_t n_items)
{
    comparison *const orders[] = { larger_first, greater_area_first, longer_lived_first, older_first };
    struct memory_item *best = calloc(n_items + 1, sizeof *best);
    struct placing p = { .order = calloc(n_items + 1, sizeof *p.order),
                         .item = calloc(n_items + 1, sizeof *p.item),
                         .lying = calloc(n_items + 1, sizeof *p.lying) };
    struct memory_sums sums = { .planned_bytes = SIZE_MAX };
    enum rc rc = RC_OK;

    if (best == NULL || p.order == NULL || p.item == NULL || p.lying == NULL)
        FAIL(RC_NOMEM, "no memory to plan %zu buffers", n_items);
    for (size_t i = 0; i < n_items; i++)
        sums.unplanned_bytes += aligned(item[i].n_bytes);
    sums.live_bytes = most_alive(item, n_items);
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
    free(p.lying);
    return rc;
}
