/* SPDX-License-Identifier: Apache-2.0 */
/* reference_elements.c - normalisation, losses, the optimiser and what works element by element, in double. */
#include <math.h>

#include "harness/compute/suite/reference.h"

struct moments {
    double mean, var, var_unbiased;
};

static struct moments moments_of(const double *y, size_t n)
{
    struct moments m = { 0.0, 0.0, 0.0 };
    double squares = 0.0;

    for (size_t i = 0; i < n; i++)
        m.mean += y[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (y[i] - m.mean) * (y[i] - m.mean);
    m.var = squares / (double)n;
    m.var_unbiased = n > 1 ? squares / (double)(n - 1) : m.var;
    return m;
}

void reference_batch_norm(double *z, double *mean, double *inv_std, double *running_mean, double *running_var,
                          const double *y, const double *gamma, const double *beta, const double *add,
                          const struct batch_norm *s)
{
    const double share = (double)s->momentum;

    for (size_t c = 0; c < s->C; c++) {
        const struct moments m = moments_of(y + c * s->n, s->n);
        mean[c] = m.mean;
        inv_std[c] = 1.0 / sqrt(m.var + (double)s->epsilon);
        running_mean[c] = (1.0 - share) * running_mean[c] + share * m.mean;
        running_var[c] = (1.0 - share) * running_var[c] + share * m.var_unbiased;
        for (size_t i = c * s->n; i < (c + 1) * s->n; i++)
            z[i] = gamma[c] * (y[i] - m.mean) / sqrt(m.var + (double)s->epsilon) + beta[c];
    }
    reference_epilogue(z, NULL, NULL, add, s->relu, s->C, s->n);
}

void reference_batch_norm_fold(double *scale, double *shift, const double *gamma, const double *beta,
                               const double *running_mean, const double *running_var, const struct batch_norm *s)
{
    for (size_t c = 0; c < s->C; c++) {
        scale[c] = gamma[c] / sqrt(running_var[c] + (double)s->epsilon);
        shift[c] = beta[c] - running_mean[c] * scale[c];
    }
}

/* The chain rule through var and mean, term by term. */
static void norm_grad_of(double *dy, double *dgamma, double *dbeta, const double *dz, const double *y, double gamma,
                         double epsilon, size_t n)
{
    const struct moments m = moments_of(y, n);
    const double std = sqrt(m.var + epsilon);
    double dvar = 0.0, dmean = 0.0, sum_centred = 0.0;

    *dgamma = *dbeta = 0.0;
    for (size_t i = 0; i < n; i++) {
        *dbeta += dz[i];
        *dgamma += dz[i] * (y[i] - m.mean) / std;
        dvar += gamma * dz[i] * (y[i] - m.mean) * -0.5 / (std * std * std);
        dmean -= gamma * dz[i] / std;
        sum_centred += y[i] - m.mean;
    }
    dmean += dvar * -2.0 * sum_centred / (double)n;
    for (size_t i = 0; i < n; i++)
        dy[i] = gamma * dz[i] / std + dvar * 2.0 * (y[i] - m.mean) / (double)n + dmean / (double)n;
}

void reference_batch_norm_grad(double *dy, double *dgamma, double *dbeta, double *dz, const double *y, const double *z,
                               const double *gamma, const double *beta, const struct batch_norm *s)
{
    for (size_t c = 0; c < s->C; c++) {
        const struct moments m = moments_of(y + c * s->n, s->n);
        for (size_t i = c * s->n; s->relu && i < (c + 1) * s->n; i++) {
            const double out =
                z != NULL ? z[i] : gamma[c] * (y[i] - m.mean) / sqrt(m.var + (double)s->epsilon) + beta[c];
            dz[i] = out > 0.0 ? dz[i] : 0.0;
        }
        norm_grad_of(dy + c * s->n, &dgamma[c], &dbeta[c], dz + c * s->n, y + c * s->n, gamma[c], (double)s->epsilon,
                     s->n);
    }
}

bool reference_kept(uint64_t key, uint64_t i, float keep_ratio)
{
    uint64_t state = key, z = 0;

    state += UINT64_C(0x9e3779b97f4a7c15) * i; /* i numbers are drawn before this one */
    state += UINT64_C(0x9e3779b97f4a7c15);
    z = state ^ state >> 30;
    z *= UINT64_C(0xbf58476d1ce4e5b9);
    z ^= z >> 27;
    z *= UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return ldexp((double)(z >> 40), -24) < (double)keep_ratio;
}

void reference_dropout(double *x, size_t n, float keep_ratio, uint64_t key)
{
    for (size_t i = 0; i < n; i++)
        x[i] = reference_kept(key, i, keep_ratio) ? x[i] / (double)keep_ratio : 0.0;
}

void reference_swap_axes(double *out, const double *in, size_t n_a, size_t n_b, size_t n_inner)
{
    for (size_t i = 0; i < n_a; i++)
        for (size_t j = 0; j < n_b; j++)
            for (size_t k = 0; k < n_inner; k++)
                out[(j * n_a + i) * n_inner + k] = in[(i * n_b + j) * n_inner + k];
}

void reference_bias_add(double *y, const double *bias, size_t outer, size_t n, size_t inner)
{
    for (size_t i = 0; i < outer * n * inner; i++)
        y[i] += bias[i / inner % n];
}

void reference_bias_grad(double *dbias, const double *dy, size_t outer, size_t n, size_t inner)
{
    for (size_t i = 0; i < outer * n * inner; i++)
        dbias[i / inner % n] += dy[i];
}

void reference_relu(double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (x[i] < 0.0) /* a NaN stays */
            x[i] = 0.0;
}

void reference_relu_grad(double *dx, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(x[i] > 0.0))
            dx[i] = 0.0;
}

