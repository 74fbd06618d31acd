/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_periods.h - --push-every, --pull-every, --stop-at-step and --timeline-steps: where they are valid, and their
 * results.
 */
#ifndef HARNESS_TRAIN_JOB_PERIODS_H
#define HARNESS_TRAIN_JOB_PERIODS_H

#include "harness/train/train.h"

/* With --stop-at-step: set steps to what one worker alone would do, the maximum for any worker. For a job whose mode
 * and consistency are known. RC_INVAL: names what they cannot be combined with. */
enum rc job_periods_resolve(struct train_job *job, const struct opt_group *group, int n_groups) MUST_CHECK;
/* RC_INVAL: the checkpoint is within a period, or already has as many updates as requested. */
enum rc job_periods_check_resume(const struct train_job *job) MUST_CHECK;
/* Maximum steps of a worker in this run, not counting those of the checkpoint it resumes from. */
size_t job_periods_n_steps(const struct train_job *job);
/* Resolve --timeline-steps, for a job whose steps are known. RC_INVAL: not a range, not within this run, or there is no
 * timeline. */
enum rc job_periods_timeline(struct train_job *job) MUST_CHECK;
/* May a run that was asked to stop end after n_steps of its steps? */
bool job_periods_may_stop(const struct train_job *job, size_t n_steps);
/* Memory that a worker needs for them, in bytes. */
size_t job_periods_bytes(const struct train_job *job);
/* "41 and 59: 100 updates, as --stop-at-step says", or the text of elastic.h; "" if each worker does the same number of
 * steps. */
const char *job_steps_text(char *out, size_t n_bytes, const struct train_job *job, const struct train_result *r);
/* "every 4th step (a sum of gradients), every 2nd step"; "" if every step pushes and pulls. */
const char *job_periods_text(char *out, size_t n_bytes, const struct train_job *job, const struct train_result *r);
void record_periods(struct record *r, const struct train_job *job, const struct train_result *result);
void record_periods_of_rank(struct record *r, const struct train_job *job, const struct train_result *result, int i);

#endif
