/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu.c - the reference backend: OpenBLAS on one thread for GEMMs, plain loops for the rest.
 *
 * One rank is one core, so the BLAS is held to one thread. Every sum has a fixed order (C1): which
 * path a GEMM takes depends on its shape alone, sums run in N_LANES fixed lanes (independent, so
 * the compiler may vectorise them without reordering) and no result depends on alignment.
 */
#include "harness/compute/cpu.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/arena.h"

enum {
    N_LANES = 16,
    TINY_GEMM_MULTIPLIES = 2048, /* below, a BLAS call costs more than the arithmetic */
};

struct block { /* one memory_open() */
    struct arena arena;
    void *memory;
    struct block *next;
};

struct cpu {
    struct compute base;
    struct block *block;
};

static enum rc cpu_open(struct compute **out, const struct compute_env *env)
{
    struct cpu *c = NULL;

    if (env->precision == PRECISION_TF32)
        return rc_raise(RC_UNSUPPORTED, "compute cpu: precision tf32 is a GPU's; there is fp32");
    if (env->precision == PRECISION_BF16)
        return rc_raise(RC_UNSUPPORTED, "compute cpu: precision bf16 is not built in; there is fp32");
    c = calloc(1, sizeof *c);
    if (c == NULL)
        return rc_raise(RC_NOMEM, "compute cpu: %zu bytes", sizeof *c);
#if GRADMARK_HAVE_OPENBLAS_THREADS
    if (openblas_get_num_threads() != 1)
        openblas_set_num_threads(1);
#endif
    *out = &c->base;
    return RC_OK;
}

static void cpu_memory_close(struct compute *base, void **memory)
{
    struct cpu *c = (struct cpu *)base;

    for (struct block **at = &c->block; *at != NULL; at = &(*at)->next)
        if ((*at)->memory == *memory) {
            struct block *b = *at;
            *at = b->next;
            arena_close(&b->arena);
            free(b);
            break;
        }
    *memory = NULL;
}

static enum rc cpu_memory_open(struct compute *base, void **out, size_t n_bytes)
{
    struct cpu *c = (struct cpu *)base;
    struct block *b = calloc(1, sizeof *b);
    enum rc rc = RC_OK;

    if (b == NULL)
        FAIL(RC_NOMEM, "compute cpu: %zu bytes", sizeof *b);
    TRY(arena_open(&b->arena, n_bytes > 0 ? n_bytes : 1));
    b->memory = arena_floats(&b->arena, 0);
    b->next = c->block;
    c->block = b;
    *out = b->memory;
    b = NULL;
out:
    free(b);
    return rc;
}

/* What the kernel says programs can get without swapping. */
static size_t cpu_memory_available(struct compute *c)
{
    char line[128];
    unsigned long long n_kib = 0;
    FILE *file = fopen("/proc/meminfo", "r");
    bool found = false;

    (void)c;
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL)
        found = sscanf(line, "MemAvailable: %llu kB", &n_kib) == 1;
    if (file != NULL)
        (void)fclose(file);
    return found ? (size_t)n_kib * 1024 : SIZE_MAX;
}

static void cpu_put(struct compute *c, void *to, const void *host, size_t n_bytes)
{
    (void)c;
    memcpy(to, host, n_bytes);
}

static void cpu_get(struct compute *c, void *host, const void *from, size_t n_bytes)
{
    (void)c;
    memcpy(host, from, n_bytes);
}

static void cpu_close(struct compute **out)
{
    struct cpu *c = (struct cpu *)*out;

    while (c->block != NULL)
        cpu_memory_close(*out, &(void *){ c->block->memory });
    free(c);
    *out = NULL;
}

static float sum_of(const float *x, size_t n)
{
    float lane[N_LANES] = { 0.0f }, sum = 0.0f;
    size_t i = 0;

    for (; i + N_LANES <= n; i += N_LANES)
        for (size_t j = 0; j < N_LANES; j++)
            lane[j] += x[i + j];
    for (size_t j = 0; j < N_LANES; j++)
        sum += lane[j];
    for (; i < n; i++)
        sum += x[i];
    return sum;
}

