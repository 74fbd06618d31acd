/* SPDX-License-Identifier: Apache-2.0 */
/* reference.c - convolutions, pools and GEMM from their definitions, in double. */
#include "harness/compute/suite/reference.h"

#include <math.h>

int reference_out(int n_in, int kernel, int stride, int pad)
{
    int n_out = 0;

    for (int first = -pad; first + kernel <= n_in + pad; first += stride)
        n_out++;
    return n_out;
}

static int out_h(const struct window *g)
{
    return reference_out(g->H, g->kernel_h, g->stride_h, g->pad_h);
}

static int out_w(const struct window *g)
{
    return reference_out(g->W, g->kernel_w, g->stride_w, g->pad_w);
}

static bool is_inside(const struct window *g, int h, int w)
{
    return h >= 0 && h < g->H && w >= 0 && w < g->W;
}

/* Element (plane, h, w) of planes of n_h x n_w. */
static size_t place(int plane, int n_h, int n_w, int h, int w)
{
    return ((size_t)plane * (size_t)n_h + (size_t)h) * (size_t)n_w + (size_t)w;
}

static void clear(double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = 0.0;
}

static size_t in_elems(const struct window *g)
{
    return (size_t)g->B * (size_t)g->C * (size_t)g->H * (size_t)g->W;
}

void reference_gemm(double *c, const double *a, const double *b, const struct gemm *g)
{
    const size_t M = (size_t)g->M, N = (size_t)g->N, K = (size_t)g->K;

    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < N; j++) {
            double sum = 0.0;
            for (size_t k = 0; k < K; k++)
                sum += (g->transpose_a ? a[k * M + i] : a[i * K + k]) * (g->transpose_b ? b[j * K + k] : b[k * N + j]);
            c[i * N + j] = g->beta == 0.0f ? sum : (double)g->beta * c[i * N + j] + sum;
        }
}

/* Products of a convolution that have one weight: of n outputs of a row, with inputs that are `stride` apart. */
struct taps {
    size_t out, in, weight, n, stride;
};
typedef void taps_fn(void *arg, const struct taps *t);

/* Of kernel column kw, in this row of the input, those that lie inside. */
static void taps_of_row(const struct window *g, struct taps t, int kw, taps_fn *each, void *arg)
{
    int first = 0, end = out_w(g);

    while (first < end && first * g->stride_w + kw < g->pad_w)
        first++;
    while (end > first && (end - 1) * g->stride_w + kw - g->pad_w >= g->W)
        end--;
    t.out += (size_t)first;
    t.in += (size_t)(first * g->stride_w + kw - g->pad_w);
    t.weight += (size_t)kw;
    t.n = (size_t)(end - first);
    t.stride = (size_t)g->stride_w;
    each(arg, &t);
}

static void each_tap(const struct conv_shape *s, taps_fn *each, void *arg)
{
    const struct window *g = &s->in;
    const int n_h = out_h(g), n_rows = s->C_out * g->B * n_h;

    for (int row = 0; row < n_rows; row++)
        for (int k = 0; k < g->C * g->kernel_h * g->kernel_w; k++) {
            const int o = row / n_h / g->B, b = row / n_h % g->B, c = k / g->kernel_w / g->kernel_h;
            const int kh = k / g->kernel_w % g->kernel_h, h = row % n_h * g->stride_h + kh - g->pad_h;
            const struct taps t = { .out = place(row / n_h, n_h, out_w(g), row % n_h, 0),
                                    .in = place(c * g->B + b, g->H, g->W, h, 0),
                                    .weight = place(o * g->C + c, g->kernel_h, g->kernel_w, kh, 0) };
            if (h >= 0 && h < g->H)
                taps_of_row(g, t, k % g->kernel_w, each, arg);
        }
}

struct product {
    double *to;
    const double *a, *b;
};

static void forward_taps(void *arg, const struct taps *t)
{
    const struct product *p = arg;

    for (size_t i = 0; i < t->n; i++)
        p->to[t->out + i] += p->a[t->in + i * t->stride] * p->b[t->weight];
}

static void input_taps(void *arg, const struct taps *t)
{
    const struct product *p = arg;

    for (size_t i = 0; i < t->n; i++)
        p->to[t->in + i * t->stride] += p->a[t->out + i] * p->b[t->weight];
}

static void weight_taps(void *arg, const struct taps *t)
{
    const struct product *p = arg;

    for (size_t i = 0; i < t->n; i++)
        p->to[t->weight] += p->a[t->out + i] * p->b[t->in + i * t->stride];
}

void reference_conv(double *y, const double *x, const double *weight, const struct conv_shape *s)
{
    struct product p = { y, x, weight };

    clear(y, (size_t)s->C_out * (size_t)s->in.B * (size_t)out_h(&s->in) * (size_t)out_w(&s->in));
    each_tap(s, forward_taps, &p);
}

void reference_conv_input_grad(double *dx, const double *dy, const double *weight, const struct conv_shape *s)
{
    struct product p = { dx, dy, weight };

    clear(dx, in_elems(&s->in));
    each_tap(s, input_taps, &p);
}

void reference_conv_weight_grad(double *dweight, const double *dy, const double *x, const struct conv_shape *s)
{
    struct product p = { dweight, dy, x };

    clear(dweight, (size_t)s->C_out * (size_t)s->in.C * (size_t)s->in.kernel_h * (size_t)s->in.kernel_w);
    each_tap(s, weight_taps, &p);
}

