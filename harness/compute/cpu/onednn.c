/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onednn.c - GEMMs by oneDNN: bf16 always, fp32 if the build chose it.
 *
 * Its OpenMP is limited to one thread on every thread that calls. Each call allocates memory to pack operands, and
 * frees it.
 */
#include "harness/compute/cpu/cpu.h"

#if GRADMARK_HAVE_ONEDNN
#include <oneapi/dnnl/dnnl.h>

/* In the library since 1.0, but in none of its headers: row-major, like dnnl_sgemm(). CMake checks that it is there. */
dnnl_status_t dnnl_gemm_bf16bf16f32(char transpose_a, char transpose_b, dnnl_dim_t M, dnnl_dim_t N, dnnl_dim_t K,
                                    float alpha, const uint16_t *a, dnnl_dim_t lda, const uint16_t *b, dnnl_dim_t ldb,
                                    float beta, float *c, dnnl_dim_t ldc);
void omp_set_num_threads(int n_threads);

static char letter(bool transpose)
{
    return transpose ? 'T' : 'N';
}

enum rc cpu_bf16_check(void)
{
    const dnnl_cpu_isa_t isa = dnnl_get_effective_cpu_isa();

    if ((isa & dnnl_cpu_isa_avx512_core_bf16) == dnnl_cpu_isa_avx512_core_bf16)
        return RC_OK;
    return rc_raise(RC_UNSUPPORTED, "compute cpu: precision bf16: this CPU has neither AVX512-BF16 nor AMX; there is "
                                    "fp32");
}

bool cpu_onednn_bf16(const struct blas *g)
{
    omp_set_num_threads(1);
    return dnnl_gemm_bf16bf16f32(letter(g->transpose_a), letter(g->transpose_b), (dnnl_dim_t)g->M, (dnnl_dim_t)g->N,
                                 (dnnl_dim_t)g->K, 1.0f, g->a, (dnnl_dim_t)g->lda, g->b, (dnnl_dim_t)g->ldb, g->beta,
                                 g->c, (dnnl_dim_t)g->ldc) == dnnl_success;
}

bool cpu_onednn_sgemm(const struct blas *g)
{
    omp_set_num_threads(1);
    return dnnl_sgemm(letter(g->transpose_a), letter(g->transpose_b), (dnnl_dim_t)g->M, (dnnl_dim_t)g->N,
                      (dnnl_dim_t)g->K, 1.0f, g->a, (dnnl_dim_t)g->lda, g->b, (dnnl_dim_t)g->ldb, g->beta, g->c,
                      (dnnl_dim_t)g->ldc) == dnnl_success;
}

#else

enum rc cpu_bf16_check(void)
{
    return rc_raise(RC_UNSUPPORTED, "compute cpu: precision bf16: %s; there is fp32", GRADMARK_ONEDNN_WHY_NOT);
}

bool cpu_onednn_bf16(const struct blas *g)
{
    (void)g;
    return false; /* never called: bf16 cannot be opened */
}

bool cpu_onednn_sgemm(const struct blas *g)
{
    (void)g;
    return false; /* never called: the CBLAS computes all GEMMs */
}

#endif
