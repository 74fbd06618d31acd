/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_accumulate.h - --accumulate M: a worker computes its batch in M micro-batches and adds up their gradients
 * (workload.h, M8). The update is that of the whole batch; the memory is that of one micro-batch.
 */
#ifndef HARNESS_TRAIN_JOB_ACCUMULATE_H
#define HARNESS_TRAIN_JOB_ACCUMULATE_H

#include "data/batch_order.h"
#include "harness/train/train.h"

/* Check --accumulate, for a job whose batch is known. RC_INVAL: a worker's batch has no M equal parts (names valid M);
 * or the job has no gradients to add up. */
enum rc job_accumulate_check(const struct train_job *job) MUST_CHECK;
/* Samples in a micro-batch of this worker; and the maximum over all workers. */
size_t job_micro_batch_of(const struct train_job *job, int worker);
size_t job_most_micro_batch(const struct train_job *job);
/* The order in which a worker takes its micro-batches. */
struct batch_order job_batch_order(const struct train_job *job, int worker);
/* "batch 16 each", "batch 16 each, in 4 micro-batches, 64 in all (strong scaling)" */
void job_batch_text(char *out, size_t n_bytes, const struct train_job *job);

#endif
