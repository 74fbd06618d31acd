/* SPDX-License-Identifier: Apache-2.0 */
/*
 * im2col.c - blocks of the im2col matrix col(C kernel_h kernel_w, B out_h out_w), and the reverse (struct cols).
 *
 * In general output row by output row. If the output has the shape of the input (stride 1, "same" padding), a row of
 * col is a shifted copy of a whole channel, all images at once; of narrow images under a mask, in both directions. If
 * the window is the whole image (a dense layer), a row of col is one element of each image.
 */
#include <string.h>

#include "harness/compute/cpu/cpu.h"

/* The largest width of images for which copying under a mask is faster than zeroing each row's ends. */
enum { NARROW_WIDTH = 16 };

/* A row of col: float, or bf16. */
struct col_row {
    const struct cpu *c;
    char *row;
};

struct bounds {
    int from, to; /* half open; from <= to */
};

/* Output positions o in [first, last) whose input position o * stride + offset is in [0, n_in). */
static struct bounds inside(int first, int last, int n_in, int stride, int offset)
{
    struct bounds s = { first, last };

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
    struct bounds rows, columns;
};

static struct tap tap_of(const struct window *g, int kh, int kw, int from, int to)
{
    struct tap t = { .g = g, .top = kh - g->pad_h, .left = kw - g->pad_w, .from = from, .to = to };

    t.out_w = window_out_w(g);
    t.rows = inside(from, to, g->H, g->stride_h, t.top);
    t.columns = inside(0, t.out_w, g->W, g->stride_w, t.left);
    return t;
}

static char *elem_address(const struct col_row *to, size_t i)
{
    return to->row + i * to->c->operand_bytes;
}

enum { FEW_BYTES = 256 }; /* which memset() takes longer to be called for than to set */

static void zeros(const struct col_row *to, size_t i, size_t n)
{
    static const char none[16];
    char *first = elem_address(to, i), *last = first + n * to->c->operand_bytes;

    if ((size_t)(last - first) > FEW_BYTES) {
        memset(first, 0, (size_t)(last - first));
        return;
    }
    for (; last - first >= 16; first += 16)
        memcpy(first, none, 16);
    for (; first < last; first += 2)
        memcpy(first, none, 2);
}

/* to[i + k] = from[k step], k < n */
static void copy(const struct col_row *to, size_t i, const float *from, size_t step, size_t n)
{
    void *first = elem_address(to, i);

    if (to->c->bf16)
        to->c->kernels->to_bf16(first, from, step, n);
    else if (step == 1)
        memcpy(first, from, n * sizeof *from);
    else
        to->c->kernels->strided_copy(first, from, step, n);
}

/* Columns [from, last) of n_rows rows of W elements, from element i on: 0. */
static void zero_columns(const struct col_row *to, size_t i, size_t from, size_t last, size_t n_rows, size_t W)
{
    if (to->c->bf16) {
        uint16_t *first = (uint16_t *)(void *)elem_address(to, i);
        for (size_t k = from; k < last; k++)
            for (size_t row = 0; row < n_rows; row++)
                first[row * W + k] = 0;
    } else {
        float *first = (float *)(void *)elem_address(to, i);
        for (size_t k = from; k < last; k++)
            for (size_t row = 0; row < n_rows; row++)
                first[row * W + k] = 0.0f;
    }
}

/* One output row of one tap: to[i .. i + out_w) from row(W) of the image, 0 outside the image. */
static void copy_row(const struct col_row *to, size_t i, const float *row, const struct tap *t)
{
    const size_t n = (size_t)(t->columns.to - t->columns.from), W = (size_t)t->out_w;
    const ptrdiff_t offset = (ptrdiff_t)t->columns.from * t->g->stride_w + t->left;

    zero_columns(to, i, 0, (size_t)t->columns.from, 1, W);
    if (n > 0)
        copy(to, i + (size_t)t->columns.from, row + offset, (size_t)t->g->stride_w, n);
    zero_columns(to, i, (size_t)t->columns.to, W, 1, W);
}