double reference_softmax_xent(double *dlogits, size_t *n_correct, const double *logits, const uint32_t *label,
                              double weight, size_t B, size_t K)
{
    double loss = 0.0;
    size_t n_right = 0;

    for (size_t i = 0; i < B; i++) {
        const double *row = logits + i * K;
        size_t top = 0;
        double sum = 0.0;
        for (size_t k = 0; k < K; k++)
            top = row[k] > row[top] ? k : top;
        for (size_t k = 0; k < K; k++)
            sum += exp(row[k] - row[top]);
        for (size_t k = 0; dlogits != NULL && k < K; k++)
            dlogits[i * K + k] = weight * (exp(row[k] - row[top]) / sum - (k == label[i] ? 1.0 : 0.0)) / (double)B;
        loss += log(sum) + row[top] - row[label[i]];
        n_right += top == label[i];
    }
    if (n_correct != NULL)
        *n_correct = n_right;
    return loss / (double)B;
}

double reference_mean_square(double *dy, const double *y, const double *target, size_t n)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++) {
        sum += (y[i] - target[i]) * (y[i] - target[i]);
        if (dy != NULL)
            dy[i] = 2.0 * (y[i] - target[i]) / (double)n;
    }
    return sum / (double)n;
}

void reference_sgd_step(double *p, double *v, const double *g, size_t n, const struct sgd *s)
{
    for (size_t i = 0; i < n; i++) {
        const double d = (double)s->grad_scale * g[i] + (double)s->weight_decay * p[i];
        double velocity = (v != NULL ? (double)s->momentum * v[i] : 0.0) + d;
        if (v != NULL) {
            velocity = fabs(velocity) < (double)SGD_VELOCITY_MIN ? 0.0 : velocity;
            v[i] = velocity;
        }
        p[i] -= (double)s->lr * velocity;
    }
}

void reference_adagrad_step(double *p, double *sum, const double *g, size_t n, const struct adagrad *s)
{
    for (size_t i = 0; i < n; i++) {
        const double d = (double)s->grad_scale * g[i] + (double)s->weight_decay * p[i];
        sum[i] += d * d;
        if (sum[i] < (double)UPDATE_SQUARES_MIN)
            sum[i] = 0.0;
        p[i] -= (double)s->lr * d / (sqrt(sum[i]) + (double)s->epsilon);
    }
}

void reference_adam_step(double *p, double *m, double *v, const double *g, size_t n, const struct adam *s)
{
    for (size_t i = 0; i < n; i++) {
        const double d = (double)s->grad_scale * g[i] + (double)s->weight_decay * p[i];
        m[i] = (double)s->beta1 * m[i] + (double)s->rest1 * d;
        v[i] = (double)s->beta2 * v[i] + (double)s->rest2 * d * d;
        if (fabs(m[i]) < (double)SGD_VELOCITY_MIN)
            m[i] = 0.0;
        if (v[i] < (double)UPDATE_SQUARES_MIN)
            v[i] = 0.0;
        p[i] -= (double)s->rate * m[i] / ((double)s->root * sqrt(v[i]) + (double)s->epsilon);
    }
}