void reference_epilogue(double *y, const double *scale, const double *shift, const double *add, bool relu, size_t C,
                        size_t n)
{
    for (size_t i = 0; i < C * n; i++) {
        const size_t c = i / n;
        if (scale != NULL)
            y[i] *= scale[c];
        if (shift != NULL)
            y[i] += shift[c];
        if (add != NULL)
            y[i] += add[i];
    }
    if (relu)
        reference_relu(y, C * n);
}

void reference_conv_bias_grad(double *dbias, double *dy, const double *relu, size_t C, size_t n)
{
    if (relu != NULL)
        reference_relu_grad(dy, relu, C * n);
    clear(dbias, C);
    reference_bias_grad(dbias, dy, 1, C, n);
}

void reference_max_pool(double *y, uint8_t *argmax, const double *x, const struct window *g)
{
    const int n_h = out_h(g), n_w = out_w(g);

    for (int plane = 0; plane < g->C * g->B; plane++)
        for (int i = 0; i < n_h; i++)
            for (int j = 0; j < n_w; j++) {
                double best = -INFINITY;
                int first = -1;
                for (int k = 0; k < g->kernel_h * g->kernel_w; k++) {
                    const int h = i * g->stride_h + k / g->kernel_w - g->pad_h;
                    const int w = j * g->stride_w + k % g->kernel_w - g->pad_w;
                    const double v = is_inside(g, h, w) ? x[place(plane, g->H, g->W, h, w)] : -INFINITY;
                    if (is_inside(g, h, w) && (first < 0 || v > best || (isnan(v) && !isnan(best)))) {
                        best = v;
                        first = k;
                    }
                }
                y[place(plane, n_h, n_w, i, j)] = best;
                if (argmax != NULL)
                    argmax[place(plane, n_h, n_w, i, j)] = (uint8_t)first;
            }
}

void reference_max_pool_grad(double *dx, const double *dy, const uint8_t *argmax, const struct window *g)
{
    const int n_h = out_h(g), n_w = out_w(g);

    clear(dx, in_elems(g));
    for (int plane = 0; plane < g->C * g->B; plane++)
        for (int i = 0; i < n_h; i++)
            for (int j = 0; j < n_w; j++) {
                const size_t out = place(plane, n_h, n_w, i, j);
                dx[place(plane, g->H, g->W, i * g->stride_h + argmax[out] / g->kernel_w - g->pad_h,
                         j * g->stride_w + argmax[out] % g->kernel_w - g->pad_w)] += dy[out];
            }
}

/* y NULL: dx += dy of output (i, j) of a plane, shared out; otherwise its mean. rows, columns: half open. */
struct mean_window {
    int h_0, h_1, w_0, w_1;
    double n; /* divisor */
};

static void mean_of(double *y, double *dx, const double *from, size_t out, int plane, const struct window *g,
                    const struct mean_window *m)
{
    double sum = 0.0;

    for (int h = m->h_0; h < m->h_1; h++)
        for (int w = m->w_0; w < m->w_1; w++) {
            if (!is_inside(g, h, w))
                continue;
            const size_t in = place(plane, g->H, g->W, h, w);
            if (dx != NULL)
                dx[in] += from[out] / m->n;
            else
                sum += from[in];
        }
    if (y != NULL)
        y[out] = sum / m->n;
}

static void avg_pool(double *y, double *dx, const double *from, const struct window *g)
{
    const int n_h = out_h(g), n_w = out_w(g);

    for (int plane = 0; plane < g->C * g->B; plane++)
        for (int i = 0; i < n_h; i++)
            for (int j = 0; j < n_w; j++) {
                const int h = i * g->stride_h - g->pad_h, w = j * g->stride_w - g->pad_w;
                const struct mean_window m = { h, h + g->kernel_h, w, w + g->kernel_w,
                                               (double)(g->kernel_h * g->kernel_w) };
                mean_of(y, dx, from, place(plane, n_h, n_w, i, j), plane, g, &m);
            }
}

void reference_avg_pool(double *y, const double *x, const struct window *g)
{
    avg_pool(y, NULL, x, g);
}

void reference_avg_pool_grad(double *dx, const double *dy, const struct window *g)
{
    clear(dx, in_elems(g));
    avg_pool(NULL, dx, dy, g);
}

static void adaptive_pool(double *y, double *dx, const double *from, const struct window *g, int n_h, int n_w)
{
    for (int plane = 0; plane < g->C * g->B; plane++)
        for (int i = 0; i < n_h; i++)
            for (int j = 0; j < n_w; j++) {
                struct mean_window m = { (int)floor((double)i * g->H / n_h), (int)ceil((i + 1.0) * g->H / n_h),
                                         (int)floor((double)j * g->W / n_w), (int)ceil((j + 1.0) * g->W / n_w), 0.0 };
                m.n = (double)((m.h_1 - m.h_0) * (m.w_1 - m.w_0));
                mean_of(y, dx, from, place(plane, n_h, n_w, i, j), plane, g, &m);
            }
}

void reference_adaptive_pool(double *y, const double *x, const struct window *g, int n_h, int n_w)
{
    adaptive_pool(y, NULL, x, g, n_h, n_w);
}

void reference_adaptive_pool_grad(double *dx, const double *dy, const struct window *g, int n_h, int n_w)
{
    clear(dx, in_elems(g));
    adaptive_pool(NULL, dx, dy, g, n_h, n_w);
}
