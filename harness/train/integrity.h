/* SPDX-License-Identifier: Apache-2.0 */
/*
 * integrity.h - --verify-every K: are the parameters of all workers still the same, to the bit? A silent corruption, of
 * a memory, a processor or a network card, shows as a worker whose parameters are others; so names rank and tensor.
 *
 * Invariants
 *   Y1  Behind every K-th step of the training, and the last of the run, each worker hashes its parameters tensor by
 *       tensor, and all compare. In no step's time: it is told beside the figures, as a checkpoint is.
 *   Y2  Who differs from more than half of the workers is corrupt, and each of those is named with the first tensor, in
 *       the order of the layout, in which it does. Where no parameters are those of more than half, two workers that
 *       differ are named together.
 *   Y3  A single bit that differs is noticed: the hash is a bijection of each of its words.
 *   Y4  What was not to be equal is not compared: modes and options by which workers hold parameters of their own are
 *       refused.
 */
#ifndef HARNESS_TRAIN_INTEGRITY_H
#define HARNESS_TRAIN_INTEGRITY_H

#include "harness/train/train.h"

struct network;

/* Y3, of the bits of x[n]. */
uint64_t integrity_hash(const float *x, size_t n);
/* Y2, of hash[n_ranks][n_segments], into n_corruptions and corruption[] of *out. */
void integrity_judge(struct train_checks *out, const uint64_t *hash, int n_ranks, size_t n_segments,
                     uint64_t step_index);
/* Y4, of a job whose numbers are known. RC_INVAL. */
enum rc integrity_check(const struct train_job *job) MUST_CHECK;
/* job->segment_name, where it is asked for. n: NULL: not a network. RC_NOMEM. */
enum rc integrity_name_segments(struct train_job *job, const struct network *n) MUST_CHECK;

enum { CORRUPTION_TEXT_BYTES = 320 };
/* "the parameters of worker 2 are not those of the others after step 19, first in conv1/w". */
void corruption_text(char *out, size_t n_bytes, const struct train_job *job, const struct train_corruption *c);

/* "4 between steps, 0.1 ms each, which is in the throughput but in no step; all workers equal"; "" of a run without.
 * Returns out. */
const char *integrity_text(char *out, size_t n_bytes, const struct train_job *job, const struct train_result *r);
/* RC_MISMATCH: the run has found a corruption, and ended with it. */
enum rc integrity_check_result(const struct train_job *job, const struct train_result *r) MUST_CHECK;

/* Into a summary, where it was asked for: how many checks, and how long they took. */
void record_integrity(struct record *r, const struct train_job *job, const struct train_result *result);
/* A record of each corruption that was found. RC_NOMEM, RC_IO. */
enum rc integrity_write(struct report *to, const struct train_job *job, const struct train_result *r) MUST_CHECK;

#endif
