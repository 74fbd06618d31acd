/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compute_races.h - reports the reads and writes of operations to ThreadSanitizer. It does not see the loops of the
 * GEMM libraries. Except in the tests of this module, it does not see those of cpu/ either: they are compiled without
 * it. Checks per element take ten times as long as checks per array (CMakeLists.txt). Does nothing in other builds.
 *
 * Only host arrays, and only if something is computed. Excluded: packed arrays, and arrays of one value per channel
 * that accompany a large array.
 */
#ifndef HARNESS_COMPUTE_COMPUTE_RACES_H
#define HARNESS_COMPUTE_COMPUTE_RACES_H

#include "harness/compute/compute.h"

#ifdef __SANITIZE_THREAD__
/* From its interface for compilers. */
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

/* n_elems of 4 bytes, from the start of the array. NULL: no such array. */
static inline void says_reads(const struct compute *c, const void *array, double n_elems)
{
    if (says_races(c, array))
        RACES_READ((void *)(uintptr_t)array, (unsigned long)(4.0 * n_elems));
}

/* Also for arrays that are both read and written. */
static inline void says_writes(const struct compute *c, void *array, double n_elems)
{
    if (says_races(c, array))
        RACES_WRITE(array, (unsigned long)(4.0 * n_elems));
}

#endif
