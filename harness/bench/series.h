/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series.h - the seconds of one short measurement that is repeated: how often, and which of them counts.
 *
 * For an upper limit (what a part of the machine can do) the fastest repeat counts; for a rate to compare with, the
 * median.
 */
#ifndef HARNESS_BENCH_SERIES_H
#define HARNESS_BENCH_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/world/world.h"

enum { SERIES_MAX_REPEATS = 200, SERIES_SIM_REPEATS = 2 };

struct series {
    double value_s[SERIES_MAX_REPEATS];
    int n_values;
    uint64_t started_ns;
};

struct series series_begin(struct world *w);
/* 3 repeats, then more for at most 60 ms; repeats that took over 1 s together are not followed by another. In virtual
 * time, where values do not vary, SERIES_SIM_REPEATS. */
bool series_wants_more(const struct series *s, struct world *w);
/* Append the seconds since started_ns, on the clock of w. At most SERIES_MAX_REPEATS times. */
void series_add(struct series *s, struct world *w, uint64_t started_ns);
/* Of the values, which it sorts: 0 the least, 0.5 the (lower) median. n_values >= 1. */
double series_quantile_s(struct series *s, double quantile_ratio);

#endif
