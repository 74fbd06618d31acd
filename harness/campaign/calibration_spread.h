/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calibration_spread.h - the uncertainty of the values of a description, from the notes of gradmark calibrate beside
 * them (bench/calibration.c): the residuals of its fits, and the range over ranks. Pure. This is not jitter, which is
 * simulated.
 *
 * Invariants
 *   V1  A value that was not measured, or whose source has no figure, has no spread: nothing is assumed.
 *   V2  The ratio is symmetrical: a value with 10 % may be 1.1 times as high, or 1.1 times as low.
 */
#ifndef HARNESS_CAMPAIGN_CALIBRATION_SPREAD_H
#define HARNESS_CAMPAIGN_CALIBRATION_SPREAD_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/cluster/cluster.h"

struct calibrated_value {
    int key;
    double ratio; /* the value may be 1 + ratio times as high, or as low; > 0 */
};

enum { CALIBRATION_MOST_VALUES = 8, CALIBRATION_SETTING_BYTES = 96 };

/* Spread of the link rate: the largest residual of messages that need more time for their bytes than for the latency.
 * NaN: the sources have none. */
double calibration_rate_ratio(const struct cluster_sources *sources);
/* The calibrated values that affect a simulated step of replay, in the order of keys; returns their number. */
size_t calibration_spread(struct calibrated_value out[CALIBRATION_MOST_VALUES], const struct cluster *c,
                          const struct cluster_sources *sources);
/* "link_bits_per_s=1.1e9": the value of c, 1 + ratio times as high or as low, within the range of its key. */
void calibration_setting(char out[CALIBRATION_SETTING_BYTES], const struct cluster *c,
                         const struct calibrated_value *value, bool is_higher);
/* "link_bits_per_s 10.0 %, link_latency_s 3.2 %" */
void calibration_spread_text(char *out, size_t n_bytes, const struct calibrated_value *value, size_t n);
/* What a band of these values shows, as sentences that end with a point. n is not 0. */
void calibration_band_text(char *out, size_t n_bytes, const struct calibrated_value *value, size_t n);

#endif
