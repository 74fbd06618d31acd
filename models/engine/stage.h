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
#include "models/engine/network_shard.h"
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

/*
 * How the ranks of a group exchange activations; each has a shard of a network (network_shard.h).
 *
 * Each rank of the group calls the functions in the same order, because their programs are equal.
 */

/* n_elems: [n_shards], for the piece of each shard; pieces are adjacent in whole. All functions return when the arrays
 * may be changed. No data: the arrays are NULL. Errors: those of the transport, which name the shard that does not
 * answer. */
struct shard_group {
    /* whole := the own pieces of all shards. */
    enum rc (*gather)(void *arg, float *whole, const float *own, const size_t *n_elems);
    /* own := the sum, in the order of shards, of this shard's piece in the whole of each rank. whole may be changed. */
    enum rc (*scatter)(void *arg, float *own, float *whole, const size_t *n_elems);
    void *arg;
};

struct dense_shard { /* for the training of a shard; borrowed */
    int number, n_shards;
    struct shard_group group; /* gather, scatter: never NULL */
};

/*
 * The least time of a step of a pipeline, from the compute times of its stages and the transfers
 * between them.
 *
 * It is the longest path through the schedule. A stage works in its order (stage.h). The forward of a micro-batch
 * follows the arrival of its value; the backward follows the arrival of its gradient. On each link tensors follow each
 * other. There are no other waits, so no run of that schedule is faster. With S equal stages and free transfers it is
 * (M + S - 1) times a stage's time; the bubble is (S - 1) / (M + S - 1) of it, for any schedule.
 */

struct stage_times { /* for a micro-batch */
    double forward_s, backward_s;
    /* For its output on the way to the next stage, and its gradient on the way back. A single tensor takes latency_s.
     * The tensor that follows it arrives at least pass_s later. Not read for the last stage. */
    double latency_s, pass_s;
    double tail_s; /* per step: exchange after the last backward, before the stage begins the next step */
};

/* *period_s: time per step of consecutive steps; a stage may begin the next step while other stages finish this one.
 * RC_NOMEM. */
enum rc stage_least_period(double *period_s, const struct stage_times *times, enum stage_schedule schedule,
                           int n_stages, size_t n_micro_batches) MUST_CHECK;
/* (S - 1) / (M + S - 1) */
double stage_bubble_ratio(int n_stages, size_t n_micro_batches);

#endif
