/* SPDX-License-Identifier: Apache-2.0 */
/* job_optimizer.h - combines --optimizer, --momentum and --momentum-correction. */
#ifndef HARNESS_TRAIN_JOB_OPTIMIZER_H
#define HARNESS_TRAIN_JOB_OPTIMIZER_H

#include "harness/train/train.h"

/* Fill job->optimizer and used[TRAIN_OPTIMIZER], for a job whose model is known. RC_INVAL: the options conflict. */
enum rc job_optimizer_resolve(struct train_job *job, const struct opt_group *group, int n_groups) MUST_CHECK;
/* RC_INVAL: the checkpoint's optimiser has other state. SGD can resume from momentum, and momentum from SGD. */
enum rc job_optimizer_check_resume(const struct train_job *job) MUST_CHECK;

#endif
