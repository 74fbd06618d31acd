/* SPDX-License-Identifier: Apache-2.0 */
/* network_reference.c - node by node, by the naive operations in double; slow. */
#include "models/suite/network_reference.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/rng.h"
#include "harness/compute/suite/reference.h"

struct layer { /* of one node, (C, B, H, W) */
    double *value, *grad;
    double *inner; /* before the norm */
    uint8_t *argmax;
    size_t n; /* elements */
};

struct network_reference {
    const struct network *n;
    size_t B;
    struct layer *layer;
    struct layer image;
    double *scratch, *other; /* of the largest layer */
    double *of_channels[4];  /* of most channels: what a norm gives, and no test looks at */
};

static void *zeros(size_t n, size_t n_bytes)
{
    void *p = calloc(n > 0 ? n : 1, n_bytes);

    if (p == NULL)
        abort();
    return p;
}

static void layer_init(struct layer *l, size_t n)
{
    *l = (struct layer){ .value = zeros(n, sizeof(double)),
                         .grad = zeros(n, sizeof(double)),
                         .inner = zeros(n, sizeof(double)),
                         .argmax = zeros(n, 1),
                         .n = n };
}

static void layer_fini(struct layer *l)
{
    free(l->value);
    free(l->grad);
    free(l->inner);
    free(l->argmax);
}

struct network_reference *network_reference_open(const struct network *n, size_t B)
{
    struct network_reference *r = zeros(1, sizeof *r);
    const size_t size = (size_t)n->opts.image_size;
    size_t most = (size_t)n->C_in * B * size * size, most_channels = 1;

    *r = (struct network_reference){ .n = n, .B = B };
    r->layer = zeros((size_t)n->n_nodes, sizeof *r->layer);
    layer_init(&r->image, most);
    for (int i = 0; i < n->n_nodes; i++) {
        const struct node *d = &n->node[i];
        layer_init(&r->layer[i], B * (d->kind == NODE_LOSS ? (size_t)d->in.C : node_out_elems(d)));
        most = r->layer[i].n > most ? r->layer[i].n : most;
        most_channels = (size_t)d->C_out > most_channels ? (size_t)d->C_out : most_channels;
    }
    r->scratch = zeros(most, sizeof(double));
    r->other = zeros(most, sizeof(double));
    for (int i = 0; i < 4; i++)
        r->of_channels[i] = zeros(most_channels, sizeof(double));
    return r;
}

void network_reference_close(struct network_reference **r)
{
    if (*r == NULL)
        return;
    for (int i = 0; i < (*r)->n->n_nodes; i++)
        layer_fini(&(*r)->layer[i]);
    layer_fini(&(*r)->image);
    for (int i = 0; i < 4; i++)
        free((*r)->of_channels[i]);
    free((*r)->scratch);
    free((*r)->other);
    free((*r)->layer);
    free(*r);
    *r = NULL;
}

static struct layer *layer_of(struct network_reference *r, int node)
{
    return node == NODE_IMAGE ? &r->image : &r->layer[node];
}

static void add_to(double *sum, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum[i] += x[i];
}

static struct window window_of(const struct network_reference *r, const struct node *n)
{
    struct window w = n->in;

    w.B = (int)r->B;
    return w;
}

static struct batch_norm norm_of(const struct network_reference *r, const struct node *n)
{
    return (struct batch_norm){ (size_t)n->C_out, r->B * (size_t)(n->out_h * n->out_w), n->epsilon, 0.1f, n->relu };
}

/* --- convolutions, with norm, addition and relu --- */

