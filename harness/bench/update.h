/* SPDX-License-Identifier: Apache-2.0 */
/*
 * update.h - the optimiser's update of n_elems parameters, for timing, without memory for all of them. It updates a
 * range of at most 4 Mi elements, once for each such range in n_elems.
 */
#ifndef HARNESS_BENCH_UPDATE_H
#define HARNESS_BENCH_UPDATE_H

#include <stddef.h>

#include "harness/compute/optimizer.h"

struct update { /* owned; zeroed: updates nothing, may be closed */
    struct optimizer optimizer;
    struct compute *compute; /* borrowed */
    size_t n_elems, n_range_elems;
    void *param, *grad; /* float[n_range_elems] in memory of compute; NULL: hollow */
};

/* RC_NOMEM, RC_DEVICE: u must be closed even then. */
enum rc update_open(struct update *u, struct compute *c, size_t n_elems, const struct optimizer_rule *rule) MUST_CHECK;
/* One update of n_elems. */
enum rc update_run(struct update *u) MUST_CHECK;
void update_close(struct update *u);

#endif
