/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - each step of a program as one call of the compute. */
#include "models/engine/run.h"

#include <assert.h>
#include <string.h>

#include "harness/base/rng.h"
#include "models/layer.h"

#define RUNNING_MOMENTUM 0.1f /* as in the papers' reference implementations: 0.9 of the old */

typedef void step_fn(const struct run *r, const struct step *s, const struct node *n);

/* The array an operand stands for; NULL: absent, or no memory is touched. */
static void *bytes_at(const struct run *r, struct view v)
{
    if (v.buffer < 0 || r->memory == NULL)
        return NULL;
    return r->memory + r->program->item[v.buffer].at_bytes + v.at * r->B;
}

static float *written(const struct run *r, const struct step *s, enum operand which)
{
    return bytes_at(r, s->v[which]);
}

static const float *given(const struct run *r, const struct step *s, enum operand which)
{
    return s->v[which].buffer == VIEW_IMAGE ? r->x : bytes_at(r, s->v[which]);
}

static struct window window_of(const struct run *r, const struct node *n)
{
    struct window g = n->in;

    g.B = (int)r->B;
    return g;
}

static struct conv_shape conv_of(const struct run *r, const struct node *n)
{
    return (struct conv_shape){ .in = window_of(r, n), .C_out = n->C_out };
}

/* Values per channel of the output. */
static size_t channel_elems(const struct run *r, const struct node *n)
{
    return r->B * (size_t)n->out_h * (size_t)n->out_w;
}

static struct batch_norm norm_of(const struct run *r, const struct node *n)
{
    return (struct batch_norm){ .C = (size_t)n->C_out,
                                .n = channel_elems(r, n),
                                .epsilon = n->epsilon,
                                .momentum = RUNNING_MOMENTUM,
                                .relu = n->relu };
}

static const float *param_of(const struct run *r, struct segment s)
{
    return layer_at_const(r->param, s.at);
}

static float *grad_of(const struct run *r, struct segment s)
{
    return layer_at(r->grad, s.at);
}

/* In training a batch norm follows as its own step, and takes the relu and the sum with it. */
static void conv(const struct run *r, const struct step *s, const struct node *n)
{
    const struct conv_shape shape = conv_of(r, n);
    const bool folded = s->v[SCALE].buffer != VIEW_NONE, plain = n->norm == NORM_BATCH && !folded;
    const struct epilogue e = { .scale = folded ? given(r, s, SCALE) : NULL,
                                .shift = folded                 ? given(r, s, SHIFT)
                                         : n->norm == NORM_BIAS ? param_of(r, n->shift)
                                                                : NULL,
                                .add = given(r, s, ADD),
                                .relu = n->relu };
    const struct epilogue none = { .relu = false };

    compute_conv(r->compute, written(r, s, OUT), given(r, s, IN), param_of(r, n->weight), plain ? &none : &e, &shape);
}

static void norm(const struct run *r, const struct step *s, const struct node *n)
{
    const struct batch_norm shape = norm_of(r, n);

    compute_batch_norm(r->compute, written(r, s, OUT), written(r, s, MEAN), written(r, s, INV_STD),
                       layer_at(r->state, n->running_at), layer_at(r->state, n->running_at + shape.C), given(r, s, IN),
                       param_of(r, n->gamma), param_of(r, n->shift), given(r, s, ADD), &shape);
}

static void fold(const struct run *r, const struct step *s, const struct node *n)
{
    const struct batch_norm shape = norm_of(r, n);

    compute_batch_norm_fold(r->compute, written(r, s, SCALE), written(r, s, SHIFT), param_of(r, n->gamma),
                            param_of(r, n->shift), layer_at(r->state, n->running_at),
                            layer_at(r->state, n->running_at + shape.C), &shape);
}

static void max_pool(const struct run *r, const struct step *s, const struct node *n)
{
    const struct window g = window_of(r, n);

    compute_max_pool(r->compute, written(r, s, OUT), bytes_at(r, s->v[AT]), given(r, s, IN), &g);
}

static void avg_pool(const struct run *r, const struct step *s, const struct node *n)
{
    const struct window g = window_of(r, n);

    compute_avg_pool(r->compute, written(r, s, OUT), given(r, s, IN), &g);
}

