/* SPDX-License-Identifier: Apache-2.0 */
/* training.h - a training of the linear model in a child process, and its path. */
#ifndef HARNESS_LABS_TRAINING_H
#define HARNESS_LABS_TRAINING_H

#include <stddef.h>

#include "harness/labs/lab.h"

enum { TRAINING_NAME_BYTES = 48, TRAINING_COMMAND_BYTES = 640 };

struct path_point {                                    /* state at the start of a worker's step */
    double time_s, samples_count, loss, slope, offset; /* loss: over the samples of the step; after the last: NaN */
};

struct training_path {
    char name[TRAINING_NAME_BYTES];
    char command[TRAINING_COMMAND_BYTES]; /* as a student types it */
    int n_workers;
    size_t n_points;          /* per worker: number of its steps + 1 */
    struct path_point *point; /* [n_workers][n_points]; owned */
};

/* Train with these options, separated by blanks, on one thread: NAME.csv in the folder is the trajectory.
 * RC_PEER: it failed, as its own message says; RC_MISMATCH: FILE:LINE is not a valid trajectory; RC_NOMEM. */
enum rc training_run(struct training_path *out, const struct lab_env *env, const char *name,
                     const char *options) MUST_CHECK;
/* The same; NAME.ckpt is its checkpoint. */
enum rc training_run_saving(struct training_path *out, const struct lab_env *env, const char *name,
                            const char *options) MUST_CHECK;
void training_close(struct training_path *t); /* accepts a zeroed one */
/* Run gradmark train in a child process with options, separated by blanks, followed by own, NULL-terminated.
 * RC_PEER: it failed, as its own message says. */
enum rc training_launch(const struct lab_env *env, const char *name, const char *options,
                        const char *const *own) MUST_CHECK;
/* The median step of worker 0: occasional disturbances by other work on the machine do not affect it. RC_NOMEM. */
enum rc training_median_step_s(double *out_s, const struct training_path *t) MUST_CHECK;
/* The largest distance of any worker from worker 0, before `step`. */
double training_apart(const struct training_path *t, size_t step);
/* Write slope_hist_R and offset_hist_R of every worker R in the folder, a number per line. Plots of the course on which
 * these lessons are based read them. RC_IO. */
enum rc training_histories(const struct training_path *t, const struct lab_env *env) MUST_CHECK;
/* Read a trajectory (train/trajectory.h) into *out; its name and command are kept. */
enum rc training_read(struct training_path *out, const char *path) MUST_CHECK;

#endif