static float dot_of(const float *x, const float *y, size_t n)
{
    float lane[N_LANES] = { 0.0f }, sum = 0.0f;
    size_t i = 0;

    for (; i + N_LANES <= n; i += N_LANES)
        for (size_t j = 0; j < N_LANES; j++)
            lane[j] += x[i + j] * y[i + j];
    for (size_t j = 0; j < N_LANES; j++)
        sum += lane[j];
    for (; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* For products as small as those of a linear model. */
static void gemm_tiny(const struct gemm *g)
{
    const size_t M = (size_t)g->M, N = (size_t)g->N, K = (size_t)g->K;
    const size_t a_row = g->transpose_a ? 1 : K, a_column = g->transpose_a ? M : 1;

    for (size_t i = 0; i < M; i++) {
        float *restrict c = g->c + i * N;
        if (g->transpose_b && !g->transpose_a) {
            for (size_t j = 0; j < N; j++) {
                float sum = dot_of(g->a + i * K, g->b + j * K, K);
                c[j] = g->beta == 0.0f ? sum : sum + g->beta * c[j];
            }
            continue;
        }
        for (size_t j = 0; j < N; j++)
            c[j] = g->beta == 0.0f ? 0.0f : g->beta * c[j];
        for (size_t k = 0; k < K; k++) {
            const float a = g->a[i * a_row + k * a_column];
            const float *restrict b = g->transpose_b ? g->b + k : g->b + k * N;
            const size_t b_step = g->transpose_b ? K : 1;
            for (size_t j = 0; j < N; j++)
                c[j] += a * b[j * b_step];
        }
    }
}

static void gemm(struct compute *c, const struct gemm *g)
{
    (void)c;
    if ((double)g->M * g->N * g->K <= TINY_GEMM_MULTIPLIES) {
        gemm_tiny(g);
        return;
    }
    cblas_sgemm(CblasRowMajor, g->transpose_a ? CblasTrans : CblasNoTrans, g->transpose_b ? CblasTrans : CblasNoTrans,
                g->M, g->N, g->K, 1.0f, g->a, g->transpose_a ? g->M : g->K, g->b, g->transpose_b ? g->K : g->N, g->beta,
                g->c, g->N);
}

static void add_constant(float *restrict y, float value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += value;
}

static void add_vector(float *restrict y, const float *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += x[i];
}

static void bias_add(struct compute *c, float *y, const float *bias, size_t outer, size_t n, size_t inner)
{
    (void)c;
    for (size_t o = 0; o < outer; o++) {
        float *row = y + o * n * inner;
        if (inner == 1) {
            add_vector(row, bias, n);
            continue;
        }
        for (size_t i = 0; i < n; i++)
            add_constant(row + i * inner, bias[i], inner);
    }
}

static void bias_grad(struct compute *c, float *dbias, const float *dy, size_t outer, size_t n, size_t inner)
{
    (void)c;
    for (size_t o = 0; o < outer; o++) {
        const float *row = dy + o * n * inner;
        if (inner == 1) {
            add_vector(dbias, row, n);
            continue;
        }
        for (size_t i = 0; i < n; i++)
            dbias[i] += sum_of(row + i * inner, inner);
    }
}

static void swap_axes(struct compute *c, float *out, const float *in, size_t n_a, size_t n_b, size_t n_inner)
{
    (void)c;
    for (size_t j = 0; j < n_b; j++) {
        float *restrict to = out + j * n_a * n_inner;
        for (size_t i = 0; i < n_a; i++, to += n_inner) {
            const float *restrict from = in + (i * n_b + j) * n_inner;
            for (size_t k = 0; k < n_inner; k++)
                to[k] = from[k];
        }
    }
}

static void relu(struct compute *c, float *x, size_t n)
{
    (void)c;
    for (size_t i = 0; i < n; i++)
        x[i] = x[i] < 0.0f ? 0.0f : x[i]; /* not "> 0 ? x : 0": a NaN must show */
}

static void relu_grad_of(float *restrict dx, const float *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dx[i] = x[i] > 0.0f ? dx[i] : 0.0f;
}

static void relu_grad(struct compute *c, float *dx, const float *x, size_t n)
{
    (void)c;
    relu_grad_of(dx, x, n);
}

static void zero(struct compute *c, float *x, size_t n)
{
    (void)c;
    if (n > 0)
        memset(x, 0, n * sizeof *x);
}

static void accumulate(struct compute *c, float *y, const float *x, size_t n)
{
    (void)c;
    add_vector(y, x, n);
}

static void sgd_plain(float *restrict p, const float *restrict g, size_t n, const struct sgd *s)
{
    const float lr = s->lr, decay = s->weight_decay, scale = s->grad_scale;

    for (size_t i = 0; i < n; i++)
        p[i] -= lr * (scale * g[i] + decay * p[i]);
}

static void sgd_momentum(float *restrict p, float *restrict v, const float *restrict g, size_t n, const struct sgd *s)
{
    const float lr = s->lr, momentum = s->momentum, decay = s->weight_decay, scale = s->grad_scale;

    for (size_t i = 0; i < n; i++) {
        const float next = momentum * v[i] + (scale * g[i] + decay * p[i]);
        v[i] = fabsf(next) < SGD_VELOCITY_MIN ? 0.0f : next;
        p[i] -= lr * v[i];
    }
}

static void sgd_step(struct compute *c, float *p, float *v, const float *g, size_t n, const struct sgd *s)
{
    (void)c;
    if (v == NULL)
        sgd_plain(p, g, n, s);
    else
        sgd_momentum(p, v, g, n, s);
}

const struct compute_backend compute_cpu = {
    .name = "cpu",
    .touches_memory = true,
    .open = cpu_open,
    .close = cpu_close,
    .gemm = gemm,
    .host_memory = true,
    .memory_open = cpu_memory_open,
    .memory_close = cpu_memory_close,
    .memory_available = cpu_memory_available,
    .put = cpu_put,
    .get = cpu_get,
    .conv = cpu_conv,
    .conv_input_grad = cpu_conv_input_grad,
    .conv_weight_grad = cpu_conv_weight_grad,
    .conv_bias_grad = cpu_conv_bias_grad,
    .batch_norm = cpu_batch_norm,
    .batch_norm_fold = cpu_batch_norm_fold,
    .batch_norm_grad = cpu_batch_norm_grad,
    .avg_pool = cpu_avg_pool,
    .avg_pool_grad = cpu_avg_pool_grad,
    .adaptive_pool = cpu_adaptive_pool,
    .adaptive_pool_grad = cpu_adaptive_pool_grad,
    .dropout = cpu_dropout,
    .bias_add = bias_add,
    .bias_grad = bias_grad,
    .swap_axes = swap_axes,
    .relu = relu,
    .relu_grad = relu_grad,
    .max_pool = cpu_max_pool,
    .max_pool_grad = cpu_max_pool_grad,
    .softmax_xent = cpu_softmax_xent,
    .mean_square = cpu_mean_square,
    .zero = zero,
    .accumulate = accumulate,
    .sgd_step = sgd_step,
};
