/* SPDX-License-Identifier: Apache-2.0 */
/*
 * norm.c - batch norm of the cpu backend, channel by channel: the second pass over a channel finds in the cache what
 * the first has read.
 */
#include <math.h>

#include "harness/compute/cpu/cpu.h"

struct forward { /* one call */
    const struct cpu_kernels *kernels;
    const struct batch_norm_forward *op;
};

static void forward_channel(const struct forward *t, size_t c)
{
    const struct batch_norm_forward *op = t->op;
    const struct batch_norm *s = &op->shape;
    const size_t first = c * s->n;
    const struct moments m = t->kernels->moments(op->y + first, s->n);
    const double var = m.squares / (double)s->n, unbiased = s->n > 1 ? m.squares / (double)(s->n - 1) : var;

    op->mean[c] = (float)m.mean;
    op->inv_std[c] = (float)(1.0 / sqrt(var + (double)s->epsilon));
    op->running_mean[c] = (1.0f - s->momentum) * op->running_mean[c] + s->momentum * (float)m.mean;
    op->running_var[c] = (1.0f - s->momentum) * op->running_var[c] + s->momentum * (float)unbiased;
    const struct norm_channel channel = { op->gamma[c], op->beta[c], op->mean[c], op->inv_std[c], s->relu };
    t->kernels->norm(op->z + first, op->y + first, op->add != NULL ? op->add + first : NULL, &channel, s->n);
}

static void forward_task(void *arg, int task, int thread)
{
    const struct forward *t = arg;
    const struct index_range channels = cpu_item_range(t->op->shape.C, t->op->shape.n, task);

    (void)thread;
    for (size_t c = channels.from; c < channels.from + channels.n; c++)
        forward_channel(t, c);
}

void cpu_batch_norm(struct compute *base, const struct batch_norm_forward *op)
{
    struct cpu *c = cpu_of(base);
    struct forward t = { c->kernels, op };

    thread_pool_run(c->pool, forward_task, &t, cpu_n_item_ranges(op->shape.C, op->shape.n));
}

void cpu_batch_norm_fold(struct compute *base, const struct batch_norm_fold *op)
{
    (void)base;
    for (size_t c = 0; c < op->shape.C; c++) {
        op->scale[c] = op->gamma[c] / sqrtf(op->running_var[c] + op->shape.epsilon);
        op->shift[c] = op->beta[c] - op->running_mean[c] * op->scale[c];
    }
}

struct backward { /* one call */
    const struct cpu_kernels *kernels;
    const struct batch_norm_grad *op;
};

/* dy(n), dgamma, dbeta of channel c from dz(n), y(n), the input of the norm, and z(n), its output (NULL:
 * the relu's mask is recomputed from y). */
static void backward_channel(const struct backward *t, size_t c)
{
    const struct batch_norm_grad *op = t->op;
    const size_t n = op->shape.n, first = c * n;
    const struct norm_channel channel = { op->gamma[c], op->beta[c], op->mean[c], op->inv_std[c], op->shape.relu };
    /* If dy overwrites dz, the masked dz need not be stored: the second pass masks it again. */
    const bool keep = op->dy != op->dz || op->z != NULL;
    const struct norm_sums sums = t->kernels->norm_grad_sums(op->dz + first, op->y + first,
                                                             op->z != NULL ? op->z + first : NULL, keep, &channel, n);

    op->dbeta[c] = (float)sums.dz;
    op->dgamma[c] = (float)sums.dz_hat;
    t->kernels->norm_grad(op->dy + first, op->dz + first, op->y + first, !keep, (float)(sums.dz / (double)n),
                          (float)(sums.dz_hat / (double)n), &channel, n);
}

static void backward_task(void *arg, int task, int thread)
{
    const struct backward *t = arg;
    const struct index_range channels = cpu_item_range(t->op->shape.C, t->op->shape.n, task);

    (void)thread;
    for (size_t c = channels.from; c < channels.from + channels.n; c++)
        backward_channel(t, c);
}

void cpu_batch_norm_grad(struct compute *base, const struct batch_norm_grad *op)
{
    struct cpu *c = cpu_of(base);
    struct backward t = { c->kernels, op };

    thread_pool_run(c->pool, backward_task, &t, cpu_n_item_ranges(op->shape.C, op->shape.n));
}

struct bias_grad { /* one call */
    const struct cpu_kernels *kernels;
    const struct conv_bias_grad *op;
};

static void bias_task(void *arg, int task, int thread)
{
    const struct bias_grad *t = arg;
    const struct conv_bias_grad *op = t->op;
    const struct index_range channels = cpu_item_range(op->C, op->n, task);

    (void)thread;
    for (size_t c = channels.from; c < channels.from + channels.n; c++) {
        float *dy = op->dy + c * op->n;
        op->dbias[c] = (float)(op->relu != NULL ? t->kernels->relu_grad_sum(dy, op->relu + c * op->n, op->n)
                                                : t->kernels->sum(dy, op->n));
    }
}

void cpu_conv_bias_grad(struct compute *base, const struct conv_bias_grad *op)
{
    struct cpu *c = cpu_of(base);
    struct bias_grad t = { c->kernels, op };

    thread_pool_run(c->pool, bias_task, &t, cpu_n_item_ranges(op->C, op->n));
}
