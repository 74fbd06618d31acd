/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_test.cu - loops in place of cuBLAS (device_test.cu). */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/compute/cuda/on_host/threads_test.cuh"

extern "C" {
#include "harness/compute/cuda/device.h"
#include "harness/compute/cuda/on_host/device_test.cuh"
#include "harness/compute/cuda/on_host/on_host_test.h"
}

/* The operand as floats, row by row; to be freed. */
static float *unpacked(const struct cuda_gemm *g, const void *from, size_t n_rows, size_t n, size_t ld, bool transpose)
{
    float *out = static_cast<float *>(must(malloc(n_rows * n * sizeof *out)));

    for (size_t i = 0; i < n_rows; i++)
        for (size_t k = 0; k < n; k++) {
            const size_t at = transpose ? k * ld + i : i * ld + k;
            const uint32_t bits = g->bf16 ? (uint32_t) static_cast<const uint16_t *>(from)[at] << 16 : 0;
            if (g->bf16)
                memcpy(out + i * n + k, &bits, sizeof bits);
            else
                out[i * n + k] = static_cast<const float *>(from)[at];
        }
    return out;
}

/* c(N) += row(K) b(K, N) in float, the last product first. */
static void add_backwards(float *c, const float *row, const float *b, size_t N, size_t K)
{
    for (size_t j = 0; j < N; j++) {
        float sum = 0.0f;
        for (size_t k = K; k-- > 0;)
            sum += row[k] * b[k * N + j];
        c[j] += sum;
    }
}

void on_host_gemm(const struct cuda_gemm *g, bool backwards)
{
    const size_t M = (size_t)g->M, N = (size_t)g->N, K = (size_t)g->K;
    float *a = unpacked(g, g->a, M, K, g->lda, g->transpose_a), *b = unpacked(g, g->b, K, N, g->ldb, g->transpose_b);
    double *sum = static_cast<double *>(must(malloc(N * sizeof *sum)));

    for (size_t i = 0; i < M; i++) {
        float *c = g->c + i * g->ldc;
        for (size_t j = 0; j < N; j++)
            sum[j] = g->beta == 0.0f ? 0.0 : (double)g->beta * (double)c[j];
        for (size_t k = 0; k < K && !backwards; k++) {
            const double x = (double)a[i * K + k];
            for (size_t j = 0; j < N; j++)
                sum[j] += x * (double)b[k * N + j];
        }
        for (size_t j = 0; j < N; j++)
            c[j] = (float)sum[j];
        if (backwards)
            add_backwards(c, a + i * K, b, N, K);
    }
    free(a);
    free(b);
    free(sum);
}
