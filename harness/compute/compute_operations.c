/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compute_operations.c - the wrappers every caller of an operation goes through: see compute.h.
 *
 * Each asserts shapes, lists its arrays, and calls the backend. The list counts the work (compute.C2), and reports
 * reads and writes to ThreadSanitizer. Counting reads no array and does not check for NULL: a call counts the same on
 * every backend.
 *
 * ThreadSanitizer does not see the loops of the GEMM libraries. Except in the tests of this module, it does not see
 * those of cpu/ either: they are compiled without it. Checks per element take ten times as long as checks per array
 * (CMakeLists.txt). Not reported: packed arrays, and arrays of one value per channel that accompany a large array.
 */
#include <assert.h>
#include <math.h>

#include "harness/compute/compute.h"

#ifdef __SANITIZE_THREAD__
/* From its interface for compilers. */
void __tsan_read_range(void *at, unsigned long n_bytes);
void __tsan_write_range(void *at, unsigned long n_bytes);
#define RACES_READ(at, n_bytes) __tsan_read_range(at, n_bytes)
#define RACES_WRITE(at, n_bytes) __tsan_write_range(at, n_bytes)
#else
#define RACES_READ(at, n_bytes) ((void)(at), (void)(n_bytes))
#define RACES_WRITE(at, n_bytes) ((void)(at), (void)(n_bytes))
#endif

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

struct operand {         /* an array of an operation */
    const void *at;      /* NULL: no such array */
    double n_elems;      /* of 4 bytes, from its start; below 0: the end of a list */
    double passes_count; /* how often the work has them: 1 each if read, and if written */
    bool is_written;
};

static struct operand reads(const void *at, double n_elems)
{
    return (struct operand){ at, n_elems, 1.0, false };
}

static struct operand writes(void *at, double n_elems)
{
    return (struct operand){ at, n_elems, 1.0, true };
}

static struct operand updates(void *at, double n_elems)
{
    return (struct operand){ at, n_elems, 2.0, true };
}

static struct operand writes_or_adds(bool add, void *at, double n_elems)
{
    return add ? updates(at, n_elems) : writes(at, n_elems);
}

static struct operand not_counted(struct operand o)
{
    o.passes_count = 0.0;
    return o;
}

static void see(const struct compute *c, const struct operand *o)
{
    void *at = (void *)(uintptr_t)o->at;

    if (!at || !c->ops->host_memory || c->env.gemm_only)
        return;
    if (o->is_written)
        RACES_WRITE(at, (unsigned long)(4.0 * o->n_elems));
    else
        RACES_READ(at, (unsigned long)(4.0 * o->n_elems));
}

/* n_more_elems: to count, without an array. */
static void use_list(struct compute *c, double n_more_elems, const struct operand *list)
{
    double n_elems = n_more_elems;

    compute_tick(c);
    for (const struct operand *o = list; o->n_elems >= 0.0; o++) {
        n_elems += o->passes_count * o->n_elems;
        see(c, o);
    }
    c->since_sync.bytes += 4.0 * n_elems;
}
#define USE_AND(c, n_more_elems, ...) \
    use_list(c, n_more_elems, (const struct operand[]){ __VA_ARGS__, { .n_elems = -1.0 } })
#define USE(c, ...) USE_AND(c, 0.0, __VA_ARGS__)

/* Call an operation of the backend, if it has it. */
#define RUN(c, operation, ...)                   \
    do {                                         \
        if ((c)->ops->operation != NULL)         \
            (c)->ops->operation(c, __VA_ARGS__); \
    } while (0)
/* The same for an operation that is neither a GEMM nor a convolution. */
#define RUN_REST(c, operation, ...)         \
    do {                                    \
        if (!(c)->env.gemm_only)            \
            RUN(c, operation, __VA_ARGS__); \
    } while (0)

void compute_gemm(struct compute *c, const struct gemm *op)
{
    assert(op->M >= 1 && op->N >= 1 && op->K >= 1);
    c->since_sync.flops += 2.0 * op->M * op->N * op->K;
    USE(c, not_counted(reads(op->a, (double)op->M * op->K)), not_counted(reads(op->b, (double)op->K * op->N)),
        not_counted(writes(op->c, (double)op->M * op->N)));
    RUN(c, gemm, op);
}

static double conv_in_elems(const struct conv_shape *s)
{
    return window_in_elems(&s->in);
}

static double conv_out_elems(const struct conv_shape *s)
{
    return (double)s->in.B * s->C_out * window_out_h(&s->in) * window_out_w(&s->in);
}

static double conv_weight_elems(const struct conv_shape *s)
{
    return (double)s->C_out * s->in.C * s->in.kernel_h * s->in.kernel_w;
}

static void count_conv(struct compute *c, const struct conv_shape *s)
{
    check_window(&s->in);
    assert(s->C_out >= 1);
    c->since_sync.flops += 2.0 * conv_out_elems(s) * s->in.C * s->in.kernel_h * s->in.kernel_w;
}

