/* SPDX-License-Identifier: Apache-2.0 */
/* stages_bound.h - the bound of a run in stages (job_stages.h), and the utilisation of its ranks. */
#ifndef HARNESS_TRAIN_STAGES_BOUND_H
#define HARNESS_TRAIN_STAGES_BOUND_H

#include "harness/report/record.h"
#include "harness/train/train.h"

struct stage_limits {             /* of one stage, measured; seconds */
    double forward_s, backward_s; /* least time of any worker for a micro-batch in this run; 0: none */
    double latency_s;             /* of a message to the next stage */
    double pass_s;                /* of a tensor to it, after the latency */
    double gather_s, scatter_s;   /* of a micro-batch in a shard group, forward and backward; 0: it has none */
    double exchange_s;            /* of its gradients among its replicas, per step; 0: no replicas; NaN: not known */
};

/* The least time of a step: the longest path through the schedule (models/engine/stage_timing.h). Times are the
 * profile's, else the least that any replica of a stage computed for a micro-batch in this run. Steps follow each
 * other; each stage exchanges its gradients after its last backward, unless the exchange starts earlier. With S equal
 * stages, M micro-batches and free messages it is (M + S - 1) / M times a stage's computing in a step (Huang et al.,
 * "GPipe", 2019). One forward, one backward gives the same (Narayanan et al., "PipeDream", 2019). With unequal stages
 * it is less than that factor times the slowest stage: only that one has all its M micro-batches on the path. With its
 * own times a run cannot beat this bound: none of its actions took less, and more actions make no path shorter. The
 * bound then shows what links, exchange and variation in computing add to the schedule, not whether stages compute as
 * fast as possible. NaN: no times are known, or an exchange time is not. limits: [stages]. RC_NOMEM. */
enum rc stages_find_bound(double *bound_s, const struct train_job *job, const struct stage_limits *limits,
                          bool overlaps) MUST_CHECK;
/* Do the stages' compute times come from a profile, not from the run itself? */
bool stages_have_profile(const struct train_job *job);
/* Samples per second of one rank that computes the whole network alone, by the profile; NaN: no profile. */
double stages_alone_samples_per_s(const struct train_job *job);
/* Add to a summary: imbalance, bubble and bound; nothing without stages. */
void record_stages(struct record *r, const struct train_job *job, const struct train_result *result);

#endif
