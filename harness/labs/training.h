/* SPDX-License-Identifier: Apache-2.0 */
/* training.h - a training of the linear model in a child process, and the path it took. */
#ifndef HARNESS_LABS_TRAINING_H
#define HARNESS_LABS_TRAINING_H

#include <stddef.h>

#include "harness/labs/lab.h"

enum { TRAINING_NAME_BYTES = 48, TRAINING_COMMAND_BYTES = 640 };

struct path_point {                                    /* what a step of a worker begins with */
    double time_s, samples_count, loss, slope, offset; /* loss: of the samples of the step; behind the last: NaN */
};

struct training_path {
    char name[TRAINING_NAME_BYTES];
    char command[TRAINING_COMMAND_BYTES]; /* as a student types it */
    int n_workers;
    size_t n_points;          /* of a worker: its steps and one */
    struct path_point *point; /* [n_workers][n_points]; owned */
};

/* Train with these options, words with a blank between two, on one thread: NAME.csv in the folder is the trajectory.
 * RC_PEER: it failed, as its own message says; RC_MISMATCH: FILE:LINE of a trajectory that is none; RC_NOMEM. */
enum rc training_run(struct training_path *out, const struct lab_env *env, const char *name,
                     const char *options) MUST_CHECK;
/* The same; NAME.ckpt is its checkpoint. */
enum rc training_run_saving(struct training_path *out, const struct lab_env *env, const char *name,
                            const char *options) MUST_CHECK;
void training_close(struct training_path *t); /* accepts a zeroed one */
/* gradmark train with options, words with a blank between two, and behind these own, NULL last: in a child process.
 * RC_PEER: it failed, as its own message says. */
enum rc training_launch(const struct lab_env *env, const char *name, const char *options,
                        const char *const *own) MUST_CHECK;
/* The median of the steps of worker 0: what the machine does beside them, now and then, is not in it. RC_NOMEM. */
enum rc training_median_step_s(double *out_s, const struct training_path *t) MUST_CHECK;
/* The farthest from worker 0 that another is, before `step`. */
double training_apart(const struct training_path *t, size_t step);
/* slope_hist_R and offset_hist_R of every worker R in the folder, a number a line: what plots of the course that these
 * lessons come from read. RC_IO. */
enum rc training_histories(const struct training_path *t, const struct lab_env *env) MUST_CHECK;
/* Read a trajectory (train/trajectory.h) into *out, whose name and command stay. */
enum rc training_read(struct training_path *out, const char *path) MUST_CHECK;

#endif
