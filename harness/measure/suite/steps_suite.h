/* SPDX-License-Identifier: Apache-2.0 */
/* steps_suite.h - what steps.h promises of a summary, checked on any implementation. Tests only. */
#ifndef HARNESS_MEASURE_SUITE_STEPS_SUITE_H
#define HARNESS_MEASURE_SUITE_STEPS_SUITE_H

#include "harness/measure/steps.h"

typedef enum rc summarise_fn(struct steps_summary *out, const struct steps *in);

/* Number of checks that failed, each printed on standard error; -1: no such group. NULL: all groups. */
int steps_suite(summarise_fn *summarise, const char *group);

/* A wrong implementation by name; NULL: there is none of that name. */
summarise_fn *steps_mutant(const char *name);

#endif
