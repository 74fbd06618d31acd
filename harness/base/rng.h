/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rng.h - random numbers as pure functions of (seed, stream, i): no state, any order, any rank.
 *
 * The mixer is SplitMix64's finaliser (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
 * Generators, OOPSLA 2014). Not for secrets.
 */
#ifndef HARNESS_BASE_RNG_H
#define HARNESS_BASE_RNG_H

#include <stdint.h>

/* One stream per use, so that no two uses share numbers. */
enum rng_stream {
    RNG_DATA_X = 1,
    RNG_DATA_NOISE,
    RNG_SHUFFLE,
    RNG_INIT,
    RNG_TEST,
    RNG_DROPOUT,
    RNG_PATTERN,
    RNG_IMAGE,
    RNG_LAUNCH_ORDER,
    RNG_JITTER,
    RNG_DRILL,
    RNG_REPLICA,
    RNG_PART,
    RNG_SPLIT,
    RNG_SPLIT_NORMAL,
    RNG_FAULT,
    RNG_NOISE,
    RNG_FLIP,
    RNG_LOSS
};

/* 64 uniform bits. Cannot fail. */
uint64_t rng_u64(uint64_t seed, enum rng_stream stream, uint64_t i);
/* Uniform in [0, 1), 53 bits. */
double rng_uniform(uint64_t seed, enum rng_stream stream, uint64_t i);
/* Standard normal (Box-Muller on numbers 2i and 2i+1 of the stream). */
double rng_normal(uint64_t seed, enum rng_stream stream, uint64_t i);
/* The index of i in a permutation of [0, n) drawn from (seed, key): a Feistel network with cycle walking. i < n, n >=
 * 1. O(1) expected. */
uint64_t rng_permute(uint64_t seed, uint64_t key, uint64_t i, uint64_t n);

#endif
