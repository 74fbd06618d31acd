/* SPDX-License-Identifier: Apache-2.0 */
/* interval_suite.h - what interval.h promises, checked on any implementation of it. Tests only. */
#ifndef HARNESS_MEASURE_SUITE_INTERVAL_SUITE_H
#define HARNESS_MEASURE_SUITE_INTERVAL_SUITE_H

#include "harness/measure/interval.h"

struct interval_impl {
    double (*student)(double dof);
    struct interval (*autocorrelated)(const double *x, size_t n);
    struct interval (*launches)(const double *x, size_t n);
    struct interval (*reciprocal)(struct interval x, double scale);
};

/* Number of checks that failed, each printed on standard error; -1: no such group. NULL: all groups. */
int interval_suite(const struct interval_impl *impl, const char *group);

#endif
