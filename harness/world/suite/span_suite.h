/* SPDX-License-Identifier: Apache-2.0 */
/* span_suite.h - what span.h promises, checked on any implementation of it. Test-only. */
#ifndef HARNESS_WORLD_SUITE_SPAN_SUITE_H
#define HARNESS_WORLD_SUITE_SPAN_SUITE_H

#include "harness/world/span.h"

struct span_impl {
    enum rc (*open)(struct span_ring **out, const char *name, size_t n_spans);
    void (*add)(struct span_ring *ring, const struct span *s);
    uint64_t (*n_added)(const struct span_ring *ring);
    uint64_t (*n_lost)(const struct span_ring *ring);
    const struct span *(*get)(const struct span_ring *ring, uint64_t i);
    const char *(*name)(const struct span_ring *ring);
    void (*close)(struct span_ring **ring);
    uint64_t (*overlap_ns)(const struct span *a, size_t n_a, const struct span *b, size_t n_b);
};

/* Number of checks that failed, each printed on standard error; -1: no such group. NULL: all groups. Its program counts
 * allocations (test_allocations.h). */
int span_suite(const struct span_impl *impl, const char *group);

/* span.c, and a wrong implementation by name; NULL: there is none of that name. */
extern const struct span_impl span_impl_real;
const struct span_impl *span_mutant(const char *name);

#endif
