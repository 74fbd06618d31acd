/* SPDX-License-Identifier: Apache-2.0 */
/* paired_suite.h - what paired.h promises, checked on any implementation of it. Tests only. */
#ifndef HARNESS_MEASURE_SUITE_PAIRED_SUITE_H
#define HARNESS_MEASURE_SUITE_PAIRED_SUITE_H

#include "harness/measure/paired.h"

struct paired_impl {
    struct comparison (*compare)(const double *first, const double *second, size_t n_pairs);
    int (*pairs)(double difference, double sd, double alpha, double power);
    void (*hold)(bool *holds, const double *p, size_t n);
};

/* Number of checks that failed, each printed on standard error; -1: no such group. NULL: all groups. */
int paired_suite(const struct paired_impl *impl, const char *group);

#endif
