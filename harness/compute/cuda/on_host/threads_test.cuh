/* SPDX-License-Identifier: Apache-2.0 */
/* threads_test.cuh - run a launch now (words_test.cuh). */
#ifndef HARNESS_COMPUTE_CUDA_ON_HOST_THREADS_TEST_CUH
#define HARNESS_COMPUTE_CUDA_ON_HOST_THREADS_TEST_CUH

#include "harness/compute/cuda/on_host/words_test.cuh"

/* descending: blocks, and threads between two barriers, from the last to the first. */
void on_host_grid(bool meeting, bool descending, unsigned n_blocks, unsigned n_threads, void (*run)(const void *body),
                  const void *body);
/* A planted mistake: __syncthreads does nothing. */
void on_host_lose_barriers(bool lose);
/* Frees what on_host_grid keeps. */
void on_host_threads_end();

#endif
