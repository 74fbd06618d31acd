/* SPDX-License-Identifier: Apache-2.0 */
/* job_drill.h - how long ranks may be silent, what their loss does, and a failure to order. For job.c. */
#ifndef HARNESS_TRAIN_JOB_DRILL_H
#define HARNESS_TRAIN_JOB_DRILL_H

#include "harness/train/train.h"

/* Work out job->on_loss of the ranks of job. RC_INVAL. */
enum rc job_on_loss_resolve(struct train_job *job) MUST_CHECK;
/* Work out --stall-warn-s, and job->drill of the ranks of job. RC_INVAL. */
enum rc job_drill_resolve(struct train_job *job, const struct opt_group *group, int n_groups) MUST_CHECK;

/* Work out job->faults, of --flip-bit and --slow-rank. RC_INVAL. */
enum rc job_faults_resolve(struct train_job *job, const struct opt_group *group, int n_groups) MUST_CHECK;
/* All else of job is worked out: draw the step of its drill, where that is wanted. Will it happen? RC_INVAL. */
enum rc job_drill_check(struct train_job *job) MUST_CHECK;

#endif
