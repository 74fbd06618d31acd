/* SPDX-License-Identifier: Apache-2.0 */
/* losses_record.h - records of ranks that are not there any more at the end: lost (world.W8), or gone in order
 * (elastic.h, V4). For result.c. */
#ifndef HARNESS_TRAIN_LOSSES_RECORD_H
#define HARNESS_TRAIN_LOSSES_RECORD_H

#include "harness/report/record.h"
#include "harness/train/train.h"

/* One record for each that was lost; of an elastic run one for each worker that came or went, too. */
enum rc losses_write(struct report *to, const struct train_job *job, const struct train_result *r) MUST_CHECK;
/* lost_ranks and left_ranks of the summary; only where ranks may be lost, and may leave. */
void record_lost_ranks(struct record *r, const struct train_job *job, const struct train_result *result);

#endif
