/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage.h - what a stage of a pipeline computes when, and how it reaches the stages beside it.
 *
 * A gradient is computed in M micro-batches (workload.h, M8). Each goes forward through the stages 0 .. S - 1, then
 * backward through them. Schedules:
 *   gpipe  all forward, then all backward (Huang et al., "GPipe", 2019): a stage holds the activations of M
 *   1f1b   stage s goes S - s - 1 micro-batches ahead, then forward and backward in turn (Narayanan et al.,
 *          "PipeDream", 2019, with the flush of its section 3.3): it holds those of S - s at most, and is as fast
 *
 * Invariants
 *   P1  Forward and backward each go through the micro-batches in order, the backward of one behind its forward; so the
 *       sums of gradients are those of M8, to the bit, whatever S and the schedule.
 *   P2  A stage holds the activations of stage_held() micro-batches at most: from the begin of the forward of each to
 *       the end of its backward.
 *   P3  What is passed on is a tensor (C, B, H, W) of a micro-batch. What a stage gives to pipe.pass() stays as it is
 *       until pipe.passed() has returned; what it gives to pipe.expect() it does not touch until pipe.take() has.
 *   P4  With recomputes a stage holds of stage_held() micro-batches only what it has taken of the stage before, and the
 *       activations of one: it computes those again, to the same bits, right before the backward of each. Running means
 *       are of the first time. A stage that holds one micro-batch has nothing to compute again.
 */
#ifndef MODELS_ENGINE_STAGE_H
#define MODELS_ENGINE_STAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/rc.h"
#include "models/engine/network_stages.h"

enum stage_schedule { SCHEDULE_GPIPE, SCHEDULE_1F1B };

/* A tensor's way. */
enum stage_way {
    WAY_VALUE, /* activations, to the stage behind */
    WAY_GRAD,  /* their gradients, to the stage before */
    N_STAGE_WAYS
};

struct stage_action {
    size_t micro_batch;
    bool is_backward;
};

/* How tensors get from stage to stage. One expect() and one pass() of each way and micro-batch. Errors: those of what
 * carries them, which name the stage that is not heard of. */
struct stage_pipe {
    enum rc (*expect)(void *arg, enum stage_way way, size_t micro_batch, float *x,
                      size_t n_elems);                                  /* begin to receive */
    enum rc (*take)(void *arg, enum stage_way way, size_t micro_batch); /* it is there */
    enum rc (*pass)(void *arg, enum stage_way way, size_t micro_batch, const float *x,
                    size_t n_elems);                                      /* begin to send */
    enum rc (*passed)(void *arg, enum stage_way way, size_t micro_batch); /* it is sent */
    void *arg;
    void (*begins)(void *arg, struct stage_action action); /* to tell when a stage does what; NULL: nobody asks */
    void (*ended)(void *arg, struct stage_action action);
};

struct pipeline_stage { /* of a training of one stage; borrowed */
    struct network_stages cuts;
    int number;
    enum stage_schedule schedule;
    bool recomputes;            /* P4 */
    size_t in_elems, out_elems; /* for one image, from and to the stages beside it, of a training that has no network
                                   to tell them (replay); 0: there is no such stage */
    struct stage_pipe pipe;     /* expect, take, pass, passed: never NULL */
};

/* Action i of the 2 n_micro_batches of a stage. */
struct stage_action stage_action_at(enum stage_schedule schedule, int stage, int n_stages, size_t n_micro_batches,
                                    size_t i);
/* What a stage does with its micro-batches. Errors end stage_play(). */
struct stage_player {
    enum rc (*expect)(void *arg, size_t micro_batch); /* begin to receive its value: there is room for it from now on */
    enum rc (*forward)(void *arg, size_t micro_batch);
    enum rc (*backward)(void *arg, size_t micro_batch);
    void *arg;
};

/* P1, P2: play the schedule of s once, n_micro_batches. The first stage expects nothing. */
enum rc stage_play(const struct pipeline_stage *s, size_t n_micro_batches,
                   const struct stage_player *player) MUST_CHECK;
/* P2 */
size_t stage_held(enum stage_schedule schedule, int stage, int n_stages, size_t n_micro_batches);

#endif
