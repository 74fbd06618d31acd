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

static void split_phases(float *restrict to, size_t phase_elems, const float *restrict from, size_t n_rows, size_t W)
{
    for (size_t row = 0; row < n_rows; row++, from += W) {
        float *restrict even = to + row % 2 * 2 * phase_elems + row / 2 * (W / 2), *restrict odd = even + phase_elems;
        for (size_t i = 0; i < W / 2; i++) {
            even[i] = from[2 * i];
            odd[i] = from[2 * i + 1];
        }
    }
}

static void add_phases(float *restrict to, const float *restrict from, size_t phase_elems, size_t n_rows, size_t W)
{
    for (size_t row = 0; row < n_rows; row++, to += W) {
        const float *restrict even = from + row % 2 * 2 * phase_elems + row / 2 * (W / 2);
        const float *restrict odd = even + phase_elems;
        for (size_t i = 0; i < W / 2; i++) {
            to[2 * i] += even[i];
            to[2 * i + 1] += odd[i];
        }
    }
}

const struct cpu_copy_kernels CPU_COPY_KERNELS = {
    .strided_copy = strided_copy,
    .strided_add = strided_add,
    .masked_copy = masked_copy,
    .masked_add = masked_add,
    .split_phases = split_phases,
    .add_phases = add_phases,
};
