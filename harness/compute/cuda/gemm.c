/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.c - GEMMs of the cuda backend by themselves. For bf16 both operands are packed into scratch. */
#include <string.h>

#include "harness/compute/cuda/operand.h"

struct gemm_args {
    const float *a, *b;
    float *c;
    int transpose_a, transpose_b, M, N, K;
    float beta;
};

/* Rows and columns of A and B as stored, before op(). */
struct stored {
    size_t a_rows, a_columns, b_rows, b_columns;
};

static struct stored stored_of(const struct gemm_args *a)
{
    const size_t M = (size_t)a->M, N = (size_t)a->N, K = (size_t)a->K;

    return (struct stored){ a->transpose_a ? K : M, a->transpose_a ? M : K, a->transpose_b ? N : K,
                            a->transpose_b ? K : N };
}

static void run_gemm(struct cuda_compute *c, const void *args)
{
    struct gemm_args a;

    memcpy(&a, args, sizeof a);
    const struct stored s = stored_of(&a);
    unsigned char *right_at = c->scratch + operand_bytes(s.a_rows, s.a_columns, sizeof(uint16_t));
    const struct operand left = operand_of(c, c->scratch, a.a, s.a_columns, s.a_rows, s.a_columns);
    const struct operand right = operand_of(c, right_at, a.b, s.b_columns, s.b_rows, s.b_columns);
    const struct cuda_gemm g = { .transpose_a = a.transpose_a != 0,
                                 .transpose_b = a.transpose_b != 0,
                                 .M = a.M,
                                 .N = a.N,
                                 .K = a.K,
                                 .bf16 = c->precision == PRECISION_BF16,
                                 .a = left.data,
                                 .lda = left.ld,
                                 .b = right.data,
                                 .ldb = right.ld,
                                 .beta = a.beta,
                                 .c = a.c,
                                 .ldc = (size_t)a.N };
    cuda_device_gemm(c->device, &g);
}

void cuda_op_gemm(struct compute *base, const struct gemm *g)
{
    struct cuda_compute *c = (struct cuda_compute *)base;
    struct gemm_args a;

    memset(&a, 0, sizeof a);
    a.a = g->a;
    a.b = g->b;
    a.c = g->c;
    a.transpose_a = g->transpose_a;
    a.transpose_b = g->transpose_b;
    a.M = g->M;
    a.N = g->N;
    a.K = g->K;
    a.beta = g->beta;
    const struct stored s = stored_of(&a);
    const size_t n_bytes =
        operand_bytes(s.a_rows, s.a_columns, sizeof(uint16_t)) + operand_bytes(s.b_rows, s.b_columns, sizeof(uint16_t));
    if (cuda_scratch_grow(c, "gemm", c->precision == PRECISION_BF16 ? n_bytes : 0))
        cuda_log_call(c, "gemm", run_gemm, &a, sizeof a);
}
