/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels_winograd.c - the transforms of winograd.c: see kernels.h. Compiled several times, as kernels.c is:
 * CPU_WINOGRAD_KERNELS is the name of this build's table.
 *
 * Element t of every array belongs to tile t. What lies outside an image may be NaN and may not spread, so that it is
 * replaced by 0, not multiplied. It is read all the same: the element before odd columns is one of even ones, and the
 * element after even columns is one of odd ones.
 */
#include "harness/compute/cpu/kernels.h"

extern const struct cpu_winograd_kernels CPU_WINOGRAD_KERNELS;

/* Columns of d B of one row of pixels, even and odd ones apart: to[b] for b = 0 .. 3. */
static void input_columns(float *restrict to, size_t to_elems, const float *restrict even, const float *restrict odd,
                          const float *restrict has_left, const float *restrict has_right, size_t n)
{
    for (size_t t = 0; t < n; t++)
        to[t] = (has_left[t] != 0.0f ? (odd - 1)[t] : 0.0f) - odd[t];
    for (size_t t = 0; t < n; t++)
        to[to_elems + t] = even[t] + odd[t];
    for (size_t t = 0; t < n; t++)
        to[2 * to_elems + t] = odd[t] - even[t];
    for (size_t t = 0; t < n; t++)
        to[3 * to_elems + t] = even[t] - (has_right[t] != 0.0f ? even[t + 1] : 0.0f);
}

/* The four rows of B^T (d B) for one of its columns. */
static void input_rows(float *restrict to, size_t row_elems, const float *restrict even, const float *restrict odd,
                       const struct winograd_borders *border, size_t out_w, size_t n)
{
    const float *restrict has_above = border->above, *restrict has_below = border->below;
    const float *restrict odd_above = odd - out_w, *restrict even_below = even + out_w;

    for (size_t t = 0; t < n; t++)
        to[t] = (has_above[t] != 0.0f ? odd_above[t] : 0.0f) - odd[t];
    for (size_t t = 0; t < n; t++)
        to[row_elems + t] = even[t] + odd[t];
    for (size_t t = 0; t < n; t++)
        to[2 * row_elems + t] = odd[t] - even[t];
    for (size_t t = 0; t < n; t++)
        to[3 * row_elems + t] = even[t] - (has_below[t] != 0.0f ? even_below[t] : 0.0f);
}

static void input(float *to, size_t frequency_elems, const float *phase, size_t phase_elems, float *scratch,
                  const struct winograd_borders *border, size_t out_w, size_t n)
{
    float *even = scratch, *odd = even + WINOGRAD_SIDE * phase_elems;

    input_columns(even, phase_elems, phase, phase + phase_elems, border->left, border->right, n);
    input_columns(odd, phase_elems, phase + 2 * phase_elems, phase + 3 * phase_elems, border->left, border->right, n);
    for (size_t b = 0; b < WINOGRAD_SIDE; b++)
        input_rows(to + b * frequency_elems, WINOGRAD_SIDE * frequency_elems, even + b * phase_elems,
                   odd + b * phase_elems, border, out_w, n);
}

static void output(float *restrict phase, size_t phase_elems, const float *restrict from, size_t frequency_elems,
                   size_t n)
{
    for (size_t t = 0; t < n; t++) {
        float upper[WINOGRAD_SIDE], lower[WINOGRAD_SIDE];

        for (size_t b = 0; b < WINOGRAD_SIDE; b++) {
            const float *m = from + b * frequency_elems + t;
            const float m1 = m[WINOGRAD_SIDE * frequency_elems], m2 = m[2 * WINOGRAD_SIDE * frequency_elems];
            upper[b] = m[0] + m1 + m2;
            lower[b] = m1 - m2 - m[3 * WINOGRAD_SIDE * frequency_elems];
        }
        phase[t] = upper[0] + upper[1] + upper[2];
        phase[phase_elems + t] = upper[1] - upper[2] - upper[3];
        phase[2 * phase_elems + t] = lower[0] + lower[1] + lower[2];
        phase[3 * phase_elems + t] = lower[1] - lower[2] - lower[3];
    }
}

/* One row of A dy, whose columns are a and b, times A^T. */
static void output_grad_row(float *restrict to, size_t frequency_elems, const float *restrict a,
                            const float *restrict b, size_t n)
{
    for (size_t t = 0; t < n; t++) {
        to[t] = a[t];
        to[frequency_elems + t] = a[t] + b[t];
        to[2 * frequency_elems + t] = a[t] - b[t];
        to[3 * frequency_elems + t] = -b[t];
    }
}

static void output_grad(float *to, size_t frequency_elems, const float *phase, size_t phase_elems, float *scratch,
                        size_t n)
{
    const size_t row_elems = WINOGRAD_SIDE * frequency_elems;

    output_grad_row(to, frequency_elems, phase, phase + phase_elems, n);
    for (size_t column = 0; column < 2; column++) {
        const float *restrict upper = phase + column * phase_elems, *restrict lower = upper + 2 * phase_elems;
        float *restrict sum = scratch + column * phase_elems, *restrict difference = sum + 2 * phase_elems;
        for (size_t t = 0; t < n; t++) {
            sum[t] = upper[t] + lower[t];
            difference[t] = upper[t] - lower[t];
        }
    }
    output_grad_row(to + row_elems, frequency_elems, scratch, scratch + phase_elems, n);
    output_grad_row(to + 2 * row_elems, frequency_elems, scratch + 2 * phase_elems, scratch + 3 * phase_elems, n);
    for (size_t column = 0; column < 2; column++) {
        const float *restrict lower = phase + (2 + column) * phase_elems;
        float *restrict negative = scratch + column * phase_elems;
        for (size_t t = 0; t < n; t++)
            negative[t] = -lower[t];
    }
    output_grad_row(to + 3 * row_elems, frequency_elems, scratch, scratch + phase_elems, n);
}

const struct cpu_winograd_kernels CPU_WINOGRAD_KERNELS = {
    .input = input,
    .output = output,
    .output_grad = output_grad,
};
