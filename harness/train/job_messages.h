/* SPDX-License-Identifier: Apache-2.0 */
/* job_messages.h - --messages: how many messages a job will note, and whether there is memory for them. */
#ifndef HARNESS_TRAIN_JOB_MESSAGES_H
#define HARNESS_TRAIN_JOB_MESSAGES_H

#include <stddef.h>

#include "harness/train/train.h"

/* Gathered on rank 0 in rounds of so many messages of all ranks together, or one of each. */
enum { MESSAGES_OF_A_ROUND = 1 << 16 };

/* Notes of all ranks together, two of each message: no less than there will be, and more by a few of each pair of ranks
 * at most. SIZE_MAX: more than can be counted. Of a job whose exchange and steps are known. RC_NOMEM. */
enum rc job_messages_count(size_t *out, const struct train_job *job) MUST_CHECK;
/* Add the notes of this host, and all of them on rank 0, to what the job needs. RC_INVAL: that is more than there is.
 */
enum rc job_messages_resolve(struct train_job *job) MUST_CHECK;

#endif
