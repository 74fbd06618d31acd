/* SPDX-License-Identifier: Apache-2.0 */
/* local_sgd.h - --average-every K: where it is valid, and what a run with it can do (exchange.E8). */
#ifndef HARNESS_TRAIN_LOCAL_SGD_H
#define HARNESS_TRAIN_LOCAL_SGD_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/train/train.h"

/* Check it, for a job whose numbers are known. RC_INVAL. */
enum rc local_sgd_check(const struct train_job *job) MUST_CHECK;
/* Check the checkpoint that the run resumes from. RC_INVAL. */
enum rc local_sgd_check_resume(const struct train_job *job) MUST_CHECK;
/* May the run, if asked to stop, end after n_steps of its steps? A run that writes a checkpoint ends only after an
 * average: between averages the workers' parameters differ, and the checkpoint holds one worker's. */
bool local_sgd_may_stop(const struct train_job *job, size_t n_steps);

#endif
