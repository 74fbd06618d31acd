/* SPDX-License-Identifier: Apache-2.0 */
/* run_record.h - how a run proceeded, in its summary next to its figures. */
#ifndef HARNESS_TRAIN_RUN_RECORD_H
#define HARNESS_TRAIN_RUN_RECORD_H

#include "harness/train/train.h"

/* What --omit omitted; null: nothing (omission.O1). */
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

#endif
