/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layers.c - operations of the cuda backend other than GEMMs and convolutions. cuda_op_X() only appends a call to the
 * log (cuda.h). run_X() queues its kernel on the GPU, when the log is flushed. compute.h says what X computes.
 *
 * One struct has the arguments of all, zeroed and then assigned member by member, so that equal calls are equal bytes.
 */
#include <string.h>

#include "harness/compute/cuda/cuda.h"

struct layer_args;
/* Queues the kernel of a logged call. */
typedef void layer_run_fn(struct cuda_compute *c, const struct layer_args *a);

/* The arrays and numbers of an operation, in the order of compute.h. */
struct layer_args {
    layer_run_fn *run; /* set by layer_log() */
    float *out[3];
    const float *in[2];
    uint8_t *argmax;
    uint16_t *packed; /* of out[0] */
    struct cuda_result *result;
    const uint64_t *key;
    size_t n[3];
    float number;
    int add;
    union {
        struct cuda_window window;
        struct cuda_sgd sgd;
        struct cuda_adagrad adagrad;
        struct cuda_adam adam;
        struct conv_bias_grad bias_grad;
        struct batch_norm_forward norm;
        struct batch_norm_fold fold;
        struct batch_norm_grad norm_grad;
        struct softmax_xent xent;
    } op;
};

static struct cuda_compute *cuda_of(struct compute *c)
{
    return (struct cuda_compute *)c;
}

static struct layer_args layer_no_args(void)
{
    struct layer_args a;

    memset(&a, 0, sizeof a);
    return a;
}

static void run_layer(struct cuda_compute *c, const void *args)
{
    const struct layer_args *a = args;

    a->run(c, a);
}

static void layer_log(struct compute *base, const char *name, layer_run_fn *run, struct layer_args *a)
{
    a->run = run;
    cuda_log_call(cuda_of(base), name, run_layer, a, sizeof *a);
}

static cuda_stream stream_of(struct cuda_compute *c)
{
    return cuda_device_stream(c->device);
}

/* --- pools --- */

static void set_window(struct layer_args *a, const struct window *g, int out_h, int out_w)
{
    const struct cuda_window w = { g->B,        g->C,        g->H,     g->W,     g->kernel_h, g->kernel_w,
                                   g->stride_h, g->stride_w, g->pad_h, g->pad_w, out_h,       out_w };

    a->op.window = w;
}

static void log_pool(struct compute *c, const char *name, layer_run_fn *run, const struct pool_forward *op, int out_h,
                     int out_w)
{
    struct layer_args a = layer_no_args();

    a.out[0] = op->y;
    a.packed = op->y_packed;
    a.argmax = op->argmax;
    a.in[0] = op->x;
    set_window(&a, &op->window, out_h, out_w);
    layer_log(c, name, run, &a);
}

static void log_pool_grad(struct compute *c, const char *name, layer_run_fn *run, const struct pool_grad *op, int out_h,
                          int out_w)
{
    struct layer_args a = layer_no_args();

    a.out[0] = op->dx;
    a.in[0] = op->dy;
    a.argmax = (uint8_t *)(uintptr_t)op->argmax; /* one member for both directions; only read here */
    a.add = op->add;
    set_window(&a, &op->window, out_h, out_w);
    layer_log(c, name, run, &a);
}

static void run_max_pool(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_max_pool(a->out[0], a->packed, a->argmax, a->in[0], &a->op.window, stream_of(c));
}

void cuda_op_max_pool(struct compute *c, const struct pool_forward *op)
{
    log_pool(c, "max_pool", run_max_pool, op, window_out_h(&op->window), window_out_w(&op->window));
}

static void run_max_pool_grad(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_max_pool_grad(a->out[0], a->in[0], a->argmax, a->add != 0, &a->op.window, stream_of(c));
}

void cuda_op_max_pool_grad(struct compute *c, const struct pool_grad *op)
{
    log_pool_grad(c, "max_pool_grad", run_max_pool_grad, op, window_out_h(&op->window), window_out_w(&op->window));
}

static void run_avg_pool(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_avg_pool(a->out[0], a->packed, a->in[0], &a->op.window, stream_of(c));
}

void cuda_op_avg_pool(struct compute *c, const struct pool_forward *op)
{
    log_pool(c, "avg_pool", run_avg_pool, op, window_out_h(&op->window), window_out_w(&op->window));
}

static void run_avg_pool_grad(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_avg_pool_grad(a->out[0], a->in[0], a->add != 0, &a->op.window, stream_of(c));
}

void cuda_op_avg_pool_grad(struct compute *c, const struct pool_grad *op)
{
    log_pool_grad(c, "avg_pool_grad", run_avg_pool_grad, op, window_out_h(&op->window), window_out_w(&op->window));
}

