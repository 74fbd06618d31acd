/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assumed_range.h - what else the assumed constants of a description may be. simulate changes one after the other to
 * show which matters; reproduce makes bands of the same ends. Pure.
 *
 * Invariants
 *   R1  The range of a constant is the one that its source states: "range 2e9 to 2.9e9". Without one it is half of the
 *       value to twice the value. Both ends are valid, and the value is between them.
 *   R2  A constant that is 0, or at the end of what its key allows, limits nothing. It has no range of a band.
 */
#ifndef HARNESS_CAMPAIGN_ASSUMED_RANGE_H
#define HARNESS_CAMPAIGN_ASSUMED_RANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/cluster/cluster.h"

struct assumed_range {
    int key;
    double low, high;
    bool is_time; /* a time, or a share of one: what it adds to a step is proportional to it */
};

enum { ASSUMED_SETTING_BYTES = 96 };

/* Of a number above 0; false: it has none. */
bool assumed_range_of(struct assumed_range *out, const struct cluster *c, const struct cluster_sources *sources,
                      int key);
/* out[n] := the ranges that a band needs (R2): of each assumed time, rate and ratio that a replayed step depends on, in
 * the order of keys; returns n. */
size_t assumed_ranges(struct assumed_range out[CLUSTER_MAX_KEYS], const struct cluster *c,
                      const struct cluster_sources *sources);
/* Does it concern a run without servers? */
bool assumed_concerns_workers(int key);
/* "link_latency_s=2e-06" */
void assumed_setting(char out[ASSUMED_SETTING_BYTES], int key, double value);

#endif
