/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compute_operations.c - the wrappers every caller of an operation goes through: see compute.h.
 *
 * They assert shapes and count work (C2). They do not read arrays, nor check whether one is NULL: a call counts the
 * same on every backend. To ThreadSanitizer they say what a call reads and writes (compute_races.h).
 */
#include <assert.h>
#include <math.h>

#include "harness/compute/compute_races.h"

int window_out_h(const struct window *g)
{
    return (g->H + 2 * g->pad_h - g->kernel_h) / g->stride_h + 1;
}

int window_out_w(const struct window *g)
{
    return (g->W + 2 * g->pad_w - g->kernel_w) / g->stride_w + 1;
}

static void check_window(const struct window *g)
{
    assert(g->B >= 1 && g->C >= 1 && g->H >= 1 && g->W >= 1);
    assert(g->kernel_h >= 1 && g->kernel_w >= 1 && g->stride_h >= 1 && g->stride_w >= 1);
    assert(g->pad_h >= 0 && g->pad_w >= 0 && g->pad_h < g->kernel_h && g->pad_w < g->kernel_w);
    assert(g->H + 2 * g->pad_h >= g->kernel_h && g->W + 2 * g->pad_w >= g->kernel_w);
    (void)g;
}

static double window_in_elems(const struct window *g)
{
    return (double)g->B * g->C * g->H * g->W;
}

static double window_out_elems(const struct window *g)
{
    return (double)g->B * g->C * window_out_h(g) * window_out_w(g);
}

/* n_elems: 4-byte elements read plus elements written. */
static void count_elems(struct compute *c, double n_elems)
{
    compute_tick(c);
    c->since_sync.bytes += 4.0 * n_elems;
}

/* Call an operation of the backend, if it has it. */
#define RUN(c, operation, ...)                   \
    do {                                         \
        if ((c)->ops->operation != NULL)         \
            (c)->ops->operation(c, __VA_ARGS__); \
    } while (0)
/* The same for an operation that is neither a GEMM nor a convolution. */
#define RUN_REST(c, operation, ...)         \
    do {                                    \
        if (!(c)->env.gemm_only)            \
            RUN(c, operation, __VA_ARGS__); \
    } while (0)

void compute_gemm(struct compute *c, const struct gemm *op)
{
    assert(op->M >= 1 && op->N >= 1 && op->K >= 1);
    compute_tick(c);
    c->since_sync.flops += 2.0 * op->M * op->N * op->K;
    says_reads(c, op->a, (double)op->M * op->K);
    says_reads(c, op->b, (double)op->K * op->N);
    says_writes(c, op->c, (double)op->M * op->N);
    RUN(c, gemm, op);
}

static double conv_in_elems(const struct conv_shape *s)
{
    return window_in_elems(&s->in);
}

static double conv_out_elems(const struct conv_shape *s)
{
    return (double)s->in.B * s->C_out * window_out_h(&s->in) * window_out_w(&s->in);
}

static double conv_weight_elems(const struct conv_shape *s)
{
    return (double)s->C_out * s->in.C * s->in.kernel_h * s->in.kernel_w;
}

static void count_conv(struct compute *c, const struct conv_shape *s, double n_more_elems)
{
    check_window(&s->in);
    assert(s->C_out >= 1);
    compute_tick(c);
    c->since_sync.flops += 2.0 * conv_out_elems(s) * s->in.C * s->in.kernel_h * s->in.kernel_w;
    count_elems(c, conv_in_elems(s) + conv_out_elems(s) + conv_weight_elems(s) + n_more_elems);
}

void compute_conv(struct compute *c, const struct conv_forward *op)
{
    count_conv(c, &op->shape, 0.0);
    says_reads(c, op->x, conv_in_elems(&op->shape));
    says_reads(c, op->weight, conv_weight_elems(&op->shape));
    says_writes(c, op->y, conv_out_elems(&op->shape));
    RUN(c, conv, op);
}

void compute_conv_input_grad(struct compute *c, const struct conv_input_grad *op)
{
    count_conv(c, &op->shape, op->add ? conv_in_elems(&op->shape) : 0.0);
    says_reads(c, op->dy, conv_out_elems(&op->shape));
    says_reads(c, op->weight, conv_weight_elems(&op->shape));
    says_writes(c, op->dx, conv_in_elems(&op->shape));
    RUN(c, conv_input_grad, op);
}

void compute_conv_weight_grad(struct compute *c, const struct conv_weight_grad *op)
{
    count_conv(c, &op->shape, 0.0);
    says_reads(c, op->dy, conv_out_elems(&op->shape));
    says_reads(c, op->x, conv_in_elems(&op->shape));
    says_writes(c, op->dweight, conv_weight_elems(&op->shape));
    RUN(c, conv_weight_grad, op);
}

