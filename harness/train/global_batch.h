/* SPDX-License-Identifier: Apache-2.0 */
/*
 * global_batch.h - --global-batch N, strong scaling: all workers together have N samples a round, each N / W of them.
 * Without it scaling is weak: each worker has --batch samples, whatever W is.
 *
 * Invariants
 *   F1  N / W is whole, and the batch of each worker from there on: what has the batch of a worker needs to know
 *       nothing of N.
 *   F2  Efficiency under strong scaling is throughput(W) / (W x throughput of single with a batch of N). A run by
 *       itself has no such baseline: the one of its probe is one worker alone with a batch of N / W. Its efficiency is
 *       NaN.
 *   F3  No --lr-scaling: a round has as many samples at every W. So has a synchronous update; asynchronous modes make W
 *       updates of N / W samples each, at a rate that must be found (gradmark compare --tune-lr).
 */
#ifndef HARNESS_TRAIN_GLOBAL_BATCH_H
#define HARNESS_TRAIN_GLOBAL_BATCH_H

#include "harness/train/train.h"

/* F1: sets job->opts.batch of a job whose workers are known. RC_INVAL: no whole part for each worker, more than a
 * worker can have, or --batch was given too. */
enum rc global_batch_resolve(struct train_job *job, const struct opt_group *group, int n_groups) MUST_CHECK;
/* resolved: how the resolving of something ended. An error that is about --batch says where that came from. */
enum rc global_batch_explain(const struct train_job *job, enum rc resolved) MUST_CHECK;
/* Does the job share a global batch out to several workers, so that its probe has no baseline for it (F2)? */
bool global_batch_is_shared(const struct train_job *job);
/* "strong" or "weak": of a summary, which is read by it again. */
const char *scaling_text(bool is_strong);

#endif
