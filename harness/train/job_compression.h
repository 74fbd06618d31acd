/* SPDX-License-Identifier: Apache-2.0 */
/* job_compression.h - --compression: where it is valid, its memory, and the traffic that it saved. */
#ifndef HARNESS_TRAIN_JOB_COMPRESSION_H
#define HARNESS_TRAIN_JOB_COMPRESSION_H

#include "harness/train/train.h"

enum { COMPRESSION_ROW_BYTES = 128 };

/* Fill exchange.compression, for a job whose mode and collective are known. RC_INVAL, RC_UNSUPPORTED: names what it
 * cannot be combined with, and what works. */
enum rc job_compression_resolve(struct train_job *job) MUST_CHECK;
/* Memory it needs in addition to the modules': for a worker, and for a server that holds n_slice parameters. */
struct memory_need job_compression_memory(const struct train_job *job, size_t n_slice);
/* Bytes that ranks first .. end - 1 together sent in the mean step, and would have sent uncompressed; NaN: unknown, or
 * nothing is sent. */
double compression_sent_bytes(const struct train_job *job, const struct train_result *r, int first, int end);
double compression_full_bytes(const struct train_job *job, const struct train_result *r, int first, int end);
/* "fp16: 22.5 kB sent by a worker in a step, 0.500 of all as it is"; "" without compression. */
const char *job_compression_text(char *out, size_t n_bytes, const struct train_job *job, const struct train_result *r);
void record_compression(struct record *r, const struct train_job *job, const struct train_result *result);
void record_sent_of_rank(struct record *r, const struct train_job *job, const struct train_result *result, int rank);

#endif
