/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series.h - the seconds of one short measurement that is repeated: how often, and which of them counts.
 *
 * For an upper limit (what a part of the machine can do) the fastest repeat counts: whatever disturbs a repeat makes it
 * longer, so the least time is the nearest to what the part could do, and a mean or a median is what it usually did,
 * which a run may well exceed. For a rate to compare with, the median.
 */
#ifndef HARNESS_BENCH_SERIES_H
#define HARNESS_BENCH_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/world/world.h"

enum { SERIES_MAX_REPEATS = 200, SERIES_SIM_REPEATS = 2 };

struct series {
    double value_s[SERIES_MAX_REPEATS];
    int n_values, n_repeats; /* that count; all */
    int n_cold;              /* that are still to be discarded */
    uint64_t started_ns;     /* of the first that counts */
};

struct series series_begin(struct world *w);
/* One repeat that is discarded: it fills caches and touches pages. Then 3, or 2 that took over 1 s together, then more
 * for at most 60 ms. So a series takes four repeats (slow ones: three) or, where a repeat is shorter than 20 ms, at
 * most 60 ms and two repeats. In virtual time, where values do not vary, SERIES_SIM_REPEATS, and none is discarded. */
bool series_wants_more(const struct series *s, struct world *w);
/* Append the seconds since started_ns, on the clock of w, or discard them. At most SERIES_MAX_REPEATS that count. */
void series_add(struct series *s, struct world *w, uint64_t started_ns);
/* Of the values, which it sorts: 0 the least, 0.5 the (lower) median. n_values >= 1. */
double series_quantile_s(struct series *s, double quantile_ratio);

#endif
