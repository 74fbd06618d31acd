/* SPDX-License-Identifier: Apache-2.0 */
/*
 * global_batch.h - --global-batch N, strong scaling: all workers together have N samples a round, each N / W of them.
 * Without it scaling is weak: each worker has --batch samples, whatever W is.
 *
 * Invariants
 *   F1  N / W is a whole number, and is the batch of each worker from here on: code that uses a worker's batch does not
 *       need N.
 *   F2  Efficiency under strong scaling is throughput(W) / (W x throughput of single with a batch of N). A single run
 *       has no such baseline: its probe measures one worker alone with a batch of N / W. So its efficiency is NaN.
 *   F3  No --lr-scaling: a round has the same number of samples at every W, and so has a synchronous update.
 *       Asynchronous modes make W updates of N / W samples each, at a rate that must be found (gradmark compare
 *       --tune-lr).
 */
#ifndef HARNESS_TRAIN_GLOBAL_BATCH_H
#define HARNESS_TRAIN_GLOBAL_BATCH_H

#include "harness/train/train.h"

/* F1: set job->opts.batch of a job whose workers are known. RC_INVAL: N / W is not whole or exceeds the limit of a
 * worker, or --batch was given too. */
enum rc global_batch_resolve(struct train_job *job, const struct opt_group *group, int n_groups) MUST_CHECK;
/* resolved: the outcome of resolving something. If it is an error about --batch, the message adds where that value came
 * from. */
enum rc global_batch_explain(const struct train_job *job, enum rc resolved) MUST_CHECK;
/* Does the job divide a global batch among several workers, so that its probe gives no baseline (F2)? */
bool global_batch_is_shared(const struct train_job *job);
/* "strong" or "weak", as written to a summary and read back from it. */
const char *scaling_text(bool is_strong);

#endif