/* One tap of output rows [t->from, t->to) of one image: to(rows, out_w) from plane(H, W), 0 outside the image. */
static void fill(const struct col_row *to, const float *plane, const struct tap *t)
{
    const struct window *g = t->g;
    const size_t W = (size_t)t->out_w;
    size_t i = (size_t)(t->rows.from - t->from) * W;

    zeros(to, 0, i);
    for (int o = t->rows.from; o < t->rows.to; o++, i += W)
        copy_row(to, i, plane + (ptrdiff_t)(o * g->stride_h + t->top) * g->W, t);
    zeros(to, i, (size_t)(t->to - t->rows.to) * W);
}

/* The reverse of fill: plane(H, W) += col(rows, out_w) of one tap. */
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

/* The output rows of one image that a block (struct cols) contains: the block is walked image by image. */
struct image_rows {
    size_t image, row; /* row: of the block, the first of this image */
    int from, to;
};

static bool next_image(struct image_rows *p, const struct cols *s, size_t out_h)
{
    const size_t next = p->row + (size_t)(p->to - p->from);

    if (next >= s->n)
        return false;
    p->row = next;
    p->image = (s->from + next) / out_h;
    p->from = (int)((s->from + next) % out_h);
    p->to = (int)((size_t)p->from + (s->n - next) < out_h ? (size_t)p->from + (s->n - next) : out_h);
    return true;
}

/* Output rows for which a tap reads above or below the image: 0. */
static void zero_outer_rows(const struct col_row *to, const struct cols *s, int top)
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

/* What a tap shifted by (top, left) reads outside its image: 0, in to(n W). */
static void zero_outside(const struct col_row *to, const struct cols *s, int top, int left)
{
    const size_t W = (size_t)s->g->W, shift = (size_t)(left < 0 ? -left : left), margin = shift < W ? shift : W;

    zero_outer_rows(to, s, top);
    zero_columns(to, 0, left < 0 ? 0 : W - margin, left < 0 ? margin : W, s->n, W);
}

/* A row of col of n elements that is a channel of n_all elements, shifted: its first `before` and last `after` elements
 * would come from outside the channel. */
struct shifted {
    ptrdiff_t shift;
    size_t before, after;
};

static struct shifted shifted_of(const struct cols *s, int top, int left, size_t n, size_t n_all)
{
    const int W = s->g->W;
    struct shifted part = { .shift = (ptrdiff_t)s->from * W + (ptrdiff_t)top * W + left };
    const ptrdiff_t over = part.shift + (ptrdiff_t)n - (ptrdiff_t)n_all;

    part.before = part.shift >= 0 ? 0 : (size_t)-part.shift < n ? (size_t)-part.shift : n;
    part.after = over <= 0 ? 0 : (size_t)over < n - part.before ? (size_t)over : n - part.before;
    return part;
}

/* to(n W) = channel(B, H, W) shifted by (top, left): one copy, then zeros where the tap is outside its image. */
static void fill_shifted(const struct col_row *to, const float *channel, const struct cols *s, int top, int left)
{
    const struct window *g = s->g;
    const size_t W = (size_t)g->W, n = s->n * W, n_all = (size_t)g->B * (size_t)g->H * W;
    const struct shifted part = shifted_of(s, top, left, n, n_all);

    zeros(to, 0, part.before);
    if (part.before + part.after < n)
        copy(to, part.before, channel + part.shift + (ptrdiff_t)part.before, 1, n - part.before - part.after);
    zeros(to, n - part.after, part.after);
    zero_outside(to, s, top, left);
}

static void fill_channel_shifted(const struct col_row *to, const float *channel, const struct cols *s)
{
    const struct window *g = s->g;
    struct col_row row = *to;

    for (int kh = 0; kh < g->kernel_h; kh++)
        for (int kw = 0; kw < g->kernel_w; kw++, row.row = elem_address(&row, s->ld))
            fill_shifted(&row, channel, s, kh - g->pad_h, kw - g->pad_w);
}

enum {
    MASK_COLUMNS = 1024,   /* of a block whose zeros a mask tells: it stays in the first-level cache */
    MIN_MASK_CHANNELS = 4, /* that share the work of making a mask */
};

