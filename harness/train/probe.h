/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe.h - what the parts of this machine (or simulated cluster) could do, measured just before the run, by
 * the same code the run uses: one worker alone, all workers computing, neighbours exchanging, a server updating.
 */
#ifndef HARNESS_TRAIN_PROBE_H
#define HARNESS_TRAIN_PROBE_H

#include "harness/train/train.h"

struct probe_env { /* of one rank; borrowed */
    struct world *world;
    const struct train_job *job;
    struct compute *compute;
    struct training *training; /* NULL on servers */
    const struct sync *sync;
    const float *param; /* float[n_params]; hollow: NULL */
    float *grad;        /* float[n_params], overwritten; NULL on servers or hollow */
    size_t n_params;
};

/* Collective over env->world, every rank. *out on rank 0: the slowest rank of each kind. Each part takes
 * 3 repeats, then more for at most 60 ms; exchanges are 50 of each of two lengths. Parameters and optimiser state stay
 * as they are. */
enum rc probe_limits(struct train_limits *out, const struct probe_env *env) MUST_CHECK;

#endif
