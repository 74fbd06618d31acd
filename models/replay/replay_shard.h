/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_shard.h - replays a profile as a shard of its network (engine/network_shard.h). The layers keep their times: a
 * K-th of a dense layer takes as long for K times the images. The tensors are the shard's. Messages within a group
 * occur at the layers where the network's activations are sent.
 */
#ifndef MODELS_REPLAY_REPLAY_SHARD_H
#define MODELS_REPLAY_REPLAY_SHARD_H

#include "models/replay/profile.h"
#include "models/workload.h"

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
