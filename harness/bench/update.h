/* SPDX-License-Identifier: Apache-2.0 */
/*
 * update.h - the optimiser's update of n_elems parameters, to be timed, without the memory of all of them: it updates
 * a range of at most 4 Mi elements as often as n_elems have ranges.
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

/* RC_NOMEM, RC_DEVICE: u is to be closed all the same. */
enum rc update_open(struct update *u, struct compute *c, size_t n_elems, const struct optimizer_rule *rule) MUST_CHECK;
/* One update of n_elems. */
enum rc update_run(struct update *u) MUST_CHECK;
void update_close(struct update *u);

#endif
