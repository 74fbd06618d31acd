/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trajectory.h - the path of every worker through the parameters of a small model, as a table for charts and lessons.
 *
 * One row for each step of each worker, workers one after the other: worker, step, time_s (since the first worker's
 * first step began), samples_count (that all workers have taken before that step), loss (of the batch that the worker
 * takes in it), then the parameters it begins with, a column for each of its names. The last row of a worker is behind
 * its last step: the loss is nan.
 */
#ifndef HARNESS_TRAIN_TRAJECTORY_H
#define HARNESS_TRAIN_TRAJECTORY_H

#include "harness/train/train.h"

/* RC_INVAL: path cannot be written; RC_IO: nothing new is there. */
enum rc trajectory_write(const char *path, const struct train_job *job, const struct train_result *result) MUST_CHECK;

#endif
