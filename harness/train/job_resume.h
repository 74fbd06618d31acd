/* SPDX-License-Identifier: Apache-2.0 */
/* job_resume.h - --resume: whether a checkpoint is one that this job can go on from. */
#ifndef HARNESS_TRAIN_JOB_RESUME_H
#define HARNESS_TRAIN_JOB_RESUME_H

#include "harness/train/train.h"

/* Load job->resume, of a job whose model, optimiser and steps are known; nothing without --resume. RC_INVAL names the
 * file and what of it is another; RC_NOMEM. */
enum rc job_resume_resolve(struct train_job *job) MUST_CHECK;

#endif
