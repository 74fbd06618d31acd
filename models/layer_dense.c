/* SPDX-License-Identifier: Apache-2.0 */
/* layer_dense.c - a dense layer: three GEMMs and a bias. */
#include "models/layer_dense.h"

void dense_init(struct dense *l, size_t *n_params, int K, int N)
{
    l->K = K;
    l->N = N;
    l->weight = layer_take(n_params, (size_t)N * (size_t)K);
    l->bias = layer_take(n_params, (size_t)N);
}

double dense_gemm_flops(const struct dense *l)
{
    return 2.0 * l->K * l->N;
}

void dense_forward(const struct dense *l, struct compute *c, float *y, const float *x, const float *param, size_t B)
{
    const struct gemm product = {
        .transpose_b = true,
        .M = (int)B,
        .N = l->N,
        .K = l->K,
        .a = x,
        .b = layer_at_const(param, l->weight.at),
        .c = y,
    };

    compute_gemm(c, &product);
    compute_bias_add(c, y, layer_at_const(param, l->bias.at), B, (size_t)l->N, 1);
}

void dense_bias_grad(const struct dense *l, struct compute *c, float *grad, const float *dy, size_t B)
{
    float *dbias = layer_at(grad, l->bias.at);

    compute_zero(c, dbias, l->bias.n_elems);
    compute_bias_grad(c, dbias, dy, B, (size_t)l->N, 1);
}

void dense_weight_grad(const struct dense *l, struct compute *c, float *grad, const float *dy, const float *x, size_t B)
{
    const struct gemm product = {
        .transpose_a = true,
        .M = l->N,
        .N = l->K,
        .K = (int)B,
        .a = dy,
        .b = x,
        .c = layer_at(grad, l->weight.at),
    };

    compute_gemm(c, &product);
}

void dense_input_grad(const struct dense *l, struct compute *c, float *dx, const float *dy, const float *param,
                      size_t B)
{
    const struct gemm product = {
        .M = (int)B,
        .N = l->K,
        .K = l->N,
        .a = dy,
        .b = layer_at_const(param, l->weight.at),
        .c = dx,
    };

    compute_gemm(c, &product);
}
