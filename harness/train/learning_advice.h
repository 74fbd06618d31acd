/* SPDX-License-Identifier: Apache-2.0 */
/*
 * learning_advice.h - did a job's run learn (measure/learning.h), and where it did not: why, probably, and what to try.
 *
 * The reason is named from what is known of the job: where a mode applies each worker's own update, W workers update
 * W times a round at the rate of one; updates may be late; the rate may be greater than the model's own, after
 * --lr-scaling, or less. What to try is the lesser of the rate and the model's own, divided by the updates of a round,
 * but where --lr-staleness divides it already; and that, where updates are late.
 */
#ifndef HARNESS_TRAIN_LEARNING_ADVICE_H
#define HARNESS_TRAIN_LEARNING_ADVICE_H

#include "harness/train/train.h"

/* Fill s->learning and s->not_learned from the job and its result; s->measured is read. RC_NOMEM; both are then
 * untouched. */
enum rc train_judge_learning(struct train_summary *s, const struct train_job *job,
                             const struct train_result *r) MUST_CHECK;

#endif
