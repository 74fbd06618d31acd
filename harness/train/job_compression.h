/* SPDX-License-Identifier: Apache-2.0 */
/* job_compression.h - --compression: where it means something, what it takes, and what it came to. */
#ifndef HARNESS_TRAIN_JOB_COMPRESSION_H
#define HARNESS_TRAIN_JOB_COMPRESSION_H

#include "harness/train/train.h"

enum { COMPRESSION_ROW_BYTES = 128 };

/* Fill exchange.compression of a job whose mode and collective are known. RC_INVAL, RC_UNSUPPORTED: what of the job it
 * does not go with, and what would. */
enum rc job_compression_resolve(struct train_job *job) MUST_CHECK;
/* What it takes, beside what the modules do: of a worker, and of a server that holds n_slice parameters. */
struct memory_need job_compression_memory(const struct train_job *job, size_t n_slice);
/* Of ranks first .. end - 1 together: what they sent in the mean step, and what they would have in full; NaN: not
 * known, or nothing crosses. */
double compression_sent_bytes(const struct train_job *job, const struct train_result *r, int first, int end);
double compression_full_bytes(const struct train_job *job, const struct train_result *r, int first, int end);
/* "fp16: 22.5 kB sent by a worker in a step, 0.500 of all as it is"; "" where nothing is compressed. */
const char *job_compression_text(char *out, size_t n_bytes, const struct train_job *job, const struct train_result *r);
void record_compression(struct record *r, const struct train_job *job, const struct train_result *result);
void record_sent_of_rank(struct record *r, const struct train_job *job, const struct train_result *result, int rank);

#endif
