/* SPDX-License-Identifier: Apache-2.0 */
/* compute_mutants.c - mistakes that are easily made, one per backend. */
#include "harness/compute/compute_mutants.h"

#include <math.h>
#include <string.h>

static void gemm_no_beta(struct compute *c, const struct gemm *g)
{
    struct gemm h = *g;

    h.beta = 0.0f;
    compute_cpu.gemm(c, &h);
}

static void gemm_reads_c(struct compute *c, const struct gemm *g)
{
    float was[4096];
    const size_t n = (size_t)g->M * (size_t)g->N;

    memcpy(was, g->c, (n < 4096 ? n : 4096) * sizeof *was);
    compute_cpu.gemm(c, g);
    for (size_t i = 0; i < n && i < 4096 && g->beta == 0.0f; i++)
        g->c[i] += 0.0f * was[i];
}

static void gemm_by_alignment(struct compute *c, const struct gemm *g)
{
    compute_cpu.gemm(c, g);
    if ((uintptr_t)g->c % 64 != 0)
        g->c[0] = nextafterf(g->c[0], 100.0f);
}

static void im2col_dirty_edge(struct compute *c, float *col, const float *x, const struct window *g)
{
    const float was = col[0];

    compute_cpu.im2col(c, col, x, g);
    if (g->pad_h > 0)
        col[0] = was;
}

static void col2im_loses_last(struct compute *c, float *dx, const float *col, const struct window *g)
{
    const int out_h = window_out_h(g), out_w = window_out_w(g), n_columns = g->B * out_h * out_w;

    (void)c;
    memset(dx, 0, (size_t)g->B * (size_t)g->C * (size_t)g->H * (size_t)g->W * sizeof *dx);
    for (int row = 0; row < g->C * g->kernel_h * g->kernel_w; row++)
        for (int k = 0; k < n_columns - 1; k++) { /* the bug: "- 1" */
            const int channel = row / (g->kernel_h * g->kernel_w), b = k / (out_h * out_w);
            const int h = k / out_w % out_h * g->stride_h + row / g->kernel_w % g->kernel_h - g->pad_h;
            const int w = k % out_w * g->stride_w + row % g->kernel_w - g->pad_w;
            if (h >= 0 && h < g->H && w >= 0 && w < g->W)
                dx[((b * g->C + channel) * g->H + h) * g->W + w] += col[row * n_columns + k];
        }
}

static void bias_grad_no_outer(struct compute *c, float *dbias, const float *dy, size_t outer, size_t n, size_t inner)
{
    compute_cpu.bias_grad(c, dbias, dy, outer < 1 ? outer : 1, n, inner);
}

static void bias_add_wrong_axis(struct compute *c, float *y, const float *bias, size_t outer, size_t n, size_t inner)
{
    (void)c;
    for (size_t i = 0; i < outer * n * inner; i++)
        y[i] += bias[i % n];
}

static void swap_axes_copies(struct compute *c, float *out, const float *in, size_t n_a, size_t n_b, size_t n_inner)
{
    (void)c;
    memcpy(out, in, n_a * n_b * n_inner * sizeof *out);
}

static void relu_hides_nan(struct compute *c, float *x, size_t n)
{
    (void)c;
    for (size_t i = 0; i < n; i++)
        x[i] = x[i] > 0.0f ? x[i] : 0.0f;
}

static void relu_grad_at_zero(struct compute *c, float *dx, const float *x, size_t n)
{
    (void)c;
    for (size_t i = 0; i < n; i++)
        dx[i] = x[i] >= 0.0f ? dx[i] : 0.0f;
}

static void max_pool_last(struct compute *c, float *y, uint32_t *at, const float *x, const struct window *g)
{
    const size_t out_h = (size_t)window_out_h(g), out_w = (size_t)window_out_w(g);
    const size_t n = (size_t)g->B * (size_t)g->C * out_h * out_w;

    compute_cpu.max_pool(c, y, at, x, g);
    for (size_t k = 0; k < n; k++) { /* an equal neighbour to the right, inside the window */
        const size_t column = at[k] % (size_t)g->W;
        const ptrdiff_t left = (ptrdiff_t)(k % out_w) * g->stride_w - g->pad_w;
        if (column + 1 < (size_t)g->W && (ptrdiff_t)column + 1 < left + g->kernel_w && x[at[k] + 1] == y[k])
            at[k]++;
    }
}

static void max_pool_padding_wins(struct compute *c, float *y, uint32_t *at, const float *x, const struct window *g)
{
    compute_cpu.max_pool(c, y, at, x, g);
    if (g->pad_h > 0 && y[0] < 0.0f)
        y[0] = 0.0f;
}

static void max_pool_grad_no_zero(struct compute *c, float *dx, const float *dy, const uint32_t *at,
                                  const struct window *g)
{
    const size_t n = (size_t)g->B * (size_t)g->C * (size_t)window_out_h(g) * (size_t)window_out_w(g);

    (void)c;
    for (size_t i = 0; i < n; i++)
        dx[at[i]] += dy[i];
}

static void softmax_no_max(struct compute *c, double *mean_loss, float *dlogits, size_t *n_correct, const float *logits,
                           const uint32_t *label, size_t B, size_t K)
{
    double loss = 0.0;

    compute_cpu.softmax_xent(c, mean_loss, dlogits, n_correct, logits, label, B, K);
    for (size_t i = 0; i < B; i++) {
        double sum = 0.0;
        for (size_t k = 0; k < K; k++)
            sum += (double)expf(logits[i * K + k]);
        loss += log(sum) - (double)logits[i * K + label[i]];
    }
    *mean_loss = loss / (double)B;
}