/* state: running values; training updates them (NULL: not), inference uses them. */
static void conv_forward(struct network_reference *r, int i, const double *param, double *state, bool training)
{
    const struct node *n = &r->n->node[i];
    const struct conv_shape shape = { window_of(r, n), n->C_out };
    const struct batch_norm norm = norm_of(r, n);
    const double *add = n->add_from != NODE_NONE ? layer_of(r, n->add_from)->value : NULL;
    const double *shift = n->shift.n_elems > 0 ? param + n->shift.offset_elems : NULL;
    const double *gamma = param + n->gamma.offset_elems;
    struct layer *l = &r->layer[i];
    double *scale = r->of_channels[0], *folded = r->of_channels[1];

    reference_conv(l->inner, layer_of(r, n->from)->value, param + n->weight.offset_elems, &shape);
    memcpy(l->value, l->inner, l->n * sizeof *l->value);
    if (n->norm != NORM_BATCH) {
        reference_epilogue(l->value, NULL, shift, add, n->relu, norm.C, norm.n);
        return;
    }
    double *mean = state != NULL ? state + n->running_offset_elems : r->of_channels[2];
    double *var = state != NULL ? mean + n->C_out : r->of_channels[3];
    if (training) {
        reference_batch_norm(l->value, scale, folded, mean, var, l->inner, gamma, shift, add, &norm);
        return;
    }
    reference_batch_norm_fold(scale, folded, gamma, shift, mean, var, &norm);
    reference_epilogue(l->value, scale, folded, add, n->relu, norm.C, norm.n);
}

static void conv_backward(struct network_reference *r, int i, const double *param, double *grad)
{
    const struct node *n = &r->n->node[i];
    const struct conv_shape shape = { window_of(r, n), n->C_out };
    const struct batch_norm norm = norm_of(r, n);
    struct layer *l = &r->layer[i], *from = layer_of(r, n->from);
    double *dy = l->grad, *dshift = n->shift.n_elems > 0 ? grad + n->shift.offset_elems : r->of_channels[0];

    if (n->norm == NORM_BATCH) {
        dy = r->other;
        reference_batch_norm_grad(dy, grad + n->gamma.offset_elems, dshift, l->grad, l->inner, l->value,
                                  param + n->gamma.offset_elems, param + n->shift.offset_elems, &norm);
    } else {
        reference_conv_bias_grad(dshift, dy, n->relu ? l->value : NULL, norm.C, norm.n);
    }
    if (n->add_from != NODE_NONE)
        add_to(layer_of(r, n->add_from)->grad, l->grad, l->n);
    reference_conv_weight_grad(grad + n->weight.offset_elems, dy, from->value, &shape);
    reference_conv_input_grad(r->scratch, dy, param + n->weight.offset_elems, &shape);
    add_to(from->grad, r->scratch, from->n);
}

/* --- the others --- */

static void pool(struct network_reference *r, int i, bool backward)
{
    const struct node *n = &r->n->node[i];
    const struct window w = window_of(r, n);
    struct layer *l = &r->layer[i], *from = layer_of(r, n->from);

    if (!backward && n->kind == NODE_MAX_POOL)
        reference_max_pool(l->value, l->argmax, from->value, &w);
    else if (!backward && n->kind == NODE_AVG_POOL)
        reference_avg_pool(l->value, from->value, &w);
    else if (!backward)
        reference_adaptive_pool(l->value, from->value, &w, n->out_h, n->out_w);
    else if (n->kind == NODE_MAX_POOL)
        reference_max_pool_grad(r->scratch, l->grad, l->argmax, &w);
    else if (n->kind == NODE_AVG_POOL)
        reference_avg_pool_grad(r->scratch, l->grad, &w);
    else
        reference_adaptive_pool_grad(r->scratch, l->grad, &w, n->out_h, n->out_w);
    if (backward)
        add_to(from->grad, r->scratch, from->n);
}

static void concat(struct network_reference *r, int i, bool backward)
{
    const struct node *n = &r->n->node[i];
    struct layer *l = &r->layer[i];
    size_t offset_elems = 0;

    for (int p = 0; p < n->n_parts; p++) {
        struct layer *part = &r->layer[n->part[p]];
        if (backward)
            add_to(part->grad, l->grad + offset_elems, part->n);
        else
            memcpy(l->value + offset_elems, part->value, part->n * sizeof *part->value);
        offset_elems += part->n;
    }
}

