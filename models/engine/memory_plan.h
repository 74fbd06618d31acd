/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_plan.h - where buffers lie in one block of memory when it is known in which step each is first and
 * last needed. Not an allocator: it decides once, nothing moves afterwards.
 *
 * Invariants
 *   B1  Two items whose lifetimes share a step share no byte.
 *   B2  The plan depends on the items alone.
 */
#ifndef MODELS_ENGINE_MEMORY_PLAN_H
#define MODELS_ENGINE_MEMORY_PLAN_H

#include <stddef.h>

#include "harness/base/rc.h"

enum { MEMORY_ALIGN_BYTES = 64 };

struct memory_item {
    size_t n_bytes;   /* 0: takes no room */
    int birth, death; /* the first and the last step in which it is needed; death >= birth */
    size_t at_bytes;  /* out: a multiple of MEMORY_ALIGN_BYTES */
};

struct memory_sums {
    size_t planned_bytes;   /* of the block */
    size_t unplanned_bytes; /* every item in a place of its own */
    size_t live_bytes;      /* the most that is alive in one step: no plan needs less */
};

/* Places all items. Tries a few orders, largest first and others, each item going to the tightest gap that is free
 * during its life, and keeps the best. O(n^2), n items. RC_NOMEM: items as before. */
enum rc memory_plan(struct memory_sums *out, struct memory_item *item, size_t n_items) MUST_CHECK;

#endif
