/* SPDX-License-Identifier: Apache-2.0 */
/* learning_suite.h - what learning.h promises, checked on any implementation of it. Tests only. */
#ifndef HARNESS_MEASURE_SUITE_LEARNING_SUITE_H
#define HARNESS_MEASURE_SUITE_LEARNING_SUITE_H

#include "harness/measure/learning.h"

typedef enum rc learning_judge_fn(struct learning *out, const struct losses *in);

/* Number of checks that failed, each printed on standard error; -1: no such group. NULL: all groups. */
int learning_suite(learning_judge_fn *judge, const char *group);

#endif
