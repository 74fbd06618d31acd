/* SPDX-License-Identifier: Apache-2.0 */
/* prediction_band.h - where one more run is expected, from simulated ones that differ by chance alone. */
#ifndef HARNESS_CAMPAIGN_PREDICTION_BAND_H
#define HARNESS_CAMPAIGN_PREDICTION_BAND_H

#include <stddef.h>

struct prediction_band {
    double mean, low, high; /* low, high NaN: fewer than two values */
};

/*
 * x[n]: of runs with independent noise. Between low and high lies, in 95 of 100 cases, the value of one more such run,
 * were they normally distributed: mean -+ t(0.975, n - 1) s sqrt(1 + 1/n). That is wider than the interval of the mean
 * (interval.h), which says where the mean of many runs is. Values are of what cannot be below 0, and neither is low
 * where none of them is. Pure.
 */
struct prediction_band prediction_band_of(const double *x, size_t n);
/* Widen b, whose value moves[n] say how far it is off for other reasons, each >= 0 and independent of all others: half
 * of its width is the root of the sum of squares. Without a band there is one then; n = 0 changes nothing. Pure. */
void prediction_band_widen(struct prediction_band *b, const double *moves, size_t n);

#endif
