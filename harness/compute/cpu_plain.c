/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_plain.c - the layers of the cpu backend, each in the plainest form. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/rng.h"
#include "harness/compute/cpu.h"
#include "harness/compute/dropout.h"

static size_t out_columns(const struct window *g)
{
    return (size_t)g->B * (size_t)window_out_h(g) * (size_t)window_out_w(g);
}

static size_t fan_in(const struct window *g)
{
    return (size_t)g->C * (size_t)g->kernel_h * (size_t)g->kernel_w;
}

static float *col_of(struct compute *c, const float *x, const struct window *g)
{
    struct window one = *g;
    const size_t N = out_columns(g), in = (size_t)g->B * (size_t)g->H * (size_t)g->W;
    float *col = malloc(fan_in(g) * N * sizeof *col);

    one.C = 1;
    for (size_t i = 0; i < (size_t)g->C; i++)
        cpu_im2col(c, col + i * N * (size_t)(g->kernel_h * g->kernel_w), x + i * in, &one);
    return col;
}

void cpu_conv(struct compute *c, float *y, const float *x, const float *weight, const struct epilogue *e,
              const struct conv_shape *s)
{
    const size_t N = out_columns(&s->in);
    float *col = col_of(c, x, &s->in);
    const struct gemm g = { .M = s->C_out, .N = (int)N, .K = (int)fan_in(&s->in), .a = weight, .b = col, .c = y };

    c->ops->gemm(c, &g);
    free(col);
    for (size_t o = 0; o < (size_t)s->C_out; o++)
        for (size_t i = 0; i < N; i++) {
            float v = y[o * N + i];
            v = (e->scale != NULL ? e->scale[o] : 1.0f) * v + (e->shift != NULL ? e->shift[o] : 0.0f);
            v += e->add != NULL ? e->add[o * N + i] : 0.0f;
            y[o * N + i] = e->relu && v < 0.0f ? 0.0f : v;
        }
}

void cpu_conv_input_grad(struct compute *c, float *dx, const float *dy, const float *weight, bool add,
                         const struct conv_shape *s)
{
    struct window one = s->in;
    const size_t N = out_columns(&s->in), in = (size_t)s->in.B * (size_t)s->in.H * (size_t)s->in.W;
    float *col = malloc(fan_in(&s->in) * N * sizeof *col), *sum = malloc(in * sizeof *sum);
    const struct gemm g = {
        .transpose_a = true, .M = (int)fan_in(&s->in), .N = (int)N, .K = s->C_out, .a = weight, .b = dy, .c = col
    };

    c->ops->gemm(c, &g);
    one.C = 1;
    for (size_t i = 0; i < (size_t)s->in.C; i++) {
        cpu_col2im(c, sum, col + i * N * (size_t)(one.kernel_h * one.kernel_w), &one);
        for (size_t k = 0; k < in; k++)
            dx[i * in + k] = (add ? dx[i * in + k] : 0.0f) + sum[k];
    }
    free(col);
    free(sum);
}

void cpu_conv_weight_grad(struct compute *c, float *dweight, const float *dy, const float *x,
                          const struct conv_shape *s)
{
    float *col = col_of(c, x, &s->in);
    const struct gemm g = { .transpose_b = true,
                            .M = s->C_out,
                            .N = (int)fan_in(&s->in),
                            .K = (int)out_columns(&s->in),
                            .a = dy,
                            .b = col,
                            .c = dweight };

    c->ops->gemm(c, &g);
    free(col);
}

void cpu_conv_bias_grad(struct compute *c, float *dbias, float *dy, const float *output, size_t C, size_t n)
{
    (void)c;
    for (size_t o = 0; o < C; o++) {
        double sum = 0.0;
        for (size_t i = o * n; i < (o + 1) * n; i++) {
            if (output != NULL && !(output[i] > 0.0f))
                dy[i] = 0.0f;
            sum += dy[i];
        }
        dbias[o] = (float)sum;
    }
}

