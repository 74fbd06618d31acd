/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prediction.h - what simulate, reproduce and predict share: the band of a prediction, the values that it depends on,
 * and its charts.
 */
#ifndef HARNESS_CAMPAIGN_PREDICTION_H
#define HARNESS_CAMPAIGN_PREDICTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "harness/base/rc.h"
#include "harness/cluster/cluster.h"

/* --- the band: the range of one further run, by chance, and by constants that may be wrong --- */

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

/*
 * The uncertainty of the values of a description, from the notes of gradmark calibrate beside
 * them (bench/calibration.c): the residuals of its fits, and the range over ranks. Pure. This is not jitter, which is
 * simulated.
 *
 * Invariants
 *   V1  A value that was not measured, or whose source has no figure, has no spread: nothing is assumed.
 *   V2  The ratio is symmetrical: a value with 10 % may be 1.1 times as high, or 1.1 times as low.
 */

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

/*
 * What else the assumed constants of a description may be. simulate changes one after the other to
 * show which matters; reproduce makes bands of the same ends. Pure.
 *
 * Invariants
 *   R1  The range of a constant is the one that its source states: "range 2e9 to 2.9e9". Without one it is half of the
 *       value to twice the value. Both ends are valid, and the value is between them.
 *   R2  A constant that is 0, or at the end of what its key allows, limits nothing. It has no range of a band.
 */

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
/* Is the key a time, a rate or a ratio that a replayed step depends on? Only these have ranges of a band. */
bool assumed_is_of_time(int key);
/* Does it concern a run with parameter servers, or one without? */
bool assumed_concerns(int key, bool has_servers);
/* Does it concern only messages that leave a host? */
bool assumed_is_between_hosts(int key);
/* "link_latency_s=2e-06" */
void assumed_setting(char out[ASSUMED_SETTING_BYTES], int key, double value);

/* Charts of predictions over GPUs: a table of tab-separated values, and its pictures. */

struct used_cluster; /* prediction_inputs.h */

struct prediction_chart {               /* borrowed */
    const char *folder, *name;          /* pictures are FOLDER/efficiency-NAME and FOLDER/images-NAME */
    const char *model;                  /* in the heading */
    const char *of_table;               /* what its other points are: "published", "given" */
    bool has_band;                      /* the table has the columns of a band */
    const struct used_cluster *cluster; /* the number of its assumptions is shown below */
};

/* Draw the table at path, in the format of scripts/gnuplot/reproduce.gp. *is_drawn := false without gnuplot. */
enum rc prediction_chart_draw(const struct prediction_chart *c, const char *path, bool *is_drawn) MUST_CHECK;
/* Put both pictures into a page, images/s first; the page names missing ones. */
enum rc prediction_chart_write(FILE *to, const char *folder, const char *name) MUST_CHECK;

#endif
