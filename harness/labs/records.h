/* SPDX-License-Identifier: Apache-2.0 */
/* records.h - a training of any model in a child process, the content of its records (--out), and its outcome. */
#ifndef HARNESS_LABS_RECORDS_H
#define HARNESS_LABS_RECORDS_H

#include "harness/labs/training.h"

#include <stddef.h>

struct loss_point {                     /* of one round: a step of every worker */
    double samples_count, time_s, loss; /* at the end of the round, over all workers; loss: their mean, NaN: broken */
};

struct worker_figures { /* NaN: not available */
    double compute_s;   /* of its mean step */
    double wait_s;      /* of its mean step, waiting for slower workers */
    double batch_count; /* its samples per round; NaN: equal for all workers */
};

struct stage_figures {        /* of one stage of a pipeline; NaN: not available */
    double held_count;        /* micro-batches whose activations it held, as measured */
    double activations_bytes; /* memory that it keeps for them */
};

enum { TRAINING_MOST_STAGES = 64 };

struct training_record {
    char command[TRAINING_COMMAND_BYTES]; /* as a student types it */
    double process_s;                     /* real time of the whole child process */
    /* From the summary. NaN: not available; for a target: it was not reached. */
    double run_s;                    /* from the first step to the last; virtual in sim, as all times below */
    double step_s;                   /* mean step */
    double exposed_comm_s;           /* part of a step: exchange that is not hidden */
    double throughput_samples_per_s; /* of all workers */
    double seconds_to_target_s, samples_to_target_count;
    double staleness_mean_count;
    double accuracy_ratio;    /* of the test set */
    size_t n_points;          /* rounds that have a record */
    struct loss_point *point; /* owned */
    int n_workers;
    struct worker_figures *worker; /* [n_workers]; owned */
    int n_stages;                  /* stages that have a record; 0: not in stages */
    struct stage_figures stage[TRAINING_MOST_STAGES];
};

/* Train with these options, separated by blanks: NAME.jsonl in the folder holds the records. Errors: as training_run().
 */
enum rc training_record_run(struct training_record *out, const struct lab_env *env, const char *name,
                            const char *options) MUST_CHECK;
/* The same for the linear model, on one thread: NAME.csv is the trajectory, whose points are in *path; its name and
 * command are empty. */
enum rc training_record_run_linear(struct training_record *out, struct training_path *path, const struct lab_env *env,
                                   const char *name, const char *options) MUST_CHECK;
/* The same in stages: NAME.json is the timeline. profile: a file of the folder, for --profile; NULL: none. */
enum rc training_record_run_stages(struct training_record *out, const struct lab_env *env, const char *name,
                                   const char *options, const char *profile) MUST_CHECK;
/* NAME.csv in the folder: time, samples and loss of each round, with all digits. RC_IO. */
enum rc training_record_write_curve(const struct training_record *r, const struct lab_env *env,
                                    const char *name) MUST_CHECK;
/* Read records into *out; its command and process_s are kept. RC_MISMATCH: FILE or FILE:LINE, and what is not a record
 * of a training; RC_IO, RC_NOMEM: *out has no points and no workers. */
enum rc training_record_read(struct training_record *out, const char *path) MUST_CHECK;
void training_record_close(struct training_record *r); /* keeps command and figures; accepts a zeroed one */

/* --- the outcome of a training, from its records alone --- */

enum outcome_kind {
    OUTCOME_REACHED,     /* the target */
    OUTCOME_NOT_REACHED, /* not within the available samples */
    OUTCOME_DIVERGED     /* at the end its loss is not a number, or is above the first loss */
};

struct outcome {
    enum outcome_kind kind;
    double first_loss;    /* of the first round */
    double last_loss;     /* mean of the last rounds; NaN: one of them is NaN */
    double highest_loss;  /* highest of all rounds that have a loss */
    double samples_count; /* of all workers together */
};

/* Outcome of a record that has rounds; last_loss covers the rounds of the last n_samples. Cannot fail. */
struct outcome outcome_of(const struct training_record *r, double n_samples);
/* Describe the outcome; "" if it reached the target and never rose well above its start. */
void outcome_print(char *out, size_t n_bytes, const struct outcome *o);

#endif
