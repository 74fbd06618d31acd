/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer_dense.h - y(B,N) = x(B,K) weight(N,K)^T + bias(N).
 *
 * param and grad are the flat vectors; the layer finds its tensors in them. No overlap between
 * arrays. Nothing can fail. B samples, 1 <= B.
 */
#ifndef MODELS_LAYER_DENSE_H
#define MODELS_LAYER_DENSE_H

#include "models/layer.h"

struct dense {
    int K, N;              /* inputs, outputs */
    struct segment weight; /* (N, K) */
    struct segment bias;   /* (N) */
};

/* Take the tensors from a parameter vector that has *n_params so far. */
void dense_init(struct dense *l, size_t *n_params, int K, int N);
/* Of one of the three GEMMs, for one sample. */
double dense_gemm_flops(const struct dense *l);

void dense_forward(const struct dense *l, struct compute *c, float *y, const float *x, const float *param, size_t B);
/* grad's bias := column sums of dy. */
void dense_bias_grad(const struct dense *l, struct compute *c, float *grad, const float *dy, size_t B);
/* grad's weight := dy^T x. */
void dense_weight_grad(const struct dense *l, struct compute *c, float *grad, const float *dy, const float *x,
                       size_t B);
/* dx(B,K) := dy weight. */
void dense_input_grad(const struct dense *l, struct compute *c, float *dx, const float *dy, const float *param,
                      size_t B);

#endif
