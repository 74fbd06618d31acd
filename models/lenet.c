/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lenet.c - a small convolutional network for 8 x 8 digits.
 *
 *   x (1,B,8,8) - 0.3 - conv 3x3, 16 - max pool 2x2 - relu - conv 3x3, 32 - max pool 2x2 - relu
 *   - (B,128) - dense 64 - relu - dense 10 - softmax, cross-entropy
 *
 * relu after max pooling is the same function as before it (both are monotone) at a quarter of the
 * work. Activations are channel-major up to the dense layers (layer_conv.h).
 *
 * Invariants
 *   L1  Between open and close nothing allocates: every activation has its place in one arena, laid
 *       out for max_batch samples (M4).
 *   L2  A buffer is reused only where what it held is used up: dy of a convolution takes the place
 *       of y, dcol that of col.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/dataset.h"
#include "harness/base/arena.h"
#include "models/layer.h"
#include "models/layer_conv.h"
#include "models/layer_dense.h"

#define PIXEL_MEAN 0.3f /* of digits, about; centred inputs bear higher learning rates */

enum {
    SIDE = 8,
    KERNEL = 3,
    C_1 = 16,
    C_2 = 32,
    N_FLAT = C_2 * (SIDE / 4) * (SIDE / 4),
    N_HIDDEN = 64,
    N_CLASSES = 10,
    N_SEGMENTS = 8,
};

struct stage { /* convolution, pooling, relu: activations of B images */
    struct conv conv;
    float *col, *y; /* of the convolution; then dcol, dy */
    float *pooled, *d_pooled;
    uint32_t *at; /* where each maximum was */
};

struct lenet {
    struct training base;
    struct stage stage[2];
    struct dense hidden, output;
    struct segment segment[N_SEGMENTS]; /* forward order */
    size_t n_params;
    struct arena arena;
    float *x;                /* (B, SIDE, SIDE), centred */
    float *minus_mean;       /* (1) */
    uint32_t *label;         /* (B) */
    float *flat, *d_flat;    /* (B, N_FLAT) */
    float *h, *d_h;          /* (B, N_HIDDEN) */
    float *logits, *dlogits; /* (B, N_CLASSES) */
};

/* Pooling works on planes: which of them are channels does not matter. */
static struct window pooling(const struct stage *s, size_t B)
{
    return (struct window){ .B = (int)B,
                            .C = s->conv.C_out,
                            .H = s->conv.in.H,
                            .W = s->conv.in.W,
                            .kernel_h = 2,
                            .kernel_w = 2,
                            .stride_h = 2,
                            .stride_w = 2 };
}

static size_t pooled_elems(const struct stage *s, size_t B)
{
    return conv_y_elems(&s->conv, B) / 4;
}

static void describe(struct lenet *t)
{
    struct window in = { 0, 1, SIDE, SIDE, KERNEL, KERNEL, 1, 1, 1, 1 };
    struct conv *conv_1 = &t->stage[0].conv, *conv_2 = &t->stage[1].conv;

    conv_init(conv_1, &t->n_params, &in, C_1);
    in.C = C_1;
    in.H = in.W = SIDE / 2;
    conv_init(conv_2, &t->n_params, &in, C_2);
    dense_init(&t->hidden, &t->n_params, N_FLAT, N_HIDDEN);
    dense_init(&t->output, &t->n_params, N_HIDDEN, N_CLASSES);
    t->segment[0] = conv_1->weight;
    t->segment[1] = conv_1->bias;
    t->segment[2] = conv_2->weight;
    t->segment[3] = conv_2->bias;
    t->segment[4] = t->hidden.weight;
    t->segment[5] = t->hidden.bias;
    t->segment[6] = t->output.weight;
    t->segment[7] = t->output.bias;
}

/* With an empty arena: only count the bytes. Otherwise hand out what was counted. */
static float *place(struct lenet *t, size_t *n_bytes, size_t n_elems)
{
    *n_bytes += arena_floats_bytes(n_elems);
    return t->arena.base != NULL ? arena_floats(&t->arena, n_elems) : NULL;
}

