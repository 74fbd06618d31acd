/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trajectory.h - the parameters of every worker over the steps of a small model, as a table for charts and lessons.
 *
 * One row for each step of each worker, worker after worker. Columns: worker; step; time_s (since the first worker's
 * first step began); samples_count (taken by all workers before that step). Then loss (of the worker's batch in that
 * step) and one column for each parameter, at the start of the step. A worker's last row is after its last step: the
 * loss is nan.
 */
#ifndef HARNESS_TRAIN_TRAJECTORY_H
#define HARNESS_TRAIN_TRAJECTORY_H

#include "harness/train/train.h"

/* RC_INVAL: path cannot be written; RC_IO: the file is unchanged. */
enum rc trajectory_write(const char *path, const struct train_job *job, const struct train_result *result) MUST_CHECK;

#endif