static void run_adaptive_pool(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_adaptive_pool(a->out[0], a->packed, a->in[0], &a->op.window, stream_of(c));
}

void cuda_op_adaptive_pool(struct compute *c, const struct pool_forward *op)
{
    log_pool(c, "adaptive_pool", run_adaptive_pool, op, op->out_h, op->out_w);
}

static void run_adaptive_pool_grad(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_adaptive_pool_grad(a->out[0], a->in[0], a->add != 0, &a->op.window, stream_of(c));
}

void cuda_op_adaptive_pool_grad(struct compute *c, const struct pool_grad *op)
{
    log_pool_grad(c, "adaptive_pool_grad", run_adaptive_pool_grad, op, op->out_h, op->out_w);
}

/* --- sums over channels: they need scratch for partial sums --- */

static bool grow_for_sums(struct compute *c, const char *name, size_t C, size_t n)
{
    return cuda_scratch_grow(cuda_of(c), name, cuda_sums_bytes(C, n));
}

static void run_conv_bias_grad(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_conv_bias_grad(&a->op.bias_grad, c->scratch, stream_of(c));
}

void cuda_op_conv_bias_grad(struct compute *c, const struct conv_bias_grad *op)
{
    struct layer_args a = layer_no_args();

    a.op.bias_grad = *op; /* all of it pointers and numbers of their length: no padding */
    if (grow_for_sums(c, "conv_bias_grad", op->C, op->n))
        layer_log(c, "conv_bias_grad", run_conv_bias_grad, &a);
}

/* Member by member, here and below: padding stays zero (struct layer_args). */
static void set_norm(struct batch_norm *out, const struct batch_norm *s)
{
    out->C = s->C;
    out->n = s->n;
    out->epsilon = s->epsilon;
    out->momentum = s->momentum;
    out->relu = s->relu;
}

static void run_batch_norm(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_batch_norm(&a->op.norm, c->scratch, stream_of(c));
}

void cuda_op_batch_norm(struct compute *c, const struct batch_norm_forward *op)
{
    struct layer_args a = layer_no_args();

    set_norm(&a.op.norm.shape, &op->shape);
    a.op.norm.z = op->z;
    a.op.norm.z_packed = op->z_packed;
    a.op.norm.mean = op->mean;
    a.op.norm.inv_std = op->inv_std;
    a.op.norm.running_mean = op->running_mean;
    a.op.norm.running_var = op->running_var;
    a.op.norm.y = op->y;
    a.op.norm.gamma = op->gamma;
    a.op.norm.beta = op->beta;
    a.op.norm.add = op->add;
    if (grow_for_sums(c, "batch_norm", op->shape.C, op->shape.n))
        layer_log(c, "batch_norm", run_batch_norm, &a);
}

static void run_batch_norm_fold(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_batch_norm_fold(&a->op.fold, stream_of(c));
}

void cuda_op_batch_norm_fold(struct compute *c, const struct batch_norm_fold *op)
{
    struct layer_args a = layer_no_args();

    set_norm(&a.op.fold.shape, &op->shape);
    a.op.fold.scale = op->scale;
    a.op.fold.shift = op->shift;
    a.op.fold.gamma = op->gamma;
    a.op.fold.beta = op->beta;
    a.op.fold.running_mean = op->running_mean;
    a.op.fold.running_var = op->running_var;
    layer_log(c, "batch_norm_fold", run_batch_norm_fold, &a);
}

static void run_batch_norm_grad(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_batch_norm_grad(&a->op.norm_grad, c->scratch, stream_of(c));
}

void cuda_op_batch_norm_grad(struct compute *c, const struct batch_norm_grad *op)
{
    struct layer_args a = layer_no_args();

    set_norm(&a.op.norm_grad.shape, &op->shape);
    a.op.norm_grad.dy = op->dy;
    a.op.norm_grad.dy_packed = op->dy_packed;
    a.op.norm_grad.dgamma = op->dgamma;
    a.op.norm_grad.dbeta = op->dbeta;
    a.op.norm_grad.dz = op->dz;
    a.op.norm_grad.y = op->y;
    a.op.norm_grad.z = op->z;
    a.op.norm_grad.gamma = op->gamma;
    a.op.norm_grad.beta = op->beta;
    a.op.norm_grad.mean = op->mean;
    a.op.norm_grad.inv_std = op->inv_std;
    if (grow_for_sums(c, "batch_norm_grad", op->shape.C, op->shape.n))
        layer_log(c, "batch_norm_grad", run_batch_norm_grad, &a);
}

