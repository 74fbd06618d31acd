/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compute_races.h - what an operation reads and writes, said to ThreadSanitizer, which sees neither the loops of the
 * GEMM libraries nor, outside the tests of this room, those of cpu/: they are compiled without it, as it takes ten
 * times as long for each element as for an array (CMakeLists.txt). In other builds nothing.
 *
 * Only arrays of the host, and only where something is computed. Packed arrays and the arrays of one value per channel
 * that go with a large one are left out.
 */
#ifndef HARNESS_COMPUTE_COMPUTE_RACES_H
#define HARNESS_COMPUTE_COMPUTE_RACES_H

#include "harness/compute/compute.h"

#ifdef __SANITIZE_THREAD__
/* Of its interface for compilers. */
void __tsan_read_range(void *at, unsigned long n_bytes);
void __tsan_write_range(void *at, unsigned long n_bytes);
#define RACES_READ(at, n_bytes) __tsan_read_range(at, n_bytes)
#define RACES_WRITE(at, n_bytes) __tsan_write_range(at, n_bytes)
#else
#define RACES_READ(at, n_bytes) ((void)(at), (void)(n_bytes))
#define RACES_WRITE(at, n_bytes) ((void)(at), (void)(n_bytes))
#endif

static inline bool says_races(const struct compute *c, const void *array)
{
    return array != NULL && c->ops->host_memory && !c->env.gemm_only;
}

/* n_elems of 4 bytes, from the beginning of the array on. NULL: no such array. */
static inline void says_reads(const struct compute *c, const void *array, double n_elems)
{
    if (says_races(c, array))
        RACES_READ((void *)(uintptr_t)array, (unsigned long)(4.0 * n_elems));
}

/* Also what is read and written. */
static inline void says_writes(const struct compute *c, void *array, double n_elems)
{
    if (says_races(c, array))
        RACES_WRITE(array, (unsigned long)(4.0 * n_elems));
}

#endif
