/* SPDX-License-Identifier: Apache-2.0 */
/* operand.h - operands of GEMMs, as stored or packed into scratch as bfloat16. Private to the cuda backend. */
#ifndef HARNESS_COMPUTE_CUDA_OPERAND_H
#define HARNESS_COMPUTE_CUDA_OPERAND_H

#include "harness/compute/cuda/cuda.h"

enum { SCRATCH_ALIGN_BYTES = 256 };

struct operand {
    const void *data;
    size_t ld;
};

static inline size_t scratch_round_up(size_t n_bytes)
{
    return (n_bytes + SCRATCH_ALIGN_BYTES - 1) / SCRATCH_ALIGN_BYTES * SCRATCH_ALIGN_BYTES;
}

/* Scratch for (n_rows, n), rows packed_row_elems(n) apart. */
static inline size_t operand_bytes(size_t n_rows, size_t n, size_t elem_bytes)
{
    return scratch_round_up(n_rows * packed_row_elems(n) * elem_bytes);
}

/* n columns of from, (n_rows, from_ld) from their first on: as stored, or packed into `to`. */
static inline struct operand operand_of(struct cuda_compute *c, void *to, const float *from, size_t from_ld,
                                        size_t n_rows, size_t n)
{
    const size_t ld = packed_row_elems(n);

    if (c->precision != PRECISION_BF16)
        return (struct operand){ from, from_ld };
    if (!c->gemm_only)
        cuda_rows_to_bf16(to, ld, from, from_ld, n_rows, n, cuda_device_stream(c->device));
    return (struct operand){ to, ld };
}

#endif