static void adaptive_pool(const struct run *r, const struct step *s, const struct node *n)
{
    const struct window g = window_of(r, n);

    compute_adaptive_pool(r->compute, written(r, s, OUT), given(r, s, IN), &g, n->out_h, n->out_w);
}

/* The same numbers for the activation and for its gradient. */
static void dropout(const struct run *r, const struct step *s, const struct node *n)
{
    const uint64_t key = rng_u64(r->dropout_key, RNG_DROPOUT, (uint64_t)s->node);

    compute_dropout(r->compute, written(r, s, OUT), r->B * node_out_elems(n), 1.0f - n->drop_ratio, key);
}

static void to_rows(const struct run *r, const struct step *s, const struct node *n)
{
    compute_swap_axes(r->compute, written(r, s, OUT), given(r, s, IN), (size_t)n->in.C, r->B, 1);
}

static void from_rows(const struct run *r, const struct step *s, const struct node *n)
{
    compute_swap_axes(r->compute, written(r, s, OUT), given(r, s, IN), r->B, (size_t)n->in.C, 1);
}

static void loss(const struct run *r, const struct step *s, const struct node *n)
{
    compute_softmax_xent(r->compute, &r->loss[s->loss], written(r, s, OUT), s->loss == 0 ? r->n_correct : NULL,
                         given(r, s, IN), r->label, s->loss_weight, r->B, (size_t)n->in.C);
}

static void relu_grad(const struct run *r, const struct step *s, const struct node *n)
{
    compute_relu_grad(r->compute, written(r, s, DY), given(r, s, Z), r->B * node_out_elems(n));
}

static void bias_grad(const struct run *r, const struct step *s, const struct node *n)
{
    compute_conv_bias_grad(r->compute, grad_of(r, n->shift), written(r, s, DY), given(r, s, Z), (size_t)n->C_out,
                           channel_elems(r, n));
}

static void norm_grad(const struct run *r, const struct step *s, const struct node *n)
{
    const struct batch_norm shape = norm_of(r, n);

    compute_batch_norm_grad(r->compute, written(r, s, OUT), grad_of(r, n->gamma), grad_of(r, n->shift),
                            written(r, s, DY), given(r, s, IN), given(r, s, Z), param_of(r, n->gamma),
                            param_of(r, n->shift), given(r, s, MEAN), given(r, s, INV_STD), &shape);
}

static void weight_grad(const struct run *r, const struct step *s, const struct node *n)
{
    const struct conv_shape shape = conv_of(r, n);

    compute_conv_weight_grad(r->compute, grad_of(r, n->weight), given(r, s, DY), given(r, s, IN), &shape);
}

static void input_grad(const struct run *r, const struct step *s, const struct node *n)
{
    const struct conv_shape shape = conv_of(r, n);

    compute_conv_input_grad(r->compute, written(r, s, OUT), given(r, s, DY), param_of(r, n->weight), s->add, &shape);
}

static void max_pool_grad(const struct run *r, const struct step *s, const struct node *n)
{
    const struct window g = window_of(r, n);

    compute_max_pool_grad(r->compute, written(r, s, OUT), given(r, s, DY), bytes_at(r, s->v[AT]), s->add, &g);
}

static void avg_pool_grad(const struct run *r, const struct step *s, const struct node *n)
{
    const struct window g = window_of(r, n);

    compute_avg_pool_grad(r->compute, written(r, s, OUT), given(r, s, DY), s->add, &g);
}

static void adaptive_pool_grad(const struct run *r, const struct step *s, const struct node *n)
{
    const struct window g = window_of(r, n);

    compute_adaptive_pool_grad(r->compute, written(r, s, OUT), given(r, s, DY), s->add, &g, n->out_h, n->out_w);
}

static void accumulate(const struct run *r, const struct step *s, const struct node *n)
{
    compute_accumulate(r->compute, written(r, s, OUT), given(r, s, IN), r->B * node_out_elems(n));
}

