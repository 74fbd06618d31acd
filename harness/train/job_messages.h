/* SPDX-License-Identifier: Apache-2.0 */
/* job_messages.h - --messages: how many messages a job will log, and whether there is memory for them. */
#ifndef HARNESS_TRAIN_JOB_MESSAGES_H
#define HARNESS_TRAIN_JOB_MESSAGES_H

#include <stddef.h>

#include "harness/train/train.h"

/* Rank 0 gathers the log in rounds. A round has this many messages of all ranks together, but at least one per rank. */
enum { MESSAGES_OF_A_ROUND = 1 << 16 };

/* Log entries of all ranks together, two per message, for a job whose exchange and steps are known. Never too few; too
 * many by at most a few per pair of ranks. SIZE_MAX: the number overflows. RC_NOMEM. */
enum rc job_messages_count(size_t *out, const struct train_job *job) MUST_CHECK;
/* Add this host's log, and on rank 0 the complete log, to the memory that the job needs. RC_INVAL: it exceeds the
 * available memory. */
enum rc job_messages_resolve(struct train_job *job) MUST_CHECK;

#endif
