/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.h - the speed of matrix products and of memory. */
#ifndef HARNESS_BENCH_GEMM_H
#define HARNESS_BENCH_GEMM_H

#include <stddef.h>

#include "harness/compute/compute.h"
#include "harness/world/world.h"

/* Flops per second of one thread of the cpu backend in a GEMM that fits its cache: the fastest within 20 ms. Needs no
 * world. RC_NOMEM. */
enum rc gemm_flops_per_s(double *out) MUST_CHECK;

/* to[n], memory of c, := random numbers in [-1, 1); does nothing if c touches no memory. RC_NOMEM. */
enum rc gemm_fill(struct compute *c, float *to, size_t n) MUST_CHECK;

/* Flops per second of c in a square product of at most largest_matrix rows, or in a 1x1 convolution of the same
 * numbers: the faster one. With random numbers. Starts at 1024 rows and doubles while a product takes less than 50 ms:
 * 8192 rows on a GPU, 2048 on a few cores. */
enum rc gemm_peak_flops_per_s(double *out, struct world *w, struct compute *c, int largest_matrix) MUST_CHECK;

/* Bytes per second of c in y += x, which reads two arrays and writes one, each of n_bytes: more than caches hold.
 * Smaller arrays if less than 8 n_bytes of memory is available. */
enum rc stream_peak_bytes_per_s(double *out, struct world *w, struct compute *c, size_t n_bytes) MUST_CHECK;

#endif
