/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage.h - the schedule of a pipeline stage, and its communication with adjacent stages.
 *
 * A gradient is computed in M micro-batches (models.M8). Each goes forward through the stages 0 .. S - 1, then
 * backward through them. Schedules:
 *   gpipe  all forward, then all backward (Huang et al., "GPipe", 2019): a stage holds the activations of M
 *   1f1b   stage s goes S - s - 1 micro-batches ahead, then forward and backward in turn (Narayanan et al.,
 *          "PipeDream", 2019, with the flush of its section 3.3): it holds those of S - s at most, and is as fast
 *
 * Invariants
 *   P1  Forward and backward each process the micro-batches in order, and the backward of one comes after its forward.
 *       So the sums of gradients are those of models.M8, to the bit, for any S and schedule.
 *   P2  A stage holds the activations of at most stage_held() micro-batches: from the start of each forward to the end
 *       of its backward.
 *   P3  A passed tensor is (C, B, H, W) of a micro-batch. Memory given to pipe.pass() stays unchanged until
 *       pipe.passed() has returned; memory given to pipe.expect() is not touched until pipe.take() has returned.
 *   P4  With recomputes, a stage holds for stage_held() micro-batches only the input from the previous stage, and the
 *       activations of one. It computes those again, to the same bits, right before the backward of each. Running means
 *       are updated only the first time. A stage that holds one micro-batch recomputes nothing.
 */
#ifndef MODELS_ENGINE_STAGE_H
#define MODELS_ENGINE_STAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/rc.h"
#include "models/engine/network_stages.h"

enum stage_schedule { SCHEDULE_GPIPE, SCHEDULE_1F1B };

/* The direction of a tensor. */
enum stage_way {
    WAY_VALUE, /* activations, to the next stage */
    WAY_GRAD,  /* their gradients, to the previous stage */
    N_STAGE_WAYS
};

struct stage_action {
    size_t micro_batch;
    bool is_backward;
};

/* Transfer of tensors between stages. One expect() and one pass() per way and micro-batch. Errors: those of the
 * transport, which name the stage that does not answer. */
struct stage_pipe {
    enum rc (*expect)(void *arg, enum stage_way way, size_t micro_batch, float *x,
                      size_t n_elems);                                  /* begin to receive */
    enum rc (*take)(void *arg, enum stage_way way, size_t micro_batch); /* wait until it has arrived */
    enum rc (*pass)(void *arg, enum stage_way way, size_t micro_batch, const float *x,
                    size_t n_elems);                                      /* begin to send */
    enum rc (*passed)(void *arg, enum stage_way way, size_t micro_batch); /* wait until it is sent */
    void *arg;
    void (*begins)(void *arg, struct stage_action action); /* reports the start and end of actions; may be NULL */
    void (*ended)(void *arg, struct stage_action action);
};

struct pipeline_stage { /* for the training of one stage; borrowed */
    struct network_stages cuts;
    int number;
    enum stage_schedule schedule;
    bool recomputes;            /* models.P4 */
    size_t in_elems, out_elems; /* for one image, from and to the adjacent stages, for a training without a network
                                   (replay); 0: no such stage */
    struct stage_pipe pipe;     /* expect, take, pass, passed: never NULL */
};

/* Action i of the 2 n_micro_batches of a stage. */
struct stage_action stage_action_at(enum stage_schedule schedule, int stage, int n_stages, size_t n_micro_batches,
                                    size_t i);
/* The work of a stage on its micro-batches. Errors end stage_play(). */
struct stage_player {
    enum rc (*expect)(void *arg, size_t micro_batch); /* begin to receive its value: its memory is free from now on */
    enum rc (*forward)(void *arg, size_t micro_batch);
    enum rc (*backward)(void *arg, size_t micro_batch);
    void *arg;
};

/* models.P1, P2: execute the schedule of s once, over n_micro_batches. The first stage expects nothing. */
enum rc stage_play(const struct pipeline_stage *s, size_t n_micro_batches,
                   const struct stage_player *player) MUST_CHECK;
/* models.P2 */
size_t stage_held(enum stage_schedule schedule, int stage, int n_stages, size_t n_micro_batches);

#endif
