/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compute.c - the list of backends, and the wrappers every caller goes through.
 *
 * The wrappers assert shapes and count work (C2). They do not read arrays, nor check whether
 * one is NULL: a call counts the same on every backend.
 */
#include "harness/compute/compute.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    { "cuda", GRADMARK_CUDA_WHY_NOT, COMPUTE_SIDE },
#endif
    { NULL, NULL, 0 },
};

const struct module_kind compute_kind = { "compute", compute_at, absent, "cpu", NULL };

static const struct module *measured_at(int i)
{
    for (int k = 0; compute_at(k) != NULL; k++)
        if (((const struct compute_backend *)compute_at(k))->touches_memory && i-- == 0)
            return compute_at(k);
    return NULL;
}

const struct module_kind measured_compute_kind = { "compute", measured_at, absent, "cpu", NULL };

enum rc compute_find(const struct compute_backend **out, const char *name)
{
    const struct module *m;
    enum rc rc;

    TRY(module_find(&m, &compute_kind, name));
    *out = (const struct compute_backend *)m;
out:
    return rc;
}

static const char *const precisions[] = {
    [PRECISION_FP32] = "fp32", [PRECISION_TF32] = "tf32", [PRECISION_BF16] = "bf16", NULL
};

const char *precision_name(int precision)
{
    return precisions[precision];
}