/* mask(n W) = 1 where a tap shifted by (top, left) lies inside its image, else 0. The mask of every image is the same,
 * so one is made and copied: first one image, then two, then four. */
static void make_mask(float *mask, const struct cols *s, int top, int left)
{
    const size_t H = (size_t)s->g->H, W = (size_t)s->g->W, n = s->n * W, n_rows = s->n < H ? s->n : H;

    for (size_t row = 0; row < n_rows; row++) {
        const int h = (int)((s->from + row) % H) + top;
        for (int w = 0; w < s->g->W; w++)
            mask[row * W + (size_t)w] = h >= 0 && h < s->g->H && w + left >= 0 && w + left < s->g->W ? 1.0f : 0.0f;
    }
    for (size_t done = n_rows * W; done < n; done *= 2)
        memcpy(mask + done, mask, (done < n - done ? done : n - done) * sizeof *mask);
}

/* fill_channel_shifted() of all channels of a block of narrow images. */
static void fill_masked(const struct cpu *cpu, float *col, const float *channel, const struct cols *s)
{
    const struct window *g = s->g;
    const size_t W = (size_t)g->W, n = s->n * W, n_all = (size_t)g->B * (size_t)g->H * W;
    const size_t n_taps = (size_t)g->kernel_h * (size_t)g->kernel_w;
    float mask[MASK_COLUMNS];

    for (size_t tap = 0; tap < n_taps; tap++) {
        const int top = (int)tap / g->kernel_w - g->pad_h, left = (int)tap % g->kernel_w - g->pad_w;
        const struct shifted part = shifted_of(s, top, left, n, n_all);
        make_mask(mask, s, top, left);
        const size_t n_read = n - part.before - part.after;
        for (size_t c = 0; c < s->n_channels; c++) {
            float *row = col + (c * n_taps + tap) * s->ld;
            for (size_t i = 0; i < part.before; i++)
                row[i] = 0.0f;
            if (n_read > 0)
                cpu->kernels->masked_copy(row + part.before, channel + c * n_all + part.shift + (ptrdiff_t)part.before,
                                          mask + part.before, n_read);
            for (size_t i = n - part.after; i < n; i++)
                row[i] = 0.0f;
        }
    }
}

/* One output per image: the window is the image. */
static bool is_whole_image(const struct window *g)
{
    return g->kernel_h == g->H && g->kernel_w == g->W && g->pad_h == 0 && g->pad_w == 0;
}

static bool keeps_shape(const struct window *g)
{
    return g->stride_h == 1 && g->stride_w == 1 && window_out_h(g) == g->H && window_out_w(g) == g->W;
}

bool cpu_is_narrow(const struct cpu *c, const struct window *g)
{
    return !c->bf16 && g->W <= NARROW_WIDTH && keeps_shape(g);
}

static bool masks_pay(const struct cpu *c, const struct cols *s)
{
    return cpu_is_narrow(c, s->g) && s->n * (size_t)s->g->W <= MASK_COLUMNS && s->n_channels >= MIN_MASK_CHANNELS;
}

void cpu_im2col(const struct cpu *cpu, void *col, const float *x, const struct cols *s)
{
    const struct window *g = s->g;
    const size_t out_h = (size_t)window_out_h(g), out_w = (size_t)window_out_w(g);
    const size_t plane = (size_t)g->H * (size_t)g->W, n_taps = (size_t)g->kernel_h * (size_t)g->kernel_w;
    const float *channel = x + s->channel * (size_t)g->B * plane;
    struct col_row to = { .c = cpu, .row = col };
    struct image_rows p = { .row = 0 };

    if (is_whole_image(g)) {
        for (size_t i = 0; i < s->n_channels * n_taps; i++, to.row = elem_address(&to, s->ld))
            copy(&to, 0, channel + (i / n_taps * (size_t)g->B + s->from) * plane + i % n_taps, plane, s->n);
        return;
    }
    if (masks_pay(cpu, s)) {
        fill_masked(cpu, col, channel, s);
        return;
    }
    if (keeps_shape(g)) {
        for (size_t c = 0; c < s->n_channels; c++, to.row = elem_address(&to, n_taps * s->ld))
            fill_channel_shifted(&to, channel + c * (size_t)g->B * plane, s);
        return;
    }
    while (next_image(&p, s, out_h))
        for (size_t tap = 0; tap < n_taps; tap++) {
            const struct tap t = tap_of(g, (int)tap / g->kernel_w, (int)tap % g->kernel_w, p.from, p.to);
            for (size_t c = 0; c < s->n_channels; c++) {
                to.row = elem_address(&(struct col_row){ cpu, col }, (c * n_taps + tap) * s->ld + p.row * out_w);
                fill(&to, channel + (c * (size_t)g->B + p.image) * plane, &t);
            }
        }
}

