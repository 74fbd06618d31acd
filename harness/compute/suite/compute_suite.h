/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compute_suite.h - what every compute backend is held to.
 *
 * A backend that touches memory: every operation against reference.h, over odd shapes, strides and
 * paddings, from one element to several tiles; exact where the input is integer-valued; inputs left
 * alone and nothing written around an array; equal bits when run again, at other alignments and with 1 to
 * 4 threads (C1); no allocation when run again (C3); losses there after a sync (C4); arrays reached
 * through put and get only, so that their memory need not be the host's (C5). A backend that does not:
 * NULL accepted everywhere, nothing written, losses NaN. Both: work counted and charged as C2 says, also
 * when env.gemm_only.
 */
#ifndef HARNESS_COMPUTE_SUITE_COMPUTE_SUITE_H
#define HARNESS_COMPUTE_SUITE_COMPUTE_SUITE_H

#include <stdio.h>

#include "harness/compute/compute.h"

struct compute_suite_options { /* a zeroed one is valid */
    enum precision precision;  /* not fp32: multiplications of reals are compared more loosely (suite_tolerance) */
    int device;
    int n_threads_most; /* 0: 4. 1: for a backend whose work no threads of env share, in a third of the time */
    const char *only;   /* NULL: every case. Else those with this in their names, and those of no one operation */
    FILE *log;          /* gets the first failure of each case; NULL: nothing, and the first failure ends it */
    size_t (*n_allocations)(void); /* made so far by this program; NULL: C3 is not checked */
};

/* Number of failed checks, 0 when b keeps its promises. options may be NULL. */
int compute_suite(const struct compute_backend *b, const struct compute_suite_options *options);

#endif
