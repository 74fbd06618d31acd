/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calibration_spread.h - how far off the values of a description may be, by what gradmark calibrate noted beside them
 * (bench/calibration.c): the residuals of its fits, and the range over ranks. Pure. Not jitter, which is simulated.
 *
 * Invariants
 *   V1  A value that was not measured, or whose source tells no figure, has no spread: nothing is assumed of it.
 *   V2  A ratio is of value to value: one 10 % off may be 1.1 times as high, or 1.1 times as low.
 */
#ifndef HARNESS_CAMPAIGN_CALIBRATION_SPREAD_H
#define HARNESS_CAMPAIGN_CALIBRATION_SPREAD_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/cluster/cluster.h"

struct calibrated_value {
    int key;
    double ratio; /* it may be 1 + ratio times as high, or as low; > 0 */
};

enum { CALIBRATION_MOST_VALUES = 8, CALIBRATION_SETTING_BYTES = 96 };

/* Of the rate of links: the largest residual of messages that spend more on their bytes than on the latency. NaN: none
 * is told. */
double calibration_rate_ratio(const struct cluster_sources *sources);
/* The values that matter to a simulated step of replay, in the order of keys; returns how many. */
size_t calibration_spread(struct calibrated_value out[CALIBRATION_MOST_VALUES], const struct cluster *c,
                          const struct cluster_sources *sources);
/* "link_bits_per_s=1.1e9": the value of c 1 + ratio times as high, or as low; within the range of its key. */
void calibration_setting(char out[CALIBRATION_SETTING_BYTES], const struct cluster *c,
                         const struct calibrated_value *value, bool is_higher);
/* "link_bits_per_s 10.0 %, link_latency_s 3.2 %" */
void calibration_spread_text(char *out, size_t n_bytes, const struct calibrated_value *value, size_t n);

#endif
