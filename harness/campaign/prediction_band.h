/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prediction_band.h - the range of one further run, from simulated runs that differ by chance, and by constants that
 * may be wrong.
 */
#ifndef HARNESS_CAMPAIGN_PREDICTION_BAND_H
#define HARNESS_CAMPAIGN_PREDICTION_BAND_H

#include <stddef.h>

enum { PREDICTION_BAND_LEAST = 3 }; /* runs: t(0.975) is 12.7 with two, which says nothing */

struct prediction_band {
    double mean, low, high; /* low, high NaN: too few values */
};

/*
 * x[n]: efficiencies of runs with independent noise; n < PREDICTION_BAND_LEAST: no band. If they are normally
 * distributed, one further run is between low and high in 95 of 100 cases: mean -+ t(0.975, n - 1) s sqrt(1 + 1/n).
 * That is wider than the interval of the mean (interval.h), which contains the mean of many runs. An efficiency is
 * from 0 to 1: if the mean is, low and high are too. Pure.
 */
struct prediction_band prediction_band_of(const double *x, size_t n);
/* Widen b by moves[n], further deviations of its value, each >= 0 and independent of all others: half the width becomes
 * the root of the sum of squares. A b without a band gets one; n = 0 changes nothing. Pure. */
void prediction_band_widen(struct prediction_band *b, const double *moves, size_t n);
/* The same where value moves by down[n] below its mean, and up[n] above. Pure. */
void prediction_band_widen_sides(struct prediction_band *b, const double *down, const double *up, size_t n);

#endif
