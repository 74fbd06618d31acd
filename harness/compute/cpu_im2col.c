/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_im2col.c - the matrix that makes a convolution a product, some channels and output rows at a time.
 *
 * Where a convolution keeps the shape of its input (stride 1, "same" padding), a row of it is whole rows of
 * the image shifted by a constant: one copy, then zeros along the edges.
 */
#include <string.h>

#include "harness/compute/cpu.h"

struct span {
    int from, to; /* half open; from <= to */
};

/* Output positions o in [first, last) whose input position o * stride + offset lies in [0, n_in). */
static struct span inside(int first, int last, int n_in, int stride, int offset)
{
    struct span s = { first, last };

    if (offset < 0 && s.from < (-offset + stride - 1) / stride)
        s.from = (-offset + stride - 1) / stride;
    if (offset >= n_in)
        s.to = first;
    else if (s.to > (n_in - 1 - offset) / stride + 1)
        s.to = (n_in - 1 - offset) / stride + 1;
    if (s.from > last)
        s.from = last;
    if (s.to < s.from)
        s.to = s.from;
    return s;
}

/* Input element (o_h * stride_h + top, o_w * stride_w + left) of one plane for output rows [from, to). */
struct tap {
    const struct window *g;
    int top, left, from, to, out_w;
    struct span rows, columns;
};

static struct tap tap_of(const struct window *g, int kh, int kw, int from, int to)
{
    struct tap t = { .g = g, .top = kh - g->pad_h, .left = kw - g->pad_w, .from = from, .to = to };

    t.out_w = window_out_w(g);
    t.rows = inside(from, to, g->H, g->stride_h, t.top);
    t.columns = inside(0, t.out_w, g->W, g->stride_w, t.left);
    return t;
}

static void zero_floats(float *to, size_t n)
{
    if (n > 0)
        memset(to, 0, n * sizeof *to);
}

/* All rows at once: they follow one another in the input as they do in col. */
static void shift_rows(float *col, const float *plane, const struct tap *t)
{
    const size_t W = (size_t)t->out_w, n_rows = (size_t)(t->rows.to - t->rows.from), n = n_rows * W;
    const size_t before = (size_t)t->columns.from, after = W - (size_t)t->columns.to;
    const float *from = plane + (ptrdiff_t)(t->rows.from + t->top) * t->g->W + t->left;

    memcpy(col + before, from + before, (n - before - after) * sizeof *col);
    for (size_t k = 0; k < before; k++)
        for (size_t i = 0; i < n_rows; i++)
            col[i * W + k] = 0.0f;
    for (size_t k = (size_t)t->columns.to; k < W; k++)
        for (size_t i = 0; i < n_rows; i++)
            col[i * W + k] = 0.0f;
}

static void copy_row(const struct cpu_kernels *k, float *col, const float *row, const struct tap *t)
{
    const size_t n = (size_t)(t->columns.to - t->columns.from), W = (size_t)t->out_w;
    const ptrdiff_t at = (ptrdiff_t)t->columns.from * t->g->stride_w + t->left;

    for (int i = 0; i < t->columns.from; i++)
        col[i] = 0.0f;
    if (n > 0 && t->g->stride_w == 1)
        memcpy(col + t->columns.from, row + at, n * sizeof *col);
    else if (n > 0)
        k->strided_copy(col + t->columns.from, row + at, (size_t)t->g->stride_w, n);
    for (size_t i = (size_t)t->columns.to; i < W; i++)
        col[i] = 0.0f;
}

/* Output rows [t->from, t->to) of one image. */
static void fill(const struct cpu_kernels *k, float *col, const float *plane, const struct tap *t)
{
    const struct window *g = t->g;
    const size_t W = (size_t)t->out_w;
    const size_t above = (size_t)(t->rows.from - t->from) * W, below = (size_t)(t->to - t->rows.to) * W;
    float *to = col + above;

    zero_floats(col, above);
    if (t->rows.from < t->rows.to && t->columns.from < t->columns.to && g->stride_h == 1 && g->stride_w == 1 &&
        t->out_w == g->W) {
        shift_rows(to, plane, t);
        to += (size_t)(t->rows.to - t->rows.from) * W;
    } else
        for (int o = t->rows.from; o < t->rows.to; o++, to += W)
            copy_row(k, to, plane + (ptrdiff_t)(o * g->stride_h + t->top) * g->W, t);
    zero_floats(to, below);
}

static void drain(const struct cpu_kernels *k, float *plane, const float *col, const struct tap *t)
{
    const struct window *g = t->g;
    const size_t n = (size_t)(t->columns.to - t->columns.from), W = (size_t)t->out_w;
    const float *from = col + (size_t)(t->rows.from - t->from) * W + (size_t)t->columns.from;

    for (int o = t->rows.from; o < t->rows.to && n > 0; o++, from += W) {
        float *to =
            plane + (ptrdiff_t)(o * g->stride_h + t->top) * g->W + (ptrdiff_t)t->columns.from * g->stride_w + t->left;
        if (g->stride_w == 1)
            k->add(to, from, n);
        else
            k->strided_add(to, (size_t)g->stride_w, from, n);
    }
}

/* Calls one for each tap of each image that rows [from, from + n) touch. */
struct piece {
    size_t image, row; /* row: of s, where this image's first one is */
    int from, to;
};

static bool next_piece(struct piece *p, const struct cols *s, size_t out_h)
{
    const size_t at = p->row + (size_t)(p->to - p->from);

    if (at >= s->n)
        return false;
    p->row = at;
    p->image = (s->from + at) / out_h;
    p->from = (int)((s->from + at) % out_h);
    p->to = (int)((size_t)p->from + (s->n - at) < out_h ? (size_t)p->from + (s->n - at) : out_h);
    return true;
}

void cpu_im2col(const struct cpu_kernels *k, float *col, const float *x, const struct cols *s)
{
    const struct window *g = s->g;
    const size_t out_h = (size_t)window_out_h(g), out_w = (size_t)window_out_w(g);
    const size_t plane = (size_t)g->H * (size_t)g->W, n_taps = (size_t)g->kernel_h * (size_t)g->kernel_w;
    struct piece p = { .row = 0 };

    while (next_piece(&p, s, out_h))
        for (size_t tap = 0; tap < n_taps; tap++) {
            const struct tap t = tap_of(g, (int)tap / g->kernel_w, (int)tap % g->kernel_w, p.from, p.to);
            for (size_t c = 0; c < s->n_channels; c++)
                fill(k, col + (c * n_taps + tap) * s->ld + p.row * out_w,
                     x + ((s->channel + c) * (size_t)g->B + p.image) * plane, &t);
        }
}

void cpu_col2im(const struct cpu_kernels *k, float *dx, const float *col, const struct cols *s)
{
    const struct window *g = s->g;
    const size_t out_h = (size_t)window_out_h(g), out_w = (size_t)window_out_w(g);
    const size_t plane = (size_t)g->H * (size_t)g->W, n_taps = (size_t)g->kernel_h * (size_t)g->kernel_w;
    struct piece p = { .row = 0 };

    while (next_piece(&p, s, out_h))
        for (size_t tap = 0; tap < n_taps; tap++) {
            const struct tap t = tap_of(g, (int)tap / g->kernel_w, (int)tap % g->kernel_w, p.from, p.to);
            for (size_t c = 0; c < s->n_channels; c++)
                drain(k, dx + ((s->channel + c) * (size_t)g->B + p.image) * plane,
                      col + (c * n_taps + tap) * s->ld + p.row * out_w, &t);
        }
}
