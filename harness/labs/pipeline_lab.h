/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pipeline_lab.h - the parts of the lab "pipeline". Private to pipeline*.c.
 *
 *   pipeline.c       the page: words, tables and pictures
 *   pipeline_runs.c  the trainings, their results, and the tables that are drawn
 */
#ifndef HARNESS_LABS_PIPELINE_LAB_H
#define HARNESS_LABS_PIPELINE_LAB_H

#include "harness/labs/lab.h"
#include "harness/labs/records.h"
#include "harness/labs/stage_spans.h"

enum { PIPELINE_STAGES = 4, PIPELINE_COUNTS = 4, PIPELINE_WAYS = 4, PIPELINE_SCHEDULES = 2 };
enum { PIPELINE_EQUAL, PIPELINE_NETWORK, PIPELINE_KINDS };

extern const int pipeline_count[PIPELINE_COUNTS]; /* micro-batches */

extern const struct pipeline_way { /* first the schedules, then the same schedules with recompute */
    const char *name, *options;
} pipeline_way[PIPELINE_WAYS];

extern const struct pipeline_kind { /* kinds of stages */
    const char *name, *shown, *note, *options;
    const char *profile; /* a file of the folder; NULL: none */
    int n_ways;          /* number of ways, from the first */
} pipeline_kind[PIPELINE_KINDS];

struct pipeline_run { /* the second step of a training */
    char command[TRAINING_COMMAND_BYTES];
    struct stage_spans spans;
    struct stage_step step;
    double bubble_ratio;
    int held[PIPELINE_STAGES];       /* most micro-batches held, from the spans */
    double n_bytes[PIPELINE_STAGES]; /* of activations; 0: a replayed profile has none */
};

struct pipeline { /* one run of the lab */
    const struct lab_env *env;
    struct pipeline_run run[PIPELINE_KINDS][PIPELINE_COUNTS][PIPELINE_WAYS];
};

/* Bubble ratio in theory: (S - 1) / (M + S - 1). */
double pipeline_bubble(int n_micro_batches);
double pipeline_step_ms(const struct pipeline_run *r);
/* Most micro-batches, and most bytes, that one stage holds. */
int pipeline_held_most(const struct pipeline_run *r);
double pipeline_bytes_most(const struct pipeline_run *r);

/* Run all trainings. Errors: those of lab.h, and RC_MISMATCH if spans and records of a training contradict each other.
 */
enum rc pipeline_train(struct pipeline *l) MUST_CHECK;
void pipeline_close(struct pipeline *l); /* accepts a zeroed one */
/* Write the tables of all pictures, and pipeline.csv. RC_IO. */
enum rc pipeline_write_drawn(const struct pipeline *l) MUST_CHECK;

#endif
