/* SPDX-License-Identifier: Apache-2.0 */
/* memory_plan.c - greedy placement in several orders; the smallest block is kept. */
#include "models/engine/memory_plan.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "models/engine/run.h"
#include "models/engine/trainer.h"

typedef int comparison(const void *a, const void *b);

struct attempt { /* to place all items in one order */
    const struct memory_item **order;
    struct memory_item *item;    /* copies of all items, offset_bytes filled in */
    struct memory_item **placed; /* those that have an offset, sorted by it */
    size_t n_placed, n_bytes;    /* n_bytes: of the block */
};

static size_t aligned(size_t n_bytes)
{
    return (n_bytes + MEMORY_ALIGN_BYTES - 1) / MEMORY_ALIGN_BYTES * MEMORY_ALIGN_BYTES;
}

static const struct memory_item *item_of(const void *p)
{
    return *(const struct memory_item *const *)p;
}

/* Ties: by index in the array, so that there is only one order (models.B2). */
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

/* The area of an item in a diagram of memory over ops: bytes times ops of its lifetime. */
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

/* The offset of the smallest sufficient gap between those placed items whose lifetimes overlap the item's; without such
 * a gap the end of the last of them. Walks over them by offset; end: largest end so far. */
static size_t offset_for(const struct attempt *attempt, const struct memory_item *item)
{
    const size_t n_bytes = aligned(item->n_bytes);
    size_t end = 0, best = SIZE_MAX, best_gap = SIZE_MAX;

    for (size_t i = 0; i < attempt->n_placed; i++) {
        const struct memory_item *other = attempt->placed[i];
        if (!lifetimes_overlap(item, other))
            continue;
        if (other->offset_bytes > end && other->offset_bytes - end >= n_bytes && other->offset_bytes - end < best_gap) {
            best = end;
            best_gap = other->offset_bytes - end;
        }
        const size_t after = other->offset_bytes + aligned(other->n_bytes);
        end = after > end ? after : end;
    }
    return best != SIZE_MAX ? best : end;
}

/* Give the item an offset and insert it into `placed`, which stays sorted. */
static void place(struct attempt *attempt, struct memory_item *item)
{
    size_t i = attempt->n_placed;

    item->offset_bytes = offset_for(attempt, item);
    for (; i > 0 && attempt->placed[i - 1]->offset_bytes > item->offset_bytes; i--)
        attempt->placed[i] = attempt->placed[i - 1];
    attempt->placed[i] = item;
    attempt->n_placed++;
    const size_t end = item->offset_bytes + aligned(item->n_bytes);
    attempt->n_bytes = end > attempt->n_bytes ? end : attempt->n_bytes;
}

/* Place copies of all items, in the order of `before`. */
static void place_all(struct attempt *attempt, const struct memory_item *item, size_t n_items, comparison *before)
{
    attempt->n_placed = attempt->n_bytes = 0;
    for (size_t i = 0; i < n_items; i++)
        attempt->order[i] = &item[i];
    qsort(attempt->order, n_items, sizeof *attempt->order, before);
    memcpy(attempt->item, item, n_items * sizeof *item);
    for (size_t i = 0; i < n_items; i++)
        place(attempt, &attempt->item[attempt->order[i] - item]);
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
    struct attempt attempt = { .order = calloc(n_items + 1, sizeof *attempt.order),
                               .item = calloc(n_items + 1, sizeof *attempt.item),
                               .placed = calloc(n_items + 1, sizeof *attempt.placed) };
    struct memory_sums sums = { .planned_bytes = SIZE_MAX };
    enum rc rc = RC_OK;

    if (best == NULL || attempt.order == NULL || attempt.item == NULL || attempt.placed == NULL)
        FAIL(RC_NOMEM, "no memory to plan %zu buffers", n_items);
    for (size_t i = 0; i < n_items; i++)
        sums.unplanned_bytes += aligned(item[i].n_bytes);
    sums.live_bytes = max_live_bytes(item, n_items);
    for (size_t k = 0; k < sizeof orders / sizeof orders[0] && sums.planned_bytes > sums.live_bytes; k++) {
        place_all(&attempt, item, n_items, orders[k]);
        if (attempt.n_bytes < sums.planned_bytes) {
            sums.planned_bytes = attempt.n_bytes;
            memcpy(best, attempt.item, n_items * sizeof *best);
        }
    }
    memcpy(item, best, n_items * sizeof *best);
    *out = sums;
out:
    free(best);
    free(attempt.order);
    free(attempt.item);
    free(attempt.placed);
    return rc;
}

/* The memory that a batch needs, computed before any is allocated. */

#define GIB (1024.0 * 1024.0 * 1024.0)

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

size_t network_images_bytes(const struct network *n, size_t B)
{
    const size_t size = (size_t)n->opts.image_size;

    return B * (size_t)n->C_in * size * size * sizeof(float);
}

size_t network_packed_bytes(const struct network *n)
{
    return n->n_packed_elems * sizeof(uint16_t);
}

enum rc network_program_open(struct program *out, const struct compute *c, const struct network *n, bool training)
{
    enum rc rc;

    TRY(program_open(out, n, training));
    if (compute_takes_packed(c))
        program_pack(out, n);
out:
    return rc;
}

