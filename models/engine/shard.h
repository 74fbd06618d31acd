/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shard.h - how the ranks of a group, each of which has a shard of a network (network_shard.h), exchange activations.
 *
 * Each rank of the group calls the functions in the same order, as their programs are the same.
 */
#ifndef MODELS_ENGINE_SHARD_H
#define MODELS_ENGINE_SHARD_H

#include <stddef.h>

#include "harness/base/rc.h"
#include "models/engine/network_shard.h"

/* n_elems: [n_shards], of the piece of each shard; pieces lie one behind the other in whole. All return when the
 * arrays may be changed. Hollow: the arrays are NULL. Errors: those of what carries the pieces, which name the shard
 * that is not heard of. */
struct shard_group {
    /* whole := the pieces that the shards have as own. */
    enum rc (*gather)(void *arg, float *whole, const float *own, const size_t *n_elems);
    /* own := the sum, in the order of shards, of this shard's pieces in the wholes of all. whole may be changed. */
    enum rc (*scatter)(void *arg, float *own, float *whole, const size_t *n_elems);
    void *arg;
};

struct dense_shard { /* of a training of a shard; borrowed */
    int number, n_shards;
    struct shard_group group; /* gather, scatter: never NULL */
};

#endif
