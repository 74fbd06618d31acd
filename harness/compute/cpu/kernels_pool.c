/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels_pool.c - the loops of max pooling: see kernels.h. Compiled several times, as kernels.c is: CPU_POOL_KERNELS
 * is the name of this build's table.
 *
 * Of values that are equal the first tap wins, of NaNs the first one: a later value replaces the best if it is larger,
 * or a NaN while the best is none. So it does not matter whether taps are compared one after the other or in pairs.
 */
#include "harness/compute/cpu/kernels.h"

#include <string.h>

enum { PAIRS = 1024 }; /* pairs of columns at a time: they stay in the first-level cache */

extern const struct cpu_pool_kernels CPU_POOL_KERNELS;

static inline bool replaces(float v, float best)
{
    return (v > best) | ((v != v) & (best == best)); /* no branch, which data would mispredict */
}

static void max_tap_strided(float *restrict best, int32_t *restrict argmax, const float *restrict from, size_t stride,
                            int32_t k, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float v = from[i * stride], b = best[i];
        const bool take = replaces(v, b);
        best[i] = take ? v : b;
        argmax[i] = take ? k : argmax[i];
    }
}

static void max_tap(float *best, int32_t *argmax, const float *from, size_t stride, int32_t k, size_t n)
{
    if (stride == 1)
        max_tap_strided(best, argmax, from, 1, k, n);
    else if (stride == 2)
        max_tap_strided(best, argmax, from, 2, k, n);
    else
        max_tap_strided(best, argmax, from, stride, k, n);
}

static void narrow(uint8_t *restrict to, const int32_t *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (uint8_t)from[i];
}

/* best[i], tap[i]: the larger of x[2 i] and x[2 i + 1], and which it is. */
static void pair_columns(float *restrict best, int32_t *restrict tap, const float *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float a = x[2 * i], b = x[2 * i + 1];
        const bool take = replaces(b, a);
        best[i] = take ? b : a;
        tap[i] = take ? 1 : 0;
    }
}

struct halves { /* the rows of a block: first those of even number, then the others */
    float best[2][PAIRS / 2];
    int32_t tap[2][PAIRS / 2];
};

static inline void split_rows(struct halves *to, const float *restrict best, const int32_t *restrict tap, size_t out_w,
                              size_t n_rows)
{
    for (size_t i = 0; i < 2 * n_rows; i++) {
        memcpy(to->best[i % 2] + i / 2 * out_w, best + i * out_w, out_w * sizeof *best);
        memcpy(to->tap[i % 2] + i / 2 * out_w, tap + i * out_w, out_w * sizeof *tap);
    }
}

/* Rows of known length are copied by single instructions. */
static void split_block(struct halves *to, const float *best, const int32_t *tap, size_t out_w, size_t n_rows)
{
    if (out_w == 2)
        split_rows(to, best, tap, 2, n_rows);
    else if (out_w == 4)
        split_rows(to, best, tap, 4, n_rows);
    else
        split_rows(to, best, tap, out_w, n_rows);
}

/* y[n], argmax[n]: the larger of a row of pairs and of the row below it. */
static void pair_rows(float *restrict y, uint8_t *restrict argmax, const struct halves *from, size_t n)
{
    int32_t tap[PAIRS / 2];

    for (size_t i = 0; i < n; i++) {
        const float a = from->best[0][i], b = from->best[1][i];
        const bool take = replaces(b, a);
        y[i] = take ? b : a;
        tap[i] = take ? 2 + from->tap[1][i] : from->tap[0][i];
    }
    narrow(argmax, tap, n);
}

/* Rows of any width. */
static void max_quads_any(float *y, uint8_t *argmax, const float *x, size_t out_w, size_t n_rows)
{
    const size_t most = PAIRS / (2 * out_w);
    float best[PAIRS];
    int32_t tap[PAIRS];
    struct halves halves;

    for (size_t row = 0; row < n_rows; row += most) {
        const size_t n = n_rows - row < most ? n_rows - row : most;
        pair_columns(best, tap, x + 4 * row * out_w, 2 * n * out_w);
        split_block(&halves, best, tap, out_w, n);
        pair_rows(y + row * out_w, argmax + row * out_w, &halves, n * out_w);
    }
}

/* Rows of few outputs are too short for a compiler's loops over vectors of its own choice, and rows of scratch between
 * them cost more than the comparisons. */
typedef float eight __attribute__((vector_size(32), aligned(4), may_alias)); /* in an array of floats */
typedef int32_t eight_taps __attribute__((vector_size(32)));
typedef uint8_t eight_bytes __attribute__((vector_size(8), aligned(1), may_alias)); /* in an array of bytes */

/* The 16 inputs of 8 windows in each of their two rows: first those of windows 0 to 3, then those of 4 to 7. */
struct window_rows {
    eight top[2], below[2];
};

/* replaces(), of eight. Vectors go by pointer: without AVX they are no arguments. */
static inline void take_larger(eight *best, eight_taps *tap, const eight *v, int32_t tap_of_v)
{
    const eight b = *best;
    const eight_taps take = ~(*v <= b) & (b == *best); /* no NaN equals itself */

    *best = (eight)((take & (eight_taps)*v) | (~take & (eight_taps)b));
    *tap = (take & tap_of_v) | (~take & *tap);
}

