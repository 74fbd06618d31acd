/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_input.h - where the samples of workers come from: --input.
 *
 *   direct     each worker opens the files, and reads the samples of its own part of every round (train.L1), wherever
 *              in the files they are; where that pays a thread of it reads the next batch while it computes
 *   feed       a driver, the last rank of all, reads for all workers and pushes batches to them (data/feed.h)
 *   synthetic  no worker reads a file: images of the same shape and number are computed from --seed, as with --data
 *              synthetic
 */
#ifndef HARNESS_TRAIN_JOB_INPUT_H
#define HARNESS_TRAIN_JOB_INPUT_H

#include "harness/train/train.h"

/* Before the ranks are counted: *out := is there a driver? RC_INVAL: there cannot be one in this world, or with another
 * option. RC_UNSUPPORTED: no transport of this program can carry batches. */
enum rc job_input_resolve(struct train_job *job) MUST_CHECK;
/* With the model and its data: RC_INVAL: it takes no images, or nothing is computed. */
enum rc job_input_check(const struct train_job *job) MUST_CHECK;
/* In place of a data set of files: synthetic images of its shape. Errors: those of opening them. */
enum rc job_input_replace(struct train_job *job) MUST_CHECK;
/* What a driver holds. */
size_t job_input_driver_bytes(const struct train_job *job);

#endif
