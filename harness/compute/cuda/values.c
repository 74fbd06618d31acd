/* SPDX-License-Identifier: Apache-2.0 */
/*
 * values.c - element-wise operations and losses of the cuda backend. cuda_op_X() only appends a call to the log
 * (cuda.h). run_X() queues its kernel on the GPU, when the log is flushed. compute.h says what X computes.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "harness/compute/cuda/cuda.h"
#include "harness/compute/cuda/layers.h"

/* An operation with one result, at most one operand, and sizes n. */
static void log_values(struct compute *c, const char *name, layer_run_fn *run, float *out, const float *in,
                       const size_t n[3])
{
    struct layer_args a = layer_no_args();

    a.out[0] = out;
    a.in[0] = in;
    memcpy(a.n, n, sizeof a.n);
    layer_log(c, name, run, &a);
}

static void run_dropout(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_dropout(a->out[0], a->n[0], a->number, a->key, cuda_device_stream(c->device));
}

/* The key differs from step to step: the log has its address, not its value. */
void cuda_op_dropout(struct compute *base, float *x, size_t n, float keep_ratio, uint64_t key)
{
    struct cuda_compute *c = (struct cuda_compute *)base;
    struct layer_args a = layer_no_args();

    if (c->out_of_memory)
        return;
    a.out[0] = x;
    a.n[0] = n;
    a.number = keep_ratio;
    a.key = c->keys + c->n_keys;
    c->next_keys[c->n_keys++] = key;
    layer_log(base, "dropout", run_dropout, &a);
}

static void run_swap_axes(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_swap_axes(a->out[0], a->in[0], a->n[0], a->n[1], a->n[2], cuda_device_stream(c->device));
}

void cuda_op_swap_axes(struct compute *c, float *out, const float *in, size_t n_a, size_t n_b, size_t n_inner)
{
    log_values(c, "swap_axes", run_swap_axes, out, in, (const size_t[3]){ n_a, n_b, n_inner });
}

static void run_bias_add(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_bias_add(a->out[0], a->in[0], a->n[0], a->n[1], a->n[2], cuda_device_stream(c->device));
}

void cuda_op_bias_add(struct compute *c, float *y, const float *bias, size_t outer, size_t n, size_t inner)
{
    log_values(c, "bias_add", run_bias_add, y, bias, (const size_t[3]){ outer, n, inner });
}

static void run_bias_grad(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_bias_grad(a->out[0], a->in[0], a->n[0], a->n[1], a->n[2], cuda_device_stream(c->device));
}

void cuda_op_bias_grad(struct compute *c, float *dbias, const float *dy, size_t outer, size_t n, size_t inner)
{
    log_values(c, "bias_grad", run_bias_grad, dbias, dy, (const size_t[3]){ outer, n, inner });
}

static void run_relu_grad(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_relu_grad(a->out[0], a->in[0], a->n[0], cuda_device_stream(c->device));
}

void cuda_op_relu_grad(struct compute *c, float *dx, const float *x, size_t n)
{
    log_values(c, "relu_grad", run_relu_grad, dx, x, (const size_t[3]){ n });
}

static void run_zero(struct cuda_compute *c, const struct layer_args *a)
{
    if (a->n[0] > 0)
        cuda_device_zero(c->device, a->out[0], a->n[0] * sizeof(float));
}

void cuda_op_zero(struct compute *c, float *x, size_t n)
{
    log_values(c, "zero", run_zero, x, NULL, (const size_t[3]){ n });
}

static void run_accumulate(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_accumulate(a->out[0], a->in[0], a->n[0], cuda_device_stream(c->device));
}

void cuda_op_accumulate(struct compute *c, float *y, const float *x, size_t n)
{
    log_values(c, "accumulate", run_accumulate, y, x, (const size_t[3]){ n });
}

static void run_sgd_step(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_sgd_step(a->out[0], a->out[1], a->in[0], a->n[0], &a->op.sgd, cuda_device_stream(c->device));
}

/* A log of its own: with a changing learning rate, a log that contained it would never repeat. */
void cuda_op_sgd_step(struct compute *c, float *p, float *v, const float *g, size_t n, const struct sgd *s)
{
    struct cuda_compute *own = (struct cuda_compute *)c;
    struct layer_args a = layer_no_args();

    a.out[0] = p;
    a.out[1] = v;
    a.in[0] = g;
    a.n[0] = n;
    a.op.sgd = (struct cuda_sgd){ s->lr, s->momentum, s->weight_decay, s->grad_scale, SGD_VELOCITY_MIN };
    cuda_log_flush(own);
    layer_log(c, "sgd_step", run_sgd_step, &a);
    cuda_log_flush(own);
}

