/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm.c - GEMMs of the cpu backend: by oneDNN, or by the CBLAS it was built with.
 *
 * Which path a GEMM takes depends on its shape alone (compute.C1).
 */
#include <cblas.h>
#include <string.h>

#include "harness/compute/cpu/cpu.h"

enum {
    TINY_MULTIPLIES = 2048, /* M N K below which a BLAS call costs more than the arithmetic */
    BLOCK_ROWS = 256,
    BLOCK_COLUMNS = 1024,
};

void cpu_blas(struct cpu *c, const struct blas *g)
{
    bool done = true;

    if (g->bf16)
        done = cpu_onednn_bf16(g);
    else if (GRADMARK_SGEMM_BY_ONEDNN)
        done = cpu_onednn_sgemm(g);
    else
        cblas_sgemm(CblasRowMajor, g->transpose_a ? CblasTrans : CblasNoTrans,
                    g->transpose_b ? CblasTrans : CblasNoTrans, (int)g->M, (int)g->N, (int)g->K, 1.0f, g->a,
                    (int)g->lda, g->b, (int)g->ldb, g->beta, g->c, (int)g->ldc);
    if (!done)
        atomic_store(&c->gemm_failed, true);
}

void cpu_round(const struct cpu *c, void *out, const float *x, size_t ldx, size_t n_rows, size_t n)
{
    for (size_t i = 0; i < n_rows; i++)
        if (c->bf16)
            c->kernels->to_bf16((uint16_t *)out + i * n, x + i * ldx, 1, n);
        else
            memcpy((float *)out + i * n, x + i * ldx, n * sizeof *x);
}

struct rounding {
    const struct cpu *c;
    uint16_t *out;
    const float *x;
    size_t n;
};

static void round_task(void *arg, int task, int thread)
{
    const struct rounding *t = arg;
    const struct index_range s = cpu_range(t->n, task);

    (void)thread;
    t->c->kernels->to_bf16(t->out + s.from, t->x + s.from, 1, s.n);
}

const void *cpu_rounded(struct cpu *c, void *out, const float *x, size_t n)
{
    struct rounding t = { .c = c, .out = out, .x = x, .n = n };

    if (!c->bf16)
        return x;
    if (!c->gemm_only)
        thread_pool_run(c->pool, round_task, &t, cpu_n_ranges(n));
    return out;
}

/* For GEMMs as small as those of a linear model. c(M, N) = op(a)(M, K) op(b)(K, N) + beta c. */
static void gemm_tiny(const struct cpu_kernels *kernels, const struct gemm *g)
{
    const size_t M = (size_t)g->M, N = (size_t)g->N, K = (size_t)g->K;
    const size_t a_row = g->transpose_a ? 1 : K, a_column = g->transpose_a ? M : 1;

    for (size_t i = 0; i < M; i++) {
        float *restrict c = g->c + i * N;
        if (g->transpose_b && !g->transpose_a) {
            for (size_t j = 0; j < N; j++) {
                const float sum = kernels->dot(g->a + i * K, g->b + j * K, K);
                c[j] = g->beta == 0.0f ? sum : sum + g->beta * c[j];
            }
            continue;
        }
        for (size_t j = 0; j < N; j++)
            c[j] = g->beta == 0.0f ? 0.0f : g->beta * c[j];
        for (size_t k = 0; k < K; k++) {
            const float a = g->a[i * a_row + k * a_column];
            if (!g->transpose_b)
                kernels->add_scaled(c, g->b + k * N, a, N);
            else
                for (size_t j = 0; j < N; j++)
                    c[j] += a * g->b[k + j * K];
        }
    }
}

static size_t n_blocks(size_t n, size_t n_each)
{
    return (n + n_each - 1) / n_each;
}

struct product {
    struct cpu *c;
    const struct gemm *g;
    const void *a, *b;
};

static void gemm_task(void *arg, int task, int thread)
{
    const struct product *t = arg;
    const struct gemm *g = t->g;
    const size_t M = (size_t)g->M, N = (size_t)g->N, K = (size_t)g->K, n_columns = n_blocks(N, BLOCK_COLUMNS);
    const size_t i = (size_t)task / n_columns * BLOCK_ROWS, j = (size_t)task % n_columns * BLOCK_COLUMNS;
    const struct blas part = { .transpose_a = g->transpose_a,
                               .transpose_b = g->transpose_b,
                               .bf16 = t->c->bf16,
                               .M = M - i < BLOCK_ROWS ? M - i : BLOCK_ROWS,
                               .N = N - j < BLOCK_COLUMNS ? N - j : BLOCK_COLUMNS,
                               .K = K,
                               .a = cpu_operand(t->c, t->a, g->transpose_a ? i : i * K),
                               .b = cpu_operand(t->c, t->b, g->transpose_b ? j * K : j),
                               .lda = g->transpose_a ? M : K,
                               .ldb = g->transpose_b ? K : N,
                               .ldc = N,
                               .beta = g->beta,
                               .c = g->c + i * N + j };

    (void)thread;
    cpu_blas(t->c, &part);
}

void cpu_gemm(struct compute *base, const struct gemm *g)
{
    struct cpu *c = cpu_of(base);
    const size_t M = (size_t)g->M, N = (size_t)g->N, K = (size_t)g->K;
    struct product t = { .c = c, .g = g };

    if ((double)g->M * g->N * g->K <= TINY_MULTIPLIES && !c->bf16) {
        gemm_tiny(c->kernels, g);
        return;
    }
    if (!cpu_scratch(c, 0, c->bf16 ? (M + N) * K : 0))
        return;
    t.a = cpu_rounded(c, cpu_common(c), g->a, M * K);
    t.b = cpu_rounded(c, (uint16_t *)(void *)cpu_common(c) + M * K, g->b, N * K);
    thread_pool_run(c->pool, gemm_task, &t, (int)(n_blocks(M, BLOCK_ROWS) * n_blocks(N, BLOCK_COLUMNS)));
}
