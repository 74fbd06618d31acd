/* SPDX-License-Identifier: Apache-2.0 */
/*
 * integrity.h - --verify-every K: are the parameters of all workers still equal, to the bit? A silent corruption in a
 * memory, a processor or a network card makes one worker's parameters differ. The check names rank and tensor.
 *
 * Invariants
 *   Y1  After every K-th step of the training, and after the last of the run, each worker hashes its parameters tensor
 *       by tensor, and all compare. This is in no step's time; it is reported separately, like a checkpoint.
 *   Y2  A worker that differs from more than half of the workers is corrupt. Each is named with the first tensor, in
 *       the order of the layout, in which it differs. If no majority agrees, two workers that differ are named
 *       together.
 *   Y3  A single bit that differs is noticed: the hash is a bijection of each of its words.
 *   Y4  Parameters that need not be equal are not compared: modes and options under which workers hold different
 *       parameters are refused.
 */
#ifndef HARNESS_TRAIN_INTEGRITY_H
#define HARNESS_TRAIN_INTEGRITY_H

#include "harness/train/train.h"

struct network;

/* train.Y3: hash of the bits of x[n]. */
uint64_t integrity_hash(const float *x, size_t n);
/* train.Y2: judge hash[n_ranks][n_segments]; fills n_corruptions and corruption[] of *out. */
void integrity_judge(struct train_checks *out, const uint64_t *hash, int n_ranks, size_t n_segments,
                     uint64_t step_index);
/* train.Y4, for a job whose numbers are known. RC_INVAL. */
enum rc integrity_check(const struct train_job *job) MUST_CHECK;
/* Set job->segment_name if --verify-every is given. n: NULL: not a network. RC_NOMEM. */
enum rc integrity_name_segments(struct train_job *job, const struct network *n) MUST_CHECK;

enum { CORRUPTION_TEXT_BYTES = 320 };
/* "the parameters of worker 2 are not those of the others after step 19, first in conv1/w". */
void corruption_text(char *out, size_t n_bytes, const struct train_job *job, const struct train_corruption *c);

/* "4 between steps, 0.1 ms each, which is in the throughput but in no step; all workers equal"; "" without
 * --verify-every. Returns out. */
const char *integrity_text(char *out, size_t n_bytes, const struct train_job *job, const struct train_result *r);
/* RC_MISMATCH: the run found a corruption and stopped. */
enum rc integrity_check_result(const struct train_job *job, const struct train_result *r) MUST_CHECK;

/* Add to a summary, if --verify-every is given: the number of checks and their time. */
void record_integrity(struct record *r, const struct train_job *job, const struct train_result *result);
/* Write one record for each corruption found. RC_NOMEM, RC_IO. */
enum rc integrity_write(struct report *to, const struct train_job *job, const struct train_result *r) MUST_CHECK;

#endif
