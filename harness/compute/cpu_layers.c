/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_layers.c - the operations of the cpu backend that know about images and losses.
 *
 * Small images are the common case here: a row of 4 or 8 floats is not worth a call. Where a
 * convolution keeps the shape of its input (stride 1, "same" padding), row (c, i, j) of col is the
 * whole plane shifted by a constant, so it is one copy and then zeros along the edges.
 */
#include <math.h>
#include <string.h>

#include "harness/compute/cpu.h"

enum { N_LANES = 8 };

struct span {
    int from, to; /* half open; from <= to */
};

/* Output positions o in [0, n_out) whose input position o * stride + offset lies in [0, n_in). */
static struct span inside(int n_out, int n_in, int stride, int offset)
{
    struct span s = { 0, n_out };

    if (offset < 0)
        s.from = (-offset + stride - 1) / stride;
    if (offset + (n_out - 1) * stride >= n_in)
        s.to = offset >= n_in ? 0 : (n_in - 1 - offset) / stride + 1;
    if (s.from > n_out)
        s.from = n_out;
    if (s.to < s.from)
        s.to = s.from;
    return s;
}

static void copy_floats(float *restrict to, const float *restrict from, size_t n)
{
    if (n > 0)
        memcpy(to, from, n * sizeof *to);
}

static void zero_floats(float *to, size_t n)
{
    if (n > 0)
        memset(to, 0, n * sizeof *to);
}

static bool keeps_shape(const struct window *g)
{
    return g->stride_h == 1 && g->stride_w == 1 && window_out_h(g) == g->H && window_out_w(g) == g->W;
}

/* What a row of col stands for: input element (o_h * stride_h + top, o_w * stride_w + left) of a channel,
 * inside the image for the rows and columns given. */
struct tap {
    size_t channel;
    int top, left, out_h, out_w;
    struct span rows, columns;
};

static struct tap tap_of(size_t row, const struct window *g)
{
    const size_t per_channel = (size_t)g->kernel_h * (size_t)g->kernel_w, k = row % per_channel;
    struct tap t = { .channel = row / per_channel, .out_h = window_out_h(g), .out_w = window_out_w(g) };

    t.top = (int)(k / (size_t)g->kernel_w) - g->pad_h;
    t.left = (int)(k % (size_t)g->kernel_w) - g->pad_w;
    t.rows = inside(t.out_h, g->H, g->stride_h, t.top);
    t.columns = inside(t.out_w, g->W, g->stride_w, t.left);
    return t;
}

/* row := n_planes planes of x, shifted by (t->top, t->left); zeros from outside. */
static void shift_planes(float *row, const float *x, size_t n_planes, const struct window *g, const struct tap *t)
{
    const size_t plane = (size_t)g->H * (size_t)g->W, n = n_planes * plane, W = (size_t)g->W;
    const ptrdiff_t shift = (ptrdiff_t)t->top * g->W + t->left;
    const size_t distance = (size_t)(shift < 0 ? -shift : shift), n_out = distance < n ? distance : n;
    const size_t from = shift < 0 ? n_out : 0, to = shift > 0 ? n - n_out : n;

    zero_floats(row, from); /* beyond the first and last plane; the edges in between follow */
    copy_floats(row + from, x + (shift > 0 ? n_out : 0), to - from);
    zero_floats(row + to, n - to);
    if (t->top != 0)
        for (size_t b = 0; b < n_planes; b++) {
            zero_floats(row + b * plane, (size_t)t->rows.from * W);
            zero_floats(row + b * plane + (size_t)t->rows.to * W, (size_t)(g->H - t->rows.to) * W);
        }
    for (size_t k = 0; k < (size_t)t->columns.from; k++)
        for (size_t i = k; i < n; i += W)
            row[i] = 0.0f;
    for (size_t k = (size_t)t->columns.to; k < W; k++)
        for (size_t i = k; i < n; i += W)
            row[i] = 0.0f;
}

static void im2col_any(float *col, const float *plane, const struct window *g, const struct tap *t)
{
    for (int o = 0; o < t->out_h; o++, col += t->out_w) {
        if (o < t->rows.from || o >= t->rows.to) {
            zero_floats(col, (size_t)t->out_w);
            continue;
        }
        const float *from = plane + (ptrdiff_t)(o * g->stride_h + t->top) * g->W;
        for (int k = 0; k < t->columns.from; k++)
            col[k] = 0.0f;
        for (int k = t->columns.from; k < t->columns.to; k++)
            col[k] = from[k * g->stride_w + t->left];
        for (int k = t->columns.to; k < t->out_w; k++)
            col[k] = 0.0f;
    }
}

void cpu_im2col(struct compute *c, float *col, const float *x, const struct window *g)
{
    const size_t n_rows = (size_t)g->C * (size_t)g->kernel_h * (size_t)g->kernel_w, B = (size_t)g->B, C = (size_t)g->C;
    const size_t in_plane = (size_t)g->H * (size_t)g->W;
    const size_t out_plane = (size_t)window_out_h(g) * (size_t)window_out_w(g);
    const bool same = keeps_shape(g);

    (void)c;
    for (size_t row = 0; row < n_rows; row++) {
        const struct tap tap = tap_of(row, g);
        float *to = col + row * B * out_plane;
        if (same && C == 1) {
            shift_planes(to, x, B, g, &tap);
            continue;
        }
        for (size_t b = 0; b < B; b++, to += out_plane) {
            const float *plane = x + (b * C + tap.channel) * in_plane;
            if (same)
                shift_planes(to, plane, 1, g, &tap);
            else
                im2col_any(to, plane, g, &tap);
        }
    }
}

