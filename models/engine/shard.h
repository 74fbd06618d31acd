/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shard.h - how the ranks of a group exchange activations; each has a shard of a network (network_shard.h).
 *
 * Each rank of the group calls the functions in the same order, because their programs are equal.
 */
#ifndef MODELS_ENGINE_SHARD_H
#define MODELS_ENGINE_SHARD_H

#include <stddef.h>

#include "harness/base/rc.h"
#include "models/engine/network_shard.h"

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

#endif
