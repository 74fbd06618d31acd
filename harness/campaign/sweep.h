/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sweep.h - a campaign that is being run: its options, which points it has, their launches.
 *
 *   plan.c   which points          steps.c  how many steps a launch has
 *   launch.c  how a point is run
 */
#ifndef HARNESS_CAMPAIGN_SWEEP_H
#define HARNESS_CAMPAIGN_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/campaign/campaign.h"
#include "harness/report/progress.h"
#include "harness/train/train.h"
#include "harness/world/world.h"

struct compare_opts {
    const char *model, *mode, *workers, *results, *name, *cost;
    uint64_t launches;
    double budget_s;
    bool charts;
    struct train_opts train; /* what every launch is told; those of one run are not used */
};

struct comparison { /* in mpi every process has one; only rank 0's results are filled */
    struct compare_opts opts;
    uint64_t train_given; /* bit i: train_opt_table[i] was given by the user */
    struct launcher launcher;
    struct campaign campaign;
    char self_path[512], launch_path[600], cost_path[600]; /* the last two: of the launch under way */
    struct world_cost cost;                                /* sim: of all launches */
    struct progress progress;
    uint64_t started_ns;
    bool stopped; /* by a signal: what was launched is told, the rest is not launched */
};

/* Add the points of the options to c->campaign. RC_INVAL: nothing to run, or more workers than launched ranks. */
enum rc compare_plan(struct comparison *c) MUST_CHECK;
/* steps.c: p->n_steps of every point whose steps the user leaves open: its model's, or as many as let two
 * turns of all points end within the budget, 6 at least. A model is slow where a step of one worker takes over 50 ms
 * at a quarter of the rate of a GEMM of this machine, measured here; others keep theirs. Needs step_flops and step_s of
 * points.
 */
enum rc compare_choose_steps(struct comparison *c) MUST_CHECK;
/* The part of it that measures nothing; gemm_flops_per_s: of one thread. Cannot fail. */
void compare_set_steps(struct comparison *c, double gemm_flops_per_s);
/* Resolve every launch without running it, so that bad input is found before work begins. */
enum rc compare_check(struct comparison *c) MUST_CHECK;
/* Launch all points in turns; w NULL: each launch is a process; else it runs in a part of w. Results go to
 * c->campaign (rank 0). Errors name the point that failed. */
enum rc compare_launch_all(struct comparison *c, struct world *w) MUST_CHECK;

#endif
