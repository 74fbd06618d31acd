/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_input.h - the source of the workers' samples: --input.
 *
 *   direct     each worker opens the files and reads the samples of its part of every round (train.L1), wherever they
 *              are in the files; if it pays, a thread prefetches the next batch during computing
 *   feed       a driver, the last rank, reads for all workers and pushes batches to them (data/feed.h)
 *   synthetic  no worker reads a file: images of the same shape and number are computed from --seed, as with --data
 *              synthetic
 */
#ifndef HARNESS_TRAIN_JOB_INPUT_H
#define HARNESS_TRAIN_JOB_INPUT_H

#include "harness/train/train.h"

/* Before the ranks are counted: set *out if the job has a driver. RC_INVAL: no driver is possible in this world, or
 * with another option. RC_UNSUPPORTED: no transport of this program can carry batches. */
enum rc job_input_resolve(struct train_job *job) MUST_CHECK;
/* Check, once the model and its data are known. RC_INVAL: the model takes no images, or nothing is computed. */
enum rc job_input_check(const struct train_job *job) MUST_CHECK;
/* Replace a data set of files by synthetic images of its shape. Errors: those of opening them. */
enum rc job_input_replace(struct train_job *job) MUST_CHECK;
/* Memory of a driver, in bytes. */
size_t job_input_driver_bytes(const struct train_job *job);

#endif
