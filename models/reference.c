/* SPDX-License-Identifier: Apache-2.0 */
/* reference.c - layers and networks from their definitions, in double. */
#include "models/reference.h"

#include <math.h>

int reference_out_h(const struct reference_conv *g)
{
    return (g->H + 2 * g->pad_h - g->kernel_h) / g->stride_h + 1;
}

int reference_out_w(const struct reference_conv *g)
{
    return (g->W + 2 * g->pad_w - g->kernel_w) / g->stride_w + 1;
}

static double conv_at(const double *x, const double *weight, const struct reference_conv *g, int b, int k, int o_h,
                      int o_w)
{
    double sum = 0.0;

    for (int c = 0; c < g->C; c++)
        for (int i = 0; i < g->kernel_h; i++)
            for (int j = 0; j < g->kernel_w; j++) {
                const int h = o_h * g->stride_h + i - g->pad_h, w = o_w * g->stride_w + j - g->pad_w;
                if (h >= 0 && h < g->H && w >= 0 && w < g->W)
                    sum += x[((b * g->C + c) * g->H + h) * g->W + w] *
                           weight[((k * g->C + c) * g->kernel_h + i) * g->kernel_w + j];
            }
    return sum;
}

void reference_conv_channel(double *y, const double *x, const double *weight, const double *bias,
                            const struct reference_conv *g, int k)
{
    const int out_h = reference_out_h(g), out_w = reference_out_w(g);

    for (int b = 0; b < g->B; b++)
        for (int o_h = 0; o_h < out_h; o_h++)
            for (int o_w = 0; o_w < out_w; o_w++)
                y[((b * g->C_out + k) * out_h + o_h) * out_w + o_w] = bias[k] + conv_at(x, weight, g, b, k, o_h, o_w);
}

void reference_conv(double *y, const double *x, const double *weight, const double *bias,
                    const struct reference_conv *g)
{
    for (int k = 0; k < g->C_out; k++)
        reference_conv_channel(y, x, weight, bias, g, k);
}

void reference_relu(double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = fmax(x[i], 0.0);
}

void reference_max_pool_2x2(double *y, const double *x, int n_planes, int H, int W)
{
    for (int p = 0; p < n_planes; p++)
        for (int h = 0; h < H / 2; h++)
            for (int w = 0; w < W / 2; w++) {
                const double *a = x + (p * H + 2 * h) * W + 2 * w;
                *y++ = fmax(fmax(a[0], a[1]), fmax(a[W], a[W + 1]));
            }
}

void reference_dense(double *y, const double *x, const double *weight, const double *bias, int B, int K, int N)
{
    for (int b = 0; b < B; b++)
        for (int i = 0; i < N; i++) {
            double sum = bias[i];
            for (int k = 0; k < K; k++)
                sum += x[b * K + k] * weight[i * K + k];
            *y++ = sum;
        }
}

double reference_xent(const double *logits, const uint32_t *label, int B, int K)
{
    double loss = 0.0;

    for (int b = 0; b < B; b++) {
        double sum = 0.0;
        for (int k = 0; k < K; k++)
            sum += exp(logits[b * K + k]);
        loss += log(sum) - logits[b * K + (int)label[b]];
    }
    return loss / B;
}

static void conv_some(double *y, const double *x, const double *param, const struct reference_conv *g, int channel)
{
    const double *bias = param + g->C_out * g->C * 9;

    if (channel < 0)
        reference_conv(y, x, param, bias, g);
    else
        reference_conv_channel(y, x, param, bias, g, channel);
    reference_relu(y, (size_t)g->B * (size_t)g->C_out * (size_t)g->H * (size_t)g->W);
}

double reference_lenet_loss(struct reference_lenet *r, const double *param, int from, int channel)
{
    const struct reference_conv conv_1 = { r->B, 1, 8, 8, 16, 3, 3, 1, 1, 1, 1 };
    const struct reference_conv conv_2 = { r->B, 16, 4, 4, 32, 3, 3, 1, 1, 1, 1 };
    const double *conv_2_param = param + 160, *hidden = conv_2_param + 4640, *output = hidden + 8256;
    const size_t B = (size_t)r->B;

    if (from <= 0) {
        double centred[REFERENCE_MAX_B * 64];
        for (size_t i = 0; i < B * 64; i++)
            centred[i] = r->x[i] - (double)0.3f;
        conv_some(r->y_1, centred, param, &conv_1, channel);
        reference_max_pool_2x2(r->p_1, r->y_1, r->B * 16, 8, 8);
    }
    if (from <= 1) {
        conv_some(r->y_2, r->p_1, conv_2_param, &conv_2, from == 1 ? channel : -1);
        reference_max_pool_2x2(r->p_2, r->y_2, r->B * 32, 4, 4);
    }
    if (from <= 2) {
        reference_dense(r->h, r->p_2, hidden, hidden + 8192, r->B, 128, 64);
        reference_relu(r->h, B * 64);
    }
    reference_dense(r->logits, r->h, output, output + 640, r->B, 64, 10);
    return reference_xent(r->logits, r->label, r->B, 10);
}
