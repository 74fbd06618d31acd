/* SPDX-License-Identifier: Apache-2.0 */
/* far_memory.c - every array comes near for the length of a call. */
#include "harness/train/far_memory.h"

#include <stdlib.h>

struct far {
    struct compute base;
    struct compute *cpu;
};

#define FAR_BYTES ((uintptr_t)1 << 62)

static struct compute *cpu_of(struct compute *c)
{
    return ((struct far *)c)->cpu;
}

static void *near_any(const void *p)
{
    return p ? (void *)((uintptr_t)p - FAR_BYTES) : NULL;
}

static float *near_floats(const float *p)
{
    return near_any(p);
}

static uint8_t *near_bytes(const uint8_t *p)
{
    return near_any(p);
}

static uint32_t *near_words(const uint32_t *p)
{
    return near_any(p);
}

static enum rc far_open(struct compute **out, const struct compute_env *env)
{
    const struct compute_env near = { .n_threads = env->n_threads, .may_spin = env->may_spin };
    struct far *f = calloc(1, sizeof *f);
    enum rc rc;

    if (!f)
        return rc_raise(RC_NOMEM, "compute far: no memory");
    TRY(compute_open(&f->cpu, &compute_cpu, &near));
    *out = &f->base;
    f = NULL;
out:
    free(f);
    return rc;
}

static void far_close(struct compute **c)
{
    compute_close(&((struct far *)*c)->cpu);
    free(*c);
    *c = NULL;
}

static enum rc far_memory_open(struct compute *c, void **out, size_t n_bytes)
{
    void *near = NULL;
    enum rc rc;

    TRY(compute_cpu.memory_open(cpu_of(c), &near, n_bytes));
    *out = (void *)((uintptr_t)near + FAR_BYTES);
out:
    return rc;
}

static void far_memory_close(struct compute *c, void **memory)
{
    void *near = near_any(*memory);

    compute_cpu.memory_close(cpu_of(c), &near);
    *memory = NULL;
}

static size_t far_memory_available(struct compute *c)
{
    return compute_cpu.memory_available(cpu_of(c));
}

static void far_put(struct compute *c, void *to, const void *host, size_t n_bytes)
{
    compute_cpu.put(cpu_of(c), near_any(to), host, n_bytes);
}

static void far_get(struct compute *c, void *host, const void *from, size_t n_bytes)
{
    compute_cpu.get(cpu_of(c), host, near_any(from), n_bytes);
}

static enum rc far_sync(struct compute *c)
{
    return compute_sync(cpu_of(c));
}

static void far_gemm(struct compute *c, const struct gemm *g)
{
    struct gemm near = *g;

    near.a = near_floats(g->a);
    near.b = near_floats(g->b);
    near.c = near_floats(g->c);
    compute_cpu.gemm(cpu_of(c), &near);
}

static void far_conv(struct compute *c, float *y, const float *x, const float *weight, const struct epilogue *e,
                     const struct conv_shape *s)
{
    struct epilogue near = { 0 };

    if (e)
        near = (struct epilogue){ near_floats(e->scale), near_floats(e->shift), near_floats(e->add), e->relu };
    compute_cpu.conv(cpu_of(c), near_floats(y), near_floats(x), near_floats(weight), e ? &near : NULL, s);
}

static void far_conv_input_grad(struct compute *c, float *dx, const float *dy, const float *weight, bool add,
                                const struct conv_shape *s)
{
    compute_cpu.conv_input_grad(cpu_of(c), near_floats(dx), near_floats(dy), near_floats(weight), add, s);
}

static void far_conv_weight_grad(struct compute *c, float *dweight, const float *dy, const float *x,
                                 const struct conv_shape *s)
{
    compute_cpu.conv_weight_grad(cpu_of(c), near_floats(dweight), near_floats(dy), near_floats(x), s);
}

static void far_conv_bias_grad(struct compute *c, float *dbias, float *dy, const float *relu, size_t C, size_t n)
{
    compute_cpu.conv_bias_grad(cpu_of(c), near_floats(dbias), near_floats(dy), near_floats(relu), C, n);
}

static void far_batch_norm(struct compute *c, float *z, float *mean, float *inv_std, float *running_mean,
                           float *running_var, const float *y, const float *gamma, const float *beta, const float *add,
                           const struct batch_norm *s)
{
    compute_cpu.batch_norm(cpu_of(c), near_floats(z), near_floats(mean), near_floats(inv_std),
                           near_floats(running_mean), near_floats(running_var), near_floats(y), near_floats(gamma),
                           near_floats(beta), near_floats(add), s);
}

static void far_batch_norm_fold(struct compute *c, float *scale, float *shift, const float *gamma, const float *beta,
                                const float *running_mean, const float *running_var, const struct batch_norm *s)
{
    compute_cpu.batch_norm_fold(cpu_of(c), near_floats(scale), near_floats(shift), near_floats(gamma),
                                near_floats(beta), near_floats(running_mean), near_floats(running_var), s);
}

static void far_batch_norm_grad(struct compute *c, float *dy, float *dgamma, float *dbeta, float *dz, const float *y,
                                const float *z, const float *gamma, const float *beta, const float *mean,
                                const float *inv_std, const struct batch_norm *s)
{
    compute_cpu.batch_norm_grad(cpu_of(c), near_floats(dy), near_floats(dgamma), near_floats(dbeta), near_floats(dz),
                                near_floats(y), near_floats(z), near_floats(gamma), near_floats(beta),
                                near_floats(mean), near_floats(inv_std), s);
}

