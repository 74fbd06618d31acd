/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_training.h - what the order of ranks is worth to a training: the same one in the best order of the collectives
 * stage (rank_contest.h) and in the launcher's. Its gradients may be exchanged while it computes, so that less of what
 * a bare allreduce gains is left.
 */
#ifndef HARNESS_ACCEPT_RANK_TRAINING_H
#define HARNESS_ACCEPT_RANK_TRAINING_H

#include "harness/accept/trainings.h"

/* Fills env->out->rank_order_training, as a part of the stage `training`: order->model at all nodes, in both orders in
 * turns, each first in its turn, until the interval of both is narrow, or the stage's time is too short for two more.
 * Where no order is better than the launcher's, or rank_order_training_steps_count is 0, nothing is done. pace: of
 * training_time() at all nodes. Collective. Errors: as part_training_run(); what was measured before is kept. */
enum rc rank_training(struct stage_env *env, const struct training_order *order,
                      const struct training_pace *pace) MUST_CHECK;

#endif