void cpu_batch_norm(struct compute *c, float *z, float *mean, float *inv_std, float *running_mean, float *running_var,
                    const float *y, const float *gamma, const float *beta, const float *add, const struct batch_norm *s)
{
    (void)c;
    for (size_t o = 0; o < s->C; o++) {
        const float *from = y + o * s->n;
        double sum = 0.0, squares = 0.0;
        for (size_t i = 0; i < s->n; i++)
            sum += from[i];
        const double m = sum / (double)s->n;
        for (size_t i = 0; i < s->n; i++)
            squares += ((double)from[i] - m) * ((double)from[i] - m);
        const double var = squares / (double)s->n, unbiased = s->n > 1 ? squares / (double)(s->n - 1) : var;
        mean[o] = (float)m;
        inv_std[o] = (float)(1.0 / sqrt(var + (double)s->epsilon));
        running_mean[o] = (1.0f - s->momentum) * running_mean[o] + s->momentum * (float)m;
        running_var[o] = (1.0f - s->momentum) * running_var[o] + s->momentum * (float)unbiased;
        for (size_t i = 0; i < s->n; i++) {
            float v = gamma[o] * ((from[i] - mean[o]) * inv_std[o]) + beta[o];
            v += add != NULL ? add[o * s->n + i] : 0.0f;
            z[o * s->n + i] = s->relu && v < 0.0f ? 0.0f : v;
        }
    }
}

void cpu_batch_norm_fold(struct compute *c, float *scale, float *shift, const float *gamma, const float *beta,
                         const float *running_mean, const float *running_var, const struct batch_norm *s)
{
    (void)c;
    for (size_t o = 0; o < s->C; o++) {
        scale[o] = gamma[o] / sqrtf(running_var[o] + s->epsilon);
        shift[o] = beta[o] - running_mean[o] * scale[o];
    }
}

void cpu_batch_norm_grad(struct compute *c, float *dy, float *dgamma, float *dbeta, float *dz, const float *y,
                         const float *z, const float *gamma, const float *beta, const float *mean, const float *inv_std,
                         const struct batch_norm *s)
{
    (void)c;
    for (size_t o = 0; o < s->C; o++) {
        const size_t at = o * s->n;
        double sum = 0.0, dot = 0.0;
        for (size_t i = at; i < at + s->n; i++) {
            const float hat = (y[i] - mean[o]) * inv_std[o];
            const float out = z != NULL ? z[i] : gamma[o] * hat + beta[o];
            if (s->relu && !(out > 0.0f))
                dz[i] = 0.0f;
            sum += dz[i];
            dot += (double)dz[i] * hat;
        }
        dbeta[o] = (float)sum;
        dgamma[o] = (float)dot;
        const float mean_dz = (float)(sum / (double)s->n), mean_dot = (float)(dot / (double)s->n);
        for (size_t i = at; i < at + s->n; i++) {
            const float hat = (y[i] - mean[o]) * inv_std[o];
            dy[i] = gamma[o] * inv_std[o] * (dz[i] - mean_dz - hat * mean_dot);
        }
    }
}

/* Calls body with `from` the input element, k its position in the window and `to` the output. */
#define EACH_TAP(g, body)                                                                                  \
    for (size_t plane = 0, to = 0; plane < (size_t)(g)->B * (size_t)(g)->C; plane++)                       \
        for (int o_h = 0; o_h < window_out_h(g); o_h++)                                                    \
            for (int o_w = 0; o_w < window_out_w(g); o_w++, to++)                                          \
                for (int k = 0; k < (g)->kernel_h * (g)->kernel_w; k++) {                                  \
                    const int h = o_h * (g)->stride_h - (g)->pad_h + k / (g)->kernel_w;                    \
                    const int w = o_w * (g)->stride_w - (g)->pad_w + k % (g)->kernel_w;                    \
                    if (h < 0 || w < 0 || h >= (g)->H || w >= (g)->W)                                      \
                        continue;                                                                          \
                    const size_t from = (plane * (size_t)(g)->H + (size_t)h) * (size_t)(g)->W + (size_t)w; \
                    body                                                                                   \
                }

