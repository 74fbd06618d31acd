/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layouts.h - layouts of a model on GPUs of a described cluster (train/layout.h): the step time of each, and the best.
 *
 *   layouts.c      the list of layouts, which are simulated, and the results of a formula; table, records, sentences
 *   layout_play.h  the step time by that formula, with messages that share links
 *
 * Invariants
 *   A1  All layouts of a model have the same samples in a step: they are compared at equal work (strong scaling).
 *   A2  The best one is searched among all possible layouts with the same number of GPUs: every number of stages that
 *       divides it, and every number of shards that divides the remaining workers. The formula ranks them. The
 *       simulator measures the best few, and always the data-parallel one. The simulator decides.
 *   A3  The formula plays the schedule with the profile's times; all replicas of a stage count as one. Tensors between
 *       stages, activations in groups of shards, and rings of gradients each have an even share of the links that they
 *       cross at the same time (layout_play.h). After the last backward come the rings, first of a shard, then of the
 *       tensors common to all replicas; then the update. With --overlap on, the last backward hides as much as possible
 *       of both rings, but nothing of the second if that is one bucket. The formula has no jitter. If replicas are
 *       alike on their hosts, it is within 3 % of simulation (cli.layout). If some cross hosts at other stages than
 *       others do, it is within 10 %.
 */
#ifndef HARNESS_CAMPAIGN_LAYOUTS_H
#define HARNESS_CAMPAIGN_LAYOUTS_H

#include "harness/campaign/simulate.h"
#include "harness/train/layout.h"
#include "models/replay/profile.h"

enum { LAYOUTS_MOST = 64, LAYOUTS_SIMULATED = 4, LAYOUTS_VERDICT_BYTES = 1024 };

struct layouts_terms {              /* borrowed */
    struct simulate_terms simulate; /* models, profiles, gpus, cluster, overlap, bucket_bytes, n_seeds */
    const char *list;               /* "4x1x1,1x4x1", or "best" */
    const char *schedule;
    uint64_t global_batch;    /* 0: the profile's batch for each of the GPUs of the first layout */
    uint64_t n_micro_batches; /* for layouts with stages; 0: the most that divide a worker's batch, up to 4 per stage */
};

struct layout_point {
    struct layout layout;
    size_t profile;
    uint64_t batch, n_micro_batches; /* of a worker */
    double formula_s, imbalance_ratio, bubble_ratio;
    /* Per step, of the rank that sends or needs most: */
    uint64_t activations_bytes, gradients_bytes, memory_bytes;
    bool is_simulated;
    size_t simulation;
    double step_s; /* NaN: not simulated, or the simulation failed */
};

struct layouts { /* owned */
    const struct layouts_terms *terms;
    struct simulate base;       /* profiles, the cluster, simulations */
    struct layout_point *point; /* by profile; after layouts_run() the points of each by time */
    size_t n_points;
    uint64_t *global_batch; /* [profiles] */
};

/* Writes profiles into folder. RC_INVAL names option and value; RC_NOMEM. */
enum rc layouts_open(struct layouts *out, const char *folder, const struct layouts_terms *terms) MUST_CHECK;
/* RC_PEER: a signal came. */
enum rc layouts_run(struct layouts *l, const struct simulations_env *env) MUST_CHECK;
void layouts_close(struct layouts *l); /* accepts a zeroed one */

/* The best of points (of one model, by time), and why. */
enum rc layouts_print(const struct layouts *l, FILE *to) MUST_CHECK;
/* Write a record of kind "layout" for each. */
enum rc layouts_write(const struct layouts *l, const char *path) MUST_CHECK;

/* Results of a formula for a layout (layouts.A3): its step, its messages and its memory. */

struct layout_model { /* a model and its cluster; owned, except for the cluster */
    struct profile *profile;
    struct network *network;
    size_t divisor; /* of its bytes (profile.h, J4) */
    const struct cluster *cluster;
    double *cost; /* [n_nodes] */
};

#endif
