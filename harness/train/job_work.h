/* SPDX-License-Identifier: Apache-2.0 */
/* job_work.h - the part of a job that defines what is trained, on which data, and in how much memory. Private to
 * job*.c. */
#ifndef HARNESS_TRAIN_JOB_WORK_H
#define HARNESS_TRAIN_JOB_WORK_H

#include "harness/train/train.h"

/* The sizes of ImageNet's training and test set (Russakovsky et al., 2015). Also the epoch of a model without data. */
enum { SYNTHETIC_IMAGES = 1281167, SYNTHETIC_TEST_IMAGES = 50000 };

/* Fill workload, profile, network, dataset, precision, memory, n_params, n_state, flops_per_sample, n_eval, for a job
 * whose world, mode, ranks and compute are known. opts.batch, image_size, classes, model get their defaults. RC_INVAL,
 * RC_UNSUPPORTED: names an option, its value and valid ones. */
enum rc job_work_resolve(struct train_job *job, const struct opt_group *group, int n_groups) MUST_CHECK;

/* The facts of the job that modules may use, once n_params is known. */
struct job_facts train_job_facts(const struct train_job *job);

/* job_memory.c: set job->memory for its batch. RC_INVAL names the memory needed, the memory available and the largest
 * batch that fits. n: NULL: not a network. */
enum rc job_memory_resolve(struct train_job *job, const struct network *n) MUST_CHECK;
/* *out: bytes needed by the worker or server that needs most, on a host of the job. n: its network, or its stage. */
enum rc job_memory_of_rank(size_t *out, const struct train_job *job, const struct network *n) MUST_CHECK;
/* The same for a job that differs from base only in modules in use; base's memory is known. RC_INVAL. */
enum rc job_memory_vary(struct train_job *job, const struct train_job *base) MUST_CHECK;

#endif
