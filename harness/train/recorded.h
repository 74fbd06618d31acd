/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorded.h - which steps of a run are recorded, and what of each worker in them.
 *
 *   Y1  Up to the round in which the target loss was reached all are, so that a curve shows how it was reached.
 *   Y2  Behind it, and where no target was reached, one of every --record-every; and the last one.
 */
#ifndef HARNESS_TRAIN_RECORDED_H
#define HARNESS_TRAIN_RECORDED_H

#include "harness/train/train.h"

/* Rounds up to that in which the target loss was reached; 0: it was not, or none was given. O(rounds x workers x log
 * steps) of those. Cannot fail. */
size_t recorded_n_to_target(const struct train_summary *s);
/* Is step (counted from the first of this run) recorded? n_to_target: as above. */
bool recorded_step(size_t step, size_t n_to_target, uint64_t record_every, size_t n_steps);
/* Into the record of this step: the communication of every worker that it waited for, and that was hidden. RC_NOMEM. */
enum rc recorded_communication(struct record *r, const struct steps *steps, size_t step) MUST_CHECK;

/* Into the record of this step, of every worker, and of a rank, of its mean step: the wait for samples. Null: not
 * known, as in sim, where it takes no time, and of models that are no networks. RC_NOMEM. */
enum rc recorded_input(struct record *r, const struct train_job *job, const struct steps *steps,
                       size_t step) MUST_CHECK;
void recorded_input_of_rank(struct record *r, const struct train_job *job, const struct train_result *result, int rank);

#endif
