/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels_winograd.c - the transforms of winograd.c: see kernels.h. Compiled several times, as kernels.c is:
 * CPU_WINOGRAD_KERNELS is the name of this build's table.
 *
 * Eight tiles at a time go from the pixels to all 16 frequencies, or back, in registers. They lie side by side in a row
 * of tiles ("a strip" is such a column of an image, eight tiles wide); in images four tiles wide they are two rows, one
 * above the other. The last tiles of a row may be fewer: what is written behind them is overwritten by what comes
 * there, as such a strip is the first of its image, and tiles go up.
 */
#include <string.h>

#include "harness/compute/cpu/kernels.h"

extern const struct cpu_winograd_kernels CPU_WINOGRAD_KERNELS;

typedef float eight __attribute__((vector_size(32), aligned(4), may_alias)); /* in an array of floats */

enum { LANES = WINOGRAD_LANES, PIXELS = 2 * LANES, HALF = LANES / 2 };

/* One of each tile. */
struct pixels {
    eight even, odd; /* columns */
};

static inline struct pixels pixels_of(eight a, eight b)
{
    return (struct pixels){ __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14),
                            __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15) };
}

/* x(n), and 0 behind where n < PIXELS. */
static inline struct pixels load(const float *x, size_t n)
{
    float padded[PIXELS] = { 0 };

    if (n < PIXELS)
        x = memcpy(padded, x, n * sizeof *x);
    return pixels_of(*(const eight *)x, *(const eight *)(x + LANES));
}

/* upper(8), lower(8): of two rows of tiles. */
static inline struct pixels load_pair(const float *upper, const float *lower)
{
    return pixels_of(*(const eight *)upper, *(const eight *)lower);
}

static inline void put(float *to, eight x, bool add)
{
    if (add)
        x = *(const eight *)to + x;
    *(eight *)to = x;
}

/* y(n) = or += p. */
static inline void store(float *y, const struct pixels *p, size_t n, bool add)
{
    const eight a = __builtin_shufflevector(p->even, p->odd, 0, 8, 1, 9, 2, 10, 3, 11);
    const eight b = __builtin_shufflevector(p->even, p->odd, 4, 12, 5, 13, 6, 14, 7, 15);
    float padded[PIXELS];

    if (n == PIXELS) {
        put(y, a, add);
        put(y + LANES, b, add);
        return;
    }
    put(padded, a, false);
    put(padded + LANES, b, false);
    for (size_t i = 0; i < n; i++)
        y[i] = add ? y[i] + padded[i] : padded[i];
}

static inline void store_pair(float *upper, float *lower, const struct pixels *p, bool add)
{
    put(upper, __builtin_shufflevector(p->even, p->odd, 0, 8, 1, 9, 2, 10, 3, 11), add);
    put(lower, __builtin_shufflevector(p->even, p->odd, 4, 12, 5, 13, 6, 14, 7, 15), add);
}

/* --- to = B^T d B --- */

/* A row of d B. */
struct columns {
    eight at[WINOGRAD_SIDE];
};

static inline struct columns columns_of(const struct pixels *p, eight left_odd, eight right_even)
{
    return (struct columns){ { left_odd - p->odd, p->even + p->odd, p->odd - p->even, p->even - right_even } };
}

/* Of the n pixels at x, in whose row there are others on the left, or the right. */
static inline struct columns strip_columns(const float *x, size_t n, bool has_left, bool has_right)
{
    const struct pixels p = load(x, n);
    const float left = has_left ? x[-1] : 0.0f, right = has_right ? x[PIXELS] : 0.0f;
    const eight l = { left }, r = { right };

    return columns_of(&p, __builtin_shufflevector(l, p.odd, 0, 8, 9, 10, 11, 12, 13, 14),
                      __builtin_shufflevector(p.even, r, 1, 2, 3, 4, 5, 6, 7, 8));
}

static inline struct columns pair_columns(const float *upper, const float *lower)
{
    const struct pixels p = load_pair(upper, lower);
    const eight none = { 0 };

    return columns_of(&p, __builtin_shufflevector(none, p.odd, 0, 8, 9, 10, 0, 12, 13, 14),
                      __builtin_shufflevector(p.even, none, 1, 2, 3, 8, 5, 6, 7, 8));
}

