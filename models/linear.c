/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linear.c - the smallest model: y = m x + n, two parameters (m, then n), squared error.
 *
 * All arrays are rows, (1, B), so that its GEMMs are one loop over the batch. It starts at
 * m = n = 0: the loss has one minimum, and every path to it can be drawn from the same point.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "data/dataset.h"
#include "harness/base/rng.h"
#include "models/layer.h"

enum { SLOPE, OFFSET, N_PARAMS };

struct linear {
    struct training base;
    float *x, *target, *y, *dy; /* (1, max_batch), one block of the compute's memory with the next two */
    float *share;               /* (1): 1 / the number of micro-batches */
    float *part;                /* (N_PARAMS): the gradient of a micro-batch behind the first */
    float *host;                /* (2, max_batch): x and target on their way there */
};

static enum rc open_memory(struct linear *t, const struct training_env *env)
{
    const float share = 1.0f / (float)workload_n_micro_batches(env);
    void *block = NULL;
    enum rc rc;

    TRY(compute_memory_open(env->compute, &block, (4 * env->max_batch + 1 + N_PARAMS) * sizeof *t->x, "model linear"));
    t->x = block;
    t->target = t->x + env->max_batch;
    t->y = t->target + env->max_batch;
    t->dy = t->y + env->max_batch;
    t->share = t->dy + env->max_batch;
    t->part = t->share + 1;
    compute_put(env->compute, t->share, &share, sizeof share);
    t->host = calloc(2 * env->max_batch, sizeof *t->host);
    if (t->host == NULL)
        FAIL(RC_NOMEM, "model linear: %zu bytes", 2 * env->max_batch * sizeof *t->host);
out:
    return rc;
}

static void linear_close(struct training **base)
{
    struct linear *t = (struct linear *)*base;
    void *block = t->x;

    compute_memory_close(t->base.env.compute, &block);
    free(t->host);
    free(t);
    *base = NULL;
}

static enum rc linear_open(struct training **out, const struct workload *w, const struct training_env *env)
{
    struct linear *t = calloc(1, sizeof *t);
    const struct dataset *d = env->dataset;
    struct training *base;
    enum rc rc = RC_OK;

    (void)w;
    if (t == NULL)
        return rc_raise(RC_NOMEM, "model linear: %zu bytes", sizeof *t);
    base = &t->base;
    base->env = *env;
    if (d == NULL)
        FAIL(RC_INVAL, "model linear needs a data set");
    if (d->n_features != 1 || d->n_classes != 0)
        FAIL(RC_INVAL, "model linear needs samples of 1 feature and a target, %s has %zu features and %zu classes",
             d->name, d->n_features, d->n_classes);
    if (env->compute->ops->touches_memory)
        TRY(open_memory(t, env));
    *out = base;
    base = NULL;
out:
    if (base != NULL)
        linear_close(&base);
    return rc;
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
    return (struct segment){ .offset_elems = 0, .n_elems = N_PARAMS };
}

/* Replicas are spread over what lessons show: slope 0..4, offset -0.5..0.5. */
static void linear_init(const struct training *t, uint64_t replica, float *param)
{
    float first[N_PARAMS] = { 0.0f };

    if (replica > 0) {
        first[SLOPE] = (float)(4 * rng_uniform(t->env.seed, RNG_REPLICA, 2 * replica));
        first[OFFSET] = (float)(rng_uniform(t->env.seed, RNG_REPLICA, 2 * replica + 1) - 0.5);
    }
    compute_put(t->env.compute, param, first, sizeof first);
}

/* x and target: of the host. */
static void put(struct linear *t, const float *x, const float *target, size_t B)
{
    compute_put(t->base.env.compute, t->x, x, B * sizeof *x);
    compute_put(t->base.env.compute, t->target, target, B * sizeof *target);
}

/* y(1,B) = m x(1,B) + n */
static void forward(struct linear *t, const float *param, size_t B)
{
    struct compute *c = t->base.env.compute;
    const struct gemm product = {
        .M = 1, .N = (int)B, .K = 1, .a = layer_at_const(param, SLOPE), .b = t->x, .c = t->y
    };

    compute_gemm(c, &product);
    compute_bias_add(c, t->y, layer_at_const(param, OFFSET), 1, 1, B);
}

