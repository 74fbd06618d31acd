/* SPDX-License-Identifier: Apache-2.0 */
/* network_reference.c - straight from the definitions; slow. reference_windows.c has convolutions, max and average
 * pools. */
#include "models/suite/network_reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/rng.h"
#include "models/suite/reference_windows.h"

static void *zeros(size_t n, size_t n_bytes)
{
    void *p = calloc(n > 0 ? n : 1, n_bytes);

    if (p == NULL)
        abort();
    return p;
}

struct network_reference *network_reference_open(const struct network *n, size_t B)
{
    struct network_reference *r = zeros(1, sizeof *r);
    const size_t size = (size_t)n->opts.image_size;

    *r = (struct network_reference){ .n = n, .B = B };
    r->layer = zeros((size_t)n->n_nodes, sizeof *r->layer);
    r->image.n = (size_t)n->C_in * B * size * size;
    r->image.value = zeros(r->image.n, sizeof(double));
    r->image.grad = zeros(r->image.n, sizeof(double));
    if (compute_open(&r->compute, &compute_cpu, NULL) != RC_OK)
        abort();
    for (int i = 0; i < n->n_nodes; i++) {
        struct layer *l = &r->layer[i];
        l->n = B * (n->node[i].kind == NODE_LOSS ? (size_t)n->node[i].in.C : node_out_elems(&n->node[i]));
        l->value = zeros(l->n, sizeof(double));
        l->grad = zeros(l->n, sizeof(double));
        l->inner = zeros(l->n, sizeof(double));
        l->mean = zeros((size_t)n->node[i].C_out, sizeof(double));
        l->var = zeros((size_t)n->node[i].C_out, sizeof(double));
        l->kept = zeros(l->n, sizeof(float));
    }
    return r;
}

void network_reference_close(struct network_reference **r)
{
    if (*r == NULL)
        return;
    for (int i = 0; i < (*r)->n->n_nodes; i++) {
        const struct layer *l = &(*r)->layer[i];
        void *const all[] = { l->value, l->grad, l->inner, l->mean, l->var, l->kept };
        for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
            free(all[k]);
    }
    free((*r)->image.value);
    free((*r)->image.grad);
    free((*r)->layer);
    compute_close(&(*r)->compute);
    free(*r);
    *r = NULL;
}

static void adaptive_pool(struct network_reference *r, int i, bool backward)
{
    const struct node *n = &r->n->node[i];
    struct layer *l = &r->layer[i], *from = reference_layer(r, n->from);
    const int H = n->in.H, W = n->in.W;

    for (size_t k = 0; k < l->n; k++) {
        const int out = (int)(k % (size_t)(n->out_h * n->out_w)), oh = out / n->out_w, ow = out % n->out_w;
        const size_t plane = k / (size_t)(n->out_h * n->out_w) * (size_t)(H * W);
        const int h_0 = oh * H / n->out_h, h_1 = ((oh + 1) * H + n->out_h - 1) / n->out_h;
        const int w_0 = ow * W / n->out_w, w_1 = ((ow + 1) * W + n->out_w - 1) / n->out_w;
        const double share = 1.0 / ((h_1 - h_0) * (w_1 - w_0));
        if (!backward)
            l->value[k] = 0.0;
        for (int h = h_0; h < h_1; h++)
            for (int w = w_0; w < w_1; w++) {
                const size_t in = plane + (size_t)(h * W + w);
                if (backward)
                    from->grad[in] += share * l->grad[k];
                else
                    l->value[k] += share * from->value[in];
            }
    }
}

static void concat(struct network_reference *r, int i, bool backward)
{
    const struct node *n = &r->n->node[i];
    struct layer *l = &r->layer[i];
    size_t offset_elems = 0;

    for (int p = 0; p < n->n_parts; p++) {
        struct layer *part = &r->layer[n->part[p]];
        for (size_t k = 0; k < part->n; k++)
            if (backward)
                part->grad[k] += l->grad[offset_elems + k];
            else
                l->value[offset_elems + k] = part->value[k];
        offset_elems += part->n;
    }
}

