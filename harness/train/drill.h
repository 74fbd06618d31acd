/* SPDX-License-Identifier: Apache-2.0 */
/* drill.h - how long ranks may be silent, what their loss causes, and fault injection. */
#ifndef HARNESS_TRAIN_DRILL_H
#define HARNESS_TRAIN_DRILL_H

#include "harness/train/train.h"

/* Resolve job->on_loss for the job's ranks. RC_INVAL. */
enum rc job_on_loss_resolve(struct train_job *job) MUST_CHECK;
/* Resolve --stall-warn-s, and job->drill for the job's ranks. RC_INVAL. */
enum rc job_drill_resolve(struct train_job *job, const struct opt_group *group, int n_groups) MUST_CHECK;

/* Resolve job->faults, from --flip-bit and --slow-rank. RC_INVAL. */
enum rc job_faults_resolve(struct train_job *job, const struct opt_group *group, int n_groups) MUST_CHECK;
/* Once everything else of the job is resolved: draw the step of the fault if it is random, and check that the fault
 * will occur. RC_INVAL. */
enum rc job_drill_check(struct train_job *job) MUST_CHECK;

#endif
