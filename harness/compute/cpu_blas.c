/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_blas.c - matrix products of the cpu backend, by the CBLAS it was built with.
 *
 * Which path a product takes depends on its shape alone (C1).
 */
#include <cblas.h>

#include "harness/compute/cpu.h"

enum {
    TINY_MULTIPLIES = 2048, /* below, a BLAS call costs more than the arithmetic */
    BLOCK_ROWS = 256,
    BLOCK_COLUMNS = 1024,
};

void cpu_blas(const struct blas *g)
{
    cblas_sgemm(CblasRowMajor, g->transpose_a ? CblasTrans : CblasNoTrans, g->transpose_b ? CblasTrans : CblasNoTrans,
                (int)g->M, (int)g->N, (int)g->K, 1.0f, g->a, (int)g->lda, g->b, (int)g->ldb, g->beta, g->c,
                (int)g->ldc);
}

/* For products as small as those of a linear model. */
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

static void gemm_task(void *arg, int task, int thread)
{
    const struct gemm *g = arg;
    const size_t M = (size_t)g->M, N = (size_t)g->N, K = (size_t)g->K, n_columns = n_blocks(N, BLOCK_COLUMNS);
    const size_t i = (size_t)task / n_columns * BLOCK_ROWS, j = (size_t)task % n_columns * BLOCK_COLUMNS;
    const struct blas part = { .transpose_a = g->transpose_a,
                               .transpose_b = g->transpose_b,
                               .M = M - i < BLOCK_ROWS ? M - i : BLOCK_ROWS,
                               .N = N - j < BLOCK_COLUMNS ? N - j : BLOCK_COLUMNS,
                               .K = K,
                               .a = g->a + (g->transpose_a ? i : i * K),
                               .b = g->b + (g->transpose_b ? j * K : j),
                               .lda = g->transpose_a ? M : K,
                               .ldb = g->transpose_b ? K : N,
                               .ldc = N,
                               .beta = g->beta,
                               .c = g->c + i * N + j };

    (void)thread;
    cpu_blas(&part);
}

void cpu_gemm(struct compute *base, const struct gemm *g)
{
    struct cpu *c = cpu_of(base);
    struct gemm copy = *g;

    if ((double)g->M * g->N * g->K <= TINY_MULTIPLIES)
        gemm_tiny(c->kernels, g);
    else
        team_run(c->team, gemm_task, &copy,
                 (int)(n_blocks((size_t)g->M, BLOCK_ROWS) * n_blocks((size_t)g->N, BLOCK_COLUMNS)));
}
