/* SPDX-License-Identifier: Apache-2.0 */
/* records.h - a training of any model in a child process, and what its own records (--out) say of it. */
#ifndef HARNESS_LABS_RECORDS_H
#define HARNESS_LABS_RECORDS_H

#include "harness/labs/training.h"

struct loss_point {                     /* of a round: a step of every worker */
    double samples_count, time_s, loss; /* by the end of the round, of all workers; loss: their mean, NaN: broken */
};

struct worker_figures { /* NaN: there is none */
    double compute_s;   /* of its mean step */
    double wait_s;      /* likewise: for slower workers */
    double batch_count; /* its samples of a round; NaN: all have as many */
};

struct stage_figures {        /* of the stages of a pipeline; NaN: there is none */
    double held_count;        /* micro-batches whose activations it held, as measured */
    double activations_bytes; /* that it keeps for them */
};

enum { TRAINING_MOST_STAGES = 64 };

struct training_record {
    char command[TRAINING_COMMAND_BYTES]; /* as a student types it */
    double process_s;                     /* real time, of the whole child process */
    /* of the summary; NaN: there is none, and of a target: it was not reached */
    double run_s;                    /* from the first step to the last; virtual in sim, as are all below */
    double step_s;                   /* a step in the mean */
    double exposed_comm_s;           /* of it exchange that is not hidden */
    double throughput_samples_per_s; /* of all workers */
    double seconds_to_target_s, samples_to_target_count;
    double staleness_mean_count;
    double accuracy_ratio;    /* of the test set */
    size_t n_points;          /* rounds, of which there is a record */
    struct loss_point *point; /* owned */
    int n_workers;
    struct worker_figures *worker; /* [n_workers]; owned */
    int n_stages;                  /* of which there is a record; 0: not in stages */
    struct stage_figures stage[TRAINING_MOST_STAGES];
};

/* Train with these options, words with a blank between two: NAME.jsonl in the folder has the records. Errors: as
 * training_run(). */
enum rc training_record_run(struct training_record *out, const struct lab_env *env, const char *name,
                            const char *options) MUST_CHECK;
/* The same of the linear model, on one thread: NAME.csv is the trajectory, whose points are in *path; its name and its
 * command are empty. */
enum rc training_record_run_linear(struct training_record *out, struct training_path *path, const struct lab_env *env,
                                   const char *name, const char *options) MUST_CHECK;
/* The same in stages: NAME.json is the timeline. profile: a file of the folder, for --profile; NULL: none. */
enum rc training_record_run_stages(struct training_record *out, const struct lab_env *env, const char *name,
                                   const char *options, const char *profile) MUST_CHECK;
/* NAME.csv in the folder: time, samples and loss of each round, with all digits. RC_IO. */
enum rc training_record_write_curve(const struct training_record *r, const struct lab_env *env,
                                    const char *name) MUST_CHECK;
/* Read records into *out, whose command and process_s stay. RC_MISMATCH: FILE or FILE:LINE, and what is no record of a
 * training; RC_IO, RC_NOMEM: *out has no points and no workers. */
enum rc training_record_read(struct training_record *out, const char *path) MUST_CHECK;
void training_record_close(struct training_record *r); /* command and figures stay; accepts a zeroed one */

#endif