void compute_conv_bias_grad(struct compute *c, const struct conv_bias_grad *op)
{
    count_elems(c, (double)op->C * (double)op->n + (double)op->C);
    says_reads(c, op->dy, (double)op->C * (double)op->n);
    says_writes(c, op->dbias, (double)op->C);
    RUN_REST(c, conv_bias_grad, op);
}

static double norm_elems(const struct batch_norm *s)
{
    return (double)s->C * (double)s->n;
}

void compute_batch_norm(struct compute *c, const struct batch_norm_forward *op)
{
    count_elems(c, 2.0 * norm_elems(&op->shape) + 8.0 * (double)op->shape.C);
    says_reads(c, op->y, norm_elems(&op->shape));
    says_reads(c, op->add, norm_elems(&op->shape));
    says_writes(c, op->z, norm_elems(&op->shape));
    RUN_REST(c, batch_norm, op);
}

void compute_batch_norm_fold(struct compute *c, const struct batch_norm_fold *op)
{
    count_elems(c, 6.0 * (double)op->shape.C);
    RUN_REST(c, batch_norm_fold, op);
}

void compute_batch_norm_grad(struct compute *c, const struct batch_norm_grad *op)
{
    count_elems(c, 3.0 * norm_elems(&op->shape) + 6.0 * (double)op->shape.C);
    says_reads(c, op->y, norm_elems(&op->shape));
    says_writes(c, op->dz, norm_elems(&op->shape));
    says_writes(c, op->dy, norm_elems(&op->shape));
    says_writes(c, op->dgamma, (double)op->shape.C);
    says_writes(c, op->dbeta, (double)op->shape.C);
    RUN_REST(c, batch_norm_grad, op);
}

void compute_bias_add(struct compute *c, float *y, const float *bias, size_t outer, size_t n, size_t inner)
{
    count_elems(c, 2.0 * (double)outer * (double)n * (double)inner + (double)n);
    says_writes(c, y, (double)outer * (double)n * (double)inner);
    says_reads(c, bias, (double)n);
    RUN_REST(c, bias_add, y, bias, outer, n, inner);
}

void compute_bias_grad(struct compute *c, float *dbias, const float *dy, size_t outer, size_t n, size_t inner)
{
    count_elems(c, (double)outer * (double)n * (double)inner + 2.0 * (double)n);
    says_reads(c, dy, (double)outer * (double)n * (double)inner);
    says_writes(c, dbias, (double)n);
    RUN_REST(c, bias_grad, dbias, dy, outer, n, inner);
}

void compute_swap_axes(struct compute *c, float *out, const float *in, size_t n_a, size_t n_b, size_t n_inner)
{
    count_elems(c, 2.0 * (double)n_a * (double)n_b * (double)n_inner);
    says_reads(c, in, (double)n_a * (double)n_b * (double)n_inner);
    says_writes(c, out, (double)n_a * (double)n_b * (double)n_inner);
    RUN_REST(c, swap_axes, out, in, n_a, n_b, n_inner);
}

void compute_relu(struct compute *c, float *x, size_t n)
{
    count_elems(c, 2.0 * (double)n);
    says_writes(c, x, (double)n);
    RUN_REST(c, relu, x, n);
}

void compute_relu_grad(struct compute *c, float *dx, const float *x, size_t n)
{
    count_elems(c, 3.0 * (double)n);
    says_reads(c, x, (double)n);
    says_writes(c, dx, (double)n);
    RUN_REST(c, relu_grad, dx, x, n);
}

/* n_argmax: elements of 4 bytes that the argmax of one output takes. */
static void count_window_pool(struct compute *c, const struct window *g, double n_in_passes, double n_argmax)
{
    check_window(g);
    count_elems(c, n_in_passes * window_in_elems(g) + (1.0 + n_argmax) * window_out_elems(g));
}

void compute_max_pool(struct compute *c, const struct pool_forward *op)
{
    assert(op->window.kernel_h * op->window.kernel_w <= 256);
    count_window_pool(c, &op->window, 1.0, 0.25);
    says_reads(c, op->x, window_in_elems(&op->window));
    says_writes(c, op->y, window_out_elems(&op->window));
    RUN_REST(c, max_pool, op);
}

void compute_max_pool_grad(struct compute *c, const struct pool_grad *op)
{
    count_window_pool(c, &op->window, op->add ? 2.0 : 1.0, 0.25);
    says_reads(c, op->dy, window_out_elems(&op->window));
    says_writes(c, op->dx, window_in_elems(&op->window));
    RUN_REST(c, max_pool_grad, op);
}

void compute_avg_pool(struct compute *c, const struct pool_forward *op)
{
    count_window_pool(c, &op->window, 1.0, 0.0);
    says_reads(c, op->x, window_in_elems(&op->window));
    says_writes(c, op->y, window_out_elems(&op->window));
    RUN_REST(c, avg_pool, op);
}

