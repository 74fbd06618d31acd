/* SPDX-License-Identifier: Apache-2.0 */
/* job_work.h - the part of a job that says what is trained, on what data, in how much memory. Private to job*.c. */
#ifndef HARNESS_TRAIN_JOB_WORK_H
#define HARNESS_TRAIN_JOB_WORK_H

#include "harness/train/train.h"

/* As many as ImageNet's training and test set (Russakovsky et al., 2015); an epoch of a model without data too. */
enum { SYNTHETIC_IMAGES = 1281167, SYNTHETIC_TEST_IMAGES = 50000 };

/* Fill workload, profile, network, dataset, precision, memory, n_params, n_state, flops_per_sample, n_eval of a job
 * whose world, mode, ranks and compute are known; opts.batch, image_size, classes, model get their defaults. RC_INVAL,
 * RC_UNSUPPORTED: an option, its value and what would be right. */
enum rc job_work_resolve(struct train_job *job, const struct opt_group *group, int n_groups) MUST_CHECK;

/* What modules may know of the job, once n_params is known. */
struct job_facts train_job_facts(const struct train_job *job);

/* job_memory.c: job->memory for its batch; RC_INVAL names what is needed, what is there and the largest batch that
 * fits. n: NULL: not a network. */
enum rc job_memory_resolve(struct train_job *job, const struct network *n) MUST_CHECK;
/* *out: bytes that the worker or server of a host's job needs that needs most. n: its network, or its stage. */
enum rc job_memory_of_rank(size_t *out, const struct train_job *job, const struct network *n) MUST_CHECK;
/* The same of a job that differs from base, whose memory is known, in modules in use. RC_INVAL. */
enum rc job_memory_vary(struct train_job *job, const struct train_job *base) MUST_CHECK;

#endif
