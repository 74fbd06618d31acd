/* SPDX-License-Identifier: Apache-2.0 */
/* player.h - the parts of a replay (replay.c), for its stages (replay_stage.c). Internal to models/replay. */
#ifndef MODELS_REPLAY_PLAYER_H
#define MODELS_REPLAY_PLAYER_H

#include "models/engine/stage.h"
#include "models/replay/profile.h"
#include "models/workload.h"

enum { PATTERN_ELEMS = 1024 };

struct replay_room { /* memory of a micro-batch that a stage holds */
    float *value;    /* from the previous stage */
    float *grad;     /* of its output, from the next stage */
};

struct replay {
    struct training base;
    const struct profile *profile; /* borrowed; in a shard: the shard's own */
    struct replay_shard *shard;    /* NULL: not a shard */
    int first_layer, end_layer;    /* the layers it plays: all, or a stage's */
    size_t n_elems_before;         /* parameters of earlier layers */
    struct segment *segment;       /* of its layers, in forward order */
    size_t n_segments, n_params;
    uint64_t forward_ns, step_ns;     /* of its layers, at the profile's batch */
    float pattern[2 * PATTERN_ELEMS]; /* twice, so that any range of PATTERN_ELEMS can be copied */
    struct replay_room *room;         /* [n_held] for a stage; else NULL */
    size_t n_held;
    float *sent; /* for a stage: the data of all tensors it passes on; NULL: no data */
};

/* ns n_samples / batch of the profile, rounded down; no product overflows up to the largest batch. */
uint64_t replay_scaled_ns(const struct replay *t, uint64_t ns, size_t n_samples);
/* Let the forward time of n_samples pass. awaits: await the parameters layer by layer (models.M7). */
enum rc replay_forward(const struct replay *t, size_t n_samples, bool awaits) MUST_CHECK;
/* Let the backward time pass, for a micro-batch that is not the last; all its forward time has passed. */
enum rc replay_pass_backward(const struct replay *t, size_t n_samples) MUST_CHECK;

struct replay_backward { /* the last micro-batch of a gradient, which writes the gradient */
    size_t n_samples;
    uint64_t first; /* first sample of the gradient */
    float *grad;
    grad_ready_fn *ready;
    void *arg;
};
/* Let the backward time pass, and make gradients ready meanwhile; all its forward time has passed. */
enum rc replay_last_backward(const struct replay *t, const struct replay_backward *b) MUST_CHECK;

/* replay_stage.c, for a training with env.stage. RC_NOMEM. */
enum rc replay_stage_open(struct replay *t) MUST_CHECK;
void replay_stage_close(struct replay *t);
/* struct training_ops.gradient, by the schedule (engine/stage.h). Errors: those of ready, of await and of the pipe. */
enum rc replay_stage_gradient(struct replay *t, const struct replay_backward *b) MUST_CHECK;

/*
 * Replays a profile as a shard of its network (engine/network_shard.h). The layers keep their times: a
 * K-th of a dense layer takes as long for K times the images. The tensors are the shard's. Messages within a group
 * occur at the layers where the network's activations are sent.
 */

struct replay_shard;

/* Open for env.shard and env.profile. RC_INVAL, RC_NOMEM. */
enum rc replay_shard_open(struct replay_shard **out, const struct training_env *env) MUST_CHECK;
void replay_shard_close(struct replay_shard **s); /* NULL-safe, nulls */
/* The profile with the tensors of the shard; lives as long as s. */
const struct profile *replay_shard_profile(const struct replay_shard *s);
/* Exchange activations of n_samples of this rank, before (or with ends after) the time of a layer, forward or backward.
 * s NULL: does nothing. Syncs the compute first. Errors: the group's. */
enum rc replay_shard_forward(const struct replay_shard *s, int layer, bool ends, size_t n_samples) MUST_CHECK;
enum rc replay_shard_backward(const struct replay_shard *s, int layer, bool ends, size_t n_samples) MUST_CHECK;

#endif
