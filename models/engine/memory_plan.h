/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_plan.h - offsets of buffers in one block of memory, given the first and last op that needs each buffer. Not an
 * allocator: it decides once, nothing moves afterwards.
 *
 * Invariants
 *   B1  Two items whose lifetimes share an op share no byte.
 *   B2  The plan depends only on the items.
 */
#ifndef MODELS_ENGINE_MEMORY_PLAN_H
#define MODELS_ENGINE_MEMORY_PLAN_H

#include <stddef.h>

#include "harness/base/rc.h"

enum { MEMORY_ALIGN_BYTES = 64 };

struct memory_item {
    size_t n_bytes;        /* 0: takes no space */
    int first_op, last_op; /* its lifetime, both included; last_op >= first_op */
    size_t offset_bytes;   /* out: a multiple of MEMORY_ALIGN_BYTES */
};

struct memory_sums {
    size_t planned_bytes;   /* of the block */
    size_t unplanned_bytes; /* without reuse: the sum over all items */
    size_t live_bytes;      /* most bytes alive at one op: no plan needs less */
};

/* Gives every item an offset. Tries four orders, largest first and others; in each, an item takes the smallest gap that
 * is free during its lifetime. Keeps the order with the smallest block. O(n^2), n items. RC_NOMEM: items are
 * unchanged. */
enum rc memory_plan(struct memory_sums *out, struct memory_item *item, size_t n_items) MUST_CHECK;

#endif
