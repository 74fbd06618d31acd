/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hollow.c - the backend that computes nothing: the wrappers count, virtual time passes (env.charge).
 *
 * Every array may be NULL and keeps what it holds. Losses are NaN, so that nobody mistakes them for
 * results.
 */
#include <math.h>
#include <stdlib.h>

#include "harness/compute/compute.h"
#include "harness/world/world.h"

static enum rc hollow_open(struct compute **out, const struct compute_env *env)
{
    struct compute *c = calloc(1, sizeof *c);

    (void)env;
    if (c == NULL)
        return rc_raise(RC_NOMEM, "compute hollow: %zu bytes", sizeof *c);
    *out = c;
    return RC_OK;
}

static void hollow_close(struct compute **c)
{
    free(*c);
    *c = NULL;
}

static void gemm(struct compute *c, const struct gemm *g)
{
    (void)c, (void)g;
}

static enum rc memory_open(struct compute *c, void **out, size_t n_bytes)
{
    (void)c, (void)n_bytes;
    *out = NULL;
    return RC_OK;
}

static void memory_close(struct compute *c, void **memory)
{
    (void)c, (void)memory;
}

static size_t memory_available(struct compute *c)
{
    (void)c;
    return SIZE_MAX;
}

static void put(struct compute *c, void *to, const void *host, size_t n_bytes)
{
    (void)c, (void)to, (void)host, (void)n_bytes;
}

static void get(struct compute *c, void *host, const void *from, size_t n_bytes)
{
    (void)c, (void)host, (void)from, (void)n_bytes;
}

static void conv(struct compute *c, float *y, const float *x, const float *weight, const struct epilogue *e,
                 const struct conv_shape *s)
{
    (void)c, (void)y, (void)x, (void)weight, (void)e, (void)s;
}

static void conv_input_grad(struct compute *c, float *dx, const float *dy, const float *weight, bool add,
                            const struct conv_shape *s)
{
    (void)c, (void)dx, (void)dy, (void)weight, (void)add, (void)s;
}

static void conv_weight_grad(struct compute *c, float *dweight, const float *dy, const float *x,
                             const struct conv_shape *s)
{
    (void)c, (void)dweight, (void)dy, (void)x, (void)s;
}

static void conv_bias_grad(struct compute *c, float *dbias, float *dy, const float *output, size_t C, size_t n)
{
    (void)c, (void)dbias, (void)dy, (void)output, (void)C, (void)n;
}

static void batch_norm(struct compute *c, float *z, float *mean, float *inv_std, float *running_mean,
                       float *running_var, const float *y, const float *gamma, const float *beta, const float *add,
                       const struct batch_norm *s)
{
    (void)c, (void)z, (void)mean, (void)inv_std, (void)running_mean, (void)running_var, (void)y;
    (void)gamma, (void)beta, (void)add, (void)s;
}

static void batch_norm_fold(struct compute *c, float *scale, float *shift, const float *gamma, const float *beta,
                            const float *running_mean, const float *running_var, const struct batch_norm *s)
{
    (void)c, (void)scale, (void)shift, (void)gamma, (void)beta, (void)running_mean, (void)running_var, (void)s;
}

static void batch_norm_grad(struct compute *c, float *dy, float *dgamma, float *dbeta, float *dz, const float *y,
                            const float *z, const float *gamma, const float *beta, const float *mean,
                            const float *inv_std, const struct batch_norm *s)
{
    (void)c, (void)dy, (void)dgamma, (void)dbeta, (void)dz, (void)y, (void)z;
    (void)gamma, (void)beta, (void)mean, (void)inv_std, (void)s;
}

static void bias_add(struct compute *c, float *y, const float *bias, size_t outer, size_t n, size_t inner)
{
    (void)c, (void)y, (void)bias, (void)outer, (void)n, (void)inner;
}

static void swap_axes(struct compute *c, float *out, const float *in, size_t n_a, size_t n_b, size_t n_inner)
{
    (void)c, (void)out, (void)in, (void)n_a, (void)n_b, (void)n_inner;
}

