/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage_timing.h - the least time of a step of a pipeline, from what its stages compute and what passes between them.
 *
 * It is the longest path through the schedule: a stage's work in its order (stage.h), the forward of a micro-batch
 * behind its value's arrival, the backward behind its gradient's, and on each link one tensor behind the other. Nothing
 * else is waited for, so no run of that schedule is faster. Of S stages that take equally long, between which nothing
 * takes any time: (M + S - 1) times a stage's, of which (S - 1) / (M + S - 1) is the bubble, whatever the schedule.
 */
#ifndef MODELS_ENGINE_STAGE_TIMING_H
#define MODELS_ENGINE_STAGE_TIMING_H

#include "models/engine/stage.h"

struct stage_times { /* of a micro-batch */
    double forward_s, backward_s;
    /* Of its output on the way to the stage behind, and of the gradient of it on the way back: what goes at once takes
     * so long, and what is behind it comes pass_s later at the least. The last stage's: not read. */
    double latency_s, pass_s;
    double tail_s; /* of each step, behind the last backward, before the stage begins the next one: its exchange */
};

/* *step_s: of one step, from the first forward to the end of the last backward, without any tail. RC_NOMEM. */
enum rc stage_least_step(double *step_s, const struct stage_times *times, enum stage_schedule schedule, int n_stages,
                         size_t n_micro_batches) MUST_CHECK;
/* *period_s: of step after step, of which a stage may begin the next while others still do this one. RC_NOMEM. */
enum rc stage_least_period(double *period_s, const struct stage_times *times, enum stage_schedule schedule,
                           int n_stages, size_t n_micro_batches) MUST_CHECK;
/* (S - 1) / (M + S - 1) */
double stage_bubble_ratio(int n_stages, size_t n_micro_batches);

#endif
