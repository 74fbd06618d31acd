/* SPDX-License-Identifier: Apache-2.0 */
/* steady_suite.h - what steady.h promises, checked on any implementation. Tests only. */
#ifndef HARNESS_MEASURE_SUITE_STEADY_SUITE_H
#define HARNESS_MEASURE_SUITE_STEADY_SUITE_H

#include "harness/measure/steady.h"

typedef struct steady steady_fn(const double *x, size_t n);

/* Number of checks that failed, each printed on standard error; -1: no such group. NULL: all groups, up to the first
 * that fails. */
int steady_suite(steady_fn *find, const char *group);

/* A wrong implementation by name; NULL: there is none of that name. */
steady_fn *steady_mutant(const char *name);

/* MSER-5 as its paper states it, for every cut mean and squares anew: leading values to cut, n <= 4000. For tests and
 * mutants. */
size_t mser_by_definition(const double *x, size_t n);

#endif
