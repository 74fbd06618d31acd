/* SPDX-License-Identifier: Apache-2.0 */
/*
 * network_shard.h - a network whose dense layers are cut into shards, each of which is a network of its own
 * (Krizhevsky, "One weird trick for parallelizing convolutional neural networks", 2014, section 4, scheme (a)).
 *
 * The K ranks of a group have a shard each. Each computes the convolutions for images of its own, and then, of the
 * images of all K, its outputs of each dense layer:
 *
 *     (C,B,H,W)  gather images  (C,KB,H,W)  dense  (C_out/K,KB)  gather channels  (C_out,KB)  dense  ...  loss
 *
 * The network may be a stage (network_stages.h) that has some of the dense layers. What the next stage takes, where
 * dense layers are on both sides of a cut, are a rank's own images again: (C_out,KB)  own images  (C_out,B).
 *
 * Invariants
 *   D1  The parameters of a shard are those before the first dense layer, which all shards have, then of each dense
 *       layer the rows range_part(C_out, K, shard) of its weight and of its bias: with the initial values that they
 *       have in the whole network, to the bit.
 *   D2  Nodes from the gather of images on, but for that of own images, have node.group K: K B images where the batch
 *       has B, those of shard 0's rank first.
 *   D3  The loss of a rank is the mean over its own images. The gradient of what is before the first dense layer is
 *       that of this loss; the gradient of dense rows is the sum over the group of the gradients of its losses. So the
 *       sum over all ranks that have a parameter, divided by the number of all ranks of all groups, is in both cases
 *       the mean gradient.
 *   D4  What dropout drops of an image's activations is what it drops in the whole network.
 */
#ifndef MODELS_ENGINE_NETWORK_SHARD_H
#define MODELS_ENGINE_NETWORK_SHARD_H

#include "harness/base/range.h"
#include "models/engine/network.h"

enum { NETWORK_MAX_SHARDS = 64 };

/* The node from which on the network is dense layers alone, with dropout between them and a loss behind, each reading
 * what is before it; of a stage, the first of these that it has. NODE_NONE: there is none. */
int network_first_dense(const struct network *n);
/* The least C_out of those dense layers that it has: the most shards that there can be; 0: none. */
int network_most_shards(const struct network *n);
/* Parameters before them, which are no shard's alone. */
size_t network_common_params(const struct network *n);
/* D1: where in the whole network's parameters those of segment i of shard `number` are. Segments of a shard are as many
 * as the whole network's, each a range of that one. */
struct range network_shard_range(const struct network *whole, int i, int number, int n_shards);
/* Of a gather, a node of the shard: n_elems[n_shards] := the elements of each shard's piece, for a batch of B. */
void network_shard_pieces(size_t *n_elems, const struct network *shard, const struct node *gather, size_t B);
struct shard_traffic {                      /* what a rank gives to the others of its group */
    int n_gathers, n_scatters;              /* of a micro-batch: forward, backward */
    size_t gathered_elems, scattered_elems; /* in all of them, for one image of its batch */
};
struct shard_traffic network_shard_traffic(const struct network *shard);
/* Elements, for one image of the batch, of the longest piece that a rank of the group gives or gets. */
size_t network_shard_most_elems(const struct network *shard);
/* Shard `number` of whole, closed by network_close(). RC_NOMEM. n_shards: 2 to network_most_shards(). */
enum rc network_open_shard(struct network **out, const struct network *whole, int number, int n_shards) MUST_CHECK;

#endif
