/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alternation.h - --alternate-exchange K: what exchanging gradients costs a training, from one launch. In turns of K
 * steps workers exchange them, or each goes on by its own.
 *
 * Turns come in pairs: with, without; without, with; and so on. The first pair is warm-up. Between two turns workers
 * meet, in no step's time: what one of them was ahead of the others where nobody waited is not part of the next turn.
 * With overlap the last exchange of a turn ends in it. A launch decides what memory, cores and clocks a process has; of
 * one launch these are the same with and without.
 *
 * Invariants
 *   W1  Compared is the throughput of all workers in the two turns of a pair, of each worker samples over the time
 *       from where it began its turn to where it ended it. The interval is paired.C2's, of the ratios of pairs.
 *   W2  Such a run says so in manifest, summary and table. Its parameters are of no use, nor have its throughput and
 *       efficiency a meaning: they are of neither mode.
 */
#ifndef HARNESS_TRAIN_ALTERNATION_H
#define HARNESS_TRAIN_ALTERNATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/measure/paired.h"
#include "harness/train/train.h"

enum { ALTERNATION_TEXT_BYTES = 160, ALTERNATION_LEAST_PAIRS = 3 }; /* one of them warm-up */

static inline bool alternation_is_on(const struct train_job *job)
{
    return job->opts.alternate_exchange > 0;
}

/* Does each worker go on by its own gradient in this step of the run? turn_steps: K; 0: in none. */
bool alternation_is_alone(uint64_t turn_steps, size_t step);
/* Is it the first, or the last, of a turn? */
bool alternation_begins_turn(uint64_t turn_steps, size_t step);
bool alternation_ends_turn(uint64_t turn_steps, size_t step);
/* RC_INVAL: it has no meaning in this job, whose mode, collective and steps are known. */
enum rc alternation_check(const struct train_job *job) MUST_CHECK;
/* W1: with exchange over without; n_pairs 0 where it is off, or the run was stopped before. RC_NOMEM. */
enum rc alternation_compare(struct comparison *out, const struct train_job *job,
                            const struct train_result *r) MUST_CHECK;
/* "98.7 % of the throughput without (98.4 to 99.1 %), 24 pairs of turns of 5 steps"; "" where it is off. */
void alternation_text(char out[ALTERNATION_TEXT_BYTES], const struct train_job *job, const struct comparison *c);
/* Into a summary, of a run that alternates alone. */
void record_alternation(struct record *r, const struct train_job *job, const struct comparison *c);

#endif
