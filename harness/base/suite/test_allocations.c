/* SPDX-License-Identifier: Apache-2.0 */
/* test_allocations.c - see test_allocations.h. The linker sends calls of NAME to __wrap_NAME (--wrap). */
#include "harness/base/suite/test_allocations.h"

#include <stdatomic.h>
#include <sys/types.h>

static atomic_size_t n_allocations, n_maps;

void *__real_malloc(size_t n_bytes);
void *__real_calloc(size_t n, size_t n_bytes);
void *__real_realloc(void *p, size_t n_bytes);
void *__real_aligned_alloc(size_t alignment, size_t n_bytes);
void *__real_mmap(void *at, size_t n_bytes, int protection, int flags, int file, off_t offset);
void *__wrap_malloc(size_t n_bytes);
void *__wrap_calloc(size_t n, size_t n_bytes);
void *__wrap_realloc(void *p, size_t n_bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t n_bytes);
void *__wrap_mmap(void *at, size_t n_bytes, int protection, int flags, int file, off_t offset);

size_t test_allocations(void)
{
    return n_allocations;
}

size_t test_maps(void)
{
    return n_maps;
}

void *__wrap_malloc(size_t n_bytes)
{
    n_allocations++;
    return __real_malloc(n_bytes);
}

void *__wrap_calloc(size_t n, size_t n_bytes)
{
    n_allocations++;
    return __real_calloc(n, n_bytes);
}

void *__wrap_realloc(void *p, size_t n_bytes)
{
    n_allocations++;
    return __real_realloc(p, n_bytes);
}

void *__wrap_aligned_alloc(size_t alignment, size_t n_bytes)
{
    n_allocations++;
    return __real_aligned_alloc(alignment, n_bytes);
}

void *__wrap_mmap(void *at, size_t n_bytes, int protection, int flags, int file, off_t offset)
{
    n_allocations++;
    n_maps++;
    return __real_mmap(at, n_bytes, protection, flags, file, offset);
}
