/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input.h - the source of the workers' samples: --input.
 *
 *   direct     each worker opens the files and reads the samples of its part of every round (train.L1), wherever they
 *              are in the files; if it pays, a thread prefetches the next batch during computing
 *   feed       a driver, the last rank, reads for all workers and pushes batches to them (data/feed.h)
 *   synthetic  no worker reads a file: images of the same shape and number are computed from --seed, as with --data
 *              synthetic
 */
#ifndef HARNESS_TRAIN_INPUT_H
#define HARNESS_TRAIN_INPUT_H

#include "data/dataset.h"
#include "harness/train/train.h"
#include "models/engine/network.h"

/* Before the ranks are counted: set *out if the job has a driver. RC_INVAL: no driver is possible in this world, or
 * with another option. RC_UNSUPPORTED: no transport of this program can carry batches. */
enum rc job_input_resolve(struct train_job *job) MUST_CHECK;
/* Check, once the model and its data are known. RC_INVAL: the model takes no images, or nothing is computed. */
enum rc job_input_check(const struct train_job *job) MUST_CHECK;
/* Replace a data set of files by synthetic images of its shape. Errors: those of opening them. */
enum rc job_input_replace(struct train_job *job) MUST_CHECK;
/* Memory of a driver, in bytes. */
size_t job_input_driver_bytes(const struct train_job *job);

/* --- image files given by --data: they set what the user does not, and must fit the network --- */

/* *image_size, *classes: 0 is replaced by the file's value. *out: owned by the caller, also after an error. Errors:
 * RC_INVAL, RC_IO and those of dataset_open_path(); the message has --data, the path and the problem. */
enum rc file_data_open(struct dataset **out, const char *path, uint64_t *image_size, uint64_t *classes) MUST_CHECK;
/* path: or the name to use in the message. RC_INVAL: channels, size or classes of the images differ from the
 * network's. */
enum rc file_data_check(const struct dataset *d, const char *path, const struct network *n) MUST_CHECK;

#endif
