/* SPDX-License-Identifier: Apache-2.0 */
/* network_reference.c - straight from the definitions; slow. */
#include "models/suite/network_reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/rng.h"

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

/* What slides a window over its input: convolutions with their norm, max and average pools. */

/* Neighbouring outputs of a row, and the inputs that one tap of the kernel multiplies for them. */
struct tap_row {
    size_t out, in; /* the first: (C_out or C, B, h, w) */
    int n, stride;  /* outputs are next to each other, inputs are stride apart */
    int k;          /* tap: index in the kernel */
};
typedef void tap_row_fn(void *arg, const struct tap_row *m);

static void visit_row(const struct node *n, size_t out_row, size_t in_row, int k, tap_row_fn *visit, void *arg)
{
    const struct window *g = &n->in;
    const int shift = k % g->kernel_w - g->pad_w;
    int first = 0, end = n->out_w;

    while (first < end && first * g->stride_w + shift < 0)
        first++;
    while (end > first && (end - 1) * g->stride_w + shift >= g->W)
        end--;
    const struct tap_row m = { out_row + (size_t)first, in_row + (size_t)(first * g->stride_w + shift), end - first,
                               g->stride_w, k };
    if (end > first)
        visit(arg, &m);
}

/* Visit y(c_out, B, out_h, out_w) with x(c, B, H, W) and the kernel's taps (kernel_h, kernel_w), one row of outputs and
 * one tap at a time; each output sees the taps in order. */
static void visit_windows(const struct node *n, size_t B, int c_out, int c, tap_row_fn *visit, void *arg)
{
    const struct window *g = &n->in;

    for (size_t b = 0; b < B; b++)
        for (int i = 0; i < n->out_h; i++)
            for (int k = 0; k < g->kernel_h * g->kernel_w; k++) {
                const int h = i * g->stride_h - g->pad_h + k / g->kernel_w;
                const size_t out_row = (((size_t)c_out * B + b) * (size_t)n->out_h + (size_t)i) * (size_t)n->out_w;
                const size_t in_plane = ((size_t)c * B + b) * (size_t)g->H;
                if (h >= 0 && h < g->H)
                    visit_row(n, out_row, (in_plane + (size_t)h) * (size_t)g->W, k, visit, arg);
            }
}

struct sums { /* of visit_windows(): a convolution, its gradients, or a pool */
    double *y, *dx, *dw;
    const double *x, *w, *dy;
    double factor;
};

static void conv_row(void *arg, const struct tap_row *m)
{
    struct sums *s = arg;

    for (int i = 0; i < m->n; i++)
        s->y[m->out + (size_t)i] += s->w[m->k] * s->x[m->in + (size_t)(i * m->stride)];
}

static void conv_grad_row(void *arg, const struct tap_row *m)
{
    struct sums *s = arg;

    for (int i = 0; i < m->n; i++) {
        const size_t in = m->in + (size_t)(i * m->stride);
        s->dw[m->k] += s->dy[m->out + (size_t)i] * s->x[in];
        s->dx[in] += s->dy[m->out + (size_t)i] * s->w[m->k];
    }
}

static void convolve(struct network_reference *r, const struct node *n, double *y, const double *weight)
{
    const int kernel = n->in.kernel_h * n->in.kernel_w;

    memset(y, 0, r->B * node_out_elems(n) * sizeof *y);
    for (int c_out = 0; c_out < n->C_out; c_out++)
        for (int c = 0; c < n->in.C; c++) {
            struct sums s = { .y = y,
                              .x = reference_layer(r, n->from)->value,
                              .w = weight + (c_out * n->in.C + c) * kernel };
            visit_windows(n, r->B, c_out, c, conv_row, &s);
        }
}

static void convolve_grad(struct network_reference *r, const struct node *n, const double *dy, const double *weight,
                          double *dweight)
{
    struct layer *from = reference_layer(r, n->from);
    const int kernel = n->in.kernel_h * n->in.kernel_w;

    memset(dweight, 0, n->weight.n_elems * sizeof *dweight);
    for (int c_out = 0; c_out < n->C_out; c_out++)
        for (int c = 0; c < n->in.C; c++) {
            const int first_tap = (c_out * n->in.C + c) * kernel;
            struct sums s = {
                .dx = from->grad, .dw = dweight + first_tap, .x = from->value, .w = weight + first_tap, .dy = dy
            };
            visit_windows(n, r->B, c_out, c, conv_grad_row, &s);
        }
}

/* v = scale v + shift. */
static void affine(double *v, size_t n, double scale, double shift)
{
    for (size_t i = 0; i < n; i++)
        v[i] = scale * v[i] + shift;
}