/* Does the block begin and end with an image? */
static bool has_whole_images(const struct cols *s)
{
    const size_t out_h = (size_t)window_out_h(s->g);

    return s->from % out_h == 0 && s->n % out_h == 0;
}

/* image(n W) += row(n W) of a tap shifted by (top, left), where mask is 1. Nothing outside of image is touched: other
 * images may be another thread's. */
static void drain_shifted(const struct cpu *cpu, float *image, const float *row, const float *mask,
                          const struct cols *s, int top, int left)
{
    const ptrdiff_t shift = (ptrdiff_t)top * s->g->W + left;
    const size_t n = s->n * (size_t)s->g->W, n_cut = (size_t)(shift < 0 ? -shift : shift);
    const size_t before = shift < 0 ? n_cut : 0;

    if (n_cut < n)
        cpu->kernels->masked_add(image + (ptrdiff_t)before + shift, row + before, mask + before, n - n_cut);
}

/* The reverse of fill_masked(), for a block of whole images. */
static void drain_masked(const struct cpu *cpu, float *channel, const float *col, const struct cols *s)
{
    const struct window *g = s->g;
    const size_t W = (size_t)g->W, n_all = (size_t)g->B * (size_t)g->H * W;
    const size_t n_taps = (size_t)g->kernel_h * (size_t)g->kernel_w;
    float mask[MASK_COLUMNS];

    for (size_t tap = 0; tap < n_taps; tap++) {
        const int top = (int)tap / g->kernel_w - g->pad_h, left = (int)tap % g->kernel_w - g->pad_w;
        make_mask(mask, s, top, left);
        for (size_t c = 0; c < s->n_channels; c++)
            drain_shifted(cpu, channel + c * n_all + s->from * W, col + (c * n_taps + tap) * s->ld, mask, s, top, left);
    }
}

void cpu_col2im(const struct cpu *cpu, float *dx, const float *col, const struct cols *s)
{
    const struct window *g = s->g;
    const size_t out_h = (size_t)window_out_h(g), out_w = (size_t)window_out_w(g);
    const size_t plane = (size_t)g->H * (size_t)g->W, n_taps = (size_t)g->kernel_h * (size_t)g->kernel_w;
    struct image_rows p = { .row = 0 };

    if (is_whole_image(g)) {
        for (size_t i = 0; i < s->n_channels * n_taps; i++)
            cpu->kernels->strided_add(dx + ((s->channel + i / n_taps) * (size_t)g->B + s->from) * plane + i % n_taps,
                                      plane, col + i * s->ld, s->n);
        return;
    }
    if (masks_pay(cpu, s) && has_whole_images(s)) {
        drain_masked(cpu, dx + s->channel * (size_t)g->B * plane, col, s);
        return;
    }
    while (next_image(&p, s, out_h))
        for (size_t tap = 0; tap < n_taps; tap++) {
            const struct tap t = tap_of(g, (int)tap / g->kernel_w, (int)tap % g->kernel_w, p.from, p.to);
            for (size_t c = 0; c < s->n_channels; c++)
                drain(cpu->kernels, dx + ((s->channel + c) * (size_t)g->B + p.image) * plane,
                      col + (c * n_taps + tap) * s->ld + p.row * out_w, &t);
        }
}
