/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe.h - what the parts of this machine (or simulated cluster) could do, measured just before and just after the
 * steps of a run, by the same code the run uses: one worker alone, all workers computing, neighbours exchanging, a
 * server updating. What follows from it: bound.h.
 */
#ifndef HARNESS_TRAIN_PROBE_H
#define HARNESS_TRAIN_PROBE_H

#include "harness/train/train.h"

struct probe_env { /* of one rank; borrowed */
    struct world *world;
    const struct train_job *job;
    struct compute *compute;
    struct training *training; /* NULL on servers */
    struct wire_plan wire;     /* the messages of a step; zeros: nothing is exchanged */
    double activations_s;      /* what the step's activations take at the least in a group of shards; 0: it has none */
    const float *param;        /* float[n_params], memory of compute; NULL on servers or hollow */
    float *grad;               /* likewise, overwritten; NULL with --forward-only too */
};

/* Collective over env->world, every rank. *out on rank 0: of workers that meet every step the slowest, of others what
 * their mean rate takes; of the paths between neighbours the mean (a ring's messages cross all of them in turn); of
 * servers the slowest. How often each part is measured: bench/series.h and, for messages, bench/alpha_beta.h.
 * Parameters and optimiser state stay as they are, running means do not. */
enum rc probe_limits(struct train_limits *out, const struct probe_env *env) MUST_CHECK;
/* Of these the wire and the server alone; the others: NaN. */
enum rc probe_exchange(struct train_limits *out, const struct probe_env *env) MUST_CHECK;
/* The same after the run, but for the baseline, which bounds nothing: 0. */
enum rc probe_limits_again(struct train_limits *out, const struct probe_env *env) MUST_CHECK;

#endif
