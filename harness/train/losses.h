/* SPDX-License-Identifier: Apache-2.0 */
/* losses.h - records of ranks that are absent at the end: lost (world.W8), or left in order (elastic.h, V4). For
 * result.c. */
#ifndef HARNESS_TRAIN_LOSSES_H
#define HARNESS_TRAIN_LOSSES_H

#include "harness/report/record.h"
#include "harness/train/train.h"

/* Worker 0 may be two steps ahead of the slowest rank: it awaits the parameters of a step in the next step. Of so many
 * steps it keeps the running means. */
enum { N_KEPT_STATES = 3 };

/* Write one record for each lost rank. An elastic run also gets one for each worker that joined or left. */
enum rc losses_write(struct report *to, const struct train_job *job, const struct train_result *r) MUST_CHECK;
/* Add lost_ranks and left_ranks to the summary, only if ranks may be lost and may leave. */
void record_lost_ranks(struct record *r, const struct train_job *job, const struct train_result *result);

#endif
