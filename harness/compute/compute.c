/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compute.c - the list of backends, and the wrappers every caller goes through.
 *
 * The wrappers assert shapes and count work (C2). They never look at what an array holds, nor at
 * whether it is there: what a call counts is the same on every backend.
 */
#include "harness/compute/compute.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"

static const struct module *compute_at(int i)
{
    static const struct module *const all[] = {
        &compute_cpu.module,
#if GRADMARK_HAVE_CUDA
        &compute_cuda.module,
#endif
        &compute_hollow.module,
        NULL
    };

    return all[i];
}

static const struct module_absent absent[] = {
#if !GRADMARK_HAVE_CUDA
    { "cuda", GRADMARK_CUDA_WHY_NOT },
#endif
    { NULL, NULL },
};

const struct module_kind compute_kind = { "compute", compute_at, absent, "cpu", NULL };

enum rc compute_find(const struct compute_backend **out, const char *name)
{
    const struct module *m;
    enum rc rc;

    TRY(module_find(&m, &compute_kind, name));
    *out = (const struct compute_backend *)m;
out:
    return rc;
}

enum rc compute_open(struct compute **out, const struct compute_backend *ops, const struct compute_env *env)
{
    struct compute *c = NULL;
    enum rc rc;

    const struct compute_env own = env != NULL ? *env : (struct compute_env){ .charge = NULL };
    TRY(ops->open(&c, &own));
    c->ops = ops;
    c->env = own;
    c->since_sync = c->total = (struct work){ 0.0, 0.0 };
    *out = c;
out:
    return rc;
}

void compute_close(struct compute **c)
{
    if (*c != NULL)
        (*c)->ops->close(c);
    *c = NULL;
}

enum rc compute_sync(struct compute *c)
{
    struct work w = c->since_sync;
    enum rc rc = c->ops->sync != NULL ? c->ops->sync(c) : RC_OK;

    if (rc != RC_OK || (w.flops == 0.0 && w.bytes == 0.0))
        return rc;
    c->since_sync = (struct work){ 0.0, 0.0 };
    c->total.flops += w.flops;
    c->total.bytes += w.bytes;
    if (c->env.charge != NULL)
        c->env.charge(c->env.arg, w.flops, w.bytes);
    return RC_OK;
}

void compute_pass(struct compute *c, uint64_t ns)
{
    if (c->env.pass != NULL)
        c->env.pass(c->env.arg, ns);
}

/* "WHAT: " before what a backend says. */
static enum rc named(enum rc rc, const char *what)
{
    char why[RC_MESSAGE_BYTES];

    if (rc == RC_OK)
        return RC_OK;
    snprintf(why, sizeof why, "%s", rc_message());
    return rc_raise(rc, "%s: %.400s", what, why);
}

enum rc compute_memory_open(struct compute *c, void **out, size_t n_bytes, const char *what)
{
    const size_t available = c->ops->memory_available(c);

    if (n_bytes > available)
        return rc_raise(RC_NOMEM, "%s: needs %zu bytes, %zu available", what, n_bytes, available);
    return named(c->ops->memory_open(c, out, n_bytes), what);
}

void compute_memory_close(struct compute *c, void **memory)
{
    if (*memory != NULL)
        c->ops->memory_close(c, memory);
    *memory = NULL;
}

enum rc compute_host_open(struct compute *c, void **out, size_t n_bytes, const char *what)
{
    if (c->ops->host_open != NULL)
        return named(c->ops->host_open(c, out, n_bytes), what);
    *out = calloc(n_bytes > 0 ? n_bytes : 1, 1);
    return *out != NULL ? RC_OK : rc_raise(RC_NOMEM, "%s: needs %zu bytes of the host's memory", what, n_bytes);
}

void compute_host_close(struct compute *c, void **memory)
{
    if (*memory != NULL && c->ops->host_close != NULL)
        c->ops->host_close(c, memory);
    else
        free(*memory);
    *memory = NULL;
}

void compute_put(struct compute *c, void *to, const void *host, size_t n_bytes)
{
    c->ops->put(c, to, host, n_bytes);
}

void compute_get(struct compute *c, void *host, const void *from, size_t n_bytes)
{
    c->ops->get(c, host, from, n_bytes);
}

bool compute_has_marks(const struct compute *c)
{
    return c->ops->mark != NULL;
}