static void add_floats(float *restrict to, const float *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] += from[i];
}

static void add_rows(float *restrict to, const float *restrict from, size_t n_rows, size_t n, size_t to_step,
                     size_t from_step)
{
    for (; n_rows > 0; n_rows--, to += to_step, from += from_step)
        for (size_t i = 0; i < n; i++)
            to[i] += from[i];
}

static void col2im_plane(float *plane, const float *col, const struct window *g, const struct tap *t)
{
    const size_t W = (size_t)g->W, out_w = (size_t)t->out_w, stride_w = (size_t)g->stride_w;
    const size_t n_rows = (size_t)(t->rows.to - t->rows.from), n = (size_t)(t->columns.to - t->columns.from);

    if (n_rows == 0 || n == 0)
        return;
    float *to =
        plane + (ptrdiff_t)(t->rows.from * g->stride_h + t->top) * g->W + t->columns.from * g->stride_w + t->left;
    const float *from = col + (size_t)t->rows.from * out_w + (size_t)t->columns.from;
    if (stride_w != 1) {
        for (size_t o = 0; o < n_rows; o++, to += (size_t)g->stride_h * W, from += out_w)
            for (size_t k = 0; k < n; k++)
                to[k * stride_w] += from[k];
    } else if (n == W && n == out_w && g->stride_h == 1) /* whole rows: at once */
        add_floats(to, from, n_rows * n);
    else
        add_rows(to, from, n_rows, n, (size_t)g->stride_h * W, out_w);
}

void cpu_col2im(struct compute *c, float *dx, const float *col, const struct window *g)
{
    const size_t n_rows = (size_t)g->C * (size_t)g->kernel_h * (size_t)g->kernel_w, B = (size_t)g->B, C = (size_t)g->C;
    const size_t in_plane = (size_t)g->H * (size_t)g->W;
    const size_t out_plane = (size_t)window_out_h(g) * (size_t)window_out_w(g);

    (void)c;
    zero_floats(dx, B * C * in_plane);
    for (size_t row = 0; row < n_rows; row++) {
        const struct tap tap = tap_of(row, g);
        const float *from = col + row * B * out_plane;
        for (size_t b = 0; b < B; b++, from += out_plane)
            col2im_plane(dx + (b * C + tap.channel) * in_plane, from, g, &tap);
    }
}

/* Loss of one row; p(K) (NULL: none) := weight (softmax - 1 at the label) / B. */
static double xent_row(float *p, const float *logit, size_t label, float weight, size_t K, size_t B, size_t *best)
{
    double sum = 0.0;
    size_t top = 0;

    for (size_t k = 1; k < K; k++)
        if (logit[k] > logit[top])
            top = k;
    for (size_t k = 0; k < K; k++) { /* the largest exponent is 0: no overflow */
        const float e = expf(logit[k] - logit[top]);
        sum += e;
        if (p != NULL)
            p[k] = e;
    }
    if (p != NULL) {
        const double scale = (double)weight / (sum * (double)B);
        for (size_t k = 0; k < K; k++)
            p[k] = (float)(p[k] * scale);
        p[label] -= weight / (float)B;
    }
    *best = top;
    return log(sum) - ((double)logit[label] - (double)logit[top]);
}

void cpu_softmax_xent(struct compute *c, double *mean_loss, float *dlogits, size_t *n_correct, const float *logits,
                      const uint32_t *label, float weight, size_t B, size_t K)
{
    double loss = 0.0;
    size_t n_right = 0;

    (void)c;
    for (size_t i = 0; i < B; i++) {
        size_t best;
        loss += xent_row(dlogits != NULL ? dlogits + i * K : NULL, logits + i * K, label[i], weight, K, B, &best);
        n_right += best == label[i];
    }
    *mean_loss = loss / (double)B;
    if (n_correct != NULL)
        *n_correct = n_right;
}

void cpu_mean_square(struct compute *c, double *mean_loss, float *dy, const float *y, const float *target, size_t n)
{
    double lane[N_LANES] = { 0.0 }, sum = 0.0;
    const float scale = 2.0f / (float)n;
    size_t i = 0;

    (void)c;
    for (; i + N_LANES <= n; i += N_LANES)
        for (size_t j = 0; j < N_LANES; j++) {
            const double e = (double)(y[i + j] - target[i + j]);
            lane[j] += e * e;
        }
    for (size_t j = 0; j < N_LANES; j++)
        sum += lane[j];
    for (; i < n; i++) {
        const double e = (double)(y[i] - target[i]);
        sum += e * e;
    }
    *mean_loss = sum / (double)n;
    if (dy != NULL)
        for (i = 0; i < n; i++)
            dy[i] = scale * (y[i] - target[i]);
}
