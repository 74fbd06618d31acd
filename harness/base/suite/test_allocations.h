/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_allocations.h - counts the allocations of a test program: its own and those of the static libraries in it, of
 * all threads. For tests whose CMake says gradmark_count_allocations(target).
 */
#ifndef HARNESS_BASE_SUITE_TEST_ALLOCATIONS_H
#define HARNESS_BASE_SUITE_TEST_ALLOCATIONS_H

#include <stddef.h>

/* Calls of malloc, calloc, realloc, aligned_alloc and mmap so far. */
size_t test_allocations(void);
/* Of these mmap. */
size_t test_maps(void);

#endif
