/* SPDX-License-Identifier: Apache-2.0 */
/* local_sgd.h - --average-every K: where it means something, and what a run with it can be asked for (exchange.E8). */
#ifndef HARNESS_TRAIN_LOCAL_SGD_H
#define HARNESS_TRAIN_LOCAL_SGD_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/train/train.h"

/* Of a job whose numbers are known. RC_INVAL. */
enum rc local_sgd_check(const struct train_job *job) MUST_CHECK;
/* Of the checkpoint that it goes on from. RC_INVAL. */
enum rc local_sgd_check_resume(const struct train_job *job) MUST_CHECK;
/* May the run, which is told to stop, end after n_steps of its steps? One that writes a checkpoint ends behind an
 * average: in between each worker has parameters of its own, and the checkpoint holds one worker's. */
bool local_sgd_may_stop(const struct train_job *job, size_t n_steps);

#endif
