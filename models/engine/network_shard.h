/* SPDX-License-Identifier: Apache-2.0 */
/*
 * network_shard.h - splits the dense layers of a network into shards, each a separate network (Krizhevsky, "One weird
 * trick for parallelizing convolutional neural networks", 2014, section 4, scheme (a)).
 *
 * Each of the K ranks of a group has one shard. It computes the convolutions for its own images. Then it computes its
 * outputs of each dense layer, for the images of all K ranks:
 *
 *     (C,B,H,W)  gather images  (C,KB,H,W)  dense  (C_out/K,KB)  gather channels  (C_out,KB)  dense  ...  loss
 *
 * The network may be a stage (network_stages.h) that has some of the dense layers. If dense layers are on both sides of
 * a cut, the next stage takes a rank's own images again: (C_out,KB) own images (C_out,B).
 *
 * Invariants
 *   D1  A shard has the parameters before the first dense layer, like all shards. Then, for each dense layer, it has
 *       the rows range_part(C_out, K, shard) of the weight and of the bias. Initial values are those of the whole
 *       network, to the bit.
 *   D2  From the gather of images on, nodes except that of own images have node.group K. They have K B images where the
 *       batch has B, those of shard 0's rank first.
 *   D3  The loss of a rank is the mean over its own images. The gradient of parameters before the first dense layer is
 *       that of this loss. The gradient of dense rows is the sum, over the group, of the gradients of its losses. So in
 *       both cases the sum over all ranks that have a parameter, divided by the number of all ranks of all groups, is
 *       the mean gradient.
 *   D4  Dropout drops the same activations of an image as in the whole network.
 */
#ifndef MODELS_ENGINE_NETWORK_SHARD_H
#define MODELS_ENGINE_NETWORK_SHARD_H

#include "harness/base/range.h"
#include "models/engine/network.h"

enum { NETWORK_MAX_SHARDS = 64 };

/* The first node of the part that consists only of dense layers, dropout between them and a final loss, each reading
 * its predecessor. For a stage: the first of these nodes that it has. NODE_NONE: there is no such part. */
int network_first_dense(const struct network *n);
/* The smallest C_out of its dense layers, which is the maximum number of shards; 0: no dense layers. */
int network_most_shards(const struct network *n);
/* Number of parameters before the dense layers, shared by all shards. */
size_t network_common_params(const struct network *n);
/* models.D1: the range, in the whole network's parameters, of segment i of shard `number`. A shard has as many segments
 * as the whole network; each is a range of that network's segment. */
struct range network_shard_range(const struct network *whole, int i, int number, int n_shards);
/* n_elems[n_shards] := the elements of each shard's piece in a gather node of the shard, for a batch of B. */
void network_shard_pieces(size_t *n_elems, const struct network *shard, const struct node *gather, size_t B);
struct shard_traffic {                      /* what a rank sends to the other ranks of its group */
    int n_gathers, n_scatters;              /* per micro-batch: forward, backward */
    size_t gathered_elems, scattered_elems; /* total, for one image of its batch */
};
struct shard_traffic network_shard_traffic(const struct network *shard);
/* Elements, for one image of the batch, of the longest piece that a rank of the group sends or receives. */
size_t network_shard_most_elems(const struct network *shard);
/* Open shard `number` of whole; close it with network_close(). RC_NOMEM. n_shards: 2 to network_most_shards(). */
enum rc network_open_shard(struct network **out, const struct network *whole, int number, int n_shards) MUST_CHECK;

#endif
