/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_periods.h - --push-every, --pull-every, --stop-at-step and --timeline-steps: where they mean something, and what
 * they came to.
 */
#ifndef HARNESS_TRAIN_JOB_PERIODS_H
#define HARNESS_TRAIN_JOB_PERIODS_H

#include "harness/train/train.h"

/* With --stop-at-step: steps := as many as one worker alone would do, the most that any does. Of a job whose mode and
 * consistency are known. RC_INVAL: what of the job they do not go with. */
enum rc job_periods_resolve(struct train_job *job, const struct opt_group *group, int n_groups) MUST_CHECK;
/* RC_INVAL: the checkpoint is of the middle of a period, or has as many updates as are wanted. */
enum rc job_periods_check_resume(const struct train_job *job) MUST_CHECK;
/* The most steps that a worker can do, after those of the checkpoint that the run goes on from. */
size_t job_periods_n_steps(const struct train_job *job);
/* --timeline-steps, of a job whose steps are known. RC_INVAL: they are no range, not of this run, or there is no
 * timeline. */
enum rc job_periods_timeline(struct train_job *job) MUST_CHECK;
/* May a run that is told to stop end behind n_steps of its steps? */
bool job_periods_may_stop(const struct train_job *job, size_t n_steps);
/* What a worker needs for them: bytes. */
size_t job_periods_bytes(const struct train_job *job);
/* "41 and 59: 100 updates, as --stop-at-step says", or what elastic.h has; "" where each worker does as many as the
 * others. */
const char *job_steps_text(char *out, size_t n_bytes, const struct train_job *job, const struct train_result *r);
/* "every 4th step (a sum of gradients), every 2nd step"; "" where every step pushes and pulls. */
const char *job_periods_text(char *out, size_t n_bytes, const struct train_job *job, const struct train_result *r);
void record_periods(struct record *r, const struct train_job *job, const struct train_result *result);
void record_periods_of_rank(struct record *r, const struct train_job *job, const struct train_result *result, int i);

#endif
