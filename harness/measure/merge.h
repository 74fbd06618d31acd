/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge.h - the step completions of all workers in the order of time, one after the other.
 *
 * A heap of one cursor per worker: O(log n_workers) per completion, memory of n_workers numbers. The order is the same
 * on every run (equal times: the lower worker first). Private to this module.
 */
#ifndef HARNESS_MEASURE_MERGE_H
#define HARNESS_MEASURE_MERGE_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/rc.h"
#include "harness/measure/steps.h"

struct merge {
    const struct steps *in; /* borrowed; end_ns of each worker does not decrease */
    size_t n_live;          /* cursors in the heap */
    struct merge_cursor {
        uint64_t end_ns;
        size_t worker, step;
    } * heap;
};

/* RC_NOMEM. */
enum rc merge_init(struct merge *m, const struct steps *in) MUST_CHECK;
/* The next completion; false: no completion is left. */
bool merge_next(struct merge *m, struct merge_cursor *out);
void merge_fini(struct merge *m); /* safe on a zeroed one */

#endif
