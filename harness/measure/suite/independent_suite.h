/* SPDX-License-Identifier: Apache-2.0 */
/* independent_suite.h - what independent.h promises, checked on any implementation of it. Tests only. */
#ifndef HARNESS_MEASURE_SUITE_INDEPENDENT_SUITE_H
#define HARNESS_MEASURE_SUITE_INDEPENDENT_SUITE_H

#include "harness/measure/independent.h"

typedef struct contrast independent_fn(const double *first, size_t n_first, const double *second, size_t n_second);

/* Number of checks that failed, each printed on standard error; -1: no such group. NULL: all groups. */
int independent_suite(independent_fn *compare, const char *group);

#endif
