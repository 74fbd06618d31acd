/* SPDX-License-Identifier: Apache-2.0 */
/*
 * messages.h - every message between the ranks of a run, as a table for charts and lessons.
 *
 * One row per message and end, rank after rank; within a rank, in the order in which messages ended. Columns: rank;
 * step (nan: none, as on a server); direction (send, receive); peer; tag. Then start_s and end_s (since ts 0 of the
 * timeline; without one, since the first message of any rank began); bytes_count (of the body); header_bytes_count;
 * offset_bytes (of the body in this rank's gradients; nan: not in them); adds (1: the received values were added to the
 * present ones).
 */
#ifndef HARNESS_TRAIN_MESSAGES_H
#define HARNESS_TRAIN_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

#include "harness/train/train.h"

/* RC_INVAL: path cannot be written; RC_IO: the file is unchanged. */
enum rc messages_write(const char *path, const struct train_result *result) MUST_CHECK;

/* Tells runs apart: the sum of all start_s and end_s, each less the first start_s, in ns modulo 2^53. A timeline of the
 * same run has it. O(messages). */
uint64_t messages_sum_ns(const struct train_result *result);

/* --- how many messages a job will log, and whether there is memory for them --- */

/* Rank 0 gathers the log in rounds. A round has this many messages of all ranks together, but at least one per rank. */
enum { MESSAGES_OF_A_ROUND = 1 << 16 };

/* Log entries of all ranks together, two per message, for a job whose exchange and steps are known. Never too few; too
 * many by at most a few per pair of ranks. SIZE_MAX: the number overflows. RC_NOMEM. */
enum rc job_messages_count(size_t *out, const struct train_job *job) MUST_CHECK;
/* Add this host's log, and on rank 0 the complete log, to the memory that the job needs. RC_INVAL: it exceeds the
 * available memory. */
enum rc job_messages_resolve(struct train_job *job) MUST_CHECK;

#endif