void compute_avg_pool_grad(struct compute *c, const struct pool_grad *op)
{
    count_window_pool(c, &op->window, op->add ? 2.0 : 1.0, 0.0);
    says_reads(c, op->dy, window_out_elems(&op->window));
    says_writes(c, op->dx, window_in_elems(&op->window));
    RUN_REST(c, avg_pool_grad, op);
}

static double planes(const struct window *g)
{
    return (double)g->B * g->C;
}

void compute_adaptive_pool(struct compute *c, const struct pool_forward *op)
{
    assert(op->out_h >= 1 && op->out_w >= 1);
    count_elems(c, window_in_elems(&op->window) + planes(&op->window) * op->out_h * op->out_w);
    says_reads(c, op->x, window_in_elems(&op->window));
    says_writes(c, op->y, planes(&op->window) * op->out_h * op->out_w);
    RUN_REST(c, adaptive_pool, op);
}

void compute_adaptive_pool_grad(struct compute *c, const struct pool_grad *op)
{
    assert(op->out_h >= 1 && op->out_w >= 1);
    count_elems(c, (op->add ? 2.0 : 1.0) * window_in_elems(&op->window) + planes(&op->window) * op->out_h * op->out_w);
    says_reads(c, op->dy, planes(&op->window) * op->out_h * op->out_w);
    says_writes(c, op->dx, window_in_elems(&op->window));
    RUN_REST(c, adaptive_pool_grad, op);
}

void compute_dropout(struct compute *c, float *x, size_t n, float keep_ratio, uint64_t key)
{
    assert(keep_ratio > 0.0f && keep_ratio <= 1.0f);
    count_elems(c, 2.0 * (double)n);
    says_writes(c, x, (double)n);
    RUN_REST(c, dropout, x, n, keep_ratio, key);
}

void compute_softmax_xent(struct compute *c, const struct softmax_xent *op)
{
    assert(op->B >= 1 && op->K >= 1);
    count_elems(c, 2.0 * (double)op->B * (double)op->K + (double)op->B);
    *op->mean_loss = NAN;
    if (op->n_correct != NULL)
        *op->n_correct = 0;
    says_reads(c, op->logits, (double)op->B * (double)op->K);
    says_writes(c, op->dlogits, (double)op->B * (double)op->K);
    RUN_REST(c, softmax_xent, op);
}

void compute_mean_square(struct compute *c, double *mean_loss, float *dy, const float *y, const float *target, size_t n)
{
    assert(n >= 1);
    count_elems(c, 3.0 * (double)n);
    *mean_loss = NAN;
    says_reads(c, y, (double)n);
    says_reads(c, target, (double)n);
    says_writes(c, dy, (double)n);
    RUN_REST(c, mean_square, mean_loss, dy, y, target, n);
}

void compute_zero(struct compute *c, float *x, size_t n)
{
    count_elems(c, (double)n);
    says_writes(c, x, (double)n);
    RUN_REST(c, zero, x, n);
}

void compute_accumulate(struct compute *c, float *y, const float *x, size_t n)
{
    count_elems(c, 3.0 * (double)n);
    says_reads(c, x, (double)n);
    says_writes(c, y, (double)n);
    RUN_REST(c, accumulate, y, x, n);
}

void compute_sum_arrays(struct compute *c, const struct sum_arrays *op)
{
    assert(op->n_operands >= 1 && op->n_results >= 1);
    count_elems(c, (double)(op->n_operands + op->n_results) * (double)op->n);
    for (int k = 0; k < op->n_operands && op->operand; k++)
        says_reads(c, op->operand[k], (double)op->n);
    for (int k = 0; k < op->n_results && op->result; k++)
        says_writes(c, op->result[k], (double)op->n);
    RUN_REST(c, sum_arrays, op);
}

void compute_narrow(struct compute *c, uint16_t *to, const float *from, size_t n, enum wire_format format)
{
    assert(format != WIRE_F32);
    count_elems(c, 1.5 * (double)n);
    says_reads(c, from, (double)n);
    says_writes(c, to, 0.5 * (double)n);
    RUN_REST(c, narrow, to, from, n, format);
}

void compute_widen(struct compute *c, float *to, const uint16_t *from, size_t n, enum wire_format format, bool add)
{
    assert(format != WIRE_F32);
    count_elems(c, (add ? 2.5 : 1.5) * (double)n);
    says_reads(c, from, 0.5 * (double)n);
    says_writes(c, to, (double)n);
    RUN_REST(c, widen, to, from, n, format, add);
}

void compute_round(struct compute *c, float *x, float *residual, size_t n, enum wire_format format, bool has_residual)
{
    assert(format != WIRE_F32);
    assert(has_residual == (residual != NULL) || !c->ops->touches_memory);
    count_elems(c, (has_residual ? 4.0 : 2.0) * (double)n);
    says_writes(c, x, (double)n);
    says_writes(c, residual, (double)n);
    RUN_REST(c, round, x, residual, n, format);
}