static step_fn *const step_fns[N_STEP_KINDS] = {
    [STEP_CONV] = conv,
    [STEP_NORM] = norm,
    [STEP_FOLD] = fold,
    [STEP_MAX_POOL] = max_pool,
    [STEP_AVG_POOL] = avg_pool,
    [STEP_ADAPTIVE_POOL] = adaptive_pool,
    [STEP_DROPOUT] = dropout,
    [STEP_TO_ROWS] = to_rows,
    [STEP_LOSS] = loss,
    [STEP_FROM_ROWS] = from_rows,
    [STEP_RELU_GRAD] = relu_grad,
    [STEP_BIAS_GRAD] = bias_grad,
    [STEP_NORM_GRAD] = norm_grad,
    [STEP_WEIGHT_GRAD] = weight_grad,
    [STEP_INPUT_GRAD] = input_grad,
    [STEP_MAX_POOL_GRAD] = max_pool_grad,
    [STEP_AVG_POOL_GRAD] = avg_pool_grad,
    [STEP_ADAPTIVE_POOL_GRAD] = adaptive_pool_grad,
    [STEP_ACCUMULATE] = accumulate,
};

/* All bits set: NaN in float. */
static void poison_dead(const struct run *r, int step)
{
    for (int i = 0; i < r->program->n_buffers; i++)
        if (r->program->item[i].death == step)
            memset(r->memory + r->program->item[i].at_bytes, 0xff, r->program->item[i].n_bytes);
}

static bool same_work(const struct step *a, const struct step *b)
{
    return a->node == b->node && a->phase == b->phase;
}

static void tell(const struct run *r, const struct step *s, bool begin)
{
    r->observer->node(r->observer->arg, s->node, s->phase, begin);
}

/* A compute with marks works on while the host hands over what is behind one. Segments share a mark in groups of a
 * COMPUTE_MARKS-th of the parameters or more: between two marks there is work enough to be worth a graph (cuda.h),
 * and a step has a mark for each group. */
struct handing {
    struct group {
        int first, last; /* steps of the program */
    } group[COMPUTE_MARKS];
    int n_marked, n_handed, first;
    size_t n_elems; /* of the group in the making, whose first step is `first` */
};

static enum rc hand_over_oldest(const struct run *r, struct handing *h)
{
    const int k = h->n_handed++ % COMPUTE_MARKS;
    enum rc rc = RC_OK;

    compute_as_of(r->compute, k);
    for (int i = h->group[k].first; rc == RC_OK && i <= h->group[k].last; i++)
        if (r->program->step[i].kind == STEP_READY)
            rc = layer_ready(r->ready, r->arg, r->program->step[i].segment, r->grad);
    compute_as_of(r->compute, -1);
    return rc;
}

/* M2: a mark stands after everything that writes the segments before it. It is set before an older one is waited for,
 * so that there is work meanwhile. */
static enum rc hand_over(const struct run *r, struct handing *h, int step)
{
    const struct segment s = r->program->step[step].segment;
    enum rc rc = RC_OK;

    if (r->ready == NULL)
        return RC_OK;
    if (!compute_has_marks(r->compute))
        return layer_ready(r->ready, r->arg, s, r->grad);
    if (h->n_elems == 0)
        h->first = step;
    h->n_elems += s.n_elems;
    if (h->n_elems < r->network->n_params / COMPUTE_MARKS && s.at > 0)
        return RC_OK;
    h->group[h->n_marked % COMPUTE_MARKS] = (struct group){ h->first, step };
    h->n_elems = 0;
    compute_mark(r->compute, h->n_marked++ % COMPUTE_MARKS);
    if (h->n_marked - h->n_handed == COMPUTE_MARKS)
        TRY(hand_over_oldest(r, h));
out:
    return rc;
}

enum rc network_run(const struct run *r)
{
    struct handing handing = { .n_marked = 0 };
    const struct program *p = r->program;
    const bool poison = r->poison && r->memory != NULL;
    enum rc rc = RC_OK;

    if (poison)
        memset(r->memory, 0xff, p->sums.planned_bytes);
    for (int i = 0; i < p->n_steps; i++) {
        const struct step *s = &p->step[i];
        if (r->observer != NULL && (i == 0 || !same_work(s - 1, s)))
            tell(r, s, true);
        if (s->kind == STEP_READY)
            TRY(hand_over(r, &handing, i));
        else
            step_fns[s->kind](r, s, &r->network->node[s->node]);
        if (r->observer != NULL && (i + 1 == p->n_steps || !same_work(s, s + 1)))
            tell(r, s, false);
        if (poison)
            poison_dead(r, i);
    }
    while (handing.n_handed < handing.n_marked)
        TRY(hand_over_oldest(r, &handing));
out:
    return rc;
}
