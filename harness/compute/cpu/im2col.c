/* SPDX-License-Identifier: Apache-2.0 */
/*
 * im2col.c - the matrix that makes a convolution a product, some channels and output rows at a time.
 *
 * Row by row of the image in general; all images of a channel at once where a convolution keeps the shape of
 * its input (stride 1, "same" padding).
 */
#include <string.h>

#include "harness/compute/cpu/cpu.h"

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

/* Where a row of col goes: floats, or bf16. */
struct target {
    const struct cpu *c;
    char *at;
};

static char *target_at(const struct target *to, size_t i)
{
    return to->at + i * to->c->n_operand;
}

static void zeros(const struct target *to, size_t i, size_t n)
{
    memset(target_at(to, i), 0, n * to->c->n_operand);
}

static void copy(const struct target *to, size_t i, const float *from, size_t step, size_t n)
{
    void *at = target_at(to, i);

    if (to->c->bf16)
        to->c->kernels->to_bf16(at, from, step, n);
    else if (step == 1)
        memcpy(at, from, n * sizeof *from);
    else
        to->c->kernels->strided_copy(at, from, step, n);
}

/* Columns [from, to) of n_rows rows of W := 0 */
static void zero_columns(const struct target *to, size_t i, size_t from, size_t last, size_t n_rows, size_t W)
{
    if (to->c->bf16) {
        uint16_t *at = (uint16_t *)(void *)target_at(to, i);
        for (size_t k = from; k < last; k++)
            for (size_t row = 0; row < n_rows; row++)
                at[row * W + k] = 0;
    } else {
        float *at = (float *)(void *)target_at(to, i);
        for (size_t k = from; k < last; k++)
            for (size_t row = 0; row < n_rows; row++)
                at[row * W + k] = 0.0f;
    }
}

static void copy_row(const struct target *to, size_t i, const float *row, const struct tap *t)
{
    const size_t n = (size_t)(t->columns.to - t->columns.from), W = (size_t)t->out_w;
    const ptrdiff_t at = (ptrdiff_t)t->columns.from * t->g->stride_w + t->left;

    zero_columns(to, i, 0, (size_t)t->columns.from, 1, W);
    if (n > 0)
        copy(to, i + (size_t)t->columns.from, row + at, (size_t)t->g->stride_w, n);
    zero_columns(to, i, (size_t)t->columns.to, W, 1, W);
}

