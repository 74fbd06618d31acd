/* SPDX-License-Identifier: Apache-2.0 */
/* stages_bound.h - what bounds a run in stages (job_stages.h), and how much of its ranks it uses. */
#ifndef HARNESS_TRAIN_STAGES_BOUND_H
#define HARNESS_TRAIN_STAGES_BOUND_H

#include "harness/report/record.h"
#include "harness/train/train.h"

struct stage_limits {           /* of one stage, measured; seconds */
    double latency_s;           /* of a message to the stage behind */
    double pass_s;              /* of a tensor to it, behind the latency */
    double gather_s, scatter_s; /* of a micro-batch in a group of shards, forward and backward; 0: it has none */
    double exchange_s;          /* of its gradients among its replicas, in a step; 0: there are none; NaN: not known */
};

/* The least time of a step: the longest path through the schedule (models/engine/stage_timing.h) by the times of the
 * profile; of step after step, and behind each stage's last backward the exchange of its gradients, where that does not
 * begin before. NaN: no profile tells what stages compute, or an exchange is not known. limits: [stages]. RC_NOMEM. */
enum rc stages_find_bound(double *bound_s, const struct train_job *job, const struct stage_limits *limits,
                          bool overlaps) MUST_CHECK;
/* Samples per second of one rank that computes the whole network by itself, as the profile tells; NaN: there is none.
 */
double stages_alone_samples_per_s(const struct train_job *job);
/* Into a summary: imbalance, bubble and bound; nothing without stages. */
void record_stages(struct record *r, const struct train_job *job, const struct train_result *result);

#endif
