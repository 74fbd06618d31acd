/* SPDX-License-Identifier: Apache-2.0 */
/* layer_conv.c - convolution by im2col, a channel at a time, and one GEMM. */
#include "models/layer_conv.h"

static size_t out_plane(const struct conv *l)
{
    return (size_t)window_out_h(&l->in) * (size_t)window_out_w(&l->in);
}

void conv_init(struct conv *l, size_t *n_params, const struct window *in, int C_out)
{
    l->in = *in;
    l->C_out = C_out;
    l->weight = layer_take(n_params, (size_t)C_out * conv_fan_in(l));
    l->bias = layer_take(n_params, (size_t)C_out);
}

size_t conv_fan_in(const struct conv *l)
{
    return (size_t)l->in.C * (size_t)l->in.kernel_h * (size_t)l->in.kernel_w;
}

size_t conv_x_elems(const struct conv *l, size_t B)
{
    return (size_t)l->in.C * B * (size_t)l->in.H * (size_t)l->in.W;
}

size_t conv_y_elems(const struct conv *l, size_t B)
{
    return (size_t)l->C_out * B * out_plane(l);
}

size_t conv_col_elems(const struct conv *l, size_t B)
{
    return conv_fan_in(l) * B * out_plane(l);
}

double conv_gemm_flops(const struct conv *l)
{
    return 2.0 * l->C_out * (double)conv_fan_in(l) * (double)out_plane(l);
}

/* Channel-major activations make each channel a batch of one-channel images. */
static struct window one_channel(const struct conv *l, size_t B)
{
    struct window g = l->in;

    g.B = (int)B;
    g.C = 1;
    return g;
}

void conv_forward(const struct conv *l, struct compute *c, float *y, float *col, const float *x, const float *param,
                  size_t B)
{
    const struct window g = one_channel(l, B);
    const size_t N = B * out_plane(l), C = (size_t)l->in.C;
    const struct gemm product = {
        .M = l->C_out,
        .N = (int)N,
        .K = (int)conv_fan_in(l),
        .a = layer_at_const(param, l->weight.at),
        .b = col,
        .c = y,
    };

    for (size_t i = 0; i < C; i++)
        compute_im2col(c, layer_at(col, conv_col_elems(l, B) / C * i), layer_at_const(x, conv_x_elems(l, B) / C * i),
                       &g);
    compute_gemm(c, &product);
    compute_bias_add(c, y, layer_at_const(param, l->bias.at), 1, (size_t)l->C_out, N);
}

void conv_bias_grad(const struct conv *l, struct compute *c, float *grad, const float *dy, size_t B)
{
    float *dbias = layer_at(grad, l->bias.at);

    compute_zero(c, dbias, l->bias.n_elems);
    compute_bias_grad(c, dbias, dy, 1, (size_t)l->C_out, B * out_plane(l));
}

void conv_weight_grad(const struct conv *l, struct compute *c, float *grad, const float *dy, const float *col, size_t B)
{
    const struct gemm product = {
        .transpose_b = true,
        .M = l->C_out,
        .N = (int)conv_fan_in(l),
        .K = (int)(B * out_plane(l)),
        .a = dy,
        .b = col,
        .c = layer_at(grad, l->weight.at),
    };

    compute_gemm(c, &product);
}

void conv_input_grad(const struct conv *l, struct compute *c, float *dx, float *dcol, const float *dy,
                     const float *param, size_t B)
{
    const struct window g = one_channel(l, B);
    const size_t C = (size_t)l->in.C;
    const struct gemm product = {
        .transpose_a = true,
        .M = (int)conv_fan_in(l),
        .N = (int)(B * out_plane(l)),
        .K = l->C_out,
        .a = layer_at_const(param, l->weight.at),
        .b = dy,
        .c = dcol,
    };

    compute_gemm(c, &product);
    for (size_t i = 0; i < C; i++)
        compute_col2im(c, layer_at(dx, conv_x_elems(l, B) / C * i), layer_at_const(dcol, conv_col_elems(l, B) / C * i),
                       &g);
}
