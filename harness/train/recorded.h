/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorded.h - which steps of a run are recorded, and which values of each worker.
 *
 *   Y1  Up to the round in which the target loss was reached, every step is recorded, so that a curve shows how it was
 *       reached.
 *   Y2  After it, or if no target was reached: one of every --record-every steps, and the last step.
 */
#ifndef HARNESS_TRAIN_RECORDED_H
#define HARNESS_TRAIN_RECORDED_H

#include "harness/train/train.h"

/* Rounds up to the one that reached the target loss; 0: not reached, or no target. O(rounds x workers x log steps) over
 * those rounds. Cannot fail. */
size_t recorded_n_to_target(const struct train_summary *s);
/* Is step (counted from the first of this run) recorded? n_to_target: as above. */
bool recorded_step(size_t step, size_t n_to_target, uint64_t record_every, size_t n_steps);
/* Add to the record of this step, for every worker: communication that it waited for, and that was hidden. RC_NOMEM. */
enum rc recorded_communication(struct record *r, const struct steps *steps, size_t step) MUST_CHECK;

/* Add the wait for samples: to the record of this step, for every worker; to the record of a rank, for its mean step.
 * Null: unknown, as in sim, where it takes no time, and for models that are not networks. RC_NOMEM. */
enum rc recorded_input(struct record *r, const struct train_job *job, const struct steps *steps,
                       size_t step) MUST_CHECK;
void recorded_input_of_rank(struct record *r, const struct train_job *job, const struct train_result *result, int rank);

#endif
