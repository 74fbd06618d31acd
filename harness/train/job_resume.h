/* SPDX-License-Identifier: Apache-2.0 */
/* job_resume.h - --resume: loads a checkpoint and checks that this job can continue from it. */
#ifndef HARNESS_TRAIN_JOB_RESUME_H
#define HARNESS_TRAIN_JOB_RESUME_H

#include "harness/train/train.h"

/* Load job->resume, for a job whose model, optimiser and steps are known; does nothing without --resume. RC_INVAL names
 * the file and what differs; RC_NOMEM. */
enum rc job_resume_resolve(struct train_job *job) MUST_CHECK;

#endif