void compute_mark(struct compute *c, int k)
{
    assert(k >= 0 && k < COMPUTE_MARKS && compute_has_marks(c));
    c->ops->mark(c, k);
}

void compute_as_of(struct compute *c, int k)
{
    assert(k >= -1 && k < COMPUTE_MARKS && c->ops->as_of != NULL);
    c->ops->as_of(c, k);
}

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
    c->since_sync.bytes += 4.0 * n_elems;
}

void compute_gemm(struct compute *c, const struct gemm *g)
{
    assert(g->M >= 1 && g->N >= 1 && g->K >= 1);
    c->since_sync.flops += 2.0 * g->M * g->N * g->K;
    c->ops->gemm(c, g);
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
    c->since_sync.flops += 2.0 * conv_out_elems(s) * s->in.C * s->in.kernel_h * s->in.kernel_w;
    count_elems(c, conv_in_elems(s) + conv_out_elems(s) + conv_weight_elems(s) + n_more_elems);
}

void compute_conv(struct compute *c, float *y, const float *x, const float *weight, const struct epilogue *e,
                  const struct conv_shape *s)
{
    count_conv(c, s, 0.0);
    c->ops->conv(c, y, x, weight, e, s);
}

void compute_conv_input_grad(struct compute *c, float *dx, const float *dy, const float *weight, bool add,
                             const struct conv_shape *s)
{
    count_conv(c, s, add ? conv_in_elems(s) : 0.0);
    c->ops->conv_input_grad(c, dx, dy, weight, add, s);
}

void compute_conv_weight_grad(struct compute *c, float *dweight, const float *dy, const float *x,
                              const struct conv_shape *s)
{
    count_conv(c, s, 0.0);
    c->ops->conv_weight_grad(c, dweight, dy, x, s);
}

void compute_conv_bias_grad(struct compute *c, float *dbias, float *dy, const float *relu, size_t C, size_t n)
{
    count_elems(c, (double)C * (double)n + (double)C);
    c->ops->conv_bias_grad(c, dbias, dy, relu, C, n);
}

static double norm_elems(const struct batch_norm *s)
{
    return (double)s->C * (double)s->n;
}

void compute_batch_norm(struct compute *c, float *z, float *mean, float *inv_std, float *running_mean,
                        float *running_var, const float *y, const float *gamma, const float *beta, const float *add,
                        const struct batch_norm *s)
{
    count_elems(c, 2.0 * norm_elems(s) + 8.0 * (double)s->C);
    c->ops->batch_norm(c, z, mean, inv_std, running_mean, running_var, y, gamma, beta, add, s);
}

void compute_batch_norm_fold(struct compute *c, float *scale, float *shift, const float *gamma, const float *beta,
                             const float *running_mean, const float *running_var, const struct batch_norm *s)
{
    count_elems(c, 6.0 * (double)s->C);
    c->ops->batch_norm_fold(c, scale, shift, gamma, beta, running_mean, running_var, s);
}

void compute_batch_norm_grad(struct compute *c, float *dy, float *dgamma, float *dbeta, float *dz, const float *y,
                             const float *z, const float *gamma, const float *beta, const float *mean,
                             const float *inv_std, const struct batch_norm *s)
{
    count_elems(c, 3.0 * norm_elems(s) + 6.0 * (double)s->C);
    c->ops->batch_norm_grad(c, dy, dgamma, dbeta, dz, y, z, gamma, beta, mean, inv_std, s);
}

void compute_bias_add(struct compute *c, float *y, const float *bias, size_t outer, size_t n, size_t inner)
{
    count_elems(c, 2.0 * (double)outer * (double)n * (double)inner + (double)n);
    c->ops->bias_add(c, y, bias, outer, n, inner);
}

void compute_bias_grad(struct compute *c, float *dbias, const float *dy, size_t outer, size_t n, size_t inner)
{
    count_elems(c, (double)outer * (double)n * (double)inner + 2.0 * (double)n);
    c->ops->bias_grad(c, dbias, dy, outer, n, inner);
}

void compute_swap_axes(struct compute *c, float *out, const float *in, size_t n_a, size_t n_b, size_t n_inner)
{
    count_elems(c, 2.0 * (double)n_a * (double)n_b * (double)n_inner);
    c->ops->swap_axes(c, out, in, n_a, n_b, n_inner);
}

