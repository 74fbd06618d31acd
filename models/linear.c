/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linear.c - the smallest model: y = m x + n, two parameters (m, then n), squared error.
 *
 * Everything lies in rows, (1, B), so that its GEMMs are one loop over the batch. It starts at
 * m = n = 0: the loss has one minimum, and every path to it can be drawn from the same point.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "data/dataset.h"
#include "harness/base/arena.h"
#include "models/layer.h"

enum { SLOPE, OFFSET, N_PARAMS };

struct linear {
    struct training base;
    struct arena arena;
    float *x, *target, *y, *dy; /* (1, max_batch) */
};

static enum rc linear_open(struct training **out, const struct training_env *env)
{
    struct linear *t = calloc(1, sizeof *t);
    enum rc rc = RC_OK;

    if (t == NULL)
        FAIL(RC_NOMEM, "model linear: %zu bytes", sizeof *t);
    if (env->dataset->n_features != 1 || env->dataset->n_classes != 0)
        FAIL(RC_INVAL, "model linear needs samples of 1 feature and a target, %s has %zu features and %zu classes",
             env->dataset->name, env->dataset->n_features, env->dataset->n_classes);
    if (env->compute->ops->touches_memory) {
        TRY(arena_open(&t->arena, 4 * arena_floats_bytes(env->max_batch)));
        t->x = arena_floats(&t->arena, env->max_batch);
        t->target = arena_floats(&t->arena, env->max_batch);
        t->y = arena_floats(&t->arena, env->max_batch);
        t->dy = arena_floats(&t->arena, env->max_batch);
    }
    *out = &t->base;
    t = NULL;
out:
    free(t);
    return rc;
}

static void linear_close(struct training **t)
{
    arena_close(&((struct linear *)*t)->arena);
    free(*t);
    *t = NULL;
}

static size_t linear_n_params(const struct training *t)
{
    (void)t;
    return N_PARAMS;
}

static size_t linear_n_segments(const struct training *t)
{
    (void)t;
    return 1;
}

static struct segment linear_segment(const struct training *t, size_t i)
{
    (void)t;
    assert(i == 0);
    return (struct segment){ .at = 0, .n_elems = N_PARAMS };
}

static void linear_init(const struct training *t, float *param)
{
    layer_init_zero(param, linear_segment(t, 0));
}

/* y(1,B) = m x(1,B) + n */
static void forward(struct linear *t, const float *param, const float *x, size_t B)
{
    struct compute *c = t->base.env.compute;
    const struct gemm product = { .M = 1, .N = (int)B, .K = 1, .a = layer_at_const(param, SLOPE), .b = x, .c = t->y };

    compute_gemm(c, &product);
    compute_bias_add(c, t->y, layer_at_const(param, OFFSET), 1, 1, B);
}

static enum rc linear_gradient(struct training *base, const float *param, uint64_t first, size_t n_samples, float *grad,
                               double *mean_loss, grad_ready_fn *ready, void *arg)
{
    struct linear *t = (struct linear *)base;
    struct compute *c = base->env.compute;
    /* dm = dy x^T */
    const struct gemm product = {
        .transpose_b = true, .M = 1, .N = 1, .K = (int)n_samples, .a = t->dy, .b = t->x, .c = layer_at(grad, SLOPE)
    };

    if (c->ops->touches_memory)
        dataset_batch(base->env.dataset, base->env.seed, first, n_samples, t->x, t->target, NULL);
    forward(t, param, t->x, n_samples);
    compute_mean_square(c, mean_loss, t->dy, t->y, t->target, n_samples);
    compute_gemm(c, &product);
    compute_zero(c, layer_at(grad, OFFSET), 1);
    compute_bias_grad(c, layer_at(grad, OFFSET), t->dy, 1, 1, n_samples);
    return layer_ready(ready, arg, linear_segment(base, 0), grad);
}

static void linear_evaluate(struct training *base, const float *param, struct evaluation *out)
{
    struct linear *t = (struct linear *)base;
    const struct dataset *d = base->env.dataset;
    double sum = 0.0, loss;

    for (size_t first = 0; first < d->n_train; first += base->env.max_batch) {
        const size_t left = d->n_train - first, B = left < base->env.max_batch ? left : base->env.max_batch;
        forward(t, param, layer_at_const(d->feature, first), B);
        compute_mean_square(base->env.compute, &loss, NULL, t->y, layer_at_const(d->target, first), B);
        sum += loss * (double)B;
    }
    out->loss = sum / (double)d->n_train;
    out->accuracy_ratio = NAN;
}

static double linear_flops_per_sample(const struct training *t)
{
    (void)t;
    return 4.0; /* m x, and its gradient */
}

const struct workload workload_linear = {
    .name = "linear",
    .dataset = "line",
    .default_lr = 0.1, /* stable up to about 7 updates late (ps) */
    .default_momentum = 0.0,
    .default_batch = 100,
    .default_steps = 20000,
    .default_target_loss = 0.1,
    .open = linear_open,
    .n_params = linear_n_params,
    .n_segments = linear_n_segments,
    .segment = linear_segment,
    .init = linear_init,
    .gradient = linear_gradient,
    .evaluate = linear_evaluate,
    .flops_per_sample = linear_flops_per_sample,
    .close = linear_close,
};
