/* SPDX-License-Identifier: Apache-2.0 */
/* trained.h - a training of any model in a child process, and what its records say. */
#ifndef HARNESS_LABS_TRAINED_H
#define HARNESS_LABS_TRAINED_H

#include <stddef.h>

#include "harness/labs/lab.h"

enum { TRAINED_COMMAND_BYTES = 512 };

struct trained_point { /* behind a step */
    double time_s, samples_count, loss;
};

struct trained {
    char command[TRAINED_COMMAND_BYTES]; /* as a student types it */
    double to_target_s, to_target_count; /* seconds, and samples of all workers; NaN: the target was not reached */
    double step_s, waiting_s;            /* a step in the mean; of it not hidden exchange */
    double throughput_per_s;             /* samples */
    double run_s;                        /* virtual in sim: from the first step to the last */
    double here_s;                       /* of real time, of the whole child process */
    struct trained_point *point;         /* [n_points], of every step that was recorded; owned */
    size_t n_points;
};

/* Train with these options, words with a blank between two: NAME.jsonl in the folder has its records, NAME.csv its
 * curve. RC_PEER: it failed, as its own message says; RC_MISMATCH: its records are none; RC_NOMEM. */
enum rc trained_run(struct trained *out, const struct lab_env *env, const char *name, const char *options) MUST_CHECK;
/* Read records into *out, whose command and here_s stay. */
enum rc trained_read(struct trained *out, const char *path) MUST_CHECK;
void trained_close(struct trained *t); /* accepts a zeroed one */

#endif
