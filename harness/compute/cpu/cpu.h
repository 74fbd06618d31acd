/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu.h - shared by the files of the cpu backend. Private to it.
 *
 * An operation is divided into numbered tasks, by its shape alone (compute.C1), which a thread pool runs. One task
 * computes a sum, in a fixed order; or several do, and their partial sums are added in the order of the tasks.
 */
#ifndef HARNESS_COMPUTE_CPU_CPU_H
#define HARNESS_COMPUTE_CPU_CPU_H

#include <stdatomic.h>

#include "harness/base/arena.h"
#include "harness/compute/compute.h"
#include "harness/compute/cpu/kernels.h"
#include "harness/world/thread_pool.h"

enum {
    CPU_TASK_ELEMS = 64 * 1024, /* per task of an element-wise operation: some tens of us */
};

struct block; /* one memory_open() */

struct cpu {
    struct compute base;
    const struct cpu_kernels *kernels;
    struct thread_pool *pool;
    struct block *block;
    struct arena own;    /* scratch, one part for each thread */
    struct arena common; /* scratch shared by the tasks of an operation */
    size_t own_elems, common_elems;
    enum rc failed;           /* reported by the next sync */
    _Atomic bool gemm_failed; /* likewise; set by any thread */
    bool gemm_only;
    bool bf16;            /* GEMM operands are rounded to bf16 */
    size_t operand_bytes; /* of an element of a GEMM operand: 2 or 4 */
};

static inline struct cpu *cpu_of(struct compute *c)
{
    return (struct cpu *)c;
}

/* Provide n_elems floats of scratch for each thread and n_common shared ones: the memory of earlier calls, unless it
 * must grow (compute.C3). false: out of memory; the operation is not run, the next sync reports it (compute.C4). */
bool cpu_scratch(struct cpu *c, size_t n_elems, size_t n_common);
float *cpu_own(const struct cpu *c, int thread);
float *cpu_common(const struct cpu *c);

/* Indices [from, from + n): of elements, rows or channels. */
struct index_range {
    size_t from, n;
};
/* n elements divided into tasks of CPU_TASK_ELEMS: the number of tasks, and the elements of one. */
int cpu_n_ranges(size_t n);
struct index_range cpu_range(size_t n, int task);
/* n_items of n_each elements divided into tasks of whole items: one large item, or several small ones. */
int cpu_n_item_ranges(size_t n_items, size_t n_each);
struct index_range cpu_item_range(size_t n_items, size_t n_each, int task);

/* C(M,N) = op(A)(M,K) op(B)(K,N) + beta C on this thread; row lengths as given. A and B are float, or bf16. */
struct blas {
    bool transpose_a, transpose_b, bf16;
    size_t M, N, K;
    const void *a, *b;
    size_t lda, ldb, ldc;
    float beta;
    float *c;
};
void cpu_blas(struct cpu *c, const struct blas *g);

/* A block of col(K, N), the im2col matrix: rows (c, kh, kw) of channels [channel, channel + n_channels), columns (b,
 * out_h, out_w) of output rows [from, from + n) of all B out_h. ld: elements from one row of the block to the next. */
struct cols {
    const struct window *g;
    size_t channel, n_channels;
    size_t from, n;
    size_t ld;
};
/* Write the block to col (float, or bf16) from x(C, B, H, W). */
void cpu_im2col(const struct cpu *c, void *col, const float *x, const struct cols *s);
/* dx(C, B, H, W) += the elements of the block in col, each where im2col would have read it. */
void cpu_col2im(const struct cpu *c, float *dx, const float *col, const struct cols *s);
/* True for fp32, an output of the input's shape, and images so narrow that im2col and col2im both copy whole channels
 * under a mask of zeros. */
bool cpu_is_narrow(const struct cpu *c, const struct window *g);

/* Address of element i of a GEMM operand. */
static inline const void *cpu_operand(const struct cpu *c, const void *x, size_t i)
{
    return (const char *)x + i * c->operand_bytes;
}
/* out(n_rows, n) = bf16 of x, whose rows are ldx elements apart, on this thread. */
void cpu_round(const struct cpu *c, void *out, const float *x, size_t ldx, size_t n_rows, size_t n);
/* x[n] as a GEMM operand: x itself, or rounded to bf16 into out by the thread pool. */
const void *cpu_rounded(struct cpu *c, void *out, const float *x, size_t n);

/* onednn.c. RC_UNSUPPORTED: not built in, or not on this CPU. */
enum rc cpu_bf16_check(void) MUST_CHECK;
/* false: no memory to pack operands. */
bool cpu_onednn_bf16(const struct blas *g);
bool cpu_onednn_sgemm(const struct blas *g);

/* The operations of struct compute_backend. */
#define X(name, ...) void cpu_##name(struct compute *c, __VA_ARGS__);
COMPUTE_OPERATIONS(X)
#undef X
void cpu_round_narrow(struct compute *c, float *x, float *residual, size_t n, enum wire_format format);

#endif