static void dropout_forward(struct network_reference *r, int i, uint64_t key, bool training)
{
    const struct node *n = &r->n->node[i];
    struct layer *l = &r->layer[i];

    for (size_t k = 0; k < l->n; k++)
        l->kept[k] = 1.0f;
    if (training)
        compute_dropout(r->compute, l->kept, l->n, 1.0f - n->drop_ratio, rng_u64(key, RNG_DROPOUT, (uint64_t)i));
    for (size_t k = 0; k < l->n; k++)
        l->value[k] = (double)l->kept[k] * reference_layer(r, n->from)->value[k];
}

static void dropout_backward(struct network_reference *r, int i)
{
    struct layer *l = &r->layer[i];

    for (size_t k = 0; k < l->n; k++)
        reference_layer(r, r->n->node[i].from)->grad[k] += (double)l->kept[k] * l->grad[k];
}

/* Mean cross-entropy; l->value: the gradient of it. */
static double loss_forward(struct network_reference *r, int i, const uint32_t *label, size_t *n_correct)
{
    const struct node *n = &r->n->node[i];
    const size_t K = (size_t)n->in.C, B = r->B;
    const double *logits = reference_layer(r, n->from)->value; /* (K, B) */
    double loss = 0.0;

    *n_correct = 0;
    for (size_t b = 0; b < B; b++) {
        double sum = 0.0;
        size_t top = 0;
        for (size_t k = 0; k < K; k++)
            top = logits[k * B + b] > logits[top * B + b] ? k : top;
        for (size_t k = 0; k < K; k++)
            sum += exp(logits[k * B + b] - logits[top * B + b]);
        for (size_t k = 0; k < K; k++)
            r->layer[i].value[k * B + b] =
                (exp(logits[k * B + b] - logits[top * B + b]) / sum - (k == label[b] ? 1.0 : 0.0)) / (double)B;
        loss += (log(sum) + logits[top * B + b] - logits[label[b] * B + b]) / (double)B;
        *n_correct += top == label[b];
    }
    return loss;
}

static void loss_backward(struct network_reference *r, int i)
{
    const struct node *n = &r->n->node[i];

    for (size_t k = 0; k < r->layer[i].n; k++)
        reference_layer(r, n->from)->grad[k] += (double)n->loss_weight * r->layer[i].value[k];
}

/* Training: the sum of all losses. Inference: the first. */
static double forward(struct network_reference *r, const struct network_reference_batch *batch, double *state,
                      bool training, size_t *n_correct)
{
    double sum = 0.0;
    bool has_loss = false;
    size_t n_right;

    for (size_t k = 0; k < r->image.n; k++)
        r->image.value[k] = (double)batch->x[k];
    for (int i = 0; i < r->n->n_nodes; i++) {
        const struct node *n = &r->n->node[i];
        if (n->kind == NODE_CONV)
            reference_conv(r, i, batch->param, state, training);
        else if (n->kind == NODE_MAX_POOL || n->kind == NODE_AVG_POOL)
            reference_pool(r, i, false);
        else if (n->kind == NODE_ADAPTIVE_POOL)
            adaptive_pool(r, i, false);
        else if (n->kind == NODE_CONCAT)
            concat(r, i, false);
        else if (n->kind == NODE_DROPOUT)
            dropout_forward(r, i, batch->dropout_key, training);
        else if (training)
            sum += (double)n->loss_weight * loss_forward(r, i, batch->label, &n_right);
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
            reference_conv_grad(r, i, batch->param, grad);
        else if (n->kind == NODE_MAX_POOL || n->kind == NODE_AVG_POOL)
            reference_pool(r, i, true);
        else if (n->kind == NODE_ADAPTIVE_POOL)
            adaptive_pool(r, i, true);
        else if (n->kind == NODE_CONCAT)
            concat(r, i, true);
        else if (n->kind == NODE_DROPOUT)
            dropout_backward(r, i);
        else
            loss_backward(r, i);
    }
    return loss;
}

double network_reference_infer(struct network_reference *r, const struct network_reference_batch *batch,
                               const double *state, size_t *n_correct)
{
    double *copy = zeros(r->n->n_state, sizeof *copy), loss;

    memcpy(copy, state, r->n->n_state * sizeof *copy);
    loss = forward(r, batch, copy, false, n_correct);
    free(copy);
    return loss;
}