void cpu_max_pool(struct compute *c, float *y, uint8_t *at, const float *x, const struct window *g)
{
    (void)c;
    for (size_t i = 0; i < (size_t)g->C * out_columns(g); i++)
        y[i] = -INFINITY, at[i] = 255;
    EACH_TAP(g, {
        if (at[to] == 255 || x[from] > y[to] || (isnan(x[from]) && !isnan(y[to]))) {
            y[to] = x[from];
            at[to] = (uint8_t)k;
        }
    })
}

static void clear_unless(bool add, float *dx, const struct window *g)
{
    if (!add)
        memset(dx, 0, (size_t)g->B * (size_t)g->C * (size_t)g->H * (size_t)g->W * sizeof *dx);
}

void cpu_max_pool_grad(struct compute *c, float *dx, const float *dy, const uint8_t *at, bool add,
                       const struct window *g)
{
    (void)c;
    clear_unless(add, dx, g);
    EACH_TAP(g, {
        if (at[to] == k)
            dx[from] += dy[to];
    })
}

void cpu_avg_pool(struct compute *c, float *y, const float *x, const struct window *g)
{
    const float scale = 1.0f / (float)(g->kernel_h * g->kernel_w);

    (void)c;
    memset(y, 0, (size_t)g->C * out_columns(g) * sizeof *y);
    EACH_TAP(g, { y[to] += x[from] * scale; })
}

void cpu_avg_pool_grad(struct compute *c, float *dx, const float *dy, bool add, const struct window *g)
{
    const float scale = 1.0f / (float)(g->kernel_h * g->kernel_w);

    (void)c;
    clear_unless(add, dx, g);
    EACH_TAP(g, { dx[from] += dy[to] * scale; })
}

static void adaptive(float *dx, float *y, const float *x, const float *dy, const struct window *g, int out_h, int out_w)
{
    for (size_t plane = 0, to = 0; plane < (size_t)g->B * (size_t)g->C; plane++)
        for (int o_h = 0; o_h < out_h; o_h++)
            for (int o_w = 0; o_w < out_w; o_w++, to++) {
                const int h_0 = o_h * g->H / out_h, h_1 = ((o_h + 1) * g->H + out_h - 1) / out_h;
                const int w_0 = o_w * g->W / out_w, w_1 = ((o_w + 1) * g->W + out_w - 1) / out_w;
                const float scale = 1.0f / (float)((h_1 - h_0) * (w_1 - w_0));
                float sum = 0.0f;
                for (int h = h_0; h < h_1; h++)
                    for (int w = w_0; w < w_1; w++) {
                        const size_t from = (plane * (size_t)g->H + (size_t)h) * (size_t)g->W + (size_t)w;
                        if (dx != NULL)
                            dx[from] += dy[to] * scale;
                        else
                            sum += x[from];
                    }
                if (dx == NULL)
                    y[to] = sum * scale;
            }
}

void cpu_adaptive_pool(struct compute *c, float *y, const float *x, const struct window *g, int out_h, int out_w)
{
    (void)c;
    adaptive(NULL, y, x, NULL, g, out_h, out_w);
}

void cpu_adaptive_pool_grad(struct compute *c, float *dx, const float *dy, bool add, const struct window *g, int out_h,
                            int out_w)
{
    (void)c;
    clear_unless(add, dx, g);
    adaptive(dx, NULL, NULL, dy, g, out_h, out_w);
}

void cpu_dropout(struct compute *c, float *x, size_t n, float keep_ratio, uint64_t key)
{
    const float scale = 1.0f / keep_ratio;

    (void)c;
    for (size_t i = 0; i < n; i++)
        x[i] = dropout_kept(key, i, keep_ratio) ? x[i] * scale : 0.0f;
}
