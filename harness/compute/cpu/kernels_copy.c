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

/* Rows of small images are too short for a compiler's loops over vectors of its own choice. */
typedef float four __attribute__((vector_size(16), aligned(4), may_alias)); /* in an array of floats */
typedef float eight __attribute__((vector_size(32), aligned(4), may_alias));

/* even, odd(n) = from(2 n), every other element. */
static inline void split_row(float *restrict even, float *restrict odd, const float *restrict from, size_t n)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        const eight a = *(const eight *)(from + 2 * i), b = *(const eight *)(from + 2 * i + 8);
        const eight e = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
        const eight o = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
        *(eight *)(even + i) = e;
        *(eight *)(odd + i) = o;
    }
    for (; i + 4 <= n; i += 4) {
        const four a = *(const four *)(from + 2 * i), b = *(const four *)(from + 2 * i + 4);
        const four e = __builtin_shufflevector(a, b, 0, 2, 4, 6), o = __builtin_shufflevector(a, b, 1, 3, 5, 7);
        *(four *)(even + i) = e;
        *(four *)(odd + i) = o;
    }
    for (; i < n; i++) {
        even[i] = from[2 * i];
        odd[i] = from[2 * i + 1];
    }
}

/* The reverse: to(2 n) +=. */
static inline void add_row(float *restrict to, const float *restrict even, const float *restrict odd, size_t n)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        const eight e = *(const eight *)(even + i), o = *(const eight *)(odd + i);
        *(eight *)(to + 2 * i) += __builtin_shufflevector(e, o, 0, 8, 1, 9, 2, 10, 3, 11);
        *(eight *)(to + 2 * i + 8) += __builtin_shufflevector(e, o, 4, 12, 5, 13, 6, 14, 7, 15);
    }
    for (; i + 4 <= n; i += 4) {
        const four e = *(const four *)(even + i), o = *(const four *)(odd + i);
        *(four *)(to + 2 * i) += __builtin_shufflevector(e, o, 0, 4, 1, 5);
        *(four *)(to + 2 * i + 4) += __builtin_shufflevector(e, o, 2, 6, 3, 7);
    }
    for (; i < n; i++) {
        to[2 * i] += even[i];
        to[2 * i + 1] += odd[i];
    }
}

/* Where a row of a block has its even columns among the four phases; its odd ones are a phase behind. */
static inline size_t phase_offset(size_t row, size_t phase_elems, size_t W)
{
    return row % 2 * 2 * phase_elems + row / 2 * (W / 2);
}

static void split_phases(float *to, size_t phase_elems, const float *from, size_t n_rows, size_t W)
{
    for (size_t row = 0; row < n_rows; row++) {
        float *even = to + phase_offset(row, phase_elems, W);
        split_row(even, even + phase_elems, from + row * W, W / 2);
    }
}

static void add_phases(float *to, const float *from, size_t phase_elems, size_t n_rows, size_t W)
{
    for (size_t row = 0; row < n_rows; row++) {
        const float *even = from + phase_offset(row, phase_elems, W);
        add_row(to + row * W, even, even + phase_elems, W / 2);
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
