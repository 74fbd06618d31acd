/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_split.h - --split: which samples the workers of a job have, and how many of a round.
 *
 * Invariants
 *   V1  Without --split, or with iid, samples go to workers in turn (train.L1). Else worker r has a part of its own
 *       (data/split.h), of which step t of the training takes samples t B_r ... (t + 1) B_r.
 *   V2  A round has W B samples, however they are shared out: with unequal:... worker r has B_r of them, by its share,
 *       so that all come to the end of their parts together. Where updates are of the mean gradient of all, that is
 *       the mean over samples: a worker's counts B_r / B times.
 */
#ifndef HARNESS_TRAIN_JOB_SPLIT_H
#define HARNESS_TRAIN_JOB_SPLIT_H

#include "harness/train/train.h"

/* opts.split into split_opts, of a job whose mode and ranks are known. RC_INVAL. */
enum rc job_split_parse(struct train_job *job) MUST_CHECK;
/* The parts, of a job whose data and batch are known. RC_INVAL: what cannot be split so, and why; RC_NOMEM. */
enum rc job_split_resolve(struct train_job *job) MUST_CHECK;
/* Of a checkpoint to go on from, where samples are not taken in turn: was it trained by rounds of as many? RC_INVAL. */
enum rc job_split_check_resume(const struct train_job *job) MUST_CHECK;
/* B_r */
size_t job_batch_of(const struct train_job *job, int worker);
/* The largest of them. */
size_t job_most_batch(const struct train_job *job);
/* Number of the first sample of a step of this run, in the worker's part where it has one (V1), else of all. */
uint64_t job_first_sample(const struct train_job *job, int worker, size_t step);
/* From there to that of the next step. */
uint64_t job_batch_stride(const struct train_job *job, int worker);
/* How a worker's gradient counts in the mean of all (V2): 1 but for unequal parts. */
float job_weight_of(const struct train_job *job, int worker);

enum { SPLIT_TEXT_BYTES = 320 };
/* "by-label: of 10 labels a worker has 4 to 6"; "" without a split. */
void job_split_text(char *out, size_t n_bytes, const struct train_job *job);
/* "worker 1 waits for worker 0: ..." of unequal parts; "" of others. wait_s, compute_s: [n_workers], of a mean step. */
void job_split_load_text(char *out, size_t n_bytes, const struct train_job *job, const double *compute_s,
                         const double *wait_s);
/* The same of a run. RC_NOMEM. */
enum rc job_split_load(char *out, size_t n_bytes, const struct train_job *job,
                       const struct train_summary *s) MUST_CHECK;

#endif
