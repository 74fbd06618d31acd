/* SPDX-License-Identifier: Apache-2.0 */
/* suite_kit.h - guarded arrays, comparison and cases of compute_suite. Private to it. */
#ifndef HARNESS_COMPUTE_SUITE_SUITE_KIT_H
#define HARNESS_COMPUTE_SUITE_SUITE_KIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/compute/compute.h"
#include "harness/compute/suite/compute_suite.h"

enum {
    SUITE_MAX_ARRAYS = 16,
    SUITE_MAX_THREADS = 4,
    SUITE_POOL_BYTES = 8 << 20, /* the largest case, with guards */
    SUITE_POOL_DOUBLES = 2 << 20,
};

/* n_bytes in the backend's memory, between guard bands. */
struct array {
    float *v;    /* backend memory; labels are const uint32_t, an argmax uint8_t */
    float *host; /* what suite_put() copied to it */
    float *got;  /* what suite_check() copied from it */
    size_t n_elems, n_bytes;
    size_t offset_bytes, total_bytes; /* in the pools, with the guards */
    size_t before_bytes;
    bool checked; /* an output; any other array must be unchanged at the end of a case */
};

struct pool { /* the arrays of one case, at the same offset in memory, host and got */
    void *memory[SUITE_MAX_THREADS + 1];
    char *host, *got;
    char *unseen; /* in place of memory, for a backend that has none */
    size_t n_used_bytes;
    double *doubles;
    size_t n_used_doubles;
};

struct suite {
    const struct compute_backend *ops;
    struct compute_suite_options options;
    struct compute *opened[SUITE_MAX_THREADS + 1]; /* [n]: n threads; [0]: not used */
    struct compute *c;                             /* of this run */
    int n_threads;                                 /* of this run */
    bool judging;                                  /* the first run at an alignment: only then are there references */
    int n_failures, n_case_failures;
    const char *case_name;
    size_t case_index;  /* of the shape, for messages */
    size_t shift_bytes; /* added to the addresses of this run's arrays */
    uint64_t digest;
    struct pool pool;
    struct array array[SUITE_MAX_ARRAYS];
    size_t n_arrays;
};

typedef void suite_case(struct suite *s, const void *arg);

/* Run the case, compared with the reference; then again, at another alignment, and with more threads, compared with the
 * first run. Checks guard bands, unchanged inputs, and equal digests (compute.C1). */
void suite_run(struct suite *s, const char *name, suite_case *run, const void *arg);
/* suite_run of a GEMM or convolution: where its backend lacks bits_at_any_alignment, runs at another alignment are
 * compared with the reference, and with each other. */
void suite_run_product(struct suite *s, const char *name, suite_case *run, const void *arg);
/* suite_run for each of n args. */
void suite_run_each(struct suite *s, const char *name, suite_case *run, const void *args, size_t n, size_t arg_bytes);
#define SUITE_RUN_EACH(s, name, run, args) \
    suite_run_each((s), (name), (run), (args), sizeof(args) / sizeof((args)[0]), sizeof((args)[0]))
void suite_fail(struct suite *s, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Arrays of a case. Inputs differ with `stream`. */
struct array *suite_dirty(struct suite *s, size_t n);                               /* NaN everywhere */
struct array *suite_integers(struct suite *s, size_t n, uint64_t stream);           /* -3 .. 3: exact in bf16, too */
struct array *suite_reals(struct suite *s, size_t n, uint64_t stream);              /* [-1, 1) */
struct array *suite_values(struct suite *s, size_t n, uint64_t stream, bool exact); /* integers or reals */
struct array *suite_constant(struct suite *s, size_t n, float value);
struct array *suite_labels(struct suite *s, size_t n, uint32_t n_classes);
struct array *suite_argmax(struct suite *s, size_t n); /* uint8_t, dirty */
/* After a->host was changed. */
void suite_put(struct suite *s, struct array *a);

/* a is an output: compare with want[n_elems] (absolute tolerance, 0: exact; a NaN must be where want has one)
 * and add it to the digest. */
void suite_check(struct suite *s, const char *what, struct array *a, const double *want, double tolerance);
void suite_check_argmax(struct suite *s, const char *what, struct array *a, const uint8_t *want);
void suite_check_one(struct suite *s, const char *what, double got, double want, double tolerance);
/* a is an output that is not checked. */
void suite_ignore(struct suite *s, struct array *a);
void suite_sync(struct suite *s);
/* Check guard bands and inputs of the arrays so far, then free them, as suite_run does after each run. what: the case.
 */
void suite_end_arrays(struct suite *s, const char *what);

/* Memory for references, freed after the case: a copy of a->host (a NULL: NULL), or zeros. */
double *suite_double(struct suite *s, const struct array *a);
double *suite_zeros(struct suite *s, size_t n);

/* How far a sum of K products of values below 1 may be off. fp32: K + 8 units of 2^-23, the size that rounding
 * errors grow to when each is as likely up as down and partial sums grow as sqrt(K): K/2 of them are seldom
 * reached. tf32, bf16: operands rounded to 11 and 8 bits move a product by 2^-11 and 2^-8 at most, and a sum of
 * K by sqrt(K) of that; twice as much is allowed. */
double suite_tolerance(const struct suite *s, size_t K);
/* The same for operations that are fp32 always. */
double suite_tolerance_fp32(size_t K);

size_t suite_in_elems(const struct window *g);
size_t suite_out_elems(const struct window *g);

/* The cases. */
void suite_memory(struct suite *s); /* compute_memory_*, put, get */
void suite_gemm(struct suite *s);
void suite_elements(struct suite *s); /* bias_*, swap_axes, relu*, zero, accumulate, sgd_step, dropout */
void suite_updates(struct suite *s);  /* adagrad_step, adam_step */
void suite_convs(struct suite *s);
void suite_norms(struct suite *s);
void suite_pools(struct suite *s);
void suite_losses(struct suite *s);    /* softmax_xent, mean_square */
void suite_counts(struct suite *s);    /* compute.C2 */
void suite_gemm_only(struct suite *s); /* env.gemm_only */
void suite_untouched(struct suite *s); /* backends without memory */

#endif
