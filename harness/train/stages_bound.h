/* SPDX-License-Identifier: Apache-2.0 */
/* stages_bound.h - what bounds a run in stages (job_stages.h), and how much of its ranks it uses. */
#ifndef HARNESS_TRAIN_STAGES_BOUND_H
#define HARNESS_TRAIN_STAGES_BOUND_H

#include "harness/report/record.h"
#include "harness/train/train.h"

struct stage_limits {             /* of one stage, measured; seconds */
    double forward_s, backward_s; /* the least that any worker computed for a micro-batch in this run; 0: none */
    double latency_s;             /* of a message to the stage behind */
    double pass_s;                /* of a tensor to it, behind the latency */
    double gather_s, scatter_s;   /* of a micro-batch in a group of shards, forward and backward; 0: it has none */
    double exchange_s; /* of its gradients among its replicas, in a step; 0: there are none; NaN: not known */
};

/* The least time of a step: the longest path through the schedule (models/engine/stage_timing.h) by the times of the
 * profile, else by the least that any replica of each stage computed for a micro-batch in this run; of step after step,
 * and behind each stage's last backward the exchange of its gradients, where that does not begin before. Of S equal
 * stages, M micro-batches and nothing on the way it is (M + S - 1) / M times what a stage computes in a step (Huang et
 * al., "GPipe", 2019, and with one forward, one backward Narayanan et al., "PipeDream", 2019: the same); of unequal
 * ones less than so many times the slowest, as only it has M of its own on the path. By its own times a run cannot be
 * faster: no action of it took less, and a path of more is no shorter. It then says what links, exchange and the
 * unsteadiness of computing add to the schedule, not whether the stages compute as fast as they could. NaN: neither is
 * known, or an exchange is not. limits: [stages]. RC_NOMEM. */
enum rc stages_find_bound(double *bound_s, const struct train_job *job, const struct stage_limits *limits,
                          bool overlaps) MUST_CHECK;
/* What stages compute is told by a profile, and not by the run itself. */
bool stages_have_profile(const struct train_job *job);
/* Samples per second of one rank that computes the whole network by itself, as the profile tells; NaN: there is none.
 */
double stages_alone_samples_per_s(const struct train_job *job);
/* Into a summary: imbalance, bubble and bound; nothing without stages. */
void record_stages(struct record *r, const struct train_job *job, const struct train_result *result);

#endif
