/* SPDX-License-Identifier: Apache-2.0 */
/* run_record.h - what a summary says of how a run went, beside its figures. */
#ifndef HARNESS_TRAIN_RUN_RECORD_H
#define HARNESS_TRAIN_RUN_RECORD_H

#include "harness/train/train.h"

/* What --omit left out; null: nothing. (omission.O1) */
void record_for_lessons(struct record *r, const struct train_job *job);
/* What carried the gradients, and who on the network can read them; null: nobody, as nothing goes there. */
void record_transport(struct record *r, const struct train_job *job, const struct train_result *result);
/* Of a worker: how many training samples it has, and how many of a round; null: all have all in turn, and as many. */
void record_part_of_rank(struct record *r, const struct train_job *job, int rank, bool is_worker);
/* What --omit left out; the signal that stopped it; how many checkpoints were written between steps (null: none were
 * asked for), and how long that took, which is in the wall time but in no step; how often the training was begun again,
 * and from which steps. */
void record_run(struct record *r, const struct train_job *job, const struct train_result *result);

/* "2, as ranks had died: from step 40, 80"; "" where it was begun once. */
const char *run_restarts_text(char *out, size_t n_bytes, const struct train_restarts *restarts);

#endif
