/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alternation.h - --alternate-exchange K: measures in one launch what the exchange of gradients costs. Workers exchange
 * gradients for K steps, then train without exchange for K steps, and so on. K steps are a turn.
 *
 * Turns come in pairs: with, without; without, with; and so on. The first pair is warm-up. Between two turns workers
 * meet at a barrier, outside of every step's time. A worker's lead from a turn without waits is thus not part of the
 * next turn. With overlap the last exchange of a turn completes within it. Memory, cores and clocks of a process differ
 * between launches; here one launch measures both.
 *
 * Invariants
 *   W1  The comparison is of the throughput of all workers in the two turns of a pair. A worker's throughput is its
 *       samples over its own time from the begin to the end of the turn. The interval is measure.C2's, over the ratios
 *       of the pairs.
 *   W2  Manifest, summary and table mark such a run. Its parameters are of no use. Its throughput and efficiency mean
 *       nothing, because they mix both modes.
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

/* Does each worker apply only its own gradient in this step of the run? turn_steps: K; 0: no step does. */
bool alternation_is_alone(uint64_t turn_steps, size_t step);
/* Is this step the first, or the last, of a turn? */
bool alternation_begins_turn(uint64_t turn_steps, size_t step);
bool alternation_ends_turn(uint64_t turn_steps, size_t step);
/* RC_INVAL: the option has no meaning in this job. The job's mode, collective and steps are known. */
enum rc alternation_check(const struct train_job *job) MUST_CHECK;
/* train.W1: throughput with exchange over that without. n_pairs 0: the option is off, or the run stopped too early.
 * RC_NOMEM. */
enum rc alternation_compare(struct comparison *out, const struct train_job *job,
                            const struct train_result *r) MUST_CHECK;
/* "98.7 % of the throughput without (98.4 to 99.1 %), 24 pairs of turns of 5 steps"; "" where it is off. */
void alternation_text(char out[ALTERNATION_TEXT_BYTES], const struct train_job *job, const struct comparison *c);
/* Add the comparison to the summary; only of a run that alternates. */
void record_alternation(struct record *r, const struct train_job *job, const struct comparison *c);

#endif
