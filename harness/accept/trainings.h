/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trainings.h - trainings that stages run on some of the ranks of the test. Each has options as a user of `gradmark
 * train` would type them, a separate job, ranks, and summary.
 *
 * Invariants
 *   -   The part is the ranks of the first nodes, in their order or in another one that begins with rank 0. So rank 0
 *       of the test is rank 0 of each training, and has its result. All other ranks wait, asleep.
 *   R2  A training that cannot be prepared (an unknown model, too little memory on a rank) is not an error: nothing
 *       runs, and rank 0 has the reason.
 *   R3  Faults of env->inject are executed by the fault injection of train, and nothing else: slow ranks, flipped bits.
 */
#ifndef HARNESS_ACCEPT_TRAININGS_H
#define HARNESS_ACCEPT_TRAININGS_H

#include "harness/accept/stages.h"
#include "harness/train/train.h"

enum { TRAINING_OPTIONS_BYTES = 1024 };

struct training_order {
    enum accept_stage stage;
    const char *model;
    int n_nodes;      /* the first n_nodes nodes take part */
    const int *place; /* of all nodes: [n_ranks], the rank at each place; NULL: in their order */
    uint64_t n_steps;
    const char *more; /* further options, separated by blanks; "": none */
    bool computes;    /* parameters are wanted, so cpu replaces a no-data (timing only) backend */
    bool flips;       /* accept.R3: with flipped bits */
    bool loses;       /* accept.R3: with the ranks that are lost in this stage, in the middle of the steps */
    /* Of the stage's progress: where this part begins and ends. */
    double from_ratio, to_ratio;
};

struct part_training_run { /* of one rank; owned: part_training_close() */
    bool has_run;          /* equal on all ranks; false: accept.R2 */
    int n_ranks;
    struct train_job job;
    struct train_result result;   /* on rank 0, as is */
    struct train_summary summary; /* its steps are those of result */
    char options[TRAINING_OPTIONS_BYTES];
};

/* Collective over env->world. Errors: as train_rank(); RC_NOMEM, RC_PEER. */
enum rc part_training_run(struct part_training_run *out, struct stage_env *env,
                          const struct training_order *order) MUST_CHECK;
void part_training_close(struct part_training_run *r); /* accepts a zeroed one */

struct training_pace { /* from a short run; equal on all ranks */
    bool has_run;
    double step_s;     /* mean of its steps */
    double overhead_s; /* of a training, besides its steps: opening, limits of the run measured before and after */
};
/* Run a short training to measure its pace. order->n_steps is not read. Collective. */
enum rc training_time(struct training_pace *out, struct stage_env *env, const struct training_order *order) MUST_CHECK;
/* Number of steps with which a training takes at most limit_s (0: no limit); at least 1, at most `wanted`. */
uint64_t training_steps_within(const struct training_pace *pace, double limit_s, double wanted);
/* Time left of the stage's limit, by rank 0's clock; 0: there is no limit; otherwise at least 1e-9. Collective. */
enum rc training_left_s(double *out, struct stage_env *env) MUST_CHECK;

/* Number of ranks on the first n_nodes nodes. */
int training_n_ranks(const struct fleet *f, int n_nodes);

#endif
