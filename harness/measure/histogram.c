/* SPDX-License-Identifier: Apache-2.0 */
/* histogram.c - bucket arithmetic: the leading bit picks the octave, the next seven the bucket. */
#include "harness/measure/histogram.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static unsigned leading_bit(uint64_t value)
{
    unsigned bit = 0;

    for (unsigned half = 32; half > 0; half /= 2)
        if (value >> half) {
            value >>= half;
            bit += half;
        }
    return bit;
}

/* Values below 2^(SUB_BITS + 1) have a bucket each; above, buckets double in width every octave. */
static unsigned bucket_of(uint64_t value)
{
    if (value >> HISTOGRAM_SUB_BITS == 0)
        return (unsigned)value;
    unsigned shift = leading_bit(value) - HISTOGRAM_SUB_BITS;
    unsigned in_octave = (unsigned)(value >> shift) - (1u << HISTOGRAM_SUB_BITS);
    return ((shift + 1) << HISTOGRAM_SUB_BITS) + in_octave;
}

/* The middle of a bucket's values. */
static double bucket_value(unsigned bucket)
{
    if (bucket >> HISTOGRAM_SUB_BITS == 0)
        return bucket;
    unsigned shift = (bucket >> HISTOGRAM_SUB_BITS) - 1;
    uint64_t first = (uint64_t)((bucket & ((1u << HISTOGRAM_SUB_BITS) - 1)) + (1u << HISTOGRAM_SUB_BITS)) << shift;
    return (double)first + (double)((UINT64_C(1) << shift) - 1) / 2;
}

void histogram_init(struct histogram *h)
{
    memset(h, 0, sizeof *h);
    h->least = UINT64_MAX;
}

void histogram_add(struct histogram *h, uint64_t value)
{
    h->n_in_bucket[bucket_of(value)]++;
    h->n_values++;
    if (value < h->least)
        h->least = value;
    if (value > h->greatest)
        h->greatest = value;
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        into->n_in_bucket[i] += from->n_in_bucket[i];
    into->n_values += from->n_values;
    if (from->least < into->least)
        into->least = from->least;
    if (from->greatest > into->greatest)
        into->greatest = from->greatest;
}

double histogram_percentile(const struct histogram *h, double percent)
{
    assert(percent > 0 && percent <= 100);
    if (h->n_values == 0)
        return NAN;
    /* Multiplied before divided: 95 % of 20 must be rank 19, not the next above 19.000000000000004. */
    double rank = ceil(percent * (double)h->n_values / 100);
    uint64_t n_up_to = 0;

    if (rank >= (double)h->n_values)
        return (double)h->greatest;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        n_up_to += h->n_in_bucket[i];
        if (n_up_to > 0 && (double)n_up_to >= rank)
            return fmin(fmax(bucket_value(i), (double)h->least), (double)h->greatest);
    }
    return (double)h->greatest;
}

struct percentiles histogram_percentiles(const struct histogram *h)
{
    return (struct percentiles){ .p50 = histogram_percentile(h, 50),
                                 .p95 = histogram_percentile(h, 95),
                                 .p99 = histogram_percentile(h, 99) };
}
