/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_accumulate.h - --accumulate M: a worker computes its batch in M micro-batches and adds up their gradients
 * (workload.h, M8): the updates of the whole batch in the memory of a part.
 */
#ifndef HARNESS_TRAIN_JOB_ACCUMULATE_H
#define HARNESS_TRAIN_JOB_ACCUMULATE_H

#include "data/batch_order.h"
#include "harness/train/train.h"

/* Of a job whose batch is known. RC_INVAL: the batch of a worker has no M equal parts, and which M it has; or there are
 * no gradients to add up. */
enum rc job_accumulate_check(const struct train_job *job) MUST_CHECK;
/* Samples of a micro-batch of this worker; the most of any. */
size_t job_micro_batch_of(const struct train_job *job, int worker);
size_t job_most_micro_batch(const struct train_job *job);
/* The order in which it takes its micro-batches. */
struct batch_order job_batch_order(const struct train_job *job, int worker);
/* "batch 16 each", "batch 16 each, in 4 micro-batches, 64 in all (strong scaling)" */
void job_batch_text(char *out, size_t n_bytes, const struct train_job *job);

#endif
