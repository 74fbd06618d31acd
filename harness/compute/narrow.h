/* SPDX-License-Identifier: Apache-2.0 */
/*
 * narrow.h - a float32 in 16 bits, as messages carry it: IEEE 754 binary16 (fp16) and bfloat16.
 *
 *            exponent  fraction  smallest above 0  largest
 *   float32  8         23        2^-149            3.4e38
 *   fp16     5         10        2^-24             65504
 *   bf16     8         7         2^-133            3.39e38
 *
 * Branches are selections of integers, so that compilers turn loops over these functions into vector code, which gives
 * the same bits on every instruction set.
 *
 * Invariants
 *   H1  To 16 bits: the nearest value; of two equally near ones, the one whose last bit is 0. A finite value beyond the
 *       largest becomes the largest, with its sign; infinity stays infinity, NaN stays NaN.
 *   H2  From 16 bits: exact. So a value from 16 bits converts back to the same bits, except a signalling NaN.
 */
#ifndef HARNESS_COMPUTE_NARROW_H
#define HARNESS_COMPUTE_NARROW_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum wire_format { WIRE_F32, WIRE_F16, WIRE_BF16, N_WIRE_FORMATS }; /* of the floats of a message */

/* Bytes of one. */
static inline size_t wire_elem_bytes(enum wire_format format)
{
    return format == WIRE_F32 ? sizeof(float) : sizeof(uint16_t);
}

enum { /* of a float32's bits */
       F32_INFINITY = 0x7f800000,
       F32_MAGNITUDE = 0x7fffffff,
       F32_HALF = 0x3f000000,       /* 0.5: its last bit is 2^-24, like that of fp16's denormal numbers */
       F32_F16_NORMAL = 0x38800000, /* 2^-14, the smallest fp16 that is not denormal */
       F32_TO_F16_EXPONENT = (127 - 15) << 23
};

static inline uint32_t f32_bits(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float f32_of_bits(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* compute.H1. Below 2^-14 the sum with 0.5 rounds at 2^-24. */
static inline uint16_t f16_of_f32(float x)
{
    const uint32_t bits = f32_bits(x), magnitude = bits & F32_MAGNITUDE, sign = (bits >> 16) & 0x8000u;
    const uint32_t denormal = f32_bits(f32_of_bits(magnitude) + 0.5f) - F32_HALF;
    const uint32_t rounded = (magnitude - F32_TO_F16_EXPONENT + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    const uint32_t normal = rounded > 0x7bffu ? 0x7bffu : rounded;
    const uint32_t finite = magnitude < F32_F16_NORMAL ? denormal : normal;
    const uint32_t other = magnitude > F32_INFINITY ? 0x7e00u | ((magnitude >> 13) & 0x1ffu) : 0x7c00u;

    return (uint16_t)(sign | (magnitude < F32_INFINITY ? finite : other));
}

/* compute.H2. A denormal number is the difference of two normal ones. */
static inline float f32_of_f16(uint16_t half)
{
    const uint32_t magnitude = half & 0x7fffu, sign = (uint32_t)(half & 0x8000u) << 16;
    const uint32_t normal = (magnitude << 13) + F32_TO_F16_EXPONENT;
    const uint32_t denormal = f32_bits(f32_of_bits((magnitude << 13) + F32_F16_NORMAL) - f32_of_bits(F32_F16_NORMAL));
    const uint32_t other = (magnitude << 13) | F32_INFINITY;
    const uint32_t finite = magnitude < 0x400u ? denormal : normal;

    return f32_of_bits(sign | (magnitude < 0x7c00u ? finite : other));
}

/* compute.H1 */
static inline uint16_t bf16_of_f32(float x)
{
    const uint32_t bits = f32_bits(x), magnitude = bits & F32_MAGNITUDE, sign = (bits >> 16) & 0x8000u;
    const uint32_t rounded = (magnitude + 0x7fffu + ((magnitude >> 16) & 1u)) >> 16;
    const uint32_t finite = rounded > 0x7f7fu ? 0x7f7fu : rounded;
    const uint32_t other = magnitude > F32_INFINITY ? (magnitude >> 16) | 0x40u : 0x7f80u;

    return (uint16_t)(sign | (magnitude < F32_INFINITY ? finite : other));
}

/* compute.H2 */
static inline float f32_of_bf16(uint16_t half)
{
    return f32_of_bits((uint32_t)half << 16);
}

#endif
