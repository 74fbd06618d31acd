/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compute_suite.h - what every compute backend is held to.
 *
 * A backend that touches memory: every operation is compared with reference.h, over odd shapes, strides and paddings,
 * from one element to several tiles, exactly if the input is integer-valued. Inputs are unchanged, nothing is written
 * beside an output; equal bits when run again, at other alignments and with 1 to 4 threads (compute.C1; a GEMM or
 * convolution without bits_at_any_alignment is compared with the reference at each alignment instead); no allocation
 * when run again (compute.C3); losses valid after a sync (compute.C4). Arrays are accessed by put and get only, so that
 * they may be in device memory (compute.C5). A backend that touches no memory: NULL is accepted everywhere, nothing is
 * written, losses are NaN. Both: work is counted and charged (compute.C2), also if env.gemm_only.
 */
#ifndef HARNESS_COMPUTE_SUITE_COMPUTE_SUITE_H
#define HARNESS_COMPUTE_SUITE_COMPUTE_SUITE_H

#include <stdio.h>

#include "harness/compute/compute.h"

struct compute_suite_options { /* a zeroed one is valid */
    enum precision precision;  /* not fp32: products of reals have a larger tolerance (suite_tolerance) */
    int device;
    int n_threads_most; /* 0: 4. 1: for a backend that ignores env.n_threads, in a third of the time */
    const char *only;   /* NULL: every case. Else those whose name contains it, and those about no single operation */
    FILE *log;          /* the first failure of each case; NULL: not logged, and the first failure ends the suite */
    size_t (*n_allocations)(void); /* made so far by this program; NULL: compute.C3 is not checked */
};

/* Number of failed checks; 0: b conforms. options may be NULL. */
int compute_suite(const struct compute_backend *b, const struct compute_suite_options *options);

#endif