#define EVEN(row) __builtin_shufflevector((row)[0], (row)[1], 0, 2, 4, 6, 8, 10, 12, 14)
#define ODD(row) __builtin_shufflevector((row)[0], (row)[1], 1, 3, 5, 7, 9, 11, 13, 15)

static inline void max_eight(float *y, uint8_t *argmax, const struct window_rows *in)
{
    const eight right = ODD(in->top), below = EVEN(in->below), below_right = ODD(in->below);
    eight best = EVEN(in->top);
    eight_taps tap = { 0 };

    take_larger(&best, &tap, &right, 1);
    take_larger(&best, &tap, &below, 2);
    take_larger(&best, &tap, &below_right, 3);
    *(eight *)y = best;
    *(eight_bytes *)argmax = __builtin_convertvector(tap, eight_bytes);
}

/* The 8 windows from x on: of one row of W inputs and the next, of two such pairs where W is 8, of four where it is 4.
 */
static inline struct window_rows load_rows(const float *x, size_t W)
{
    const eight *in = (const eight *)x;

    if (W == 4) { /* each vector is a row of one pair, and the row below it */
        const eight a = in[0], b = in[1], c = in[2], d = in[3];
        return (struct window_rows){ { __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11),
                                       __builtin_shufflevector(c, d, 0, 1, 2, 3, 8, 9, 10, 11) },
                                     { __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15),
                                       __builtin_shufflevector(c, d, 4, 5, 6, 7, 12, 13, 14, 15) } };
    }
    if (W == 8)
        return (struct window_rows){ { in[0], in[2] }, { in[1], in[3] } };
    return (struct window_rows){ { in[0], in[1] }, { *(const eight *)(x + W), *(const eight *)(x + W + 8) } };
}

/* Rows of outputs that eight at a time cover, of n_rows: 0 where the width fits no eight. */
static size_t rows_in_eights(size_t out_w, size_t n_rows)
{
    if (out_w == 2 || out_w == 4)
        return n_rows - n_rows % (8 / out_w);
    return out_w % 8 == 0 ? n_rows : 0;
}

static inline void max_eights(float *y, uint8_t *argmax, const float *x, size_t out_w, size_t n_rows)
{
    const size_t n_wide = out_w < 8 ? 8 : out_w; /* outputs whose inputs follow each other, a row above a row */

    for (size_t from = 0; from < n_rows * out_w; from += n_wide)
        for (size_t i = 0; i < n_wide; i += 8) {
            const struct window_rows in = load_rows(x + 4 * from + 2 * i, 2 * out_w);
            max_eight(y + from + i, argmax + from + i, &in);
        }
}

static void max_quads(float *y, uint8_t *argmax, const float *x, size_t out_w, size_t n_rows)
{
    const size_t n_fast = rows_in_eights(out_w, n_rows);

    if (out_w == 2)
        max_eights(y, argmax, x, 2, n_fast);
    else if (out_w == 4)
        max_eights(y, argmax, x, 4, n_fast);
    else
        max_eights(y, argmax, x, out_w, n_fast);
    max_quads_any(y + n_fast * out_w, argmax + n_fast * out_w, x + 4 * n_fast * out_w, out_w, n_rows - n_fast);
}

/* top(2 n), below(2 n): dy where the argmax is this one of the four inputs of an output, else 0. */
static void spread(float *restrict top, float *restrict below, const float *restrict dy, const uint8_t *restrict argmax,
                   size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float d = 0.0f + dy[i]; /* -0 becomes 0, as where gradients are added to 0 */
        top[2 * i] = argmax[i] == 0 ? d : 0.0f;
        top[2 * i + 1] = argmax[i] == 1 ? d : 0.0f;
        below[2 * i] = argmax[i] == 2 ? d : 0.0f;
        below[2 * i + 1] = argmax[i] == 3 ? d : 0.0f;
    }
}

/* dx(2 n_rows, W) = rows of top and of below in turns. */
static inline void interleave_rows(float *restrict dx, const float *restrict top, const float *restrict below, size_t W,
                                   size_t n_rows)
{
    for (size_t i = 0; i < n_rows; i++) {
        memcpy(dx + 2 * i * W, top + i * W, W * sizeof *dx);
        memcpy(dx + (2 * i + 1) * W, below + i * W, W * sizeof *dx);
    }
}

static void max_quads_grad(float *dx, const float *dy, const uint8_t *argmax, size_t out_w, size_t n_rows)
{
    const size_t most = PAIRS / (2 * out_w);
    float top[PAIRS], below[PAIRS];

    for (size_t row = 0; row < n_rows; row += most) {
        const size_t n = n_rows - row < most ? n_rows - row : most;
        spread(top, below, dy + row * out_w, argmax + row * out_w, n * out_w);
        if (out_w == 2)
            interleave_rows(dx + 4 * row * 2, top, below, 4, n);
        else if (out_w == 4)
            interleave_rows(dx + 4 * row * 4, top, below, 8, n);
        else
            interleave_rows(dx + 4 * row * out_w, top, below, 2 * out_w, n);
    }
}

const struct cpu_pool_kernels CPU_POOL_KERNELS = {
    .quads_max_w = PAIRS / 2,
    .max_tap = max_tap,
    .narrow = narrow,
    .max_quads = max_quads,
    .max_quads_grad = max_quads_grad,
};