enum rc precision_find(enum precision *out, const char *name)
{
    for (int i = 0; precisions[i] != NULL; i++)
        if (strcmp(name, precisions[i]) == 0) {
            *out = (enum precision)i;
            return RC_OK;
        }
    return rc_raise(RC_INVAL, "no precision \"%.40s\"; there are fp32, tf32 and bf16", name);
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

bool compute_takes_packed(const struct compute *c)
{
    return c->ops->takes_packed != NULL && c->ops->takes_packed(c);
}

void compute_tick(struct compute *c)
{
    if (c->env.tick != NULL)
        c->env.tick(c->env.arg);
}

void compute_pass(struct compute *c, uint64_t ns)
{
    compute_tick(c);
    if (c->env.pass != NULL)
        c->env.pass(c->env.arg, ns);
}

/* "WHAT: " before the message of a backend. */
static enum rc named(enum rc rc, const char *what)
{
    return rc_prefix(rc, "%s: ", what);
}

/* To ask what is available takes a tenth of a millisecond, for each of 512 simulated ranks several times: of what is
 * small the allocation itself tells. */
enum { MIN_ASKED_BYTES = 1 << 20 };

enum rc compute_memory_open(struct compute *c, void **out, size_t n_bytes, const char *what)
{
    const size_t available = n_bytes >= MIN_ASKED_BYTES ? c->ops->memory_available(c) : SIZE_MAX;

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

void compute_start(struct compute *c)
{
    if (c->ops->start != NULL)
        c->ops->start(c);
}

void compute_upload(struct compute *c, void *to, const void *host, size_t n_bytes)
{
    assert(c->ops->upload != NULL);
    c->ops->upload(c, to, host, n_bytes);
}

enum rc compute_fetch(struct compute *c, void *host, const void *from, size_t n_bytes)
{
    compute_get(c, host, from, n_bytes);
    return compute_sync(c);
}

bool compute_has_events(const struct compute *c)
{
    return c->ops->record_event != NULL;
}

void compute_record_event(struct compute *c, int k)
{
    assert(k >= 0 && k < COMPUTE_EVENTS && compute_has_events(c));
    c->ops->record_event(c, k);
}

void compute_wait_event(struct compute *c, int k)
{
    assert(k >= -1 && k < COMPUTE_EVENTS && c->ops->wait_event != NULL);
    c->ops->wait_event(c, k);
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
    RUN(c, conv, op);
}

void compute_conv_input_grad(struct compute *c, const struct conv_input_grad *op)
{
    count_conv(c, &op->shape, op->add ? conv_in_elems(&op->shape) : 0.0);
    RUN(c, conv_input_grad, op);
}

void compute_conv_weight_grad(struct compute *c, const struct conv_weight_grad *op)
{
    count_conv(c, &op->shape, 0.0);
    RUN(c, conv_weight_grad, op);
}

void compute_conv_bias_grad(struct compute *c, const struct conv_bias_grad *op)
{
    count_elems(c, (double)op->C * (double)op->n + (double)op->C);
    RUN_REST(c, conv_bias_grad, op);
}

static double norm_elems(const struct batch_norm *s)
{
    return (double)s->C * (double)s->n;
}

void compute_batch_norm(struct compute *c, const struct batch_norm_forward *op)
{
    count_elems(c, 2.0 * norm_elems(&op->shape) + 8.0 * (double)op->shape.C);
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
    RUN_REST(c, batch_norm_grad, op);
}

void compute_bias_add(struct compute *c, float *y, const float *bias, size_t outer, size_t n, size_t inner)
{
    count_elems(c, 2.0 * (double)outer * (double)n * (double)inner + (double)n);
    RUN_REST(c, bias_add, y, bias, outer, n, inner);
}

void compute_bias_grad(struct compute *c, float *dbias, const float *dy, size_t outer, size_t n, size_t inner)
{
    count_elems(c, (double)outer * (double)n * (double)inner + 2.0 * (double)n);
    RUN_REST(c, bias_grad, dbias, dy, outer, n, inner);
}

void compute_swap_axes(struct compute *c, float *out, const float *in, size_t n_a, size_t n_b, size_t n_inner)
{
    count_elems(c, 2.0 * (double)n_a * (double)n_b * (double)n_inner);
    RUN_REST(c, swap_axes, out, in, n_a, n_b, n_inner);
}

void compute_relu(struct compute *c, float *x, size_t n)
{
    count_elems(c, 2.0 * (double)n);
    RUN_REST(c, relu, x, n);
}

void compute_relu_grad(struct compute *c, float *dx, const float *x, size_t n)
{
    count_elems(c, 3.0 * (double)n);
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
    RUN_REST(c, max_pool, op);
}

void compute_max_pool_grad(struct compute *c, const struct pool_grad *op)
{
    count_window_pool(c, &op->window, op->add ? 2.0 : 1.0, 0.25);
    RUN_REST(c, max_pool_grad, op);
}

void compute_avg_pool(struct compute *c, const struct pool_forward *op)
{
    count_window_pool(c, &op->window, 1.0, 0.0);
    RUN_REST(c, avg_pool, op);
}

void compute_avg_pool_grad(struct compute *c, const struct pool_grad *op)
{
    count_window_pool(c, &op->window, op->add ? 2.0 : 1.0, 0.0);
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
    RUN_REST(c, adaptive_pool, op);
}

void compute_adaptive_pool_grad(struct compute *c, const struct pool_grad *op)
{
    assert(op->out_h >= 1 && op->out_w >= 1);
    count_elems(c, (op->add ? 2.0 : 1.0) * window_in_elems(&op->window) + planes(&op->window) * op->out_h * op->out_w);
    RUN_REST(c, adaptive_pool_grad, op);
}

void compute_dropout(struct compute *c, float *x, size_t n, float keep_ratio, uint64_t key)
{
    assert(keep_ratio > 0.0f && keep_ratio <= 1.0f);
    count_elems(c, 2.0 * (double)n);
    RUN_REST(c, dropout, x, n, keep_ratio, key);
}

void compute_softmax_xent(struct compute *c, const struct softmax_xent *op)
{
    assert(op->B >= 1 && op->K >= 1);
    count_elems(c, 2.0 * (double)op->B * (double)op->K + (double)op->B);
    *op->mean_loss = NAN;
    if (op->n_correct != NULL)
        *op->n_correct = 0;
    RUN_REST(c, softmax_xent, op);
}

void compute_mean_square(struct compute *c, double *mean_loss, float *dy, const float *y, const float *target, size_t n)
{
    assert(n >= 1);
    count_elems(c, 3.0 * (double)n);
    *mean_loss = NAN;
    RUN_REST(c, mean_square, mean_loss, dy, y, target, n);
}

void compute_zero(struct compute *c, float *x, size_t n)
{
    count_elems(c, (double)n);
    RUN_REST(c, zero, x, n);
}

void compute_accumulate(struct compute *c, float *y, const float *x, size_t n)
{
    count_elems(c, 3.0 * (double)n);
    RUN_REST(c, accumulate, y, x, n);
}

void compute_sum_arrays(struct compute *c, const struct sum_arrays *op)
{
    assert(op->n_operands >= 1 && op->n_results >= 1);
    count_elems(c, (double)(op->n_operands + op->n_results) * (double)op->n);
    RUN_REST(c, sum_arrays, op);
}

void compute_narrow(struct compute *c, uint16_t *to, const float *from, size_t n, enum wire_format format)
{
    assert(format != WIRE_F32);
    count_elems(c, 1.5 * (double)n);
    RUN_REST(c, narrow, to, from, n, format);
}

void compute_widen(struct compute *c, float *to, const uint16_t *from, size_t n, enum wire_format format, bool add)
{
    assert(format != WIRE_F32);
    count_elems(c, (add ? 2.5 : 1.5) * (double)n);
    RUN_REST(c, widen, to, from, n, format, add);
}

void compute_round(struct compute *c, float *x, float *residual, size_t n, enum wire_format format, bool has_residual)
{
    assert(format != WIRE_F32);
    assert(has_residual == (residual != NULL) || !c->ops->touches_memory);
    count_elems(c, (has_residual ? 4.0 : 2.0) * (double)n);
    RUN_REST(c, round, x, residual, n, format);
}
