/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suites.h - what the headers of this module promise, checked on any implementation of them. Tests only.
 *
 * A suite returns the number of checks that failed, each printed on standard error.
 */
#ifndef HARNESS_MEASURE_SUITE_SUITES_H
#define HARNESS_MEASURE_SUITE_SUITES_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "harness/measure/independent.h"
#include "harness/measure/interval.h"
#include "harness/measure/learning.h"
#include "harness/measure/paired.h"
#include "harness/measure/steady.h"
#include "harness/measure/steps.h"

#define N_ELEMS(a) (sizeof(a) / sizeof *(a))

/* 1 failure if it does not hold, printed on standard error; else 0. */
static inline int expect(bool holds, const char *what)
{
    if (!holds)
        fprintf(stderr, "  does not hold: %s\n", what);
    return holds ? 0 : 1;
}

static inline bool near(double a, double b, double tolerance_ratio)
{
    return fabs(a - b) <= tolerance_ratio * fabs(b);
}

/* --- independent.h --- */

typedef struct contrast independent_fn(const double *first, size_t n_first, const double *second, size_t n_second);

int independent_suite(independent_fn *compare);

/* --- interval.h --- */

struct interval_impl {
    double (*student)(double dof);
    struct interval (*autocorrelated)(const double *x, size_t n);
    struct interval (*launches)(const double *x, size_t n);
    struct interval (*reciprocal)(struct interval x, double scale);
};

int interval_suite(const struct interval_impl *impl);

/* --- learning.h --- */

typedef enum rc learning_judge_fn(struct learning *out, const struct losses *in);

int learning_suite(learning_judge_fn *judge);

/* --- paired.h --- */

struct paired_impl {
    struct comparison (*compare)(const double *first, const double *second, size_t n_pairs);
    int (*pairs)(double difference, double sd, double alpha, double power);
    void (*hold)(bool *holds, const double *p, size_t n);
};

int paired_suite(const struct paired_impl *impl);

/* --- steady.h --- */

typedef struct steady steady_fn(const double *x, size_t n);

/* Of all checks up to the first part that fails. */
int steady_suite(steady_fn *find);

/* MSER-5 as its paper states it, for every cut mean and squares anew: leading values to cut, n <= 4000. For tests and
 * mutants. */
size_t mser_by_definition(const double *x, size_t n);

/* --- steps.h --- */

typedef enum rc summarise_fn(struct steps_summary *out, const struct steps *in);

int steps_suite(summarise_fn *summarise);

#endif
