/* SPDX-License-Identifier: Apache-2.0 */
/* stages_run.h - --stages S: the trainings of all stages (stages.h) in one world, with one joint result. */
#ifndef HARNESS_TRAIN_STAGES_RUN_H
#define HARNESS_TRAIN_STAGES_RUN_H

#include "harness/train/stages.h"
#include "harness/train/train.h"

struct stage_figures { /* of worker 0 of one stage */
    int32_t number, first_node, end_node;
    uint64_t n_params, n_state;
    uint64_t n_planned_held;    /* micro-batches that it holds at most (models.P2), planned */
    uint64_t n_held;            /* held at most; 0: it computed nothing (replay, no data) */
    struct train_memory memory; /* as planned, with n_planned_held activations; zeros: not counted, none is used */
    double flops_ratio;         /* share of the network's */
    double cost_ratio;          /* balanced by this (train.G2): over the mean of all stages */
    uint64_t passed_bytes;      /* of a micro-batch, to the next stage; 0: it is the last */
    struct stage_limits limits;
    double shards_bytes;    /* activations between its shards, per step; 0: no shards */
    double exchanged_bytes; /* gradients that one of its workers sends per step; 0: none */
    double waited_ratio;    /* share of the steps' time waiting for other stages, bubble included */
};

struct train_stages_run {
    const struct opt_group *group; /* [n_groups], the source of the options */
    int n_groups;
    int n_stages;
    const char *out;       /* --out */
    struct train_job *job; /* [n_stages]; in a launched world only this process's and the first are prepared */
    const struct train_watch *watch;
    const struct train_restarts *restarts; /* earlier restarts; NULL: none */
    bool may_restart;                      /* a restart is possible */
    /* Called on rank 0 after the last step of a stopped run, before its world ends; NULL: nothing is done. */
    enum rc (*on_stop)(struct train_stages_run *run, struct world *w);
    /* Output, on rank 0 of the world: */
    struct train_job whole;        /* the first job, with the parameters of all stages; owns nothing */
    struct train_result result;    /* of the first stage, with the final parameters of all stages */
    struct stage_figures *figures; /* [n_stages]; owned */
    bool is_written, is_saved;     /* results had to be written; the checkpoint is written */
};

/* train.G1. rank: in the whole world. */
int train_stage_of_rank(const struct train_job *job, int rank);
/* Prepare the jobs of a zeroed run whose groups and n_stages are set. launcher: of the ranks of this run. RC_INVAL,
 * RC_UNSUPPORTED, RC_NOMEM. */
enum rc train_stages_prepare(struct train_stages_run *run, const struct train_opts *opts,
                             const struct launcher *launcher) MUST_CHECK;
/* The world options that all stages need. */
struct world_opts train_stages_world_opts(const struct train_stages_run *run);
int train_stages_n_ranks(const struct train_stages_run *run);
/* In rank 0's process: the mean time of a step. */
double train_stages_step_s(const struct train_stages_run *run);
/* Body of a rank. arg: a struct train_stages_run. */
enum rc train_stages_body(struct world *w, void *arg) MUST_CHECK;
/* In rank 0's process: write the records of train_write(), and one of kind "stage" for each stage. */
enum rc train_stages_write(struct report *to, const struct train_stages_run *run) MUST_CHECK;
void train_stages_free(struct train_stages_run *run); /* accepts a zeroed one */

#endif
