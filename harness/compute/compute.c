/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compute.c - the list of backends, and the wrappers every caller goes through.
 *
 * The wrappers assert shapes and count work (C2). They never look at what an array holds, nor at
 * whether it is there: what a call counts is the same on every backend.
 */
#include "harness/compute/compute.h"

#include <assert.h>
#include <string.h>

#include "harness/base/text.h"

static const struct compute_backend *const backends[] = { &compute_cpu, &compute_hollow, NULL };

const struct compute_backend *const *compute_all(void)
{
    return backends;
}

enum rc compute_find(const struct compute_backend **out, const char *name)
{
    const char *names[sizeof backends / sizeof backends[0]] = { NULL };

    for (size_t i = 0; backends[i] != NULL; i++) {
        names[i] = backends[i]->name;
        if (strcmp(name, names[i]) == 0) {
            *out = backends[i];
            return RC_OK;
        }
    }
    const char *nearest = text_nearest(name, names);
    if (nearest != NULL)
        return rc_raise(RC_INVAL, "no compute backend \"%.40s\"; did you mean \"%s\"?", name, nearest);
    return rc_raise(RC_INVAL, "no compute backend \"%.40s\"; there are cpu and hollow", name);
}

enum rc compute_open(struct compute **out, const struct compute_backend *ops, const struct compute_env *env)
{
    struct compute *c = NULL;
    enum rc rc;

    TRY(ops->open(&c));
    c->ops = ops;
    c->env = env != NULL ? *env : (struct compute_env){ .charge = NULL };
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

void compute_sync(struct compute *c)
{
    struct work w = c->since_sync;

    if (w.flops == 0.0 && w.bytes == 0.0)
        return;
    c->since_sync = (struct work){ 0.0, 0.0 };
    c->total.flops += w.flops;
    c->total.bytes += w.bytes;
    if (c->env.charge != NULL)
        c->env.charge(c->env.arg, w.flops, w.bytes);
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

void compute_im2col(struct compute *c, float *col, const float *x, const struct window *g)
{
    check_window(g);
    count_elems(c, window_in_elems(g) + window_out_elems(g) * g->kernel_h * g->kernel_w);
    c->ops->im2col(c, col, x, g);
}

void compute_col2im(struct compute *c, float *dx, const float *col, const struct window *g)
{
    check_window(g);
    count_elems(c, window_in_elems(g) + window_out_elems(g) * g->kernel_h * g->kernel_w);
    c->ops->col2im(c, dx, col, g);
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

void compute_max_pool(struct compute *c, float *y, uint32_t *at, const float *x, const struct window *g)
{
    check_window(g);
    assert(window_in_elems(g) <= (double)UINT32_MAX);
    count_elems(c, window_in_elems(g) + 2.0 * window_out_elems(g));
    c->ops->max_pool(c, y, at, x, g);
}

void compute_max_pool_grad(struct compute *c, float *dx, const float *dy, const uint32_t *at, const struct window *g)
{
    check_window(g);
    count_elems(c, window_in_elems(g) + 2.0 * window_out_elems(g));
    c->ops->max_pool_grad(c, dx, dy, at, g);
}

void compute_softmax_xent(struct compute *c, double *mean_loss, float *dlogits, size_t *n_correct, const float *logits,
                          const uint32_t *label, size_t B, size_t K)
{
    assert(B >= 1 && K >= 1);
    count_elems(c, 2.0 * (double)B * (double)K + (double)B);
    c->ops->softmax_xent(c, mean_loss, dlogits, n_correct, logits, label, B, K);
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
