/* SPDX-License-Identifier: Apache-2.0 */
/* layers.c - pooling and batch normalisation of the cuda backend: their calls logged, and carried out. */
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

void layer_log(struct compute *base, const char *name, cuda_run_fn *run, const struct layer_args *a)
{
    struct cuda_compute *c = cuda_of(base);

    if (!c->gemms_alone)
        cuda_log_call(c, name, run, a, sizeof *a);
}

static cuda_stream stream_of(struct cuda_compute *c)
{
    return cuda_device_stream(c->device);
}

/* --- images --- */

static void set_window(struct layer_args *a, const struct window *g, int out_h, int out_w)
{
    const struct cuda_window w = { g->B,        g->C,        g->H,     g->W,     g->kernel_h, g->kernel_w,
                                   g->stride_h, g->stride_w, g->pad_h, g->pad_w, out_h,       out_w };

    a->shape.window = w;
}

static void run_max_pool(struct cuda_compute *c, const void *args)
{
    const struct layer_args *a = args;

    cuda_max_pool(a->out[0], a->at, a->in[0], &a->shape.window, stream_of(c));
}

void cuda_op_max_pool(struct compute *c, float *y, uint8_t *at, const float *x, const struct window *g)
{
    struct layer_args a = layer_no_args();

    a.out[0] = y;
    a.at = at;
    a.in[0] = x;
    set_window(&a, g, window_out_h(g), window_out_w(g));
    layer_log(c, "max_pool", run_max_pool, &a);
}

static void run_max_pool_grad(struct cuda_compute *c, const void *args)
{
    const struct layer_args *a = args;

    cuda_max_pool_grad(a->out[0], a->in[0], a->at, a->add != 0, &a->shape.window, stream_of(c));
}

void cuda_op_max_pool_grad(struct compute *c, float *dx, const float *dy, const uint8_t *at, bool add,
                           const struct window *g)
{
    struct layer_args a = layer_no_args();

    a.out[0] = dx;
    a.in[0] = dy;
    a.at = (uint8_t *)(uintptr_t)at; /* one member for both directions; only read here */
    a.add = add;
    set_window(&a, g, window_out_h(g), window_out_w(g));
    layer_log(c, "max_pool_grad", run_max_pool_grad, &a);
}

static void run_avg_pool(struct cuda_compute *c, const void *args)
{
    const struct layer_args *a = args;

    cuda_avg_pool(a->out[0], a->in[0], &a->shape.window, stream_of(c));
}

void cuda_op_avg_pool(struct compute *c, float *y, const float *x, const struct window *g)
{
    struct layer_args a = layer_no_args();

    a.out[0] = y;
    a.in[0] = x;
    set_window(&a, g, window_out_h(g), window_out_w(g));
    layer_log(c, "avg_pool", run_avg_pool, &a);
}

static void run_avg_pool_grad(struct cuda_compute *c, const void *args)
{
    const struct layer_args *a = args;

    cuda_avg_pool_grad(a->out[0], a->in[0], a->add != 0, &a->shape.window, stream_of(c));
}

void cuda_op_avg_pool_grad(struct compute *c, float *dx, const float *dy, bool add, const struct window *g)
{
    struct layer_args a = layer_no_args();

    a.out[0] = dx;
    a.in[0] = dy;
    a.add = add;
    set_window(&a, g, window_out_h(g), window_out_w(g));
    layer_log(c, "avg_pool_grad", run_avg_pool_grad, &a);
}

static void run_adaptive_pool(struct cuda_compute *c, const void *args)
{
    const struct layer_args *a = args;

    cuda_adaptive_pool(a->out[0], a->in[0], &a->shape.window, stream_of(c));
}

void cuda_op_adaptive_pool(struct compute *c, float *y, const float *x, const struct window *g, int out_h, int out_w)
{
    struct layer_args a = layer_no_args();

    a.out[0] = y;
    a.in[0] = x;
    set_window(&a, g, out_h, out_w);
    layer_log(c, "adaptive_pool", run_adaptive_pool, &a);
}

static void run_adaptive_pool_grad(struct cuda_compute *c, const void *args)
{
    const struct layer_args *a = args;

    cuda_adaptive_pool_grad(a->out[0], a->in[0], a->add != 0, &a->shape.window, stream_of(c));
}