static size_t place_all(struct lenet *t, size_t B)
{
    size_t n_bytes = 0;

    t->x = place(t, &n_bytes, B * SIDE * SIDE);
    t->minus_mean = place(t, &n_bytes, 1);
    t->label = (uint32_t *)(void *)place(t, &n_bytes, B);
    for (int i = 0; i < 2; i++) {
        struct stage *s = &t->stage[i];
        s->col = place(t, &n_bytes, conv_col_elems(&s->conv, B));
        s->y = place(t, &n_bytes, conv_y_elems(&s->conv, B));
        s->pooled = place(t, &n_bytes, pooled_elems(s, B));
        s->d_pooled = place(t, &n_bytes, pooled_elems(s, B));
        s->at = (uint32_t *)(void *)place(t, &n_bytes, pooled_elems(s, B));
    }
    t->flat = place(t, &n_bytes, B * N_FLAT);
    t->d_flat = place(t, &n_bytes, B * N_FLAT);
    t->h = place(t, &n_bytes, B * N_HIDDEN);
    t->d_h = place(t, &n_bytes, B * N_HIDDEN);
    t->logits = place(t, &n_bytes, B * N_CLASSES);
    t->dlogits = place(t, &n_bytes, B * N_CLASSES);
    return n_bytes;
}

static enum rc lenet_open(struct training **out, const struct training_env *env)
{
    struct lenet *t = calloc(1, sizeof *t);
    enum rc rc = RC_OK;

    if (t == NULL)
        FAIL(RC_NOMEM, "model lenet: %zu bytes", sizeof *t);
    if (env->dataset->n_features != SIDE * SIDE || env->dataset->n_classes != N_CLASSES)
        FAIL(RC_INVAL, "model lenet needs images of %d pixels in %d classes, %s has %zu features and %zu classes",
             SIDE * SIDE, N_CLASSES, env->dataset->name, env->dataset->n_features, env->dataset->n_classes);
    describe(t);
    if (env->compute->ops->touches_memory) {
        TRY(arena_open(&t->arena, place_all(t, env->max_batch)));
        place_all(t, env->max_batch);
        *t->minus_mean = -PIXEL_MEAN;
    }
    *out = &t->base;
    t = NULL;
out:
    free(t);
    return rc;
}

static void lenet_close(struct training **t)
{
    arena_close(&((struct lenet *)*t)->arena);
    free(*t);
    *t = NULL;
}

static size_t lenet_n_params(const struct training *t)
{
    return ((const struct lenet *)t)->n_params;
}

static size_t lenet_n_segments(const struct training *t)
{
    (void)t;
    return N_SEGMENTS;
}

static struct segment lenet_segment(const struct training *t, size_t i)
{
    assert(i < N_SEGMENTS);
    return ((const struct lenet *)t)->segment[i];
}

static void lenet_init(const struct training *base, float *param)
{
    const struct lenet *t = (const struct lenet *)base;
    const size_t fan_in[] = { conv_fan_in(&t->stage[0].conv), conv_fan_in(&t->stage[1].conv), N_FLAT, N_HIDDEN };

    for (size_t i = 0; i < N_SEGMENTS; i += 2) {
        layer_init_he(param, t->segment[i], fan_in[i / 2], base->env.seed);
        layer_init_zero(param, t->segment[i + 1]);
    }
}

static void stage_forward(const struct stage *s, struct compute *c, const float *x, const float *param, size_t B)
{
    const struct window g = pooling(s, B);

    conv_forward(&s->conv, c, s->y, s->col, x, param, B);
    compute_max_pool(c, s->pooled, s->at, s->y, &g);
    compute_relu(c, s->pooled, pooled_elems(s, B));
}

/* logits(B, N_CLASSES) of the raw pixels in t->x. */
static void forward(const struct lenet *t, const float *param, size_t B)
{
    struct compute *c = t->base.env.compute;

    compute_bias_add(c, t->x, t->minus_mean, 1, 1, B * SIDE * SIDE);
    stage_forward(&t->stage[0], c, t->x, param, B);
    stage_forward(&t->stage[1], c, t->stage[0].pooled, param, B);
    compute_swap_axes(c, t->flat, t->stage[1].pooled, C_2, B, N_FLAT / C_2); /* (C,B,hw) -> (B,C,hw) */
    dense_forward(&t->hidden, c, t->h, t->flat, param, B);
    compute_relu(c, t->h, B * N_HIDDEN);
    dense_forward(&t->output, c, t->logits, t->h, param, B);
}

/* From d_pooled to the gradients of the convolution, and to dx unless that is data. */
static enum rc stage_backward(const struct stage *s, struct compute *c, float *dx, bool wants_dx, const float *param,
                              float *grad, size_t B, grad_ready_fn *ready, void *arg)
{
    const struct window g = pooling(s, B);
    float *dy = s->y, *dcol = s->col; /* L2 */
    enum rc rc;

    compute_relu_grad(c, s->d_pooled, s->pooled, pooled_elems(s, B));
    compute_max_pool_grad(c, dy, s->d_pooled, s->at, &g);
    conv_bias_grad(&s->conv, c, grad, dy, B);
    TRY(layer_ready(ready, arg, s->conv.bias, grad));
    conv_weight_grad(&s->conv, c, grad, dy, s->col, B);
    TRY(layer_ready(ready, arg, s->conv.weight, grad));
    if (wants_dx)
        conv_input_grad(&s->conv, c, dx, dcol, dy, param, B);
out:
    return rc;
}