/* --- element-wise operations --- */

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
    cuda_dropout(a->out[0], a->n[0], a->number, a->key, stream_of(c));
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
    cuda_swap_axes(a->out[0], a->in[0], a->n[0], a->n[1], a->n[2], stream_of(c));
}

void cuda_op_swap_axes(struct compute *c, float *out, const float *in, size_t n_a, size_t n_b, size_t n_inner)
{
    log_values(c, "swap_axes", run_swap_axes, out, in, (const size_t[3]){ n_a, n_b, n_inner });
}

static void run_bias_add(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_bias_add(a->out[0], a->in[0], a->n[0], a->n[1], a->n[2], stream_of(c));
}

void cuda_op_bias_add(struct compute *c, float *y, const float *bias, size_t outer, size_t n, size_t inner)
{
    log_values(c, "bias_add", run_bias_add, y, bias, (const size_t[3]){ outer, n, inner });
}

static void run_bias_grad(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_bias_grad(a->out[0], a->in[0], a->n[0], a->n[1], a->n[2], stream_of(c));
}

void cuda_op_bias_grad(struct compute *c, float *dbias, const float *dy, size_t outer, size_t n, size_t inner)
{
    log_values(c, "bias_grad", run_bias_grad, dbias, dy, (const size_t[3]){ outer, n, inner });
}

static void run_relu_grad(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_relu_grad(a->out[0], a->in[0], a->n[0], stream_of(c));
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
    cuda_accumulate(a->out[0], a->in[0], a->n[0], stream_of(c));
}

void cuda_op_accumulate(struct compute *c, float *y, const float *x, size_t n)
{
    log_values(c, "accumulate", run_accumulate, y, x, (const size_t[3]){ n });
}

/* In a log of its own: with factors that change from step to step, a log that contained it would never repeat. */
static void log_update(struct compute *base, const char *name, layer_run_fn *run, struct layer_args *a)
{
    cuda_log_flush(cuda_of(base));
    layer_log(base, name, run, a);
    cuda_log_flush(cuda_of(base));
}

/* Of p[n] by the gradient g; v, w: what the optimiser keeps. */
static struct layer_args update_args(float *p, float *v, float *w, const float *g, size_t n)
{
    struct layer_args a = layer_no_args();

    a.out[0] = p;
    a.out[1] = v;
    a.out[2] = w;
    a.in[0] = g;
    a.n[0] = n;
    return a;
}

static void run_sgd_step(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_sgd_step(a->out[0], a->out[1], a->in[0], a->n[0], &a->op.sgd, stream_of(c));
}

void cuda_op_sgd_step(struct compute *c, float *p, float *v, const float *g, size_t n, const struct sgd *s)
{
    struct layer_args a = update_args(p, v, NULL, g, n);

    a.op.sgd = (struct cuda_sgd){ s->lr, s->momentum, s->weight_decay, s->grad_scale, SGD_VELOCITY_MIN };
    log_update(c, "sgd_step", run_sgd_step, &a);
}

static void run_adagrad_step(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_adagrad_step(a->out[0], a->out[1], a->in[0], a->n[0], &a->op.adagrad, stream_of(c));
}

void cuda_op_adagrad_step(struct compute *c, float *p, float *sum, const float *g, size_t n, const struct adagrad *s)
{
    struct layer_args a = update_args(p, sum, NULL, g, n);

    a.op.adagrad = (struct cuda_adagrad){ s->lr, s->epsilon, s->weight_decay, s->grad_scale, UPDATE_SQUARES_MIN };
    log_update(c, "adagrad_step", run_adagrad_step, &a);
}

static void run_adam_step(struct cuda_compute *c, const struct layer_args *a)
{
    cuda_adam_step(a->out[0], a->out[1], a->out[2], a->in[0], a->n[0], &a->op.adam, stream_of(c));
}

void cuda_op_adam_step(struct compute *c, float *p, float *m, float *v, const float *g, size_t n, const struct adam *s)
{
    struct layer_args a = update_args(p, m, v, g, n);

    a.op.adam =
        (struct cuda_adam){ s->beta1,      s->rest1, s->beta2, s->rest2,         s->epsilon,        s->weight_decay,
                            s->grad_scale, s->rate,  s->root,  SGD_VELOCITY_MIN, UPDATE_SQUARES_MIN };
    log_update(c, "adam_step", run_adam_step, &a);
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
    cuda_softmax_xent(&a->op.xent, &a->result->loss, &a->result->n_correct, c->scratch, stream_of(c));
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
    cuda_mean_square(&a->result->loss, a->out[0], a->in[0], a->in[1], a->n[0], c->scratch, stream_of(c));
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
