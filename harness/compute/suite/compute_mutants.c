/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compute_mutants.c - one or two bugs per operation, those that would cost a training run its results without a crash:
 * gradients not added or added twice, wrong stride and padding, running statistics, tails of loops, ties of a maximum.
 * And one for each of the suite's rules: equal bits, counted work, no allocation, nothing written beside the outputs.
 */
#include "harness/compute/suite/compute_mutants.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- GEMM, element-wise operations, losses, memory --- */

static void gemm_no_beta(struct compute *c, const struct gemm *op)
{
    struct gemm other = *op;

    other.beta = 0.0f;
    compute_cpu.gemm(c, &other);
}

static void gemm_reads_c(struct compute *c, const struct gemm *op)
{
    float before[4096];
    const size_t n = (size_t)op->M * (size_t)op->N;

    memcpy(before, op->c, (n < 4096 ? n : 4096) * sizeof *before);
    compute_cpu.gemm(c, op);
    for (size_t i = 0; i < n && i < 4096 && op->beta == 0.0f; i++)
        op->c[i] += 0.0f * before[i];
}

static void bias_add_wrong_axis(struct compute *c, float *y, const float *bias, size_t outer, size_t n, size_t inner)
{
    (void)c;
    for (size_t i = 0; i < outer * n * inner; i++)
        y[i] += bias[i % n];
}

static void bias_grad_overwrites(struct compute *c, float *dbias, const float *dy, size_t outer, size_t n, size_t inner)
{
    memset(dbias, 0, n * sizeof *dbias);
    compute_cpu.bias_grad(c, dbias, dy, outer, n, inner);
}

static void swap_axes_copies(struct compute *c, float *out, const float *in, size_t n_a, size_t n_b, size_t n_inner)
{
    (void)c;
    memcpy(out, in, n_a * n_b * n_inner * sizeof *out);
}

/* compute.C2: the wrappers count; a backend that counts too is charged twice. */
static void relu_grad_counts_again(struct compute *c, float *dx, const float *x, size_t n)
{
    compute_cpu.relu_grad(c, dx, x, n);
    c->since_sync.bytes += 8.0 * (double)n;
}

/* compute.C3 */
static void relu_grad_allocates(struct compute *c, float *dx, const float *x, size_t n)
{
    void *volatile scratch = malloc(n + 1);

    free(scratch);
    compute_cpu.relu_grad(c, dx, x, n);
}

static void relu_grad_at_zero(struct compute *c, float *dx, const float *x, size_t n)
{
    (void)c;
    for (size_t i = 0; i < n; i++)
        dx[i] = x[i] >= 0.0f ? dx[i] : 0.0f;
}

static void zero_overruns(struct compute *c, float *x, size_t n)
{
    compute_cpu.zero(c, x, n);
    x[n] = 0.0f;
}

static void accumulate_loses_last(struct compute *c, float *y, const float *x, size_t n)
{
    compute_cpu.accumulate(c, y, x, n > 0 ? n - 1 : 0);
}

static void sum_arrays_backwards(struct compute *c, const struct sum_arrays *op)
{
    const float *operand[8];
    struct sum_arrays other = *op;

    for (int j = 0; j < op->n_operands; j++)
        operand[j] = op->operand[op->n_operands - 1 - j];
    other.operand = operand;
    compute_cpu.sum_arrays(c, &other);
}

static void sum_arrays_once(struct compute *c, const struct sum_arrays *op)
{
    struct sum_arrays other = *op;

    other.n_results = 1;
    compute_cpu.sum_arrays(c, &other);
}

static void narrow_loses_last(struct compute *c, uint16_t *to, const float *from, size_t n, enum wire_format format)
{
    compute_cpu.narrow(c, to, from, n > 0 ? n - 1 : 0, format);
}

static void narrow_of_other(struct compute *c, uint16_t *to, const float *from, size_t n, enum wire_format format)
{
    compute_cpu.narrow(c, to, from, n, format == WIRE_F16 ? WIRE_BF16 : WIRE_F16);
}

static void widen_never_adds(struct compute *c, float *to, const uint16_t *from, size_t n, enum wire_format format,
                             bool add)
{
    (void)add;
    compute_cpu.widen(c, to, from, n, format, false);
}

static void round_keeps_no_rest(struct compute *c, float *x, float *residual, size_t n, enum wire_format format)
{
    compute_cpu.round(c, x, residual, n, format);
    if (residual)
        memset(residual, 0, n * sizeof *residual);
}

/* compute.C1 */
static void accumulate_by_threads(struct compute *c, float *y, const float *x, size_t n)
{
    compute_cpu.accumulate(c, y, x, n);
    if (c->env.n_threads == 3 && n > 0)
        y[n - 1] = nextafterf(y[n - 1], 100.0f);
}

static void dropout_unscaled(struct compute *c, float *x, size_t n, float keep_ratio, uint64_t key)
{
    compute_cpu.dropout(c, x, n, keep_ratio, key);
    for (size_t i = 0; i < n; i++)
        x[i] *= keep_ratio;
}

