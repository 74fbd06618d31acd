/* SPDX-License-Identifier: Apache-2.0 */
/* layout_record.h - traffic and waits of a layout with stages or shards (layout.h), in the summary of a run. */
#ifndef HARNESS_TRAIN_LAYOUT_RECORD_H
#define HARNESS_TRAIN_LAYOUT_RECORD_H

#include "harness/report/record.h"
#include "harness/train/train.h"

/* Bytes of activations, and of their gradients, sent between shards in a step, by the rank of group 0 that sends most;
 * 0: there are no shards. */
double layout_shards_bytes(const struct train_job *job, const struct train_result *result);
/* Adds nothing for a job without stages and shards. */
void record_layout(struct record *r, const struct train_job *job, const struct train_result *result);

#endif
