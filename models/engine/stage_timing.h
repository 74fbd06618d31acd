/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage_timing.h - the least time of a step of a pipeline, from the compute times of its stages and the transfers
 * between them.
 *
 * It is the longest path through the schedule. A stage works in its order (stage.h). The forward of a micro-batch
 * follows the arrival of its value; the backward follows the arrival of its gradient. On each link tensors follow each
 * other. There are no other waits, so no run of that schedule is faster. With S equal stages and free transfers it is
 * (M + S - 1) times a stage's time; the bubble is (S - 1) / (M + S - 1) of it, for any schedule.
 */
#ifndef MODELS_ENGINE_STAGE_TIMING_H
#define MODELS_ENGINE_STAGE_TIMING_H

#include "models/engine/stage.h"

struct stage_times { /* for a micro-batch */
    double forward_s, backward_s;
    /* For its output on the way to the next stage, and its gradient on the way back. A single tensor takes latency_s.
     * The tensor that follows it arrives at least pass_s later. Not read for the last stage. */
    double latency_s, pass_s;
    double tail_s; /* per step: exchange after the last backward, before the stage begins the next step */
};

/* *step_s: time of one step, from the first forward to the end of the last backward, without any tail. RC_NOMEM. */
enum rc stage_least_step(double *step_s, const struct stage_times *times, enum stage_schedule schedule, int n_stages,
                         size_t n_micro_batches) MUST_CHECK;
/* *period_s: time per step of consecutive steps; a stage may begin the next step while other stages finish this one.
 * RC_NOMEM. */
enum rc stage_least_period(double *period_s, const struct stage_times *times, enum stage_schedule schedule,
                           int n_stages, size_t n_micro_batches) MUST_CHECK;
/* (S - 1) / (M + S - 1) */
double stage_bubble_ratio(int n_stages, size_t n_micro_batches);

#endif
