/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_narrow.c - floats to 16 bits and back: see kernels.h; the rounding is narrow.h's. Compiled as kernels.c is.
 */
#include "harness/compute/cpu/kernels.h"
#include "harness/compute/narrow.h"

extern const struct cpu_narrow_kernels CPU_NARROW_KERNELS;

/* The loops of one format, each over [n]. */
#define LOOPS(format)                                                                               \
    static void narrow_##format(uint16_t *restrict to, const float *restrict from, size_t n)        \
    {                                                                                               \
        for (size_t i = 0; i < n; i++)                                                              \
            to[i] = format##_of_f32(from[i]);                                                       \
    }                                                                                               \
    static void widen_##format(float *restrict to, const uint16_t *restrict from, size_t n)         \
    {                                                                                               \
        for (size_t i = 0; i < n; i++)                                                              \
            to[i] = f32_of_##format(from[i]);                                                       \
    }                                                                                               \
    static void widen_add_##format(float *restrict to, const uint16_t *restrict from, size_t n)     \
    {                                                                                               \
        for (size_t i = 0; i < n; i++)                                                              \
            to[i] += f32_of_##format(from[i]);                                                      \
    }                                                                                               \
    static void round_##format(float *restrict x, float *restrict residual, size_t n)               \
    {                                                                                               \
        for (size_t i = 0; i < n && !residual; i++)                                                 \
            x[i] = f32_of_##format(format##_of_f32(x[i]));                                          \
        for (size_t i = 0; i < n && residual; i++) {                                                \
            const float given = x[i] + residual[i], sent = f32_of_##format(format##_of_f32(given)); \
            residual[i] = given - sent;                                                             \
            x[i] = sent;                                                                            \
        }                                                                                           \
    }
LOOPS(f16)
LOOPS(bf16)

const struct cpu_narrow_kernels CPU_NARROW_KERNELS = {
    .narrow = { [WIRE_F16] = narrow_f16, [WIRE_BF16] = narrow_bf16 },
    .widen = { [WIRE_F16] = widen_f16, [WIRE_BF16] = widen_bf16 },
    .widen_add = { [WIRE_F16] = widen_add_f16, [WIRE_BF16] = widen_add_bf16 },
    .round = { [WIRE_F16] = round_f16, [WIRE_BF16] = round_bf16 },
};
