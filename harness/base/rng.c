/* SPDX-License-Identifier: Apache-2.0 */
/* rng.c - counter-based random numbers and permutations. */
#include "harness/base/rng.h"

#include <assert.h>
#include <math.h>

static uint64_t mix(uint64_t z)
{
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t rng_u64(uint64_t seed, enum rng_stream stream, uint64_t i)
{
    return mix(mix(mix(seed) ^ (uint64_t)stream) ^ i);
}

double rng_uniform(uint64_t seed, enum rng_stream stream, uint64_t i)
{
    return (double)(rng_u64(seed, stream, i) >> 11) * 0x1p-53;
}

double rng_normal(uint64_t seed, enum rng_stream stream, uint64_t i)
{
    double u = 1.0 - rng_uniform(seed, stream, 2 * i); /* (0, 1]: its logarithm is finite */
    double v = rng_uniform(seed, stream, 2 * i + 1);

    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

uint64_t rng_permute(uint64_t seed, uint64_t key, uint64_t i, uint64_t n)
{
    enum { N_ROUNDS = 4 };
    unsigned half_bits = 1;

    assert(i < n);
    while (half_bits < 32 && (UINT64_C(1) << (2 * half_bits)) < n)
        half_bits++;
    const uint64_t mask = (UINT64_C(1) << half_bits) - 1;
    do { /* the network permutes [0, 4^half_bits); walk its cycle until back inside [0, n) */
        uint64_t left = i >> half_bits, right = i & mask;
        for (uint64_t round = 0; round < N_ROUNDS; round++) {
            uint64_t next = left ^ (rng_u64(seed ^ mix(key), RNG_SHUFFLE, (round << 32) | right) & mask);
            left = right;
            right = next;
        }
        i = (left << half_bits) | right;
    } while (i >= n);
    return i;
}
