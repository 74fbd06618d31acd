/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layers.c - pooling and batch normalisation of the cuda backend. cuda_op_X() only appends a call to the log (cuda.h).
 * run_X() queues its kernel on the GPU, when the log is flushed.
 */
#include "harness/compute/cuda/layers.h"

#include <string.h>

static struct cuda_compute *cuda_of(struct compute *c)
{
    return (struct cuda_compute *)c;
}

struct layer_args layer_no_args(void)
{
    struct layer_args a;

    memset(&a, 0, sizeof a);
    return a;
}

static void run_layer(struct cuda_compute *c, const void *args)
{
    const struct layer_args *a = args;

    a->run(c, a);
}

void layer_log(struct compute *base, const char *name, layer_run_fn *run, struct layer_args *a)
{
    a->run = run;
    cuda_log_call(cuda_of(base), name, run_layer, a, sizeof *a);
}

static cuda_stream stream_of(struct cuda_compute *c)
{
    return cuda_device_stream(c->device);
}

/* --- pools --- */

static void set_window(struct layer_args *a, const struct window *g, int out_h, int out_w)
{
    const struct cuda_window w = { g->B,        g->C,        g->H,     g->W,     g->kernel_h, g->kernel_w,
                                   g->stride_h, g->stride_w, g->pad_h, g->pad_w, out_h,       out_w };

    a->op.window = w;
}

static void log_pool(struct compute *c, const char *name, layer_run_fn *run, const struct pool_forward *op, int out_h,
                     int out_w)
{
    struct layer_args a = layer_no_args();

    a.out[0] = op->y;
    a.packed = op->y_packed;
    a.argmax = op->argmax;
    a.in[0] = op->x;
    set_window(&a, &op->window, out_h, out_w);
    layer_log(c, name, run, &a);
}

static void log_pool_grad(struct compute *c, const char *name, layer_run_fn *run, const struct pool_grad *op, int out_h,
                          int out_w)
{
    struct layer_args a = layer_no_args();

    a.out[0] = op->dx;
    a.in[0] = op->dy;
    a.argmax = (uint8_t *)(uintptr_t)op->argmax; /* one member for both directions; only read here */
    a.add = op->add;
    set_window(&a, &op->window, out_h, out_w);
    layer_log(c, name, run, &a);
}

static void run_max_pool(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_max_pool(a->out[0], a->packed, a->argmax, a->in[0], &a->op.window, stream_of(c));
}

void cuda_op_max_pool(struct compute *c, const struct pool_forward *op)
{
    log_pool(c, "max_pool", run_max_pool, op, window_out_h(&op->window), window_out_w(&op->window));
}

static void run_max_pool_grad(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_max_pool_grad(a->out[0], a->in[0], a->argmax, a->add != 0, &a->op.window, stream_of(c));
}

void cuda_op_max_pool_grad(struct compute *c, const struct pool_grad *op)
{
    log_pool_grad(c, "max_pool_grad", run_max_pool_grad, op, window_out_h(&op->window), window_out_w(&op->window));
}

static void run_avg_pool(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_avg_pool(a->out[0], a->packed, a->in[0], &a->op.window, stream_of(c));
}

void cuda_op_avg_pool(struct compute *c, const struct pool_forward *op)
{
    log_pool(c, "avg_pool", run_avg_pool, op, window_out_h(&op->window), window_out_w(&op->window));
}

static void run_avg_pool_grad(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_avg_pool_grad(a->out[0], a->in[0], a->add != 0, &a->op.window, stream_of(c));
}

void cuda_op_avg_pool_grad(struct compute *c, const struct pool_grad *op)
{
    log_pool_grad(c, "avg_pool_grad", run_avg_pool_grad, op, window_out_h(&op->window), window_out_w(&op->window));
}

static void run_adaptive_pool(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_adaptive_pool(a->out[0], a->packed, a->in[0], &a->op.window, stream_of(c));
}

void cuda_op_adaptive_pool(struct compute *c, const struct pool_forward *op)
{
    log_pool(c, "adaptive_pool", run_adaptive_pool, op, op->out_h, op->out_w);
}

