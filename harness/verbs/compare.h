/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare.h - what the parts of `gradmark compare` share: its options, its plan, its launches. Private to compare_*.c.
 *
 *   compare_verb.c    options, order of work, end      compare_plan.c    which points
 *   compare_launch.c  how a point is run               compare_report.c, compare_charts.c  what is shown
 */
#ifndef HARNESS_VERBS_COMPARE_H
#define HARNESS_VERBS_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/report/progress.h"
#include "harness/verbs/campaign.h"
#include "harness/world/world.h"

struct compare_opts {
    const char *world, *model, *mode, *workers, *lr_scaling, *reducer, *cluster, *results, *name;
    uint64_t servers, launches, batch, steps, seed, timeout_s;
    double lr, momentum, weight_decay, warmup_epochs, target_loss, budget_s;
    bool charts;
};

struct comparison { /* in mpi every process has one; only rank 0's results are filled */
    struct compare_opts opts;
    struct launcher launcher;
    struct campaign campaign;
    char self_path[512], launch_path[600];
    struct progress progress;
    uint64_t started_ns;
};

/* Add the points of the options to c->campaign. RC_INVAL: nothing to run, or more workers than launched ranks. */
enum rc compare_plan(struct comparison *c) MUST_CHECK;
/* Resolve every launch without running it, so that bad input is found before work begins. */
enum rc compare_check(struct comparison *c) MUST_CHECK;
/* Launch all points in turns; w NULL: each launch is a process; else it runs in a part of w. Results go to
 * c->campaign (rank 0). Errors name the point that failed. */
enum rc compare_launch_all(struct comparison *c, struct world *w) MUST_CHECK;

#endif