static void in_place(struct compute *c, float *x, size_t n)
{
    (void)c, (void)x, (void)n;
}

static void in_place_from(struct compute *c, float *y, const float *x, size_t n)
{
    (void)c, (void)y, (void)x, (void)n;
}

static void max_pool(struct compute *c, float *y, uint8_t *at, const float *x, const struct window *g)
{
    (void)c, (void)y, (void)at, (void)x, (void)g;
}

static void max_pool_grad(struct compute *c, float *dx, const float *dy, const uint8_t *at, bool add,
                          const struct window *g)
{
    (void)c, (void)dx, (void)dy, (void)at, (void)add, (void)g;
}

static void avg_pool(struct compute *c, float *y, const float *x, const struct window *g)
{
    (void)c, (void)y, (void)x, (void)g;
}

static void avg_pool_grad(struct compute *c, float *dx, const float *dy, bool add, const struct window *g)
{
    (void)c, (void)dx, (void)dy, (void)add, (void)g;
}

static void adaptive_pool(struct compute *c, float *y, const float *x, const struct window *g, int out_h, int out_w)
{
    (void)c, (void)y, (void)x, (void)g, (void)out_h, (void)out_w;
}

static void adaptive_pool_grad(struct compute *c, float *dx, const float *dy, bool add, const struct window *g,
                               int out_h, int out_w)
{
    (void)c, (void)dx, (void)dy, (void)add, (void)g, (void)out_h, (void)out_w;
}

static void dropout(struct compute *c, float *x, size_t n, float keep_ratio, uint64_t key)
{
    (void)c, (void)x, (void)n, (void)keep_ratio, (void)key;
}

static void softmax_xent(struct compute *c, double *mean_loss, float *dlogits, size_t *n_correct, const float *logits,
                         const uint32_t *label, float weight, size_t B, size_t K)
{
    (void)c, (void)dlogits, (void)logits, (void)label, (void)weight, (void)B, (void)K;
    *mean_loss = NAN;
    if (n_correct != NULL)
        *n_correct = 0;
}

static void mean_square(struct compute *c, double *mean_loss, float *dy, const float *y, const float *target, size_t n)
{
    (void)c, (void)dy, (void)y, (void)target, (void)n;
    *mean_loss = NAN;
}

static void sgd_step(struct compute *c, float *p, float *v, const float *g, size_t n, const struct sgd *s)
{
    (void)c, (void)p, (void)v, (void)g, (void)n, (void)s;
}

const struct compute_backend compute_hollow = {
    .module.name = "hollow",
    .module.needs_world = WORLD_VIRTUAL_TIME,
    .touches_memory = false,
    .open = hollow_open,
    .close = hollow_close,
    .gemm = gemm,
    .memory_open = memory_open,
    .memory_close = memory_close,
    .memory_available = memory_available,
    .put = put,
    .get = get,
    .conv = conv,
    .conv_input_grad = conv_input_grad,
    .conv_weight_grad = conv_weight_grad,
    .conv_bias_grad = conv_bias_grad,
    .batch_norm = batch_norm,
    .batch_norm_fold = batch_norm_fold,
    .batch_norm_grad = batch_norm_grad,
    .avg_pool = avg_pool,
    .avg_pool_grad = avg_pool_grad,
    .adaptive_pool = adaptive_pool,
    .adaptive_pool_grad = adaptive_pool_grad,
    .dropout = dropout,
    .bias_add = bias_add,
    .bias_grad = bias_add,
    .swap_axes = swap_axes,
    .relu = in_place,
    .relu_grad = in_place_from,
    .max_pool = max_pool,
    .max_pool_grad = max_pool_grad,
    .softmax_xent = softmax_xent,
    .mean_square = mean_square,
    .zero = in_place,
    .accumulate = in_place_from,
    .sgd_step = sgd_step,
};