static void softmax_sums(struct compute *c, double *mean_loss, float *dlogits, size_t *n_correct, const float *logits,
                         const uint32_t *label, size_t B, size_t K)
{
    compute_cpu.softmax_xent(c, mean_loss, dlogits, n_correct, logits, label, B, K);
    for (size_t i = 0; dlogits != NULL && i < B * K; i++)
        dlogits[i] *= (float)B;
}

static void softmax_last_of_equals(struct compute *c, double *mean_loss, float *dlogits, size_t *n_correct,
                                   const float *logits, const uint32_t *label, size_t B, size_t K)
{
    compute_cpu.softmax_xent(c, mean_loss, dlogits, n_correct, logits, label, B, K);
    if (n_correct == NULL)
        return;
    *n_correct = 0;
    for (size_t i = 0; i < B; i++) {
        size_t top = 0;
        for (size_t k = 0; k < K; k++)
            top = logits[i * K + k] >= logits[i * K + top] ? k : top;
        *n_correct += top == label[i];
    }
}

static void mean_square_half(struct compute *c, double *mean_loss, float *dy, const float *y, const float *target,
                             size_t n)
{
    compute_cpu.mean_square(c, mean_loss, dy, y, target, n);
    for (size_t i = 0; dy != NULL && i < n; i++)
        dy[i] *= 0.5f;
}

static void zero_overrun(struct compute *c, float *x, size_t n)
{
    compute_cpu.zero(c, x, n);
    x[n] = 0.0f;
}

static void accumulate_loses_last(struct compute *c, float *y, const float *x, size_t n)
{
    compute_cpu.accumulate(c, y, x, n > 0 ? n - 1 : 0);
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
    struct sgd one = *s;

    one.grad_scale = 1.0f;
    compute_cpu.sgd_step(c, p, v, g, n, &one);
}

static void sgd_no_decay(struct compute *c, float *p, float *v, const float *g, size_t n, const struct sgd *s)
{
    struct sgd none = *s;

    none.weight_decay = 0.0f;
    compute_cpu.sgd_step(c, p, v, g, n, &none);
}

static void sgd_denormal(struct compute *c, float *p, float *v, const float *g, size_t n, const struct sgd *s)
{
    (void)c;
    for (size_t i = 0; i < n; i++) {
        const float next = s->momentum * (v != NULL ? v[i] : 0.0f) + (s->grad_scale * g[i] + s->weight_decay * p[i]);
        if (v != NULL)
            v[i] = next;
        p[i] -= s->lr * next;
    }
}

static void hollow_writes(struct compute *c, float *x, size_t n)
{
    (void)c;
    if (x != NULL && n > 0)
        x[n - 1] += 1.0f;
}

static void hollow_loss(struct compute *c, double *mean_loss, float *dy, const float *y, const float *target, size_t n)
{
    (void)c, (void)dy, (void)y, (void)target, (void)n;
    *mean_loss = 0.0;
}

/* The wrappers count; a backend that counts too is charged twice. */
static void relu_counts_again(struct compute *c, float *x, size_t n)
{
    compute_cpu.relu(c, x, n);
    c->since_sync.bytes += 8.0 * (double)n;
}

typedef void any_function(void);

struct mutant {
    const char *name;
    const struct compute_backend *base;
    size_t at; /* the member that is replaced, and by what */
    any_function *function;
};

#define MUTANT(base, member, function)                                                                   \
    {                                                                                                    \
#function, &compute_##base, offsetof(struct compute_backend, member), (any_function *)(function) \
    }

static const struct mutant mutants[] = {
    MUTANT(cpu, gemm, gemm_no_beta),
    MUTANT(cpu, gemm, gemm_reads_c),
    MUTANT(cpu, gemm, gemm_by_alignment),
    MUTANT(cpu, im2col, im2col_dirty_edge),
    MUTANT(cpu, col2im, col2im_loses_last),
    MUTANT(cpu, bias_grad, bias_grad_no_outer),
    MUTANT(cpu, bias_add, bias_add_wrong_axis),
    MUTANT(cpu, swap_axes, swap_axes_copies),
    MUTANT(cpu, relu, relu_hides_nan),
    MUTANT(cpu, relu, relu_counts_again),
    MUTANT(cpu, relu_grad, relu_grad_at_zero),
    MUTANT(cpu, max_pool, max_pool_last),
    MUTANT(cpu, max_pool, max_pool_padding_wins),
    MUTANT(cpu, max_pool_grad, max_pool_grad_no_zero),
    MUTANT(cpu, softmax_xent, softmax_no_max),
    MUTANT(cpu, softmax_xent, softmax_sums),
    MUTANT(cpu, softmax_xent, softmax_last_of_equals),
    MUTANT(cpu, mean_square, mean_square_half),
    MUTANT(cpu, zero, zero_overrun),
    MUTANT(cpu, accumulate, accumulate_loses_last),
    MUTANT(cpu, sgd_step, sgd_momentum_after),
    MUTANT(cpu, sgd_step, sgd_unscaled),
    MUTANT(cpu, sgd_step, sgd_no_decay),
    MUTANT(cpu, sgd_step, sgd_denormal),
    MUTANT(hollow, relu, hollow_writes),
    MUTANT(hollow, mean_square, hollow_loss),
};

bool compute_mutant(struct compute_backend *out, const char *name)
{
    for (size_t i = 0; i < sizeof mutants / sizeof mutants[0]; i++)
        if (strcmp(name, mutants[i].name) == 0) {
            *out = *mutants[i].base;
            memcpy((char *)out + mutants[i].at, &mutants[i].function, sizeof mutants[i].function);
            return true;
        }
    return false;
}
