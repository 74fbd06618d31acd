/* SPDX-License-Identifier: Apache-2.0 */
/* job_work.h - the part of a job that defines what is trained, on which data, from which checkpoint. Private to
 * this room. */
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

/* Load job->resume, for a job whose model, optimiser and steps are known; does nothing without --resume. RC_INVAL names
 * the file and what differs; RC_NOMEM. */
enum rc job_resume_resolve(struct train_job *job) MUST_CHECK;

#endif