/* All frequencies of eight tiles, from the four rows of their d B. */
static inline void write_tiles(float *to, size_t frequency_elems, const struct columns d[WINOGRAD_SIDE])
{
    for (size_t b = 0; b < WINOGRAD_SIDE; b++, to += frequency_elems) {
        const size_t row_elems = WINOGRAD_SIDE * frequency_elems;
        *(eight *)to = d[0].at[b] - d[2].at[b];
        *(eight *)(to + row_elems) = d[1].at[b] + d[2].at[b];
        *(eight *)(to + 2 * row_elems) = d[2].at[b] - d[1].at[b];
        *(eight *)(to + 3 * row_elems) = d[1].at[b] - d[3].at[b];
    }
}

/* The strip of x(H, W) that begins at tile `first` of each row, n pixels wide. */
static inline void input_strip(float *to, size_t frequency_elems, const float *x, const struct winograd_images *m,
                               size_t first, size_t n)
{
    const bool has_left = first > 0, has_right = 2 * first + n < m->W;
    struct columns d[WINOGRAD_SIDE] = { { { { 0 } } } };

    x += 2 * first;
    to += first;
    d[1] = strip_columns(x, n, has_left, has_right);
    for (size_t h = 0; h < m->H; h += 2, to += m->W / 2) {
        d[2] = strip_columns(x + (h + 1) * m->W, n, has_left, has_right);
        d[3] = h + 2 < m->H ? strip_columns(x + (h + 2) * m->W, n, has_left, has_right) : (struct columns){ 0 };
        write_tiles(to, frequency_elems, d);
        d[0] = d[2];
        d[1] = d[3];
    }
}

static void input_pairs(float *to, size_t frequency_elems, const float *x, size_t H)
{
    static const float none[LANES] = { 0 };
    struct columns d[WINOGRAD_SIDE];

    for (size_t h = 0; h < H; h += 4, to += LANES) {
        const float *row = x + h * LANES;
        const bool has_lower = h + 2 < H;
        d[0] = pair_columns(h > 0 ? row - LANES : none, row + LANES);
        d[1] = pair_columns(row, has_lower ? row + 2 * LANES : none);
        d[2] = pair_columns(row + LANES, has_lower ? row + 3 * LANES : none);
        d[3] = pair_columns(has_lower ? row + 2 * LANES : none, h + 4 < H ? row + 4 * LANES : none);
        write_tiles(to, frequency_elems, d);
    }
}

static void input(float *to, size_t frequency_elems, const float *x, const struct winograd_images *m)
{
    const size_t out_w = m->W / 2, n_last = out_w % LANES;

    for (size_t i = 0; i < m->n; i++, x += m->H * m->W, to += m->H / 2 * out_w) {
        if (out_w == HALF) {
            input_pairs(to, frequency_elems, x, m->H);
            continue;
        }
        if (n_last > 0)
            input_strip(to, frequency_elems, x, m, out_w - n_last, 2 * n_last);
        for (size_t first = out_w - n_last; first > 0; first -= LANES)
            input_strip(to, frequency_elems, x, m, first - LANES, PIXELS);
    }
}

/* --- y = A^T from A --- */

struct outputs {
    struct pixels upper, lower; /* rows */
};

static inline struct outputs outputs_of(const float *from, size_t frequency_elems)
{
    eight upper[WINOGRAD_SIDE], lower[WINOGRAD_SIDE];

    for (size_t b = 0; b < WINOGRAD_SIDE; b++) {
        const float *m = from + b * frequency_elems;
        const size_t row_elems = WINOGRAD_SIDE * frequency_elems;
        const eight m1 = *(const eight *)(m + row_elems), m2 = *(const eight *)(m + 2 * row_elems);
        upper[b] = *(const eight *)m + m1 + m2;
        lower[b] = m1 - m2 - *(const eight *)(m + 3 * row_elems);
    }
    return (struct outputs){ { upper[0] + upper[1] + upper[2], upper[1] - upper[2] - upper[3] },
                             { lower[0] + lower[1] + lower[2], lower[1] - lower[2] - lower[3] } };
}

