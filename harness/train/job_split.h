/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_split.h - --split: which samples each worker has, and how many per round.
 *
 * Invariants
 *   V1  Without --split, or with iid, samples go to workers in turn (train.L1). Otherwise worker r has a separate part
 *       (data/split.h). Step t of the training takes samples t B_r ... (t + 1) B_r of that part.
 *   V2  A round has W B samples for any split. With unequal:... worker r has B_r of them, by its share, so all workers
 *       reach the end of their parts together. Updates by the mean gradient use the mean over samples: a worker's
 *       gradient has weight B_r / B.
 */
#ifndef HARNESS_TRAIN_JOB_SPLIT_H
#define HARNESS_TRAIN_JOB_SPLIT_H

#include "harness/train/train.h"

/* Parse opts.split into split_opts, for a job whose mode and ranks are known. RC_INVAL. */
enum rc job_split_parse(struct train_job *job) MUST_CHECK;
/* Split the data, for a job whose data and batch are known. RC_INVAL: this split is impossible, and why; RC_NOMEM. */
enum rc job_split_resolve(struct train_job *job) MUST_CHECK;
/* If samples are not taken in turn: does the checkpoint have the same number of samples per round? RC_INVAL. */
enum rc job_split_check_resume(const struct train_job *job) MUST_CHECK;
/* B_r of a worker */
size_t job_batch_of(const struct train_job *job, int worker);
/* The largest B_r. */
size_t job_most_batch(const struct train_job *job);
/* Index of a step's first sample of this run: within the worker's part if it has one (V1), else in the whole data
 * set. */
uint64_t job_first_sample(const struct train_job *job, int worker, size_t step);
/* Distance from there to the first sample of the next step. */
uint64_t job_batch_stride(const struct train_job *job, int worker);
/* Weight of a worker's gradient in the mean (V2): 1 unless parts are unequal. */
float job_weight_of(const struct train_job *job, int worker);

enum { SPLIT_TEXT_BYTES = 320 };
/* "by-label: of 10 labels a worker has 4 to 6"; "" without a split. */
void job_split_text(char *out, size_t n_bytes, const struct train_job *job);
/* "worker 1 waits for worker 0: ..." for unequal parts; else "". wait_s, compute_s: [n_workers], of a mean step. */
void job_split_load_text(char *out, size_t n_bytes, const struct train_job *job, const double *compute_s,
                         const double *wait_s);
/* The same for a run's summary. RC_NOMEM. */
enum rc job_split_load(char *out, size_t n_bytes, const struct train_job *job,
                       const struct train_summary *s) MUST_CHECK;

#endif
