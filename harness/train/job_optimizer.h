/* SPDX-License-Identifier: Apache-2.0 */
/* job_optimizer.h - --optimizer, --momentum and --momentum-correction: which they make together. */
#ifndef HARNESS_TRAIN_JOB_OPTIMIZER_H
#define HARNESS_TRAIN_JOB_OPTIMIZER_H

#include "harness/train/train.h"

/* Fill job->optimizer and used[TRAIN_OPTIMIZER] of a job whose model is known. RC_INVAL: options that do not go
 * together. */
enum rc job_optimizer_resolve(struct train_job *job, const struct opt_group *group, int n_groups) MUST_CHECK;
/* RC_INVAL: the checkpoint's optimiser keeps something else. SGD and momentum may follow each other. */
enum rc job_optimizer_check_resume(const struct train_job *job) MUST_CHECK;

#endif
