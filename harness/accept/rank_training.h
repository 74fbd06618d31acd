/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_training.h - measures the benefit of a rank order for a training: the same training in the best order of the
 * collectives stage (rank_contest.h) and in the launcher's. The gain can be smaller than that of a bare allreduce,
 * because gradients may be exchanged during computation.
 */
#ifndef HARNESS_ACCEPT_RANK_TRAINING_H
#define HARNESS_ACCEPT_RANK_TRAINING_H

#include "harness/accept/trainings.h"

/* Fills env->out->rank_order_training, as a part of the stage `training`: order->model on all nodes. The two orders are
 * measured in turns, and each is first in turn. It ends when the intervals of both are narrow, or when the stage's time
 * is too short for two more trainings. If no order is better than the launcher's, or rank_order_training_steps_count is
 * 0, nothing is done. pace: from training_time() on all nodes. Collective. Errors: as part_training_run(); what was
 * measured before is kept. */
enum rc rank_training(struct stage_env *env, const struct training_order *order,
                      const struct training_pace *pace) MUST_CHECK;

#endif