/* Images, labels and packed weights in the compute's memory, and what it takes itself. */
static size_t device_bytes(struct compute *c, const struct network *n, size_t batch, bool with_gradients)
{
    const bool is_whole = n->in_elems == 0 && n->out_node == NODE_NONE; /* stages have batches in their blocks */
    /* the next one is uploaded beside the work on this one */
    const size_t n_batches = !is_whole ? 0 : c->ops->upload != NULL ? 2 : 1;

    if (!c->ops->touches_memory || c->ops->host_memory)
        return 0;
    return (compute_takes_packed(c) && with_gradients ? network_packed_bytes(n) : 0) +
           n_batches * (network_images_bytes(n, batch) + batch * sizeof(uint32_t)) +
           network_scratch_bytes(c, n, batch, with_gradients);
}

static enum rc plan_both(struct network_memory *out, struct compute *c, struct program *train, struct program *infer,
                         const struct network *n, size_t batch)
{
    const size_t params_bytes = n->n_params * sizeof(float), copies = train->n_ops > 0 ? 3 : 1;
    enum rc rc;

    TRY(program_plan(infer, batch));
    if (train->n_ops > 0)
        TRY(program_plan(train, batch));
    *out = (struct network_memory){ .planned_bytes = larger(train->sums.planned_bytes, infer->sums.planned_bytes),
                                    .unplanned_bytes = larger(train->sums.unplanned_bytes, infer->sums.unplanned_bytes),
                                    .live_bytes = larger(train->sums.live_bytes, infer->sums.live_bytes),
                                    .params_bytes = copies * params_bytes,
                                    .state_bytes = n->n_state * sizeof(float),
                                    .device_bytes = device_bytes(c, n, batch, train->n_ops > 0) };
out:
    return rc;
}

/* What the training itself will allocate. Parameters, gradients and velocity are the caller's, who checks their sum or
 * has allocated them already. */
static size_t own_bytes(const struct network_memory *m)
{
    return m->planned_bytes + m->state_bytes + m->part_bytes + m->device_bytes;
}

/* Of a training: *m for a batch of its own, or one smaller. */
static enum rc plan(struct network_memory *m, struct network_trainer *t, size_t batch)
{
    const struct network_step step = {
        .n_samples = batch, .n_micro_batches = 1, .n_held = t->n_held, .recomputes = t->recomputes
    };
    enum rc rc;

    TRY(plan_both(m, t->base.env.compute, &t->train, &t->infer, t->network, batch));
    if (network_adds_parts(&t->base.env))
        m->part_bytes = network_part_bytes(t->network);
    if (t->n_held > 0)
        m->planned_bytes = network_stage_bytes(t->network, m, &step);
out:
    return rc;
}

/* The largest batch within available bytes; 0: none. */
static enum rc max_batch_within(size_t *out, struct network_trainer *t, size_t available)
{
    size_t fits = 0, too_large = t->base.env.max_batch;
    struct network_memory m;
    enum rc rc = RC_OK;

    while (too_large - fits > 1) {
        const size_t batch = fits + (too_large - fits) / 2;
        TRY(plan(&m, t, batch));
        if (own_bytes(&m) <= available)
            fits = batch;
        else
            too_large = batch;
    }
    *out = fits;
out:
    return rc;
}

enum rc network_memory_plan(struct network_trainer *t)
{
    struct compute *c = t->base.env.compute;
    size_t available = SIZE_MAX, fits;
    enum rc rc;

    TRY(plan(&t->sums, t, t->base.env.max_batch));
    if (c->ops->touches_memory)
        available = c->ops->memory_available(c);
    if (own_bytes(&t->sums) <= available)
        return RC_OK;
    TRY(max_batch_within(&fits, t, available));
    if (fits == 0)
        FAIL(RC_NOMEM, "model %s: batch %zu needs %.2f GiB, %.2f GiB are available; not even a batch of 1 fits",
             t->network->name, t->base.env.max_batch, (double)own_bytes(&t->sums) / GIB, (double)available / GIB);
    FAIL(RC_NOMEM, "model %s: batch %zu needs %.2f GiB, %.2f GiB are available; a batch of %zu fits", t->network->name,
         t->base.env.max_batch, (double)own_bytes(&t->sums) / GIB, (double)available / GIB, fits);
out:
    return rc;
}

enum rc network_memory_needed(struct network_memory *out, struct compute *c, const struct network *n,
                              const struct network_step *step)
{
    const size_t n_parts = step->n_micro_batches, n_samples = (step->n_samples + n_parts - 1) / n_parts;
    struct network_step part = *step;
    struct program train = { 0 }, infer = { 0 };
    enum rc rc;

    TRY(network_program_open(&infer, c, n, false));
    if (!step->forward_only)
        TRY(network_program_open(&train, c, n, true));
    TRY(plan_both(out, c, &train, &infer, n, n_samples));
    if (n_parts > 1 && !step->forward_only)
        out->part_bytes = network_part_bytes(n);
    part.n_samples = n_samples;
    if (step->n_held > 0)
        out->planned_bytes = network_stage_bytes(n, out, &part);
out:
    program_close(&train);
    program_close(&infer);
    return rc;
}
