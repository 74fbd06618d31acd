/* SPDX-License-Identifier: Apache-2.0 */
/* expect_kit.h - what the suites of this room count their failures by. Tests only. */
#ifndef HARNESS_MEASURE_SUITE_EXPECT_KIT_H
#define HARNESS_MEASURE_SUITE_EXPECT_KIT_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

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

#endif
