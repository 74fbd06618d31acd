/* SPDX-License-Identifier: Apache-2.0 */
/*
 * histogram.h - percentiles over all samples in fixed memory: a histogram with logarithmic buckets.
 * Not a sample of samples: every value added is counted.
 *
 * Invariants
 *   H1  A percentile is by nearest rank: the value of rank ceil(percent / 100 * n) of n. Below 100
 *       values p99 is therefore the maximum.
 *   H2  It is off by at most HISTOGRAM_ERROR_RATIO of the true value; exact below 256, and at the
 *       minimum and the maximum.
 *   H3  Merging equals adding all values to one histogram.
 */
#ifndef HARNESS_MEASURE_HISTOGRAM_H
#define HARNESS_MEASURE_HISTOGRAM_H

#include <stdint.h>

/* 7 bits after the leading one: 128 buckets to the octave, half a bucket of error. */
enum { HISTOGRAM_SUB_BITS = 7, HISTOGRAM_BUCKETS = (64 - HISTOGRAM_SUB_BITS + 1) << HISTOGRAM_SUB_BITS };
#define HISTOGRAM_ERROR_RATIO (1.0 / 256)

struct histogram { /* of unsigned values; the caller knows their unit (mostly ns) */
    uint64_t n_values;
    uint64_t least, greatest; /* when n_values > 0 */
    uint64_t n_in_bucket[HISTOGRAM_BUCKETS];
};

struct percentiles {
    double p50, p95, p99; /* NaN: no value */
};

/* Empty it. None of these can fail. */
void histogram_init(struct histogram *h);
/* Count one value. O(1), no allocation: may be called between two clock reads. */
void histogram_add(struct histogram *h, uint64_t value);
/* measure.H3 */
void histogram_merge(struct histogram *into, const struct histogram *from);
/* measure.H1, H2; 0 < percent <= 100. NaN: empty. */
double histogram_percentile(const struct histogram *h, double percent);
struct percentiles histogram_percentiles(const struct histogram *h);

#endif
