/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reference.h - layers and networks again, naive and in double: what the tests hold the real ones to.
 *
 * Written from the definitions, in the textbook's order and layout (B, C, H, W); shares nothing with
 * the layers. Tests only.
 */
#ifndef MODELS_REFERENCE_H
#define MODELS_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

struct reference_conv {
    int B, C, H, W, C_out, kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;
};

int reference_out_h(const struct reference_conv *g);
int reference_out_w(const struct reference_conv *g);
/* y(B, C_out, out_h, out_w) from x(B, C, H, W). */
void reference_conv(double *y, const double *x, const double *weight, const double *bias,
                    const struct reference_conv *g);
/* Output channel k alone. */
void reference_conv_channel(double *y, const double *x, const double *weight, const double *bias,
                            const struct reference_conv *g, int k);
void reference_relu(double *x, size_t n);
/* y(n_planes, H/2, W/2) from x(n_planes, H, W). */
void reference_max_pool_2x2(double *y, const double *x, int n_planes, int H, int W);
/* y(B, N) from x(B, K), weight(N, K), bias(N). */
void reference_dense(double *y, const double *x, const double *weight, const double *bias, int B, int K, int N);
double reference_xent(const double *logits, const uint32_t *label, int B, int K);

/* The lenet of lenet.c, on raw pixels; keeps every activation, so that a change of one tensor is
 * followed from that layer on. */
enum { REFERENCE_MAX_B = 3, REFERENCE_N_PARAMS = 160 + 4640 + 8256 + 650 };

struct reference_lenet {
    int B;
    uint32_t label[REFERENCE_MAX_B];
    double x[REFERENCE_MAX_B * 64];
    double y_1[REFERENCE_MAX_B * 16 * 64], p_1[REFERENCE_MAX_B * 16 * 16];
    double y_2[REFERENCE_MAX_B * 32 * 16], p_2[REFERENCE_MAX_B * 128];
    double h[REFERENCE_MAX_B * 64], logits[REFERENCE_MAX_B * 10];
};

/* Mean loss. Layers before layer `from` (0 .. 3) keep the activations of the last call, and so do the
 * channels other than `channel` of layer `from` if that is a convolution (-1: none does). */
double reference_lenet_loss(struct reference_lenet *r, const double *param, int from, int channel);

#endif
