/* SPDX-License-Identifier: Apache-2.0 */
/* job_memory.h - the memory that a job needs, and the largest batch that fits. */
#ifndef HARNESS_TRAIN_JOB_MEMORY_H
#define HARNESS_TRAIN_JOB_MEMORY_H

#include <stddef.h>

#include "harness/train/train.h"

struct network;

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

#endif
