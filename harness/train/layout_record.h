/* SPDX-License-Identifier: Apache-2.0 */
/* layout_record.h - what a layout with stages or shards (layout.h) moves and waits for, in the summary of a run. */
#ifndef HARNESS_TRAIN_LAYOUT_RECORD_H
#define HARNESS_TRAIN_LAYOUT_RECORD_H

#include "harness/report/record.h"
#include "harness/train/train.h"

/* Nothing for a job without stages and shards. */
void record_layout(struct record *r, const struct train_job *job, const struct train_result *result);

#endif