/* B samples from first on -> x and target. */
static void load(struct linear *t, uint64_t first, size_t B)
{
    const struct training_env *env = &t->base.env;

    if (!env->compute->ops->touches_memory)
        return;
    dataset_batch(env->dataset, env->part, env->seed, first, B, t->host, t->host + env->max_batch, NULL);
    put(t, t->host, t->host + env->max_batch, B);
}

/* grad(N_PARAMS) = the gradient of a micro-batch, of which dy is known. */
static void backward(struct linear *t, size_t B, float *grad)
{
    struct compute *c = t->base.env.compute;
    /* y = share dy, of several micro-batches (models.M8); dm = dy x^T */
    const struct gemm scaled = { .M = 1, .N = (int)B, .K = 1, .a = t->share, .b = t->dy, .c = t->y };
    const bool scales = workload_n_micro_batches(&t->base.env) > 1;
    const float *dy = scales ? t->y : t->dy;
    const struct gemm product = {
        .transpose_b = true, .M = 1, .N = 1, .K = (int)B, .a = dy, .b = t->x, .c = layer_at(grad, SLOPE)
    };

    if (scales)
        compute_gemm(c, &scaled);
    compute_gemm(c, &product);
    compute_zero(c, layer_at(grad, OFFSET), 1);
    compute_bias_grad(c, layer_at(grad, OFFSET), dy, 1, 1, B);
}

static enum rc linear_gradient(struct training *base, const float *param, uint64_t first, size_t n_samples, float *grad,
                               double *mean_loss, grad_ready_fn *ready, void *arg)
{
    struct linear *t = (struct linear *)base;
    struct compute *c = base->env.compute;
    const size_t n_parts = workload_n_micro_batches(&base->env), B = n_samples / n_parts;
    double sum = 0.0, loss;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < n_parts; i++) { /* models.M8 */
        load(t, first + i * B, B);
        if (i == 0)
            TRY(layer_await(base, linear_segment(base, 0)));
        forward(t, param, B);
        compute_mean_square(c, &loss, t->dy, t->y, t->target, B);
        if (!base->env.forward_only)
            backward(t, B, i > 0 ? t->part : grad);
        if (!base->env.forward_only && i > 0)
            compute_accumulate(c, grad, t->part, N_PARAMS);
        if (!base->env.forward_only && i + 1 == n_parts)
            TRY(layer_ready(ready, arg, linear_segment(base, 0), grad));
        TRY(compute_sync(c)); /* models.M6 */
        sum += loss;
    }
    *mean_loss = sum / (double)n_parts;
out:
    return rc;
}

static enum rc linear_evaluate(struct training *base, const float *param, size_t n_samples, struct evaluation *out)
{
    struct linear *t = (struct linear *)base;
    struct compute *c = base->env.compute;
    const struct dataset *d = base->env.dataset;
    const size_t n = n_samples == 0 || n_samples > d->n_train ? d->n_train : n_samples;
    double sum = 0.0, loss;
    enum rc rc = RC_OK;

    for (size_t first = 0; first < n; first += base->env.max_batch) {
        const size_t left = n - first, B = left < base->env.max_batch ? left : base->env.max_batch;
        if (c->ops->touches_memory)
            put(t, d->feature + first, d->target + first, B);
        forward(t, param, B);
        compute_mean_square(c, &loss, NULL, t->y, t->target, B);
        TRY(compute_sync(c)); /* C4: only now there is a loss */
        sum += loss * (double)B;
    }
    out->loss = sum / (double)n;
    out->accuracy_ratio = NAN;
out:
    return rc;
}

static double linear_flops_per_sample(const struct training *t)
{
    return t->env.forward_only ? 2.0 : 4.0; /* m x, and its gradient */
}

static const struct training_ops ops = {
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

static const struct named_params named = { .row = "line", .name = { [SLOPE] = "slope", [OFFSET] = "offset" } };

const struct workload workload_linear = {
    .module.name = "linear",
    .dataset = "line",
    .named = &named,
    .default_lr = 0.1, /* stable up to about 7 updates late (ps) */
    .default_momentum = 0.0,
    .default_batch = 100,
    .default_steps = 20000,
    .default_target_loss = 0.1,
    .ops = &ops,
};
