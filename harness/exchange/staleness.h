/* SPDX-License-Identifier: Apache-2.0 */
/*
 * staleness.h - bins of a histogram of staleness in fixed memory: one for each count below 32, then four to the octave.
 *
 *   bin    0  1 ... 31  32  33  34  35  36 ... 39  40 ...  60   61   62   63
 *   first  0  1 ... 31  32  40  48  56  64 ... 112 128 ... 4096 5120 6144 7168, and all above
 */
#ifndef HARNESS_EXCHANGE_STALENESS_H
#define HARNESS_EXCHANGE_STALENESS_H

#include <stdint.h>

enum { STALENESS_EXACT = 32, STALENESS_BINS = 64 };

/* The least count of bin i < STALENESS_BINS. */
static inline uint64_t staleness_bin_first(int i)
{
    const int octave = (i - STALENESS_EXACT) / 4, quarter = (i - STALENESS_EXACT) % 4;

    return i < STALENESS_EXACT ? (uint64_t)i : (uint64_t)(4 + quarter) << (octave + 3);
}

/* The bin that counts this one. */
static inline int staleness_bin(uint64_t count)
{
    int i = count < STALENESS_EXACT ? (int)count : STALENESS_EXACT;

    while (i + 1 < STALENESS_BINS && staleness_bin_first(i + 1) <= count)
        i++;
    return i;
}

#endif