static void moments(struct layer *l, int c, size_t n)
{
    const double *y = l->inner + (size_t)c * n;
    double mean = 0.0, var = 0.0;

    for (size_t i = 0; i < n; i++)
        mean += y[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        var += (y[i] - mean) * (y[i] - mean) / (double)n;
    l->mean[c] = mean;
    l->var[c] = var;
}

/* Running values: 0.9 of the old, 0.1 of the new, whose variance is the unbiased one. */
static void update_running(double *state, const struct node *n, int c, const struct layer *l, size_t count)
{
    double *mean = state + n->running_offset_elems + c, *var = mean + n->C_out;
    const double unbiased = count > 1 ? l->var[c] * (double)count / (double)(count - 1) : l->var[c];

    *mean = 0.9 * *mean + 0.1 * l->mean[c];
    *var = 0.9 * *var + 0.1 * unbiased;
}

void reference_conv(struct network_reference *r, int i, const double *param, double *state, bool training)
{
    const struct node *n = &r->n->node[i];
    struct layer *l = &r->layer[i];
    const size_t count = r->B * (size_t)(n->out_h * n->out_w);

    convolve(r, n, l->inner, param + n->weight.offset_elems);
    for (int c = 0; c < n->C_out && n->norm == NORM_BATCH; c++) {
        moments(l, c, count);
        if (training && state != NULL)
            update_running(state, n, c, l, count);
        if (!training) {
            l->mean[c] = state[n->running_offset_elems + (size_t)c];
            l->var[c] = state[n->running_offset_elems + (size_t)(n->C_out + c)];
        }
    }
    memcpy(l->value, l->inner, l->n * sizeof *l->value);
    for (int c = 0; c < n->C_out; c++) {
        double *v = l->value + (size_t)c * count;
        const double shift = n->shift.n_elems > 0 ? param[n->shift.offset_elems + (size_t)c] : 0.0;
        if (n->norm == NORM_BATCH) {
            const double scale = param[n->gamma.offset_elems + (size_t)c] / sqrt(l->var[c] + (double)n->epsilon);
            affine(v, count, scale, shift - scale * l->mean[c]);
        } else {
            affine(v, count, 1.0, shift);
        }
    }
    for (size_t k = 0; k < l->n; k++) {
        l->value[k] += n->add_from != NODE_NONE ? reference_layer(r, n->add_from)->value[k] : 0.0;
        l->value[k] = n->relu && l->value[k] < 0.0 ? 0.0 : l->value[k];
    }
}

/* dv(n): gradient of the normalised values; becomes that of y(n). */
static void norm_grad(double *dv, const double *y, size_t n, double mean, double var, double gamma, double *dgamma)
{
    const double inv_std = 1.0 / sqrt(var);
    double sum = 0.0, sum_xhat = 0.0;

    for (size_t i = 0; i < n; i++) {
        sum += dv[i];
        sum_xhat += dv[i] * (y[i] - mean) * inv_std;
    }
    *dgamma = sum_xhat;
    for (size_t i = 0; i < n; i++) {
        const double xhat = (y[i] - mean) * inv_std;
        dv[i] = gamma * inv_std * (dv[i] - sum / (double)n - xhat * sum_xhat / (double)n);
    }
}

void reference_conv_grad(struct network_reference *r, int i, const double *param, double *grad)
{
    const struct node *n = &r->n->node[i];
    struct layer *l = &r->layer[i];
    const size_t count = r->B * (size_t)(n->out_h * n->out_w);

    for (size_t k = 0; k < l->n; k++) {
        l->grad[k] = n->relu && !(l->value[k] > 0.0) ? 0.0 : l->grad[k];
        if (n->add_from != NODE_NONE)
            reference_layer(r, n->add_from)->grad[k] += l->grad[k];
    }
    for (size_t c = 0; c < (size_t)n->C_out; c++) {
        double *dv = l->grad + c * count, sum = 0.0;
        for (size_t k = 0; k < count; k++)
            sum += dv[k];
        if (n->shift.n_elems > 0)
            grad[n->shift.offset_elems + c] = sum;
        if (n->norm == NORM_BATCH)
            norm_grad(dv, l->inner + c * count, count, l->mean[c], l->var[c] + (double)n->epsilon,
                      param[n->gamma.offset_elems + c], &grad[n->gamma.offset_elems + c]);
    }
    convolve_grad(r, n, l->grad, param + n->weight.offset_elems, grad + n->weight.offset_elems);
}

static void max_row(void *arg, const struct tap_row *m)
{
    struct sums *s = arg;

    for (int i = 0; i < m->n; i++)
        s->y[m->out + (size_t)i] = fmax(s->y[m->out + (size_t)i], s->x[m->in + (size_t)(i * m->stride)]);
}

/* The first of equal ones gets it all: dw marks outputs that have given. */
static void max_grad_row(void *arg, const struct tap_row *m)
{
    struct sums *s = arg;

    for (int i = 0; i < m->n; i++) {
        const size_t in = m->in + (size_t)(i * m->stride), out = m->out + (size_t)i;
        if (s->dw[out] == 0.0 && s->x[in] == s->y[out]) {
            s->dw[out] = 1.0;
            s->dx[in] += s->dy[out];
        }
    }
}

static void avg_row(void *arg, const struct tap_row *m)
{
    struct sums *s = arg;

    for (int i = 0; i < m->n; i++)
        s->y[m->out + (size_t)i] += s->factor * s->x[m->in + (size_t)(i * m->stride)];
}

static void avg_grad_row(void *arg, const struct tap_row *m)
{
    struct sums *s = arg;

    for (int i = 0; i < m->n; i++)
        s->dx[m->in + (size_t)(i * m->stride)] += s->factor * s->dy[m->out + (size_t)i];
}

void reference_pool(struct network_reference *r, int i, bool backward)
{
    const struct node *n = &r->n->node[i];
    struct layer *l = &r->layer[i], *from = reference_layer(r, n->from);
    const bool max = n->kind == NODE_MAX_POOL;
    struct sums s = { .y = l->value,
                      .dx = from->grad,
                      .dw = l->inner,
                      .x = from->value,
                      .dy = l->grad,
                      .factor = 1.0 / (n->in.kernel_h * n->in.kernel_w) };

    memset(l->inner, 0, l->n * sizeof *l->inner);
    for (size_t k = 0; k < l->n && !backward; k++)
        l->value[k] = max ? -INFINITY : 0.0;
    for (int c = 0; c < n->C_out; c++)
        visit_windows(n, r->B, c, c, backward ? (max ? max_grad_row : avg_grad_row) : (max ? max_row : avg_row), &s);
}
