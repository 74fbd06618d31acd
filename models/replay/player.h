/* SPDX-License-Identifier: Apache-2.0 */
/* player.h - what a replay consists of (replay.c), for its stages (replay_stage.c). Internal to models/replay. */
#ifndef MODELS_REPLAY_PLAYER_H
#define MODELS_REPLAY_PLAYER_H

#include "models/engine/stage.h"
#include "models/replay/profile.h"
#include "models/workload.h"

enum { PATTERN_ELEMS = 1024 };

struct replay_room { /* of a micro-batch that a stage holds */
    float *value;    /* from the stage before */
    float *grad;     /* of its output, from the stage behind */
};

struct replay {
    struct training base;
    const struct profile *profile; /* borrowed; of a shard: its own */
    struct replay_shard *shard;    /* NULL: it is none */
    int first_layer, end_layer;    /* that it plays: all, or a stage's */
    size_t n_elems_before;         /* parameters of the layers before these */
    struct segment *segment;       /* of its layers, in forward order */
    size_t n_segments, n_params;
    uint64_t forward_ns, step_ns;     /* of its layers, at the profile's batch */
    float pattern[2 * PATTERN_ELEMS]; /* twice, so that any range of PATTERN_ELEMS can be copied */
    struct replay_room *room;         /* [n_held] of a stage; else NULL */
    size_t n_held;
    float *sent; /* of a stage: what it passes on, all tensors alike; NULL: hollow */
};

/* ns n_samples / batch of the profile, rounded down; no product overflows up to the largest batch. */
uint64_t replay_scaled_ns(const struct replay *t, uint64_t ns, size_t n_samples);
/* Let the forward time of n_samples pass. awaits: parameters are awaited layer by layer (M7). */
enum rc replay_forward(const struct replay *t, size_t n_samples, bool awaits) MUST_CHECK;
/* Let the backward time pass, of a micro-batch that is not the last; all of the forward time has. */
enum rc replay_pass_backward(const struct replay *t, size_t n_samples) MUST_CHECK;

struct replay_backward { /* the last of a gradient, in which it is written */
    size_t n_samples;
    uint64_t first; /* sample of the gradient */
    float *grad;
    grad_ready_fn *ready;
    void *arg;
};
/* Let the backward time pass, and make gradients ready as it does; all of the forward time has. */
enum rc replay_last_backward(const struct replay *t, const struct replay_backward *b) MUST_CHECK;

/* replay_stage.c, of a training with env.stage. RC_NOMEM. */
enum rc replay_stage_open(struct replay *t) MUST_CHECK;
void replay_stage_close(struct replay *t);
/* struct training_ops.gradient, by the schedule (engine/stage.h). Errors: those of ready, of await and of the pipe. */
enum rc replay_stage_gradient(struct replay *t, const struct replay_backward *b) MUST_CHECK;
#endif
