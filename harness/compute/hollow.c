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

static enum rc hollow_open(struct compute **out)
{
    struct compute *c = calloc(1, sizeof *c);

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

static void im2col(struct compute *c, float *col, const float *x, const struct window *g)
{
    (void)c, (void)col, (void)x, (void)g;
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

static void max_pool(struct compute *c, float *y, uint32_t *at, const float *x, const struct window *g)
{
    (void)c, (void)y, (void)at, (void)x, (void)g;
}

static void max_pool_grad(struct compute *c, float *dx, const float *dy, const uint32_t *at, const struct window *g)
{
    (void)c, (void)dx, (void)dy, (void)at, (void)g;
}

static void softmax_xent(struct compute *c, double *mean_loss, float *dlogits, size_t *n_correct, const float *logits,
                         const uint32_t *label, size_t B, size_t K)
{
    (void)c, (void)dlogits, (void)logits, (void)label, (void)B, (void)K;
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
    .name = "hollow",
    .touches_memory = false,
    .open = hollow_open,
    .close = hollow_close,
    .gemm = gemm,
    .im2col = im2col,
    .col2im = im2col,
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
