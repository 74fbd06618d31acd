/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels_copy.c - the loops of im2col and its reverse: see kernels.h. Compiled several times, as kernels.c is:
 * CPU_COPY_KERNELS is the name of this build's table.
 */
#include "harness/compute/cpu/kernels.h"

extern const struct cpu_copy_kernels CPU_COPY_KERNELS;

static void strided_copy(float *restrict to, const float *restrict from, size_t stride, size_t n)
{
    if (stride == 2)
        for (size_t i = 0; i < n; i++)
            to[i] = from[2 * i];
    else
        for (size_t i = 0; i < n; i++)
            to[i] = from[i * stride];
}

static void masked_copy(float *restrict to, const float *restrict from, const float *restrict mask, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = mask[i] != 0.0f ? from[i] : 0.0f;
}

static void masked_add(float *restrict to, const float *restrict from, const float *restrict mask, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = mask[i] != 0.0f ? to[i] + from[i] : to[i];
}

static void strided_add(float *restrict to, size_t stride, const float *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i * stride] += from[i];
}

const struct cpu_copy_kernels CPU_COPY_KERNELS = {
    .strided_copy = strided_copy,
    .strided_add = strided_add,
    .masked_copy = masked_copy,
    .masked_add = masked_add,
};