static void run_adagrad_step(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_adagrad_step(a->out[0], a->out[1], a->in[0], a->n[0], &a->op.adagrad, cuda_device_stream(c->device));
}

/* Of its own log, as sgd_step is. */
void cuda_op_adagrad_step(struct compute *c, float *p, float *sum, const float *g, size_t n, const struct adagrad *s)
{
    struct cuda_compute *own = (struct cuda_compute *)c;
    struct layer_args a = layer_no_args();

    a.out[0] = p;
    a.out[1] = sum;
    a.in[0] = g;
    a.n[0] = n;
    a.op.adagrad = (struct cuda_adagrad){ s->lr, s->epsilon, s->weight_decay, s->grad_scale, UPDATE_SQUARES_MIN };
    cuda_log_flush(own);
    layer_log(c, "adagrad_step", run_adagrad_step, &a);
    cuda_log_flush(own);
}

static void run_adam_step(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_adam_step(a->out[0], a->out[1], a->out[2], a->in[0], a->n[0], &a->op.adam, cuda_device_stream(c->device));
}

/* Of its own log: its factors change with every step. */
void cuda_op_adam_step(struct compute *c, float *p, float *m, float *v, const float *g, size_t n, const struct adam *s)
{
    struct cuda_compute *own = (struct cuda_compute *)c;
    struct layer_args a = layer_no_args();

    a.out[0] = p;
    a.out[1] = m;
    a.out[2] = v;
    a.in[0] = g;
    a.n[0] = n;
    a.op.adam =
        (struct cuda_adam){ s->beta1,      s->rest1, s->beta2, s->rest2,         s->epsilon,        s->weight_decay,
                            s->grad_scale, s->rate,  s->root,  SGD_VELOCITY_MIN, UPDATE_SQUARES_MIN };
    cuda_log_flush(own);
    layer_log(c, "adam_step", run_adam_step, &a);
    cuda_log_flush(own);
}

/* --- losses: copied to the host by sync --- */

/* The slot of one more result. NULL: the operation is dropped, for want of scratch. */
static struct cuda_result *result_slot(struct cuda_compute *c, double *loss, size_t *n_correct)
{
    if (c->out_of_memory)
        return NULL;
    if (c->n_pending == CUDA_MAX_RESULTS)
        cuda_results_fetch(c);
    c->pending[c->n_pending] = (struct cuda_pending){ loss, n_correct };
    return c->results + c->n_pending++;
}

static void run_softmax_xent(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_softmax_xent(&a->op.xent, &a->result->loss, &a->result->n_correct, c->scratch, cuda_device_stream(c->device));
}

/* mean_loss and n_correct of the host are not logged: they differ from step to step. */
void cuda_op_softmax_xent(struct compute *base, const struct softmax_xent *op)
{
    struct cuda_compute *c = (struct cuda_compute *)base;
    struct layer_args a = layer_no_args();

    if (!cuda_scratch_grow(c, "softmax_xent", cuda_loss_bytes(op->B)))
        return;
    a.result = result_slot(c, op->mean_loss, op->n_correct);
    a.op.xent.B = op->B;
    a.op.xent.K = op->K;
    a.op.xent.dlogits = op->dlogits;
    a.op.xent.logits = op->logits;
    a.op.xent.label = op->label;
    a.op.xent.weight = op->weight;
    layer_log(base, "softmax_xent", run_softmax_xent, &a);
}

static void run_mean_square(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_mean_square(&a->result->loss, a->out[0], a->in[0], a->in[1], a->n[0], c->scratch,
                     cuda_device_stream(c->device));
}

void cuda_op_mean_square(struct compute *base, double *mean_loss, float *dy, const float *y, const float *target,
                         size_t n)
{
    struct cuda_compute *c = (struct cuda_compute *)base;
    struct layer_args a = layer_no_args();

    if (!cuda_scratch_grow(c, "mean_square", cuda_loss_bytes(1)))
        return;
    a.result = result_slot(c, mean_loss, NULL);
    a.out[0] = dy;
    a.in[0] = y;
    a.in[1] = target;
    a.n[0] = n;
    layer_log(base, "mean_square", run_mean_square, &a);
}