static void run_adaptive_pool_grad(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_adaptive_pool_grad(a->out[0], a->in[0], a->add != 0, &a->op.window, stream_of(c));
}

void cuda_op_adaptive_pool_grad(struct compute *c, const struct pool_grad *op)
{
    log_pool_grad(c, "adaptive_pool_grad", run_adaptive_pool_grad, op, op->out_h, op->out_w);
}

/* --- sums over channels: they need scratch for partial sums --- */

static bool grow_for_sums(struct compute *c, const char *name, size_t C, size_t n)
{
    return cuda_scratch_grow(cuda_of(c), name, cuda_sums_bytes(C, n));
}

static void run_conv_bias_grad(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_conv_bias_grad(&a->op.bias_grad, c->scratch, stream_of(c));
}

void cuda_op_conv_bias_grad(struct compute *c, const struct conv_bias_grad *op)
{
    struct layer_args a = layer_no_args();

    a.op.bias_grad = *op; /* all of it pointers and numbers of their length: no padding */
    if (grow_for_sums(c, "conv_bias_grad", op->C, op->n))
        layer_log(c, "conv_bias_grad", run_conv_bias_grad, &a);
}

/* Member by member, here and below: padding stays zero (struct layer_args). */
static void set_norm(struct batch_norm *out, const struct batch_norm *s)
{
    out->C = s->C;
    out->n = s->n;
    out->epsilon = s->epsilon;
    out->momentum = s->momentum;
    out->relu = s->relu;
}

static void run_batch_norm(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_batch_norm(&a->op.norm, c->scratch, stream_of(c));
}

void cuda_op_batch_norm(struct compute *c, const struct batch_norm_forward *op)
{
    struct layer_args a = layer_no_args();

    set_norm(&a.op.norm.shape, &op->shape);
    a.op.norm.z = op->z;
    a.op.norm.z_packed = op->z_packed;
    a.op.norm.mean = op->mean;
    a.op.norm.inv_std = op->inv_std;
    a.op.norm.running_mean = op->running_mean;
    a.op.norm.running_var = op->running_var;
    a.op.norm.y = op->y;
    a.op.norm.gamma = op->gamma;
    a.op.norm.beta = op->beta;
    a.op.norm.add = op->add;
    if (grow_for_sums(c, "batch_norm", op->shape.C, op->shape.n))
        layer_log(c, "batch_norm", run_batch_norm, &a);
}

static void run_batch_norm_fold(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_batch_norm_fold(&a->op.fold, stream_of(c));
}

void cuda_op_batch_norm_fold(struct compute *c, const struct batch_norm_fold *op)
{
    struct layer_args a = layer_no_args();

    set_norm(&a.op.fold.shape, &op->shape);
    a.op.fold.scale = op->scale;
    a.op.fold.shift = op->shift;
    a.op.fold.gamma = op->gamma;
    a.op.fold.beta = op->beta;
    a.op.fold.running_mean = op->running_mean;
    a.op.fold.running_var = op->running_var;
    layer_log(c, "batch_norm_fold", run_batch_norm_fold, &a);
}

static void run_batch_norm_grad(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_batch_norm_grad(&a->op.norm_grad, c->scratch, stream_of(c));
}

void cuda_op_batch_norm_grad(struct compute *c, const struct batch_norm_grad *op)
{
    struct layer_args a = layer_no_args();

    set_norm(&a.op.norm_grad.shape, &op->shape);
    a.op.norm_grad.dy = op->dy;
    a.op.norm_grad.dy_packed = op->dy_packed;
    a.op.norm_grad.dgamma = op->dgamma;
    a.op.norm_grad.dbeta = op->dbeta;
    a.op.norm_grad.dz = op->dz;
    a.op.norm_grad.y = op->y;
    a.op.norm_grad.z = op->z;
    a.op.norm_grad.gamma = op->gamma;
    a.op.norm_grad.beta = op->beta;
    a.op.norm_grad.mean = op->mean;
    a.op.norm_grad.inv_std = op->inv_std;
    if (grow_for_sums(c, "batch_norm_grad", op->shape.C, op->shape.n))
        layer_log(c, "batch_norm_grad", run_batch_norm_grad, &a);
}
