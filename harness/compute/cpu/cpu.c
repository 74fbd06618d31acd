/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu.c - the reference backend: open and close, memory, threads and scratch.
 *
 * The BLAS library runs single-threaded: the threads of the pool share an operation, and each calls its own GEMMs.
 */
#include "harness/compute/cpu/cpu.h"

#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/host_memory.h"

extern const struct cpu_kernels cpu_kernels_base;
#if GRADMARK_X86_KERNELS
extern const struct cpu_kernels cpu_kernels_avx2, cpu_kernels_avx512, cpu_kernels_bf16;
#endif

/* Which build of the kernels this CPU runs fastest. */
const struct cpu_kernels *cpu_kernels_best(void)
{
#if GRADMARK_X86_KERNELS
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        return __builtin_cpu_supports("avx512bf16") ? &cpu_kernels_bf16 : &cpu_kernels_avx512;
    if (__builtin_cpu_supports("avx2"))
        return &cpu_kernels_avx2;
#endif
    return &cpu_kernels_base;
}

struct block {
    struct arena arena;
    void *memory;
    struct block *next;
};

static enum rc check_precision(enum precision p)
{
    if (p == PRECISION_TF32)
        return rc_raise(RC_UNSUPPORTED, "compute cpu: precision tf32 needs a GPU (--compute cuda); there are fp32 "
                                        "and bf16");
    return p == PRECISION_BF16 ? cpu_bf16_check() : RC_OK;
}

static enum rc cpu_open(struct compute **out, const struct compute_env *env)
{
    struct cpu *c = NULL;
    enum rc rc;

    TRY(check_precision(env->precision));
    c = calloc(1, sizeof *c);
    if (c == NULL)
        FAIL(RC_NOMEM, "compute cpu: %zu bytes", sizeof *c);
    c->kernels = cpu_kernels_best();
    c->gemm_only = env->gemm_only;
    c->bf16 = env->precision == PRECISION_BF16;
    c->operand_bytes = c->bf16 ? sizeof(uint16_t) : sizeof(float);
    TRY(thread_pool_open(&c->pool, env->n_threads > 0 ? env->n_threads : 1, env->may_spin));
#if GRADMARK_HAVE_OPENBLAS_THREADS
    if (openblas_get_num_threads() != 1)
        openblas_set_num_threads(1);
#endif
    *out = &c->base;
    c = NULL;
out:
    free(c);
    return rc;
}

static void cpu_memory_close(struct compute *base, void **memory)
{
    struct cpu *c = cpu_of(base);

    for (struct block **link = &c->block; *link != NULL; link = &(*link)->next)
        if ((*link)->memory == *memory) {
            struct block *b = *link;
            *link = b->next;
            arena_close(&b->arena);
            free(b);
            break;
        }
    *memory = NULL;
}

static enum rc cpu_memory_open(struct compute *base, void **out, size_t n_bytes)
{
    struct cpu *c = cpu_of(base);
    struct block *b = calloc(1, sizeof *b);
    enum rc rc = RC_OK;

    if (b == NULL)
        FAIL(RC_NOMEM, "compute cpu: %zu bytes", sizeof *b);
    TRY(arena_open_ticking(&b->arena, n_bytes > 0 ? n_bytes : 1, base->env.tick, base->env.arg));
    b->memory = arena_floats(&b->arena, 0);
    b->next = c->block;
    c->block = b;
    *out = b->memory;
    b = NULL;
out:
    free(b);
    return rc;
}

static size_t cpu_memory_available(struct compute *c)
{
    (void)c;
    return host_memory_available("");
}

static void cpu_put(struct compute *c, void *to, const void *host, size_t n_bytes)
{
    (void)c;
    if (n_bytes > 0)
        memcpy(to, host, n_bytes);
}

static void cpu_get(struct compute *c, void *host, const void *from, size_t n_bytes)
{
    (void)c;
    if (n_bytes > 0)
        memcpy(host, from, n_bytes);
}

static enum rc cpu_sync(struct compute *base)
{
    struct cpu *c = cpu_of(base);
    const enum rc rc = c->failed;

    c->failed = RC_OK;
    if (rc != RC_OK)
        return rc_raise(rc, "compute cpu: no memory for the scratch of an operation");
    if (atomic_exchange(&c->gemm_failed, false))
        return rc_raise(RC_NOMEM, "compute cpu: no memory to pack the operands of a GEMM");
    return RC_OK;
}

static void cpu_close(struct compute **out)
{
    struct cpu *c = cpu_of(*out);

    while (c->block != NULL)
        cpu_memory_close(*out, &(void *){ c->block->memory });
    thread_pool_close(&c->pool);
    arena_close(&c->own);
    arena_close(&c->common);
    free(c);
    *out = NULL;
}

static bool grow(struct cpu *c, struct arena *a, size_t *has_elems, size_t n_elems, size_t n_parts)
{
    const size_t n_bytes = arena_floats_bytes(n_elems);

    if (n_elems <= *has_elems)
        return true;
    arena_close(a);
    *has_elems = 0;
    if (arena_open(a, n_parts * n_bytes) != RC_OK) {
        c->failed = RC_NOMEM;
        return false;
    }
    *has_elems = n_bytes / sizeof(float);
    return true;
}

bool cpu_scratch(struct cpu *c, size_t n_elems, size_t n_common)
{
    return grow(c, &c->own, &c->own_elems, n_elems, (size_t)thread_pool_n_threads(c->pool)) &&
           grow(c, &c->common, &c->common_elems, n_common, 1);
}

float *cpu_own(const struct cpu *c, int thread)
{
    return (float *)(void *)(c->own.base + c->own.n_used_bytes) + (size_t)thread * c->own_elems;
}

float *cpu_common(const struct cpu *c)
{
    return (float *)(void *)(c->common.base + c->common.n_used_bytes);
}

int cpu_n_item_ranges(size_t n_items, size_t n_each)
{
    const size_t per_task = n_each >= CPU_TASK_ELEMS ? 1 : CPU_TASK_ELEMS / (n_each > 0 ? n_each : 1);

    return (int)((n_items + per_task - 1) / per_task);
}

struct index_range cpu_item_range(size_t n_items, size_t n_each, int task)
{
    const size_t per_task = n_each >= CPU_TASK_ELEMS ? 1 : CPU_TASK_ELEMS / (n_each > 0 ? n_each : 1);
    const size_t from = (size_t)task * per_task;

    return (struct index_range){ from, n_items - from < per_task ? n_items - from : per_task };
}

int cpu_n_ranges(size_t n)
{
    return cpu_n_item_ranges(n, 1);
}

struct index_range cpu_range(size_t n, int task)
{
    return cpu_item_range(n, 1, task);
}

const struct compute_backend compute_cpu = {
    .module.name = "cpu",
    .touches_memory = true,
    .host_memory = true,
    .bits_at_any_alignment = true,
    .device_kind = "CPU",
#define X(name, ...) .name = cpu_##name,
    COMPUTE_OPERATIONS(X)
#undef X
        .open = cpu_open,
    .close = cpu_close,
    .memory_open = cpu_memory_open,
    .memory_close = cpu_memory_close,
    .memory_available = cpu_memory_available,
    .put = cpu_put,
    .get = cpu_get,
    .sync = cpu_sync,
    .round = cpu_round_narrow,
};