/* key 0: inference. */
static void dropout(struct network_reference *r, int i, uint64_t key, bool backward)
{
    const struct node *n = &r->n->node[i];
    struct layer *l = &r->layer[i], *from = layer_of(r, n->from);
    double *out = backward ? r->scratch : l->value;

    memcpy(out, backward ? l->grad : from->value, l->n * sizeof *out);
    if (key != 0)
        reference_dropout(out, l->n, 1.0f - n->drop_ratio, rng_u64(key, RNG_DROPOUT, (uint64_t)i));
    if (backward)
        add_to(from->grad, out, l->n);
}

/* Mean cross-entropy; the layer's value: the gradient of it. */
static double loss_forward(struct network_reference *r, int i, const uint32_t *label, size_t *n_correct)
{
    const struct node *n = &r->n->node[i];
    const size_t K = (size_t)n->in.C;

    reference_swap_axes(r->scratch, layer_of(r, n->from)->value, K, r->B, 1);
    const double loss = reference_softmax_xent(r->other, n_correct, r->scratch, label, 1.0, r->B, K);
    reference_swap_axes(r->layer[i].value, r->other, r->B, K, 1);
    return loss;
}

static void loss_backward(struct network_reference *r, int i)
{
    const struct node *n = &r->n->node[i];

    for (size_t k = 0; k < r->layer[i].n; k++)
        layer_of(r, n->from)->grad[k] += (double)n->loss_weight * r->layer[i].value[k];
}

/* Training: the sum of all losses. Inference: the first. */
static double forward(struct network_reference *r, const struct network_reference_batch *batch, double *state,
                      bool training, size_t *n_correct)
{
    double sum = 0.0;
    bool has_loss = false;

    for (size_t k = 0; k < r->image.n; k++)
        r->image.value[k] = (double)batch->x[k];
    for (int i = 0; i < r->n->n_nodes; i++) {
        const struct node *n = &r->n->node[i];
        if (n->kind == NODE_CONV)
            conv_forward(r, i, batch->param, state, training);
        else if (n->kind == NODE_MAX_POOL || n->kind == NODE_AVG_POOL || n->kind == NODE_ADAPTIVE_POOL)
            pool(r, i, false);
        else if (n->kind == NODE_CONCAT)
            concat(r, i, false);
        else if (n->kind == NODE_DROPOUT)
            dropout(r, i, training ? batch->dropout_key : 0, false);
        else if (training)
            sum += (double)n->loss_weight * loss_forward(r, i, batch->label, NULL);
        else if (!has_loss) {
            sum = loss_forward(r, i, batch->label, n_correct);
            has_loss = true;
        }
    }
    return sum;
}

double network_reference_train(struct network_reference *r, const struct network_reference_batch *batch, double *grad,
                               double *state)
{
    const double loss = forward(r, batch, state, true, NULL);

    for (int i = 0; i < r->n->n_nodes; i++)
        memset(r->layer[i].grad, 0, r->layer[i].n * sizeof(double));
    for (int i = r->n->n_nodes - 1; i >= 0 && grad != NULL; i--) {
        const struct node *n = &r->n->node[i];
        if (n->kind == NODE_CONV)
            conv_backward(r, i, batch->param, grad);
        else if (n->kind == NODE_MAX_POOL || n->kind == NODE_AVG_POOL || n->kind == NODE_ADAPTIVE_POOL)
            pool(r, i, true);
        else if (n->kind == NODE_CONCAT)
            concat(r, i, true);
        else if (n->kind == NODE_DROPOUT)
            dropout(r, i, batch->dropout_key, true);
        else
            loss_backward(r, i);
    }
    return loss;
}

double network_reference_infer(struct network_reference *r, const struct network_reference_batch *batch,
                               const double *state, size_t *n_correct)
{
    double *copy = zeros(r->n->n_state, sizeof *copy);

    memcpy(copy, state, r->n->n_state * sizeof *copy);
    const double loss = forward(r, batch, copy, false, n_correct);
    free(copy);
    return loss;
}
