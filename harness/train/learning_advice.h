/* SPDX-License-Identifier: Apache-2.0 */
/*
 * learning_advice.h - did the run learn (measure/learning.h)? If not: the probable reason, and what to try.
 *
 * The reason is derived from the job. A mode that applies each worker's own update makes W updates per round, each at
 * the rate of one worker. Updates may be late. The rate, after --lr-scaling, may be above or below the model's default.
 * The rate to try is the smaller of the current and the default rate, divided by the updates per round, unless
 * --lr-staleness divides it already. If updates are late, --lr-staleness is advised too.
 */
#ifndef HARNESS_TRAIN_LEARNING_ADVICE_H
#define HARNESS_TRAIN_LEARNING_ADVICE_H

#include "harness/train/train.h"

/* Fill s->learning and s->not_learned from the job and its result; reads s->measured. RC_NOMEM: both are unchanged. */
enum rc train_judge_learning(struct train_summary *s, const struct train_job *job,
                             const struct train_result *r) MUST_CHECK;

#endif