void cuda_op_adaptive_pool_grad(struct compute *c, float *dx, const float *dy, bool add, const struct window *g,
                                int out_h, int out_w)
{
    struct layer_args a = layer_no_args();

    a.out[0] = dx;
    a.in[0] = dy;
    a.add = add;
    set_window(&a, g, out_h, out_w);
    layer_log(c, "adaptive_pool_grad", run_adaptive_pool_grad, &a);
}

/* --- sums over channels: they need scratch for parts --- */

static bool needs_sums(struct compute *c, const char *name, size_t C, size_t n)
{
    return cuda_of(c)->gemms_alone || cuda_scratch_grow(cuda_of(c), name, cuda_sums_bytes(C, n));
}

static void run_conv_bias_grad(struct cuda_compute *c, const void *args)
{
    const struct layer_args *a = args;

    cuda_conv_bias_grad(a->out[0], a->out[1], a->in[0], a->n[0], a->n[1], c->scratch, stream_of(c));
}

void cuda_op_conv_bias_grad(struct compute *c, float *dbias, float *dy, const float *relu, size_t C, size_t n)
{
    struct layer_args a = layer_no_args();

    a.out[0] = dbias;
    a.out[1] = dy;
    a.in[0] = relu;
    a.n[0] = C;
    a.n[1] = n;
    if (needs_sums(c, "conv_bias_grad", C, n))
        layer_log(c, "conv_bias_grad", run_conv_bias_grad, &a);
}

static void set_norm(struct layer_args *a, const struct batch_norm *s)
{
    a->shape.norm.C = s->C;
    a->shape.norm.n = s->n;
    a->shape.norm.epsilon = s->epsilon;
    a->shape.norm.momentum = s->momentum;
    a->shape.norm.relu = s->relu;
}

static void run_batch_norm(struct cuda_compute *c, const void *args)
{
    const struct layer_args *a = args;

    cuda_batch_norm(a->out[0], a->out[1], a->out[2], a->out[3], a->out[4], a->in[0], a->in[1], a->in[2], a->in[3],
                    &a->shape.norm, c->scratch, stream_of(c));
}

void cuda_op_batch_norm(struct compute *c, float *z, float *mean, float *inv_std, float *running_mean,
                        float *running_var, const float *y, const float *gamma, const float *beta, const float *add,
                        const struct batch_norm *s)
{
    struct layer_args a = layer_no_args();
    float *out[] = { z, mean, inv_std, running_mean, running_var };
    const float *in[] = { y, gamma, beta, add };

    memcpy(a.out, out, sizeof out);
    memcpy(a.in, in, sizeof in);
    set_norm(&a, s);
    if (needs_sums(c, "batch_norm", s->C, s->n))
        layer_log(c, "batch_norm", run_batch_norm, &a);
}

static void run_batch_norm_fold(struct cuda_compute *c, const void *args)
{
    const struct layer_args *a = args;

    cuda_batch_norm_fold(a->out[0], a->out[1], a->in[0], a->in[1], a->in[2], a->in[3], &a->shape.norm, stream_of(c));
}

void cuda_op_batch_norm_fold(struct compute *c, float *scale, float *shift, const float *gamma, const float *beta,
                             const float *running_mean, const float *running_var, const struct batch_norm *s)
{
    struct layer_args a = layer_no_args();
    const float *in[] = { gamma, beta, running_mean, running_var };

    a.out[0] = scale;
    a.out[1] = shift;
    memcpy(a.in, in, sizeof in);
    set_norm(&a, s);
    layer_log(c, "batch_norm_fold", run_batch_norm_fold, &a);
}

static void run_batch_norm_grad(struct cuda_compute *c, const void *args)
{
    const struct layer_args *a = args;

    cuda_batch_norm_grad(a->out[0], a->out[1], a->out[2], a->out[3], a->in[0], a->in[1], a->in[2], a->in[3], a->in[4],
                         a->in[5], &a->shape.norm, c->scratch, stream_of(c));
}

void cuda_op_batch_norm_grad(struct compute *c, float *dy, float *dgamma, float *dbeta, float *dz, const float *y,
                             const float *z, const float *gamma, const float *beta, const float *mean,
                             const float *inv_std, const struct batch_norm *s)
{
    struct layer_args a = layer_no_args();
    float *out[] = { dy, dgamma, dbeta, dz };
    const float *in[] = { y, z, gamma, beta, mean, inv_std };

    memcpy(a.out, out, sizeof out);
    memcpy(a.in, in, sizeof in);
    set_norm(&a, s);
    if (needs_sums(c, "batch_norm_grad", s->C, s->n))
        layer_log(c, "batch_norm_grad", run_batch_norm_grad, &a);
}
