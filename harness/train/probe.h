/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe.h - the limits of the parts of this machine (or simulated cluster), measured just before and just after the
 * steps of a run. The probe uses the run's own code: one worker alone, all workers computing, neighbours exchanging, a
 * server updating. The bound follows from these limits: bound.h.
 */
#ifndef HARNESS_TRAIN_PROBE_H
#define HARNESS_TRAIN_PROBE_H

#include "harness/train/train.h"

struct probe_env { /* of one rank; borrowed */
    struct world *world;
    const struct train_job *job;
    struct compute *compute;
    struct training *training; /* NULL on servers */
    struct wire_plan wire;     /* the messages of a step; zeros: there is no exchange */
    double activations_s;      /* least time for the step's activations in a group of shards; 0: it has none */
    const float *param;        /* float[n_params], memory of compute; NULL on servers and without data */
    float *grad;               /* likewise, overwritten; NULL with --forward-only too */
};

/* Collective over env->world, every rank. Fills *out on rank 0. Workers: the slowest if they meet every step, else
 * their mean rate. Paths between neighbours: the mean, because a ring's messages cross all of them in turn. Servers:
 * the slowest. For the number of measurements see bench/series.h and, for messages, bench/alpha_beta.h. Parameters and
 * optimiser state stay as they are; running means change. */
enum rc probe_limits(struct train_limits *out, const struct probe_env *env) MUST_CHECK;
/* Measure only the wire and the server; the other limits become NaN. */
enum rc probe_exchange(struct train_limits *out, const struct probe_env *env) MUST_CHECK;
/* Like probe_limits(), after the run. Omits the baseline, which bounds nothing: 0. */
enum rc probe_limits_again(struct train_limits *out, const struct probe_env *env) MUST_CHECK;

#endif
