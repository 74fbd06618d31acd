/* SPDX-License-Identifier: Apache-2.0 */
/* stages_run.h - --stages S: the trainings of all stages (job_stages.h) in one world, and one result of all. */
#ifndef HARNESS_TRAIN_STAGES_RUN_H
#define HARNESS_TRAIN_STAGES_RUN_H

#include "harness/train/stages_bound.h"
#include "harness/train/train.h"

struct stage_figures { /* of one stage, its worker 0 */
    int32_t number, first_node, end_node;
    uint64_t n_params, n_state;
    uint64_t n_planned_held;    /* micro-batches that it holds at most (stage.P2) */
    uint64_t n_held;            /* that it held at most; 0: it computed nothing (replay, hollow) */
    struct train_memory memory; /* as planned, with the activations of so many; zeros: not counted, none is touched */
    double flops_ratio;         /* of the network's */
    double cost_ratio;          /* by which it was balanced (job_stages.h, G2): over the mean of all stages */
    uint64_t passed_bytes;      /* of a micro-batch, to the stage behind; 0: it is the last */
    struct stage_limits limits;
    double shards_bytes;    /* activations between its shards, in a step; 0: it has none */
    double exchanged_bytes; /* gradients that a worker of it sends in a step; 0: none */
    double waited_ratio;    /* of the steps' time, for the stages beside it; the schedule's bubble among it */
};

struct train_stages_run {
    const struct opt_group *group; /* [n_groups], from which the options were parsed */
    int n_groups;
    int n_stages;
    const char *out;       /* --out */
    struct train_job *job; /* [n_stages]; of a launched world that of this process alone, and the first, are prepared */
    const struct train_watch *watch;
    const struct train_restarts *restarts; /* how often it was begun again; NULL: never */
    bool may_restart;                      /* it would be begun again */
    /* On rank 0 behind the last step of a run that is stopped, before its world ends; NULL: nothing is done. */
    enum rc (*on_stop)(struct train_stages_run *run, struct world *w);
    /* out, on rank 0 of all: */
    struct train_job whole;        /* the first job with the parameters of all stages; owns nothing */
    struct train_result result;    /* of the first stage, with the final parameters of all */
    struct stage_figures *figures; /* [n_stages]; owned */
    bool is_written, is_saved;     /* results were to be written; the checkpoint is */
};

/* G1. rank: of all. */
int train_stage_of_rank(const struct train_job *job, int rank);
/* Prepare the jobs of a zeroed run with its groups and n_stages set. launcher: of the ranks of this run. RC_INVAL,
 * RC_UNSUPPORTED, RC_NOMEM. */
enum rc train_stages_prepare(struct train_stages_run *run, const struct train_opts *opts,
                             const struct launcher *launcher) MUST_CHECK;
/* What all stages ask of their world. */
struct world_opts train_stages_world_opts(const struct train_stages_run *run);
int train_stages_n_ranks(const struct train_stages_run *run);
/* Where rank 0 lived: a mean step. */
double train_stages_step_s(const struct train_stages_run *run);
/* Body of a rank. arg: a struct train_stages_run. */
enum rc train_stages_body(struct world *w, void *arg) MUST_CHECK;
/* Where rank 0 lived: the records of train_write(), and one of kind "stage" for each stage. */
enum rc train_stages_write(struct report *to, const struct train_stages_run *run) MUST_CHECK;
void train_stages_free(struct train_stages_run *run); /* accepts a zeroed one */

#endif
