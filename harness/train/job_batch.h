/* SPDX-License-Identifier: Apache-2.0 */
/* job_batch.h - which samples each worker has, and how many per step: --split, --accumulate, --global-batch. */
#ifndef HARNESS_TRAIN_JOB_BATCH_H
#define HARNESS_TRAIN_JOB_BATCH_H

#include "data/dataset.h"
#include "harness/train/train.h"

/*
 * --split: which samples each worker has, and how many per round.
 *
 * Invariants
 *   J1  Without --split, or with iid, samples go to workers in turn (train.L1). Otherwise worker r has a separate part
 *       (data/split.h). Step t of the training takes samples t B_r ... (t + 1) B_r of that part.
 *   J2  A round has W B samples for any split. With unequal:... worker r has B_r of them, by its share, so all workers
 *       reach the end of their parts together. Updates by the mean gradient use the mean over samples: a worker's
 *       gradient has weight B_r / B.
 */

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
/* Index of a step's first sample of this run: within the worker's part if it has one (train.J1), else in the whole data
 * set. */
uint64_t job_first_sample(const struct train_job *job, int worker, size_t step);
/* Distance from there to the first sample of the next step. */
uint64_t job_batch_stride(const struct train_job *job, int worker);
/* Weight of a worker's gradient in the mean (train.J2): 1 unless parts are unequal. */
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

/*
 * --accumulate M: a worker computes its batch in M micro-batches and adds up their gradients
 * (models.M8). The update is that of the whole batch; the memory is that of one micro-batch.
 */

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

/*
 * --global-batch N, strong scaling: all workers together have N samples a round, each N / W of them.
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

/* train.F1: set job->opts.batch of a job whose workers are known. RC_INVAL: N / W is not whole or exceeds the limit of
 * a worker, or --batch was given too. */
enum rc global_batch_resolve(struct train_job *job, const struct opt_group *group, int n_groups) MUST_CHECK;
/* resolved: the outcome of resolving something. If it is an error about --batch, the message adds where that value came
 * from. */
enum rc global_batch_explain(const struct train_job *job, enum rc resolved) MUST_CHECK;
/* Does the job divide a global batch among several workers, so that its probe gives no baseline (train.F2)? */
bool global_batch_is_shared(const struct train_job *job);
/* "strong" or "weak", as written to a summary and read back from it. */
const char *scaling_text(bool is_strong);

#endif