/* Another mask for each array: the gradient's is not the output's. */
static void dropout_mask_by_array(struct compute *c, float *x, size_t n, float keep_ratio, uint64_t key)
{
    compute_cpu.dropout(c, x, n, keep_ratio, key ^ (uint64_t)(uintptr_t)x);
}

static void sgd_momentum_after(struct compute *c, float *p, float *v, const float *g, size_t n, const struct sgd *s)
{
    (void)c;
    for (size_t i = 0; i < n; i++) {
        const float d = s->grad_scale * g[i] + s->weight_decay * p[i];
        p[i] -= s->lr * (v != NULL ? v[i] + d : d);
        if (v != NULL)
            v[i] = s->momentum * (v[i] + d);
    }
}

static void sgd_unscaled(struct compute *c, float *p, float *v, const float *g, size_t n, const struct sgd *s)
{
    struct sgd other = *s;

    other.grad_scale = 1.0f;
    compute_cpu.sgd_step(c, p, v, g, n, &other);
}

/* Only the last gradient counts. */
static void adagrad_forgets(struct compute *c, float *p, float *sum, const float *g, size_t n, const struct adagrad *s)
{
    memset(sum, 0, n * sizeof *sum);
    compute_cpu.adagrad_step(c, p, sum, g, n, s);
}

static void adagrad_epsilon_inside(struct compute *c, float *p, float *sum, const float *g, size_t n,
                                   const struct adagrad *s)
{
    (void)c;
    for (size_t i = 0; i < n; i++) {
        const float d = s->grad_scale * g[i] + s->weight_decay * p[i], next = sum[i] + d * d;
        sum[i] = next < UPDATE_SQUARES_MIN ? 0.0f : next;
        p[i] -= s->lr * d / sqrtf(sum[i] + s->epsilon);
    }
}

/* The correction of the second moment is left out. */
static void adam_biased(struct compute *c, float *p, float *m, float *v, const float *g, size_t n, const struct adam *s)
{
    struct adam other = *s;

    other.root = 1.0f;
    compute_cpu.adam_step(c, p, m, v, g, n, &other);
}

static void adam_keeps_denormals(struct compute *c, float *p, float *m, float *v, const float *g, size_t n,
                                 const struct adam *s)
{
    (void)c;
    for (size_t i = 0; i < n; i++) {
        const float d = s->grad_scale * g[i] + s->weight_decay * p[i];
        m[i] = s->beta1 * m[i] + s->rest1 * d;
        v[i] = s->beta2 * v[i] + s->rest2 * (d * d);
        p[i] -= s->rate * m[i] / (s->root * sqrtf(v[i]) + s->epsilon);
    }
}

/* Gradient of the sum over the batch, not of the mean. */
static void softmax_xent_sums(struct compute *c, const struct softmax_xent *op)
{
    compute_cpu.softmax_xent(c, op);
    for (size_t i = 0; op->dlogits != NULL && i < op->B * op->K; i++)
        op->dlogits[i] *= (float)op->B;
}

static void softmax_xent_last_of_equals(struct compute *c, const struct softmax_xent *op)
{
    compute_cpu.softmax_xent(c, op);
    if (op->n_correct == NULL)
        return;
    *op->n_correct = 0;
    for (size_t i = 0; i < op->B; i++) {
        const float *row = op->logits + i * op->K;
        size_t top = 0;
        for (size_t k = 0; k < op->K; k++)
            top = row[k] >= row[top] ? k : top;
        *op->n_correct += top == op->label[i];
    }
}

static void mean_square_half(struct compute *c, double *mean_loss, float *dy, const float *y, const float *target,
                             size_t n)
{
    compute_cpu.mean_square(c, mean_loss, dy, y, target, n);
    for (size_t i = 0; dy != NULL && i < n; i++)
        dy[i] *= 0.5f;
}

static enum rc memory_not_zeroed(struct compute *c, void **out, size_t n_bytes)
{
    const enum rc rc = compute_cpu.memory_open(c, out, n_bytes);

    if (rc == RC_OK)
        memset(*out, 1, n_bytes);
    return rc;
}

static void put_loses_last(struct compute *c, void *to, const void *host, size_t n_bytes)
{
    compute_cpu.put(c, to, host, n_bytes / 4 * 4);
}

static void get_overruns(struct compute *c, void *host, const void *from, size_t n_bytes)
{
    compute_cpu.get(c, host, from, n_bytes);
    ((char *)host)[n_bytes] = 0;
}

static void hollow_writes(struct compute *c, float *x, size_t n)
{
    (void)c;
    if (x != NULL && n > 0)
        x[n - 1] += 1.0f;
}

/* --- batch norm --- */

