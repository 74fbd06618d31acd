/* SPDX-License-Identifier: Apache-2.0 */
/*
 * norm.c - batch norm of the cpu backend, channel by channel: what a channel's sums have read, its
 * second pass finds in the cache.
 */
#include <math.h>

#include "harness/compute/cpu/cpu.h"

struct norm { /* one call; those it does not use are NULL */
    const struct cpu_kernels *kernels;
    const struct batch_norm *s;
    float *z, *mean, *inv_std, *running_mean, *running_var;
    float *dy, *dgamma, *dbeta, *dz;
    const float *y, *gamma, *beta, *add, *out;
};

static struct norm_channel channel_of(const struct norm *t, size_t c)
{
    return (struct norm_channel){
        .gamma = t->gamma[c], .beta = t->beta[c], .mean = t->mean[c], .inv_std = t->inv_std[c], .relu = t->s->relu
    };
}

static void forward_channel(const struct norm *t, size_t c)
{
    const struct batch_norm *s = t->s;
    const size_t at = c * s->n;
    const struct moments m = t->kernels->moments(t->y + at, s->n);
    const double var = m.squares / (double)s->n, unbiased = s->n > 1 ? m.squares / (double)(s->n - 1) : var;

    t->mean[c] = (float)m.mean;
    t->inv_std[c] = (float)(1.0 / sqrt(var + (double)s->epsilon));
    t->running_mean[c] = (1.0f - s->momentum) * t->running_mean[c] + s->momentum * (float)m.mean;
    t->running_var[c] = (1.0f - s->momentum) * t->running_var[c] + s->momentum * (float)unbiased;
    const struct norm_channel channel = channel_of(t, c);
    t->kernels->norm(t->z + at, t->y + at, t->add != NULL ? t->add + at : NULL, &channel, s->n);
}

static void forward_task(void *arg, int task, int thread)
{
    const struct norm *t = arg;
    const struct stretch channels = cpu_group(t->s->C, t->s->n, task);

    (void)thread;
    for (size_t c = channels.from; c < channels.from + channels.n; c++)
        forward_channel(t, c);
}

void cpu_batch_norm(struct compute *base, float *z, float *mean, float *inv_std, float *running_mean,
                    float *running_var, const float *y, const float *gamma, const float *beta, const float *add,
                    const struct batch_norm *s)
{
    struct cpu *c = cpu_of(base);
    struct norm t = { .kernels = c->kernels,
                      .s = s,
                      .z = z,
                      .mean = mean,
                      .inv_std = inv_std,
                      .running_mean = running_mean,
                      .running_var = running_var,
                      .y = y,
                      .gamma = gamma,
                      .beta = beta,
                      .add = add };

    if (!c->gemms_alone)
        team_run(c->team, forward_task, &t, cpu_n_groups(s->C, s->n));
}

void cpu_batch_norm_fold(struct compute *base, float *scale, float *shift, const float *gamma, const float *beta,
                         const float *running_mean, const float *running_var, const struct batch_norm *s)
{
    if (cpu_of(base)->gemms_alone)
        return;
    for (size_t o = 0; o < s->C; o++) {
        scale[o] = gamma[o] / sqrtf(running_var[o] + s->epsilon);
        shift[o] = beta[o] - running_mean[o] * scale[o];
    }
}

static void backward_channel(const struct norm *t, size_t c)
{
    const struct batch_norm *s = t->s;
    const size_t at = c * s->n;
    const struct norm_channel channel = channel_of(t, c);
    /* Where dy takes dz's place, dz need not be masked in memory: the second pass masks it again. */
    const bool keep = t->dy != t->dz || t->out != NULL;
    const struct norm_sums sums =
        t->kernels->norm_grad_sums(t->dz + at, t->y + at, t->out != NULL ? t->out + at : NULL, keep, &channel, s->n);

    t->dbeta[c] = (float)sums.dz;
    t->dgamma[c] = (float)sums.dz_hat;
    t->kernels->norm_grad(t->dy + at, t->dz + at, t->y + at, !keep, (float)(sums.dz / (double)s->n),
                          (float)(sums.dz_hat / (double)s->n), &channel, s->n);
}

static void backward_task(void *arg, int task, int thread)
{
    const struct norm *t = arg;
    const struct stretch channels = cpu_group(t->s->C, t->s->n, task);

    (void)thread;
    for (size_t c = channels.from; c < channels.from + channels.n; c++)
        backward_channel(t, c);
}

void cpu_batch_norm_grad(struct compute *base, float *dy, float *dgamma, float *dbeta, float *dz, const float *y,
                         const float *z, const float *gamma, const float *beta, const float *mean, const float *inv_std,
                         const struct batch_norm *s)
{
    struct cpu *c = cpu_of(base);
    struct norm t = { .kernels = c->kernels,
                      .s = s,
                      .dy = dy,
                      .dgamma = dgamma,
                      .dbeta = dbeta,
                      .dz = dz,
                      .y = y,
                      .out = z,
                      .gamma = gamma,
                      .beta = beta,
                      .mean = (float *)(uintptr_t)mean, /* read only here */
                      .inv_std = (float *)(uintptr_t)inv_std };

    if (!c->gemms_alone)
        team_run(c->team, backward_task, &t, cpu_n_groups(s->C, s->n));
}

struct bias_grad {
    const struct cpu_kernels *kernels;
    float *dbias, *dy;
    const float *output;
    size_t C, n;
};

static void bias_task(void *arg, int task, int thread)
{
    const struct bias_grad *t = arg;
    const struct stretch channels = cpu_group(t->C, t->n, task);

    (void)thread;
    for (size_t c = channels.from; c < channels.from + channels.n; c++)
        t->dbias[c] =
            (float)(t->output != NULL ? t->kernels->relu_grad_sum(t->dy + c * t->n, t->output + c * t->n, t->n)
                                      : t->kernels->sum(t->dy + c * t->n, t->n));
}

void cpu_conv_bias_grad(struct compute *base, float *dbias, float *dy, const float *output, size_t C, size_t n)
{
    struct cpu *c = cpu_of(base);
    struct bias_grad t = { .kernels = c->kernels, .dbias = dbias, .dy = dy, .output = output, .C = C, .n = n };

    if (!c->gemms_alone)
        team_run(c->team, bias_task, &t, cpu_n_groups(C, n));
}
