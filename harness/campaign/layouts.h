/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layouts.h - layouts of a model on GPUs of a described cluster (train/layout.h): what each would take, and which is
 * best.
 *
 *   layouts.c         which layouts there are, and which are simulated
 *   layouts_formula.c what a formula tells of them
 *   layout_play.h     the time of a step, by that formula; layout_links.h: what crosses the same links at once
 *   layouts_report.c  table, records, and what they say in words
 *
 * Invariants
 *   A1  All layouts of a model have the same samples in a step: they are compared at equal work (strong scaling).
 *   A2  The best one is looked for among all layouts of as many GPUs that can be, every number of stages that divides
 *       it and every number of shards that divides the workers left, by the formula; the simulator measures the best
 *       few of these, and the data-parallel one always. It decides.
 *   A3  The formula: the schedule at the profile's times, with all replicas of a stage taken for one; tensors between
 *       stages, activations in groups of shards, and rings of gradients each have an even share of the links that they
 *       cross at once (layout_play.h). Behind the last backward the rings, of a shard and then of what all replicas
 *       have, then the update; with --overlap on the last backward hides of both rings what it can, but of the second
 *       one nothing where that is one bucket. It knows no jitter. Where replicas are alike on their hosts it is within
 *       3 % of simulation (cli.layout), where some leave a host at other stages than others, within 10 %.
 */
#ifndef HARNESS_CAMPAIGN_LAYOUTS_H
#define HARNESS_CAMPAIGN_LAYOUTS_H

#include "harness/campaign/simulate.h"
#include "harness/train/layout.h"

enum { LAYOUTS_MOST = 64, LAYOUTS_SIMULATED = 4, LAYOUTS_VERDICT_BYTES = 1024 };

struct layouts_terms {              /* borrowed */
    struct simulate_terms simulate; /* models, profiles, gpus, cluster, overlap, bucket_bytes, n_seeds */
    const char *list;               /* "4x1x1,1x4x1", or "best" */
    const char *schedule;
    uint64_t global_batch;    /* 0: the profile's batch for each of the GPUs of the first layout */
    uint64_t n_micro_batches; /* of layouts with stages; 0: the most that divide a worker's batch, up to four a stage */
};

struct layout_point {
    struct layout layout;
    size_t profile;
    uint64_t batch, n_micro_batches; /* of a worker */
    double formula_s, imbalance_ratio, bubble_ratio;
    /* Of a step, of the rank that sends or needs most: */
    uint64_t activations_bytes, gradients_bytes, memory_bytes;
    bool is_simulated;
    size_t simulation;
    double step_s; /* NaN: it is not simulated, or that failed */
};

struct layouts { /* owned */
    const struct layouts_terms *terms;
    struct simulate base;       /* profiles, the cluster, simulations */
    struct layout_point *point; /* by profile; behind layouts_run() those of each by time */
    size_t n_points;
    uint64_t *global_batch; /* [profiles] */
};

/* Writes profiles into folder. RC_INVAL names option and value; RC_NOMEM. */
enum rc layouts_open(struct layouts *out, const char *folder, const struct layouts_terms *terms) MUST_CHECK;
/* RC_PEER: a signal came. */
enum rc layouts_run(struct layouts *l, const struct simulations_env *env) MUST_CHECK;
void layouts_close(struct layouts *l); /* accepts a zeroed one */

/* What a layout takes: simulated, or else by the formula. */
double layout_step_s(const struct layout_point *p);
/* Which of points (of one model, by time) wins, and why. */
void layouts_verdict(char *out, size_t n_bytes, const struct layout_point *point, size_t n_points);
enum rc layouts_print(const struct layouts *l, FILE *to) MUST_CHECK;
/* A record of kind "layout" for each. */
enum rc layouts_write(const struct layouts *l, const char *path) MUST_CHECK;

#endif