static void batch_norm_biased_running_var(struct compute *c, const struct batch_norm_forward *op)
{
    const double n = (double)op->shape.n, keep = 1.0 - (double)op->shape.momentum;
    float before[256];

    memcpy(before, op->running_var, op->shape.C * sizeof *before);
    compute_cpu.batch_norm(c, op);
    for (size_t i = 0; i < op->shape.C; i++) {
        const double kept = keep * (double)before[i];
        op->running_var[i] = (float)(kept + ((double)op->running_var[i] - kept) * (n - 1.0) / n);
    }
}

static void batch_norm_momentum_swapped(struct compute *c, const struct batch_norm_forward *op)
{
    struct batch_norm_forward other = *op;

    other.shape.momentum = 1.0f - op->shape.momentum;
    compute_cpu.batch_norm(c, &other);
}

static void batch_norm_fold_shift_unscaled(struct compute *c, const struct batch_norm_fold *op)
{
    compute_cpu.batch_norm_fold(c, op);
    for (size_t i = 0; i < op->shape.C; i++)
        op->shift[i] = op->beta[i] - op->running_mean[i];
}

static void batch_norm_grad_drops_dot(struct compute *c, const struct batch_norm_grad *op)
{
    const size_t n = op->shape.n;

    compute_cpu.batch_norm_grad(c, op);
    for (size_t i = 0; i < op->shape.C * n; i++) {
        const size_t k = i / n;
        const float hat = (op->y[i] - op->mean[k]) * op->inv_std[k];
        op->dy[i] += op->gamma[k] * op->inv_std[k] * hat * op->dgamma[k] / (float)n;
    }
}

static void batch_norm_grad_no_mask(struct compute *c, const struct batch_norm_grad *op)
{
    struct batch_norm_grad other = *op;

    other.shape.relu = false;
    compute_cpu.batch_norm_grad(c, &other);
}

static const struct compute_mutant mutants[] = {
#define MUTANT(base, member, function) COMPUTE_MUTANT(base, member, function)
    MUTANT(cpu, gemm, gemm_no_beta),
    MUTANT(cpu, gemm, gemm_reads_c),
    MUTANT(cpu, bias_add, bias_add_wrong_axis),
    MUTANT(cpu, bias_grad, bias_grad_overwrites),
    MUTANT(cpu, swap_axes, swap_axes_copies),
    MUTANT(cpu, relu_grad, relu_grad_counts_again),
    MUTANT(cpu, relu_grad, relu_grad_allocates),
    MUTANT(cpu, relu_grad, relu_grad_at_zero),
    MUTANT(cpu, zero, zero_overruns),
    MUTANT(cpu, accumulate, accumulate_loses_last),
    MUTANT(cpu, accumulate, accumulate_by_threads),
    MUTANT(cpu, sum_arrays, sum_arrays_backwards),
    MUTANT(cpu, sum_arrays, sum_arrays_once),
    MUTANT(cpu, narrow, narrow_loses_last),
    MUTANT(cpu, narrow, narrow_of_other),
    MUTANT(cpu, widen, widen_never_adds),
    MUTANT(cpu, round, round_keeps_no_rest),
    MUTANT(cpu, dropout, dropout_unscaled),
    MUTANT(cpu, dropout, dropout_mask_by_array),
    MUTANT(cpu, sgd_step, sgd_momentum_after),
    MUTANT(cpu, sgd_step, sgd_unscaled),
    MUTANT(cpu, adagrad_step, adagrad_forgets),
    MUTANT(cpu, adagrad_step, adagrad_epsilon_inside),
    MUTANT(cpu, adam_step, adam_biased),
    MUTANT(cpu, adam_step, adam_keeps_denormals),
    MUTANT(cpu, softmax_xent, softmax_xent_sums),
    MUTANT(cpu, softmax_xent, softmax_xent_last_of_equals),
    MUTANT(cpu, mean_square, mean_square_half),
    MUTANT(cpu, memory_open, memory_not_zeroed),
    MUTANT(cpu, put, put_loses_last),
    MUTANT(cpu, get, get_overruns),
    MUTANT(hollow, zero, hollow_writes),
    MUTANT(cpu, batch_norm, batch_norm_biased_running_var),
    MUTANT(cpu, batch_norm, batch_norm_momentum_swapped),
    MUTANT(cpu, batch_norm_fold, batch_norm_fold_shift_unscaled),
    MUTANT(cpu, batch_norm_grad, batch_norm_grad_drops_dot),
    MUTANT(cpu, batch_norm_grad, batch_norm_grad_no_mask),
};

static const struct compute_mutant *find(const struct compute_mutant *all, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(name, all[i].name) == 0)
            return &all[i];
    return NULL;
}

bool compute_mutant(struct compute_backend *out, const char **member, const char *name)
{
    const struct compute_mutant *m = find(mutants, sizeof mutants / sizeof mutants[0], name);

    if (m == NULL)
        m = find(mutants_images, n_mutants_images, name);
    if (m == NULL)
        return false;
    *out = *m->base;
    *member = m->member;
    memcpy((char *)out + m->offset_bytes, &m->function, sizeof m->function);
    return true;
}
