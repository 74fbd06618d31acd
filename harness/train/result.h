/* SPDX-License-Identifier: Apache-2.0 */
/* result.h - parts of the figures and records of a run. Private to this room, its tests and its report. */
#ifndef HARNESS_TRAIN_RESULT_H
#define HARNESS_TRAIN_RESULT_H

#include "harness/cluster/cluster.h"
#include "harness/report/record.h"
#include "harness/train/train.h"

/*
 * Which steps of a run are recorded, and which values of each worker.
 *
 *   R1  Up to the round in which the target loss was reached, every step is recorded, so that a curve shows how it was
 *       reached.
 *   R2  After it, or if no target was reached: one of every --record-every steps, and the last step.
 */

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

/* --- how a run proceeded, in its summary next to its figures --- */

/* What --omit omitted; null: nothing (train.M1). */
void record_for_lessons(struct record *r, const struct train_job *job);
/* The transport of the gradients, and who on the network can read them; null: no one, as none are sent. */
void record_transport(struct record *r, const struct train_job *job, const struct train_result *result);
/* For a worker: its number of training samples, and of samples per round; null: all workers take all samples in turn,
 * equally. */
void record_part_of_rank(struct record *r, const struct train_job *job, int rank, bool is_worker);
/* What --omit omitted; the signal that stopped the run. Checkpoints written between steps (null: not requested), and
 * their time, which is in the wall time but in no step. How often the training was restarted, and from which steps. */
void record_run(struct record *r, const struct train_job *job, const struct train_result *result);

/* "2, as ranks had died: from step 40, 80"; "" without restarts. */
const char *run_restarts_text(char *out, size_t n_bytes, const struct train_restarts *restarts);

/* --- traffic and waits of a layout with stages or shards (layout.h), in the summary of a run --- */

/* Bytes of activations, and of their gradients, sent between shards in a step, by the rank of group 0 that sends most;
 * 0: there are no shards. */
double layout_shards_bytes(const struct train_job *job, const struct train_result *result);
/* Adds nothing for a job without stages and shards. */
void record_layout(struct record *r, const struct train_job *job, const struct train_result *result);

/* --- the description of a simulated cluster in a run's record --- */

/* Add every value of c under its key (link_bits_per_s in bytes: link_bytes_per_s). "assumed" lists the keys of values
 * that are neither measured nor published. */
void record_cluster(struct record *r, const struct cluster *c);

/*
 * Did the run learn (measure/learning.h)? If not: the probable reason, and what to try.
 *
 * The reason is derived from the job. A mode that applies each worker's own update makes W updates per round, each at
 * the rate of one worker. Updates may be late. The rate, after --lr-scaling, may be above or below the model's default.
 * The rate to try is the smaller of the current and the default rate, divided by the updates per round, unless
 * --lr-staleness divides it already. If updates are late, --lr-staleness is advised too.
 */

/* Fill s->learning and s->not_learned from the job and its result; reads s->measured. RC_NOMEM: both are unchanged. */
enum rc train_judge_learning(struct train_summary *s, const struct train_job *job,
                             const struct train_result *r) MUST_CHECK;

/* --- losses.c: ranks that are absent at the end: lost (world.W8), or left in order (train.V4) --- */

/* Write one record for each lost rank. An elastic run also gets one for each worker that joined or left. */
enum rc losses_write(struct report *to, const struct train_job *job, const struct train_result *r) MUST_CHECK;
/* Add lost_ranks and left_ranks to the summary, only if ranks may be lost and may leave. */
void record_lost_ranks(struct record *r, const struct train_job *job, const struct train_result *result);

#endif
