/* SPDX-License-Identifier: Apache-2.0 */
/* collective_values.h - what ranks bring to the calls of the suite. Test-only. */
#ifndef ALLREDUCE_SUITE_COLLECTIVE_VALUES_H
#define ALLREDUCE_SUITE_COLLECTIVE_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "harness/compute/narrow.h"
#include "harness/exchange/collective.h"

static inline uint32_t bits_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Small integers, whose sums are exact; in 16 bits (A10) those up to 256 are. */
static inline float addend(enum wire_format wire, int rank, size_t i, int round)
{
    const int n_values = wire == WIRE_F32 ? 97 : 23;

    return (float)((int)((i * 7 + (size_t)rank * 13 + (size_t)round * 5) % (size_t)n_values) - n_values * 2 / 5);
}

/* Arbitrary bits; -0 first. */
static inline uint32_t copied(int rank, size_t i, int round)
{
    if (i == 0 && round == 0)
        return 0x80000000u;
    return (uint32_t)i * 2654435761u + (uint32_t)rank * 1000003u + (uint32_t)round * 97u;
}

/* Does a rank end with sums? Else with copies. */
static inline bool sums(enum collective_type type)
{
    return type == COLL_ALLREDUCE || type == COLL_REDUCE_SCATTER;
}

#endif
