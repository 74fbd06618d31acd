/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer_conv.h - convolution with bias, by im2col and one GEMM for the whole batch.
 *
 * Activations are channel-major, (C, B, H, W): then the GEMM reads col and writes y as they lie, and
 * nothing is transposed between layers. One channel is (1, B, H, W), which is also what a data set
 * of one channel holds.
 *
 * param and grad are the flat vectors; the layer finds its tensors in them. No overlap between
 * arrays but where said. Nothing can fail. B images, 1 <= B.
 */
#ifndef MODELS_LAYER_CONV_H
#define MODELS_LAYER_CONV_H

#include "models/layer.h"

struct conv {
    struct window in; /* C, H, W of the input and the kernel; B is each call's */
    int C_out;
    struct segment weight; /* (C_out, C, kernel_h, kernel_w) */
    struct segment bias;   /* (C_out) */
};

/* Take the tensors from a parameter vector that has *n_params so far. `in` as above. */
void conv_init(struct conv *l, size_t *n_params, const struct window *in, int C_out);
/* Inputs of one output: C kernel_h kernel_w. */
size_t conv_fan_in(const struct conv *l);
/* Elements for B images: x (C, B, H, W); y (C_out, B, out_h, out_w); col (fan_in, B, out_h, out_w). */
size_t conv_x_elems(const struct conv *l, size_t B);
size_t conv_y_elems(const struct conv *l, size_t B);
size_t conv_col_elems(const struct conv *l, size_t B);
/* Of one of the three GEMMs, for one image. */
double conv_gemm_flops(const struct conv *l);

/* y := conv(x) + bias; col := im2col of x, kept for conv_weight_grad. */
void conv_forward(const struct conv *l, struct compute *c, float *y, float *col, const float *x, const float *param,
                  size_t B);
/* grad's bias := sums of dy. */
void conv_bias_grad(const struct conv *l, struct compute *c, float *grad, const float *dy, size_t B);
/* grad's weight := dy col^T. */
void conv_weight_grad(const struct conv *l, struct compute *c, float *grad, const float *dy, const float *col,
                      size_t B);
/* dx := gradient of x; dcol is scratch like col, and may be col itself once that is not needed. */
void conv_input_grad(const struct conv *l, struct compute *c, float *dx, float *dcol, const float *dy,
                     const float *param, size_t B);

#endif