void compute_relu(struct compute *c, float *x, size_t n)
{
    count_elems(c, 2.0 * (double)n);
    c->ops->relu(c, x, n);
}

void compute_relu_grad(struct compute *c, float *dx, const float *x, size_t n)
{
    count_elems(c, 3.0 * (double)n);
    c->ops->relu_grad(c, dx, x, n);
}

void compute_max_pool(struct compute *c, float *y, uint8_t *at, const float *x, const struct window *g)
{
    check_window(g);
    assert(g->kernel_h * g->kernel_w <= 256);
    count_elems(c, window_in_elems(g) + 1.25 * window_out_elems(g));
    c->ops->max_pool(c, y, at, x, g);
}

void compute_max_pool_grad(struct compute *c, float *dx, const float *dy, const uint8_t *at, bool add,
                           const struct window *g)
{
    check_window(g);
    count_elems(c, (add ? 2.0 : 1.0) * window_in_elems(g) + 1.25 * window_out_elems(g));
    c->ops->max_pool_grad(c, dx, dy, at, add, g);
}

void compute_avg_pool(struct compute *c, float *y, const float *x, const struct window *g)
{
    check_window(g);
    count_elems(c, window_in_elems(g) + window_out_elems(g));
    c->ops->avg_pool(c, y, x, g);
}

void compute_avg_pool_grad(struct compute *c, float *dx, const float *dy, bool add, const struct window *g)
{
    check_window(g);
    count_elems(c, (add ? 2.0 : 1.0) * window_in_elems(g) + window_out_elems(g));
    c->ops->avg_pool_grad(c, dx, dy, add, g);
}

static double planes(const struct window *g)
{
    return (double)g->B * g->C;
}

void compute_adaptive_pool(struct compute *c, float *y, const float *x, const struct window *g, int out_h, int out_w)
{
    assert(out_h >= 1 && out_w >= 1);
    count_elems(c, window_in_elems(g) + planes(g) * out_h * out_w);
    c->ops->adaptive_pool(c, y, x, g, out_h, out_w);
}

void compute_adaptive_pool_grad(struct compute *c, float *dx, const float *dy, bool add, const struct window *g,
                                int out_h, int out_w)
{
    assert(out_h >= 1 && out_w >= 1);
    count_elems(c, (add ? 2.0 : 1.0) * window_in_elems(g) + planes(g) * out_h * out_w);
    c->ops->adaptive_pool_grad(c, dx, dy, add, g, out_h, out_w);
}

void compute_dropout(struct compute *c, float *x, size_t n, float keep_ratio, uint64_t key)
{
    assert(keep_ratio > 0.0f && keep_ratio <= 1.0f);
    count_elems(c, 2.0 * (double)n);
    c->ops->dropout(c, x, n, keep_ratio, key);
}

void compute_softmax_xent(struct compute *c, double *mean_loss, float *dlogits, size_t *n_correct, const float *logits,
                          const uint32_t *label, float weight, size_t B, size_t K)
{
    assert(B >= 1 && K >= 1);
    count_elems(c, 2.0 * (double)B * (double)K + (double)B);
    c->ops->softmax_xent(c, mean_loss, dlogits, n_correct, logits, label, weight, B, K);
}

void compute_mean_square(struct compute *c, double *mean_loss, float *dy, const float *y, const float *target, size_t n)
{
    assert(n >= 1);
    count_elems(c, 3.0 * (double)n);
    c->ops->mean_square(c, mean_loss, dy, y, target, n);
}

void compute_zero(struct compute *c, float *x, size_t n)
{
    count_elems(c, (double)n);
    c->ops->zero(c, x, n);
}

void compute_accumulate(struct compute *c, float *y, const float *x, size_t n)
{
    count_elems(c, 3.0 * (double)n);
    c->ops->accumulate(c, y, x, n);
}

void compute_sgd_step(struct compute *c, float *p, float *v, const float *g, size_t n, const struct sgd *s)
{
    assert(v != NULL || s->momentum == 0.0f || !c->ops->touches_memory);
    count_elems(c, (s->momentum != 0.0f ? 5.0 : 3.0) * (double)n);
    c->ops->sgd_step(c, p, v, g, n, s);
}
