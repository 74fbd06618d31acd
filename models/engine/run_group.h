/* SPDX-License-Identifier: Apache-2.0 */
/* run_group.h - ops that exist only in a shard (network_shard.h). Internal to run.c. */
#ifndef MODELS_ENGINE_RUN_GROUP_H
#define MODELS_ENGINE_RUN_GROUP_H

#include "models/engine/run.h"

/* x(C,K,B) has this shard's channels and the images of all ranks. The elements of each rank's images have the masks
 * that they have in the whole network (D4). number: the node's number there. */
void run_group_dropout(const struct run *r, const struct op *op, const struct node *n, uint64_t number);
/* OP_JOIN_IMAGES, OP_PART_IMAGES, OP_ZERO_OTHERS */
void run_group_join_images(const struct run *r, const struct op *op, const struct node *n);
void run_group_part_images(const struct run *r, const struct op *op, const struct node *n);
void run_group_zero_others(const struct run *r, const struct op *op, const struct node *n);
/* OP_GATHER_IMAGES to OP_SCATTER_CHANNELS. Errors: the group's. */
enum rc run_group_exchange(const struct run *r, const struct op *op, const struct node *n) MUST_CHECK;

#endif
