/* SPDX-License-Identifier: Apache-2.0 */
/* timeline_kit.h - rings with given spans, for the tests of timelines. */
#ifndef HARNESS_REPORT_SUITE_TIMELINE_KIT_H
#define HARNESS_REPORT_SUITE_TIMELINE_KIT_H

#include <stdlib.h>

#include "harness/world/span.h"

/* A ring for as many spans as it gets; the caller closes it. Ends the program where there is no memory. */
static inline struct span_ring *kit_ring_of(const char *name, size_t n_kept, const struct span *span, size_t n_spans)
{
    struct span_ring *ring = NULL;

    if (span_ring_open(&ring, name, n_kept) != RC_OK)
        abort();
    for (size_t i = 0; i < n_spans; i++)
        span_ring_add(ring, &span[i]);
    return ring;
}

static inline struct span kit_span(const char *what, uint64_t start_ns, uint64_t end_ns)
{
    return (struct span){ .start_ns = start_ns, .end_ns = end_ns, .what = what, .segment = -1 };
}

#endif
