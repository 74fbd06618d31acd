/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dropout.h - which elements dropout keeps: a pure function, the same on every backend (C and CUDA C++ read it).
 *
 * Element i is kept when the upper 24 bits of number i of SplitMix64 from `key` (Steele, Lea, Flood, OOPSLA 2014)
 * lie below keep_ratio 2^24.
 */
#ifndef HARNESS_COMPUTE_DROPOUT_H
#define HARNESS_COMPUTE_DROPOUT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define DROPOUT_INLINE static inline __host__ __device__
#else
#define DROPOUT_INLINE static inline
#endif

#define DROPOUT_GAMMA UINT64_C(0x9e3779b97f4a7c15)

DROPOUT_INLINE bool dropout_kept(uint64_t key, uint64_t i, float keep_ratio)
{
    uint64_t z = key + (i + 1) * DROPOUT_GAMMA;

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return (float)(z >> 40) < keep_ratio * 16777216.0f;
}

/* The key by which element i is kept as element first + i is by `key`. */
DROPOUT_INLINE uint64_t dropout_key_from(uint64_t key, uint64_t first)
{
    return key + first * DROPOUT_GAMMA;
}

#endif
