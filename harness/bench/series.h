/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series.h - the times of one repeated short measurement: how often it is repeated, and which time counts.
 *
 * For an upper limit (of a part of the machine) the fastest repeat counts. Any disturbance makes a repeat longer, so
 * the least time is nearest to the limit. A mean or a median is the usual time, which a run may well beat. For a rate
 * to compare with, the median counts.
 */
#ifndef HARNESS_BENCH_SERIES_H
#define HARNESS_BENCH_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/world/world.h"

enum { SERIES_MAX_REPEATS = 200, SERIES_SIM_REPEATS = 2 };

struct series {
    double value_s[SERIES_MAX_REPEATS];
    int n_values, n_repeats; /* n_values: that count; n_repeats: all */
    int n_cold;              /* still to be discarded */
    uint64_t started_ns;     /* start of the first one that counts */
};

struct series series_begin(struct world *w);
/* Discards one repeat, which fills caches and touches pages. Then 3 repeats, or 2 that together took over 1 s, then
 * more for at most 60 ms. So a series takes four repeats (slow ones: three) or, if a repeat is shorter than 20 ms, at
 * most 60 ms and two repeats. In virtual time, where values do not vary, SERIES_SIM_REPEATS, and none is discarded. */
bool series_wants_more(const struct series *s, struct world *w);
/* Append the seconds since started_ns, on the clock of w, or discard them. At most SERIES_MAX_REPEATS count. */
void series_add(struct series *s, struct world *w, uint64_t started_ns);
/* Quantile of the values, which get sorted: 0 the least, 0.5 the (lower) median. n_values >= 1. */
double series_quantile_s(struct series *s, double quantile_ratio);

#endif