void compute_conv(struct compute *c, const struct conv_forward *op)
{
    const struct conv_shape *s = &op->shape;

    count_conv(c, s);
    USE(c, reads(op->x, conv_in_elems(s)), reads(op->weight, conv_weight_elems(s)), writes(op->y, conv_out_elems(s)));
    RUN(c, conv, op);
}

void compute_conv_input_grad(struct compute *c, const struct conv_input_grad *op)
{
    const struct conv_shape *s = &op->shape;

    count_conv(c, s);
    USE(c, reads(op->dy, conv_out_elems(s)), reads(op->weight, conv_weight_elems(s)),
        writes_or_adds(op->add, op->dx, conv_in_elems(s)));
    RUN(c, conv_input_grad, op);
}

void compute_conv_weight_grad(struct compute *c, const struct conv_weight_grad *op)
{
    const struct conv_shape *s = &op->shape;

    count_conv(c, s);
    USE(c, reads(op->dy, conv_out_elems(s)), reads(op->x, conv_in_elems(s)), writes(op->dweight, conv_weight_elems(s)));
    RUN(c, conv_weight_grad, op);
}

void compute_conv_bias_grad(struct compute *c, const struct conv_bias_grad *op)
{
    USE(c, reads(op->dy, (double)op->C * (double)op->n), writes(op->dbias, (double)op->C));
    RUN_REST(c, conv_bias_grad, op);
}

void compute_batch_norm(struct compute *c, const struct batch_norm_forward *op)
{
    const double C = (double)op->shape.C, n = C * (double)op->shape.n;

    USE_AND(c, 8.0 * C, reads(op->y, n), not_counted(reads(op->add, n)), writes(op->z, n));
    RUN_REST(c, batch_norm, op);
}

void compute_batch_norm_fold(struct compute *c, const struct batch_norm_fold *op)
{
    const double C = (double)op->shape.C;

    USE(c, reads(NULL, 4.0 * C), writes(NULL, 2.0 * C));
    RUN_REST(c, batch_norm_fold, op);
}

void compute_batch_norm_grad(struct compute *c, const struct batch_norm_grad *op)
{
    const double C = (double)op->shape.C, n = C * (double)op->shape.n;

    USE_AND(c, 4.0 * C, reads(op->y, n), writes(op->dz, n), writes(op->dy, n), writes(op->dgamma, C),
            writes(op->dbeta, C));
    RUN_REST(c, batch_norm_grad, op);
}

void compute_bias_add(struct compute *c, float *y, const float *bias, size_t outer, size_t n, size_t inner)
{
    USE(c, updates(y, (double)outer * (double)n * (double)inner), reads(bias, (double)n));
    RUN_REST(c, bias_add, y, bias, outer, n, inner);
}

void compute_bias_grad(struct compute *c, float *dbias, const float *dy, size_t outer, size_t n, size_t inner)
{
    USE(c, reads(dy, (double)outer * (double)n * (double)inner), updates(dbias, (double)n));
    RUN_REST(c, bias_grad, dbias, dy, outer, n, inner);
}

void compute_swap_axes(struct compute *c, float *out, const float *in, size_t n_a, size_t n_b, size_t n_inner)
{
    const double n = (double)n_a * (double)n_b * (double)n_inner;

    USE(c, reads(in, n), writes(out, n));
    RUN_REST(c, swap_axes, out, in, n_a, n_b, n_inner);
}

void compute_relu_grad(struct compute *c, float *dx, const float *x, size_t n)
{
    USE(c, reads(x, (double)n), updates(dx, (double)n));
    RUN_REST(c, relu_grad, dx, x, n);
}

#define ARGMAX_ELEMS 0.25 /* the argmax of one output, in elements of 4 bytes */

void compute_max_pool(struct compute *c, const struct pool_forward *op)
{
    const struct window *g = &op->window;

    check_window(g);
    assert(g->kernel_h * g->kernel_w <= 256);
    USE_AND(c, ARGMAX_ELEMS * window_out_elems(g), reads(op->x, window_in_elems(g)),
            writes(op->y, window_out_elems(g)));
    RUN_REST(c, max_pool, op);
}

void compute_max_pool_grad(struct compute *c, const struct pool_grad *op)
{
    const struct window *g = &op->window;

    check_window(g);
    USE_AND(c, ARGMAX_ELEMS * window_out_elems(g), reads(op->dy, window_out_elems(g)),
            writes_or_adds(op->add, op->dx, window_in_elems(g)));
    RUN_REST(c, max_pool_grad, op);
}

void compute_avg_pool(struct compute *c, const struct pool_forward *op)
{
    const struct window *g = &op->window;

    check_window(g);
    USE(c, reads(op->x, window_in_elems(g)), writes(op->y, window_out_elems(g)));
    RUN_REST(c, avg_pool, op);
}

void compute_avg_pool_grad(struct compute *c, const struct pool_grad *op)
{
    const struct window *g = &op->window;

    check_window(g);
    USE(c, reads(op->dy, window_out_elems(g)), writes_or_adds(op->add, op->dx, window_in_elems(g)));
    RUN_REST(c, avg_pool_grad, op);
}

static double adaptive_elems(const struct window *g, int out_h, int out_w)
{
    assert(out_h >= 1 && out_w >= 1);
    return (double)g->B * g->C * out_h * out_w;
}

