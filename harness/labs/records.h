/* SPDX-License-Identifier: Apache-2.0 */
/* records.h - a training of any model in a child process, and what its own records (--out) say of it. */
#ifndef HARNESS_LABS_RECORDS_H
#define HARNESS_LABS_RECORDS_H

#include "harness/labs/training.h"

struct loss_point {                     /* of a round: a step of every worker */
    double samples_count, time_s, loss; /* by the end of the round, of all workers; loss: their mean, NaN: broken */
};

struct training_record {
    size_t n_points;                                                           /* rounds */
    struct loss_point *point;                                                  /* owned */
    double staleness_mean_count, seconds_to_target_s, samples_to_target_count; /* NaN: there is none */
    bool has_learned;
};

enum training_model { TRAIN_LINEAR, TRAIN_AS_SAID }; /* AS_SAID: the options have --model, and there is no path */

/* Train with these options, words with a blank between two, on one thread. In the folder are then NAME.jsonl, its
 * records, and NAME.csv: of the linear model the trajectory, which *path is read from; else the losses, and *path has
 * name and command alone. Errors: as training_run(). */
enum rc training_run_recorded(struct training_path *path, struct training_record *record, const struct lab_env *env,
                              enum training_model model, const char *name, const char *options) MUST_CHECK;
void training_record_close(struct training_record *r); /* accepts a zeroed one */
/* RC_MISMATCH: FILE: what is no record of a training; RC_IO, RC_NOMEM. */
enum rc training_record_read(struct training_record *out, const char *path) MUST_CHECK;

#endif
