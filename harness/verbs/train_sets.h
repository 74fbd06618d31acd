/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train_sets.h - gradmark train --sets K: several trainings at once in one launch, each with separate ranks.
 *
 * Invariants
 *   T1  With K sets of W workers and S servers, worker i of set s is rank s W + i; server j of set s is rank
 *       K W + s S + j.
 *   T2  A set is the same training as one run with --seed + s: its final parameters have the same bits. All sets start
 *       their first steps together.
 *   T3  Its records have the key "set"; after the records of all sets comes one of kind "sets".
 */
#ifndef HARNESS_VERBS_TRAIN_SETS_H
#define HARNESS_VERBS_TRAIN_SETS_H

#include "harness/train/train.h"
#include "harness/verbs/verb.h"

struct train_sets_run {
    int n_sets;
    struct train_job *job; /* [n_sets]; in a launched world only the job of this process is prepared */
    const char *out;       /* as --out; "": no records */
    int stop_signal;       /* out, on rank 0 of all sets: the greatest of the sets' */
};

/* The set of a rank (T1). rank: in the world of all sets. */
int train_set_of_rank(const struct train_job *job, int n_sets, int rank);
/* RC_INVAL: an option asks for something that several trainings cannot share. Call this before anything is prepared. */
enum rc train_sets_refuse(const struct verb_call *call, const struct train_opts *opts, int n_given_ranks) MUST_CHECK;
/* Prepare the jobs; sets the zeroed run->n_sets and run->job. n_given_ranks: ranks that the launcher started, 0: none.
 */
enum rc train_sets_prepare(struct train_sets_run *run, struct verb_call *call, const struct train_opts *opts,
                           const struct launcher *launcher) MUST_CHECK;
/* World options that all sets need. */
struct world_opts train_sets_world_opts(const struct train_sets_run *run, const struct train_job *job);
int train_sets_n_ranks(const struct train_sets_run *run, const struct train_job *job);
/* Body of a rank. arg: a struct train_sets_run. Rank 0 writes the records and prints the tables of all sets. */
enum rc train_sets_body(struct world *w, void *arg) MUST_CHECK;
void train_sets_free(struct train_sets_run *run); /* accepts a zeroed one */

#endif