/* Output rows [t->from, t->to) of one image. */
static void fill(const struct target *to, const float *plane, const struct tap *t)
{
    const struct window *g = t->g;
    const size_t W = (size_t)t->out_w;
    size_t at = (size_t)(t->rows.from - t->from) * W;

    zeros(to, 0, at);
    for (int o = t->rows.from; o < t->rows.to; o++, at += W)
        copy_row(to, at, plane + (ptrdiff_t)(o * g->stride_h + t->top) * g->W, t);
    zeros(to, at, (size_t)(t->to - t->rows.to) * W);
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

/* Rows of images that a tap lies above or below of := 0 */
static void zero_outer_rows(const struct target *to, const struct cols *s, int top)
{
    const size_t H = (size_t)s->g->H, W = (size_t)s->g->W, last = s->from + s->n;
    const size_t n = (size_t)(top < 0 ? -top : top) < H ? (size_t)(top < 0 ? -top : top) : H;

    for (size_t image = s->from / H; image * H < last && n > 0; image++) {
        const size_t first = top < 0 ? image * H : (image + 1) * H - n;
        const size_t from = first > s->from ? first : s->from, end = first + n < last ? first + n : last;
        if (from < end)
            zeros(to, (from - s->from) * W, (end - from) * W);
    }
}

/* Where the output is as large as the input, a row of col is a channel, all images of it, shifted: one copy, then
 * zeros where a tap was outside an image. */
static void fill_shifted(const struct target *to, const float *channel, const struct cols *s, int top, int left)
{
    const struct window *g = s->g;
    const size_t W = (size_t)g->W, n = s->n * W, n_all = (size_t)g->B * (size_t)g->H * W;
    const size_t margin = (size_t)(left < 0 ? -left : left) < W ? (size_t)(left < 0 ? -left : left) : W;
    const ptrdiff_t at = (ptrdiff_t)(s->from * W) + (ptrdiff_t)top * g->W + left;
    const size_t before = at >= 0 ? 0 : (size_t)-at < n ? (size_t)-at : n;
    const ptrdiff_t over = at + (ptrdiff_t)n - (ptrdiff_t)n_all;
    const size_t after = over <= 0 ? 0 : (size_t)over < n - before ? (size_t)over : n - before;

    zeros(to, 0, before);
    if (before + after < n)
        copy(to, before, channel + at + (ptrdiff_t)before, 1, n - before - after);
    zeros(to, n - after, after);
    zero_outer_rows(to, s, top);
    zero_columns(to, 0, left < 0 ? 0 : W - margin, left < 0 ? margin : W, s->n, W);
}

static void fill_channel_shifted(const struct target *to, const float *channel, const struct cols *s)
{
    const struct window *g = s->g;
    struct target row = *to;

    for (int kh = 0; kh < g->kernel_h; kh++)
        for (int kw = 0; kw < g->kernel_w; kw++, row.at = target_at(&row, s->ld))
            fill_shifted(&row, channel, s, kh - g->pad_h, kw - g->pad_w);
}

static bool keeps_shape(const struct window *g)
{
    return g->stride_h == 1 && g->stride_w == 1 && window_out_h(g) == g->H && window_out_w(g) == g->W;
}

void cpu_im2col(const struct cpu *cpu, void *col, const float *x, const struct cols *s)
{
    const struct window *g = s->g;
    const size_t out_h = (size_t)window_out_h(g), out_w = (size_t)window_out_w(g);
    const size_t plane = (size_t)g->H * (size_t)g->W, n_taps = (size_t)g->kernel_h * (size_t)g->kernel_w;
    const float *channel = x + s->channel * (size_t)g->B * plane;
    struct target to = { .c = cpu, .at = col };
    struct piece p = { .row = 0 };

    if (keeps_shape(g)) {
        for (size_t c = 0; c < s->n_channels; c++, to.at = target_at(&to, n_taps * s->ld))
            fill_channel_shifted(&to, channel + c * (size_t)g->B * plane, s);
        return;
    }
    while (next_piece(&p, s, out_h))
        for (size_t tap = 0; tap < n_taps; tap++) {
            const struct tap t = tap_of(g, (int)tap / g->kernel_w, (int)tap % g->kernel_w, p.from, p.to);
            for (size_t c = 0; c < s->n_channels; c++) {
                to.at = target_at(&(struct target){ cpu, col }, (c * n_taps + tap) * s->ld + p.row * out_w);
                fill(&to, channel + (c * (size_t)g->B + p.image) * plane, &t);
            }
        }
}

void cpu_col2im(const struct cpu *cpu, float *dx, const float *col, const struct cols *s)
{
    const struct window *g = s->g;
    const size_t out_h = (size_t)window_out_h(g), out_w = (size_t)window_out_w(g);
    const size_t plane = (size_t)g->H * (size_t)g->W, n_taps = (size_t)g->kernel_h * (size_t)g->kernel_w;
    struct piece p = { .row = 0 };

    while (next_piece(&p, s, out_h))
        for (size_t tap = 0; tap < n_taps; tap++) {
            const struct tap t = tap_of(g, (int)tap / g->kernel_w, (int)tap % g->kernel_w, p.from, p.to);
            for (size_t c = 0; c < s->n_channels; c++)
                drain(cpu->kernels, dx + ((s->channel + c) * (size_t)g->B + p.image) * plane,
                      col + (c * n_taps + tap) * s->ld + p.row * out_w, &t);
        }
}
