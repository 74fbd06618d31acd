/* SPDX-License-Identifier: Apache-2.0 */
/* compute_mutants.c - mistakes that are easily made, one per backend. */
#include "harness/compute/suite/compute_mutants.h"

#include <math.h>
#include <stdlib.h>
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

static void softmax_no_max(struct compute *c, double *mean_loss, float *dlogits, size_t *n_correct, const float *logits,
                           const uint32_t *label, float weight, size_t B, size_t K)
{
    double loss = 0.0;

    compute_cpu.softmax_xent(c, mean_loss, dlogits, n_correct, logits, label, weight, B, K);
    for (size_t i = 0; i < B; i++) {
        double sum = 0.0;
        for (size_t k = 0; k < K; k++)
            sum += (double)expf(logits[i * K + k]);
        loss += log(sum) - (double)logits[i * K + label[i]];
    }
    *mean_loss = loss / (double)B;
}

static void softmax_sums(struct compute *c, double *mean_loss, float *dlogits, size_t *n_correct, const float *logits,
                         const uint32_t *label, float weight, size_t B, size_t K)
{
    compute_cpu.softmax_xent(c, mean_loss, dlogits, n_correct, logits, label, weight, B, K);
    for (size_t i = 0; dlogits != NULL && i < B * K; i++)
        dlogits[i] *= (float)B;
}

