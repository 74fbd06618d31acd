/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compute_suite.h - what every compute backend is held to.
 *
 * A backend that touches memory: every operation against a plain double-precision reference, over
 * odd shapes, strides and paddings; exact where the input is integer-valued; nothing written past
 * an array; equal bits when run again and at other alignments (C1). A backend that does not: NULL
 * accepted everywhere, nothing written, losses NaN. Both: work counted and charged as C2 says.
 */
#ifndef HARNESS_COMPUTE_COMPUTE_SUITE_H
#define HARNESS_COMPUTE_COMPUTE_SUITE_H

#include <stdio.h>

#include "harness/compute/compute.h"

/* Number of failed checks, 0 when b keeps its promises. Failures are written to log, the first
 * of each case; NULL: nowhere. */
int compute_suite(const struct compute_backend *b, FILE *log);

#endif
