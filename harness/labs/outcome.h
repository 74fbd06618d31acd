/* SPDX-License-Identifier: Apache-2.0 */
/* outcome.h - a training of any model in a child process, and what it came to: accuracy, and what its workers did. */
#ifndef HARNESS_LABS_OUTCOME_H
#define HARNESS_LABS_OUTCOME_H

#include "harness/labs/training.h"

enum { OUTCOME_MOST_WORKERS = 8 };

struct outcome {
    char name[TRAINING_NAME_BYTES];
    char command[TRAINING_COMMAND_BYTES];     /* as a student types it */
    double accuracy_ratio;                    /* of the test set; NaN: none */
    double throughput_samples_per_s;          /* of all workers; in sim of virtual seconds */
    int n_workers;                            /* whose rows are there: */
    double compute_s[OUTCOME_MOST_WORKERS];   /* of a worker's mean step */
    double wait_s[OUTCOME_MOST_WORKERS];      /* likewise: for slower workers */
    double batch_count[OUTCOME_MOST_WORKERS]; /* its samples of a round; NaN: all have as many */
};

/* Train with these options, words with a blank between two: NAME.jsonl in the folder has the records. Errors: as
 * training_run(). */
enum rc outcome_run(struct outcome *out, const struct lab_env *env, const char *name, const char *options) MUST_CHECK;
/* Of the records of a training. RC_MISMATCH: PATH: what is missing; RC_IO. */
enum rc outcome_read(struct outcome *out, const char *path) MUST_CHECK;

#endif