static enum rc dense_backward(const struct lenet *t, const struct dense *l, const float *dy, const float *x, float *dx,
                              const float *param, float *grad, size_t B, grad_ready_fn *ready, void *arg)
{
    struct compute *c = t->base.env.compute;
    enum rc rc;

    dense_bias_grad(l, c, grad, dy, B);
    TRY(layer_ready(ready, arg, l->bias, grad));
    dense_weight_grad(l, c, grad, dy, x, B);
    TRY(layer_ready(ready, arg, l->weight, grad));
    dense_input_grad(l, c, dx, dy, param, B);
out:
    return rc;
}

static enum rc lenet_gradient(struct training *base, const float *param, uint64_t first, size_t n_samples, float *grad,
                              double *mean_loss, grad_ready_fn *ready, void *arg)
{
    struct lenet *t = (struct lenet *)base;
    struct compute *c = base->env.compute;
    const size_t B = n_samples;
    struct stage *last = &t->stage[1];
    enum rc rc;

    if (c->ops->touches_memory)
        dataset_batch(base->env.dataset, base->env.seed, first, B, t->x, NULL, t->label);
    forward(t, param, B);
    compute_softmax_xent(c, mean_loss, t->dlogits, NULL, t->logits, t->label, B, N_CLASSES);
    TRY(dense_backward(t, &t->output, t->dlogits, t->h, t->d_h, param, grad, B, ready, arg));
    compute_relu_grad(c, t->d_h, t->h, B * N_HIDDEN);
    TRY(dense_backward(t, &t->hidden, t->d_h, t->flat, t->d_flat, param, grad, B, ready, arg));
    compute_swap_axes(c, last->d_pooled, t->d_flat, B, C_2, N_FLAT / C_2);
    TRY(stage_backward(last, c, t->stage[0].d_pooled, true, param, grad, B, ready, arg));
    TRY(stage_backward(&t->stage[0], c, NULL, false, param, grad, B, ready, arg));
out:
    return rc;
}

static void lenet_evaluate(struct training *base, const float *param, struct evaluation *out)
{
    struct lenet *t = (struct lenet *)base;
    const struct dataset *d = base->env.dataset;
    size_t n_correct = 0, n_right;
    double sum = 0.0, loss;

    for (size_t done = 0; done < d->n_test; done += base->env.max_batch) {
        const size_t left = d->n_test - done, B = left < base->env.max_batch ? left : base->env.max_batch;
        const size_t first = d->n_train + done;
        const uint32_t *label = d->label != NULL ? d->label + first : NULL;
        if (base->env.compute->ops->touches_memory)
            memcpy(t->x, d->feature + first * d->n_features, B * d->n_features * sizeof *t->x);
        forward(t, param, B);
        compute_softmax_xent(base->env.compute, &loss, NULL, &n_right, t->logits, label, B, N_CLASSES);
        sum += loss * (double)B;
        n_correct += n_right;
    }
    out->loss = sum / (double)d->n_test;
    out->accuracy_ratio = isnan(out->loss) ? NAN : (double)n_correct / (double)d->n_test;
}

static double lenet_flops_per_sample(const struct training *base)
{
    const struct lenet *t = (const struct lenet *)base;

    /* Three GEMMs per layer; the first one's input is data and needs no gradient. */
    return 2.0 * conv_gemm_flops(&t->stage[0].conv) + 3.0 * conv_gemm_flops(&t->stage[1].conv) +
           3.0 * dense_gemm_flops(&t->hidden) + 3.0 * dense_gemm_flops(&t->output);
}

const struct workload workload_lenet = {
    .name = "lenet",
    .dataset = "digits",
    .default_lr = 0.01, /* calm: twice as much, or updates two steps late, still train */
    .default_momentum = 0.9,
    .default_batch = 32,
    .default_steps = 400,
    .default_target_loss = 0.2,
    .open = lenet_open,
    .n_params = lenet_n_params,
    .n_segments = lenet_n_segments,
    .segment = lenet_segment,
    .init = lenet_init,
    .gradient = lenet_gradient,
    .evaluate = lenet_evaluate,
    .flops_per_sample = lenet_flops_per_sample,
    .close = lenet_close,
};