void compute_adaptive_pool(struct compute *c, const struct pool_forward *op)
{
    USE(c, reads(op->x, window_in_elems(&op->window)),
        writes(op->y, adaptive_elems(&op->window, op->out_h, op->out_w)));
    RUN_REST(c, adaptive_pool, op);
}

void compute_adaptive_pool_grad(struct compute *c, const struct pool_grad *op)
{
    USE(c, reads(op->dy, adaptive_elems(&op->window, op->out_h, op->out_w)),
        writes_or_adds(op->add, op->dx, window_in_elems(&op->window)));
    RUN_REST(c, adaptive_pool_grad, op);
}

void compute_dropout(struct compute *c, float *x, size_t n, float keep_ratio, uint64_t key)
{
    assert(keep_ratio > 0.0f && keep_ratio <= 1.0f);
    USE(c, updates(x, (double)n));
    RUN_REST(c, dropout, x, n, keep_ratio, key);
}

void compute_softmax_xent(struct compute *c, const struct softmax_xent *op)
{
    const double n = (double)op->B * (double)op->K;

    assert(op->B >= 1 && op->K >= 1);
    USE(c, reads(op->logits, n), reads(op->label, (double)op->B), writes(op->dlogits, n));
    *op->mean_loss = NAN;
    if (op->n_correct != NULL)
        *op->n_correct = 0;
    RUN_REST(c, softmax_xent, op);
}

void compute_mean_square(struct compute *c, double *mean_loss, float *dy, const float *y, const float *target, size_t n)
{
    assert(n >= 1);
    USE(c, reads(y, (double)n), reads(target, (double)n), writes(dy, (double)n));
    *mean_loss = NAN;
    RUN_REST(c, mean_square, mean_loss, dy, y, target, n);
}

void compute_zero(struct compute *c, float *x, size_t n)
{
    USE(c, writes(x, (double)n));
    RUN_REST(c, zero, x, n);
}

void compute_accumulate(struct compute *c, float *y, const float *x, size_t n)
{
    USE(c, reads(x, (double)n), updates(y, (double)n));
    RUN_REST(c, accumulate, y, x, n);
}

void compute_sum_arrays(struct compute *c, const struct sum_arrays *op)
{
    assert(op->n_operands >= 1 && op->n_results >= 1);
    USE(c, reads(NULL, (double)op->n_operands * (double)op->n), writes(NULL, (double)op->n_results * (double)op->n));
    for (int k = 0; k < op->n_operands && op->operand; k++)
        see(c, &(struct operand){ op->operand[k], (double)op->n, 1.0, false });
    for (int k = 0; k < op->n_results && op->result; k++)
        see(c, &(struct operand){ op->result[k], (double)op->n, 1.0, true });
    RUN_REST(c, sum_arrays, op);
}

/* A value of 16 bits is half an element. */
void compute_narrow(struct compute *c, uint16_t *to, const float *from, size_t n, enum wire_format format)
{
    assert(format != WIRE_F32);
    USE(c, reads(from, (double)n), writes(to, 0.5 * (double)n));
    RUN_REST(c, narrow, to, from, n, format);
}

void compute_widen(struct compute *c, float *to, const uint16_t *from, size_t n, enum wire_format format, bool add)
{
    assert(format != WIRE_F32);
    USE(c, reads(from, 0.5 * (double)n), writes_or_adds(add, to, (double)n));
    RUN_REST(c, widen, to, from, n, format, add);
}

void compute_round(struct compute *c, float *x, float *residual, size_t n, enum wire_format format, bool has_residual)
{
    assert(format != WIRE_F32);
    assert(has_residual == (residual != NULL) || !c->ops->touches_memory);
    USE(c, updates(x, (double)n), updates(residual, has_residual ? (double)n : 0.0));
    RUN_REST(c, round, x, residual, n, format);
}

/* --- updates --- */

void compute_sgd_step(struct compute *c, float *p, float *v, const float *g, size_t n, const struct sgd *s)
{
    assert(v || s->momentum == 0.0f || !c->ops->touches_memory);
    USE(c, reads(g, (double)n), updates(p, (double)n),
        s->momentum != 0.0f ? updates(v, (double)n) : not_counted(writes(v, (double)n)));
    RUN_REST(c, sgd_step, p, v, g, n, s);
}

void compute_adagrad_step(struct compute *c, float *p, float *sum, const float *g, size_t n, const struct adagrad *s)
{
    assert(s->epsilon > 0.0f && (sum || !c->ops->touches_memory));
    USE(c, reads(g, (double)n), updates(p, (double)n), updates(sum, (double)n));
    RUN_REST(c, adagrad_step, p, sum, g, n, s);
}

void compute_adam_step(struct compute *c, float *p, float *m, float *v, const float *g, size_t n, const struct adam *s)
{
    assert(s->epsilon > 0.0f && ((m && v) || !c->ops->touches_memory));
    USE(c, reads(g, (double)n), updates(p, (double)n), updates(m, (double)n), updates(v, (double)n));
    RUN_REST(c, adam_step, p, m, v, g, n, s);
}
