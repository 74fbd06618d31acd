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
    const struct sync *sync;   /* NULL: --forward-only */
    const float *param;        /* float[n_params], memory of compute; NULL on servers or hollow */
    float *grad;               /* likewise, overwritten; NULL with --forward-only too */
};

/* Collective over env->world, every rank. *out on rank 0: the slowest rank of each kind. Each part takes 3 repeats,
 * then more for at most 60 ms; one whose repeats take over 1 s ends after the first. Exchanges are at most 50 of each
 * of two lengths, as many as move 256 MiB, 2 at least; a step's message over 32 MiB is worked out from one of that
 * length, an update of more than 4 Mi elements from that many. Parameters and optimiser state stay as they are,
 * running means do not. */
enum rc probe_limits(struct train_limits *out, const struct probe_env *env) MUST_CHECK;

/* Least time of a step's messages, from two measured exchanges: alpha_s of the smallest message (a latency), message_s
 * of one of n_bytes, from which the step's own length follows in proportion. The longer of what must go in turn, each
 * with its latency, and of what shares a link. Pure. Source: Hockney, Parallel Computing 20, 1994. */
double probe_wire_s(const struct wire_plan *plan, double alpha_s, double message_s, size_t n_bytes);

#endif
