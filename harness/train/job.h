/* SPDX-License-Identifier: Apache-2.0 */
/* job.h - what job_work.c, job_memory.c and drill.c resolve for job.c. Private to this room, but for
 * max_batch_text(). */
#ifndef HARNESS_TRAIN_JOB_H
#define HARNESS_TRAIN_JOB_H

#include <stddef.h>

#include "harness/train/train.h"

struct network;

/* --- job_work.c: what is trained, on which data, from which checkpoint --- */

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

/* --- job_memory.c: the memory that a job needs, and the largest batch that fits --- */

/* Set job->memory for its batch. RC_INVAL names the memory needed, the memory available and the largest batch that
 * fits. n: NULL: not a network. */
enum rc job_memory_resolve(struct train_job *job, const struct network *n) MUST_CHECK;
/* *out: bytes needed by the worker or server that needs most, on a host of the job. n: its network, or its stage. */
enum rc job_memory_of_rank(size_t *out, const struct train_job *job, const struct network *n) MUST_CHECK;
/* The same for a job that differs from base only in modules in use; base's memory is known. RC_INVAL. */
enum rc job_memory_vary(struct train_job *job, const struct train_job *base) MUST_CHECK;

enum { MAX_BATCH_TEXT_BYTES = 64 };

/* Bytes that a batch needs. Must not decrease with the batch. */
typedef enum rc max_batch_bytes_fn(const void *arg, size_t batch, double *n_bytes);

/* text := "--batch N fits", or that no batch fits. Candidates are all multiples of `unit` below too_large, which is a
 * multiple that does not fit. Errors: those of bytes(), which is called log2(too_large) times. */
enum rc max_batch_text(char text[MAX_BATCH_TEXT_BYTES], size_t too_large, size_t unit, double available_bytes,
                       max_batch_bytes_fn *bytes, const void *arg) MUST_CHECK;

/* --- drill.c: how long ranks may be silent, what their loss causes, and fault injection --- */

/* Resolve job->on_loss for the job's ranks. RC_INVAL. */
enum rc job_on_loss_resolve(struct train_job *job) MUST_CHECK;
/* Resolve job->drill and job->faults for the job's ranks. RC_INVAL. */
enum rc job_faults_resolve(struct train_job *job) MUST_CHECK;

/* Once everything else of the job is resolved: draw the step of the fault if it is random, and check that the fault
 * will occur. RC_INVAL. */
enum rc job_faults_check(struct train_job *job) MUST_CHECK;

#endif