/* n_left: tiles of this row from here on. */
static inline void output_tiles(float *y, const float *from, size_t frequency_elems, size_t W, size_t n_left, bool add)
{
    const struct outputs o = outputs_of(from, frequency_elems);
    const size_t n = n_left < LANES ? 2 * n_left : PIXELS;

    store(y, &o.upper, n, add);
    store(y + W, &o.lower, n, add);
}

static inline void output_rows(float *y, const float *from, size_t frequency_elems, const struct winograd_images *m,
                               bool add)
{
    const size_t out_w = m->W / 2;

    for (size_t row = 0; row < m->n * m->H / 2; row++, y += 2 * m->W, from += out_w)
        for (size_t t = 0; t < out_w; t += LANES)
            output_tiles(y + 2 * t, from + t, frequency_elems, m->W, out_w - t, add);
}

static inline void output_pairs(float *y, const float *from, size_t frequency_elems, const struct winograd_images *m,
                                bool add)
{
    const size_t n_rows = m->n * m->H / 2;

    for (size_t row = 0; row < n_rows; row += 2, y += 4 * LANES, from += LANES) {
        const struct outputs o = outputs_of(from, frequency_elems);
        if (row + 1 == n_rows) {
            store(y, &o.upper, LANES, add);
            store(y + LANES, &o.lower, LANES, add);
            break;
        }
        store_pair(y, y + 2 * LANES, &o.upper, add);
        store_pair(y + LANES, y + 3 * LANES, &o.lower, add);
    }
}

static void output(float *y, const float *from, size_t frequency_elems, const struct winograd_images *m, bool add)
{
    if (m->W / 2 == HALF && add)
        output_pairs(y, from, frequency_elems, m, true);
    else if (m->W / 2 == HALF)
        output_pairs(y, from, frequency_elems, m, false);
    else if (add)
        output_rows(y, from, frequency_elems, m, true);
    else
        output_rows(y, from, frequency_elems, m, false);
}

/* --- to = A dy A^T --- */

/* A row of A dy, times A^T. */
static inline void write_grad_row(float *to, size_t frequency_elems, eight a, eight b)
{
    *(eight *)to = a;
    *(eight *)(to + frequency_elems) = a + b;
    *(eight *)(to + 2 * frequency_elems) = a - b;
    *(eight *)(to + 3 * frequency_elems) = -b;
}

static inline void write_grads(float *to, size_t frequency_elems, const struct outputs *dy)
{
    const eight a = dy->upper.even, b = dy->upper.odd, c = dy->lower.even, d = dy->lower.odd;
    const size_t row_elems = WINOGRAD_SIDE * frequency_elems;

    write_grad_row(to, frequency_elems, a, b);
    write_grad_row(to + row_elems, frequency_elems, a + c, b + d);
    write_grad_row(to + 2 * row_elems, frequency_elems, a - c, b - d);
    write_grad_row(to + 3 * row_elems, frequency_elems, -c, -d);
}

static void output_grad_pairs(float *to, size_t frequency_elems, const float *dy, size_t n_rows)
{
    for (size_t row = 0; row < n_rows; row += 2, dy += 4 * LANES, to += LANES) {
        const size_t lower = row + 1 < n_rows ? 2 * LANES : 0; /* none: what is written is overwritten, or never read */
        const struct outputs o = { load_pair(dy, dy + lower), load_pair(dy + LANES, dy + LANES + lower) };
        write_grads(to, frequency_elems, &o);
    }
}

static void output_grad(float *to, size_t frequency_elems, const float *dy, const struct winograd_images *m)
{
    const size_t out_w = m->W / 2, n_rows = m->n * m->H / 2;

    if (out_w == HALF) {
        output_grad_pairs(to, frequency_elems, dy, n_rows);
        return;
    }
    for (size_t row = 0; row < n_rows; row++, dy += 2 * m->W, to += out_w)
        for (size_t t = 0; t < out_w; t += LANES) {
            const size_t n = out_w - t < LANES ? 2 * (out_w - t) : PIXELS;
            const struct outputs o = { load(dy + 2 * t, n), load(dy + m->W + 2 * t, n) };
            write_grads(to + t, frequency_elems, &o);
        }
}

const struct cpu_winograd_kernels CPU_WINOGRAD_KERNELS = {
    .input = input,
    .output = output,
    .output_grad = output_grad,
};