static void softmax_last_of_equals(struct compute *c, double *mean_loss, float *dlogits, size_t *n_correct,
                                   const float *logits, const uint32_t *label, float weight, size_t B, size_t K)
{
    compute_cpu.softmax_xent(c, mean_loss, dlogits, n_correct, logits, label, weight, B, K);
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

static void relu_allocates_late(struct compute *c, float *x, size_t n)
{
    void *volatile scratch = malloc(n + 1);

    free(scratch);
    compute_cpu.relu(c, x, n);
}

/* A yardstick that does what it should leave out. */
static void relu_beside_gemms(struct compute *c, float *x, size_t n)
{
    (void)c;
    for (size_t i = 0; i < n; i++)
        x[i] = x[i] < 0.0f ? 0.0f : x[i];
}

static void relu_grad_cleans_output(struct compute *c, float *dx, const float *x, size_t n)
{
    union {
        const float *given;
        float *writable;
    } output = { x };

    compute_cpu.relu_grad(c, dx, x, n);
    for (size_t i = 0; i < n; i++)
        output.writable[i] = x[i] > 0.0f ? x[i] : 0.0f;
}

static void bias_grad_overwrites(struct compute *c, float *dbias, const float *dy, size_t outer, size_t n, size_t inner)
{
    memset(dbias, 0, n * sizeof *dbias);
    compute_cpu.bias_grad(c, dbias, dy, outer, n, inner);
}

static void accumulate_by_threads(struct compute *c, float *y, const float *x, size_t n)
{
    compute_cpu.accumulate(c, y, x, n);
    if (c->env.n_threads == 3 && n > 0)
        y[n - 1] = nextafterf(y[n - 1], 100.0f);
}

static void softmax_weight_ignored(struct compute *c, double *mean_loss, float *dlogits, size_t *n_correct,
                                   const float *logits, const uint32_t *label, float weight, size_t B, size_t K)
{
    (void)weight;
    compute_cpu.softmax_xent(c, mean_loss, dlogits, n_correct, logits, label, 1.0f, B, K);
}

static void softmax_weight_in_loss(struct compute *c, double *mean_loss, float *dlogits, size_t *n_correct,
                                   const float *logits, const uint32_t *label, float weight, size_t B, size_t K)
{
    compute_cpu.softmax_xent(c, mean_loss, dlogits, n_correct, logits, label, weight, B, K);
    *mean_loss *= (double)weight;
}

static void softmax_loss_with_gradient_only(struct compute *c, double *mean_loss, float *dlogits, size_t *n_correct,
                                            const float *logits, const uint32_t *label, float weight, size_t B,
                                            size_t K)
{
    double unseen;

    compute_cpu.softmax_xent(c, dlogits != NULL ? mean_loss : &unseen, dlogits, n_correct, logits, label, weight, B, K);
}

static void dropout_unscaled(struct compute *c, float *x, size_t n, float keep_ratio, uint64_t key)
{
    compute_cpu.dropout(c, x, n, keep_ratio, key);
    for (size_t i = 0; i < n; i++)
        x[i] *= keep_ratio;
}

/* Drawn anew for each array: the gradient's mask is not the output's. */
static void dropout_other_mask_in_backward(struct compute *c, float *x, size_t n, float keep_ratio, uint64_t key)
{
    compute_cpu.dropout(c, x, n, keep_ratio, key ^ (uint64_t)(uintptr_t)x);
}

static void dropout_drops_the_share(struct compute *c, float *x, size_t n, float keep_ratio, uint64_t key)
{
    compute_cpu.dropout(c, x, n, keep_ratio < 1.0f ? 1.0f - keep_ratio : 1.0f, key);
}

static void dropout_half_a_key(struct compute *c, float *x, size_t n, float keep_ratio, uint64_t key)
{
    compute_cpu.dropout(c, x, n, keep_ratio, key & UINT32_MAX);
}

static enum rc memory_not_zeroed(struct compute *c, void **out, size_t n_bytes)
{
    const enum rc rc = compute_cpu.memory_open(c, out, n_bytes);

    if (rc == RC_OK)
        memset(*out, 1, n_bytes);
    return rc;
}

static size_t memory_without_end(struct compute *c)
{
    (void)c;
    return SIZE_MAX;
}

static void put_loses_last(struct compute *c, void *to, const void *host, size_t n_bytes)
{
    compute_cpu.put(c, to, host, n_bytes / 4 * 4);
}

static void get_overrun(struct compute *c, void *host, const void *from, size_t n_bytes)
{
    compute_cpu.get(c, host, from, n_bytes);
    ((char *)host)[n_bytes] = 0;
}

#define MUTANT(base, member, function) COMPUTE_MUTANT(#function, base, member, function)

static const struct compute_mutant mutants[] = {
    MUTANT(cpu, gemm, gemm_no_beta),
    MUTANT(cpu, gemm, gemm_reads_c),
    MUTANT(cpu, gemm, gemm_by_alignment),
    MUTANT(cpu, bias_grad, bias_grad_no_outer),
    MUTANT(cpu, bias_add, bias_add_wrong_axis),
    MUTANT(cpu, swap_axes, swap_axes_copies),
    MUTANT(cpu, relu, relu_hides_nan),
    MUTANT(cpu, relu, relu_counts_again),
    MUTANT(cpu, relu_grad, relu_grad_at_zero),
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
    MUTANT(cpu, relu, relu_allocates_late),
    MUTANT(cpu, relu, relu_beside_gemms),
    MUTANT(cpu, relu_grad, relu_grad_cleans_output),
    MUTANT(cpu, bias_grad, bias_grad_overwrites),
    MUTANT(cpu, accumulate, accumulate_by_threads),
    MUTANT(cpu, softmax_xent, softmax_weight_ignored),
    MUTANT(cpu, softmax_xent, softmax_weight_in_loss),
    MUTANT(cpu, softmax_xent, softmax_loss_with_gradient_only),
    MUTANT(cpu, dropout, dropout_unscaled),
    MUTANT(cpu, dropout, dropout_other_mask_in_backward),
    MUTANT(cpu, dropout, dropout_drops_the_share),
    MUTANT(cpu, dropout, dropout_half_a_key),
    MUTANT(cpu, memory_open, memory_not_zeroed),
    MUTANT(cpu, memory_available, memory_without_end),
    MUTANT(cpu, put, put_loses_last),
    MUTANT(cpu, get, get_overrun),
    MUTANT(hollow, relu, hollow_writes),
    MUTANT(hollow, mean_square, hollow_loss),
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
        m = find(compute_mutants_convs, compute_n_mutants_convs, name);
    if (m == NULL)
        m = find(compute_mutants_layers, compute_n_mutants_layers, name);
    if (m == NULL)
        return false;
    *out = *m->base;
    *member = m->member;
    memcpy((char *)out + m->at, &m->function, sizeof m->function);
    return true;
}
