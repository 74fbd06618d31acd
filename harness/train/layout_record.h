/* SPDX-License-Identifier: Apache-2.0 */
/* layout_record.h - what a layout with stages or shards (layout.h) moves and waits for, in the summary of a run. */
#ifndef HARNESS_TRAIN_LAYOUT_RECORD_H
#define HARNESS_TRAIN_LAYOUT_RECORD_H

#include "harness/report/record.h"
#include "harness/train/train.h"

/* Activations that cross between shards, and gradients of them, in a step: of the one of group 0 that sends most; 0:
 * there are no shards. */
double layout_shards_bytes(const struct train_job *job, const struct train_result *result);
/* Nothing for a job without stages and shards. */
void record_layout(struct record *r, const struct train_job *job, const struct train_result *result);

#endif
