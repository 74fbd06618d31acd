/* SPDX-License-Identifier: Apache-2.0 */
/* compute_suite_kit.h - guarded arrays, comparison and cases of compute_suite. Private to it. */
#ifndef HARNESS_COMPUTE_COMPUTE_SUITE_KIT_H
#define HARNESS_COMPUTE_COMPUTE_SUITE_KIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "harness/compute/compute.h"

enum { SUITE_GUARD_ELEMS = 32, SUITE_MAX_ARRAYS = 12 };

struct guarded {
    uint32_t *raw; /* guard, n_elems, guard; of 4 bytes each */
    size_t n_elems, shift;
};

struct suite {
    const struct compute_backend *ops;
    struct compute *c;
    FILE *log;
    int n_failures, n_case_failures;
    const char *case_name;
    size_t shift; /* elements by which this run's arrays are off their alignment */
    uint64_t digest;
    struct guarded array[SUITE_MAX_ARRAYS];
    size_t n_arrays;
};

typedef void suite_case(struct suite *s, const void *arg);

/* Run the case three times (again, and at another alignment): guards whole, equal digests. */
void suite_run(struct suite *s, const char *name, suite_case *run, const void *arg);
void suite_fail(struct suite *s, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Arrays of a case; the kit checks their guards and frees them. Inputs differ with `stream`. */
float *suite_dirty(struct suite *s, size_t n);                     /* NaN everywhere */
float *suite_integers(struct suite *s, size_t n, uint64_t stream); /* -3 .. 3 */
float *suite_reals(struct suite *s, size_t n, uint64_t stream);    /* [-1, 1) */
uint32_t *suite_labels(struct suite *s, size_t n, uint32_t n_classes);

/* y[n] is a result: compare with want[n] (absolute tolerance, 0: exact) and take it into the digest. */
void suite_check(struct suite *s, const char *what, const float *y, const double *want, size_t n, double tolerance);
void suite_check_one(struct suite *s, const char *what, double got, double want, double tolerance);
/* A copy in double, to be freed by the caller. */
double *suite_double(const float *x, size_t n);
double *suite_zeros(size_t n);

/* The cases. */
void suite_gemm(struct suite *s);
void suite_elements(struct suite *s);  /* bias_*, swap_axes, relu*, zero, accumulate, sgd_step */
void suite_windows(struct suite *s);   /* im2col, col2im, max_pool* */
void suite_losses(struct suite *s);    /* softmax_xent, mean_square */
void suite_counts(struct suite *s);    /* C2 */
void suite_untouched(struct suite *s); /* backends without memory */

#endif