static void far_max_pool(struct compute *c, float *y, uint8_t *at, const float *x, const struct window *g)
{
    compute_cpu.max_pool(cpu_of(c), near_floats(y), near_bytes(at), near_floats(x), g);
}

static void far_max_pool_grad(struct compute *c, float *dx, const float *dy, const uint8_t *at, bool add,
                              const struct window *g)
{
    compute_cpu.max_pool_grad(cpu_of(c), near_floats(dx), near_floats(dy), near_bytes(at), add, g);
}

static void far_avg_pool(struct compute *c, float *y, const float *x, const struct window *g)
{
    compute_cpu.avg_pool(cpu_of(c), near_floats(y), near_floats(x), g);
}

static void far_avg_pool_grad(struct compute *c, float *dx, const float *dy, bool add, const struct window *g)
{
    compute_cpu.avg_pool_grad(cpu_of(c), near_floats(dx), near_floats(dy), add, g);
}

static void far_adaptive_pool(struct compute *c, float *y, const float *x, const struct window *g, int out_h, int out_w)
{
    compute_cpu.adaptive_pool(cpu_of(c), near_floats(y), near_floats(x), g, out_h, out_w);
}

static void far_adaptive_pool_grad(struct compute *c, float *dx, const float *dy, bool add, const struct window *g,
                                   int out_h, int out_w)
{
    compute_cpu.adaptive_pool_grad(cpu_of(c), near_floats(dx), near_floats(dy), add, g, out_h, out_w);
}

static void far_dropout(struct compute *c, float *x, size_t n, float keep_ratio, uint64_t key)
{
    compute_cpu.dropout(cpu_of(c), near_floats(x), n, keep_ratio, key);
}

static void far_swap_axes(struct compute *c, float *out, const float *in, size_t n_a, size_t n_b, size_t n_inner)
{
    compute_cpu.swap_axes(cpu_of(c), near_floats(out), near_floats(in), n_a, n_b, n_inner);
}

static void far_bias_add(struct compute *c, float *y, const float *bias, size_t outer, size_t n, size_t inner)
{
    compute_cpu.bias_add(cpu_of(c), near_floats(y), near_floats(bias), outer, n, inner);
}

static void far_bias_grad(struct compute *c, float *dbias, const float *dy, size_t outer, size_t n, size_t inner)
{
    compute_cpu.bias_grad(cpu_of(c), near_floats(dbias), near_floats(dy), outer, n, inner);
}

static void far_relu(struct compute *c, float *x, size_t n)
{
    compute_cpu.relu(cpu_of(c), near_floats(x), n);
}

static void far_relu_grad(struct compute *c, float *dx, const float *x, size_t n)
{
    compute_cpu.relu_grad(cpu_of(c), near_floats(dx), near_floats(x), n);
}

static void far_softmax_xent(struct compute *c, double *mean_loss, float *dlogits, size_t *n_correct,
                             const float *logits, const uint32_t *label, float weight, size_t B, size_t K)
{
    compute_cpu.softmax_xent(cpu_of(c), mean_loss, near_floats(dlogits), n_correct, near_floats(logits),
                             near_words(label), weight, B, K);
}

static void far_mean_square(struct compute *c, double *mean_loss, float *dy, const float *y, const float *target,
                            size_t n)
{
    compute_cpu.mean_square(cpu_of(c), mean_loss, near_floats(dy), near_floats(y), near_floats(target), n);
}

static void far_zero(struct compute *c, float *x, size_t n)
{
    compute_cpu.zero(cpu_of(c), near_floats(x), n);
}

static void far_accumulate(struct compute *c, float *y, const float *x, size_t n)
{
    compute_cpu.accumulate(cpu_of(c), near_floats(y), near_floats(x), n);
}

static void far_sgd_step(struct compute *c, float *p, float *v, const float *g, size_t n, const struct sgd *s)
{
    compute_cpu.sgd_step(cpu_of(c), near_floats(p), near_floats(v), near_floats(g), n, s);
}

const struct compute_backend compute_far = {
    .module.name = "far",
    .touches_memory = true,
    .host_memory = false,
    .open = far_open,
    .close = far_close,
    .memory_open = far_memory_open,
    .memory_close = far_memory_close,
    .memory_available = far_memory_available,
    .put = far_put,
    .get = far_get,
    .sync = far_sync,
    .gemm = far_gemm,
    .conv = far_conv,
    .conv_input_grad = far_conv_input_grad,
    .conv_weight_grad = far_conv_weight_grad,
    .conv_bias_grad = far_conv_bias_grad,
    .batch_norm = far_batch_norm,
    .batch_norm_fold = far_batch_norm_fold,
    .batch_norm_grad = far_batch_norm_grad,
    .max_pool = far_max_pool,
    .max_pool_grad = far_max_pool_grad,
    .avg_pool = far_avg_pool,
    .avg_pool_grad = far_avg_pool_grad,
    .adaptive_pool = far_adaptive_pool,
    .adaptive_pool_grad = far_adaptive_pool_grad,
    .dropout = far_dropout,
    .swap_axes = far_swap_axes,
    .bias_add = far_bias_add,
    .bias_grad = far_bias_grad,
    .relu = far_relu,
    .relu_grad = far_relu_grad,
    .softmax_xent = far_softmax_xent,
    .mean_square = far_mean_square,
    .zero = far_zero,
    .accumulate = far_accumulate,
    .sgd_step = far_sgd_step,
};
