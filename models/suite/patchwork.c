/* SPDX-License-Identifier: Apache-2.0 */
/* patchwork.c - every kind of node in combinations that no published network has. */
#include "models/suite/patchwork.h"

#include "models/engine/network_builder.h"
#include "models/engine/training.h"

/* A sum whose shortcut is also used later, sums without batch norm, a concatenation in another, pools of all kinds
 * as parts, uneven windows, dropout after a pool that does nothing, and two losses. */
static void build_patchwork(struct network_builder *b)
{
    const int c1 =
        node_conv(b, "c1", NODE_IMAGE, 8, NODE_KERNEL(3, 5), NODE_STRIDE(1), NODE_PAD(1, 2), NODE_BIAS | NODE_RELU);
    const int c2 =
        node_conv(b, "c2", c1, 8, NODE_KERNEL(1, 7), NODE_STRIDE(1), NODE_PAD(0, 3), NODE_BATCH_NORM | NODE_RELU);
    const int c3 =
        node_conv_add(b, "c3", c2, c1, 8, NODE_KERNEL(7, 1), NODE_STRIDE(1), NODE_PAD(3, 0), NODE_BATCH_NORM);
    const int c4 =
        node_conv_add(b, "c4", c3, c1, 8, NODE_KERNEL(1, 1), NODE_STRIDE(1), NODE_PAD(0, 0), NODE_BIAS | NODE_RELU);
    const int c5 = node_conv_add(b, "c5", c4, c3, 8, NODE_KERNEL(3, 3), NODE_STRIDE(1), NODE_PAD(1, 1), NODE_BIAS);
    const int p1 = node_max_pool(b, c5, NODE_KERNEL(3, 3), NODE_STRIDE(2), NODE_PAD(1, 1));
    const int p2 = node_avg_pool(b, c4, NODE_KERNEL(3, 3), NODE_STRIDE(2), NODE_PAD(1, 1));
    const int c6 = node_conv(b, "c6", c5, 6, NODE_KERNEL(3, 3), NODE_STRIDE(2), NODE_PAD(1, 1), NODE_RELU);
    const int c7 =
        node_conv(b, "c7", c3, 5, NODE_KERNEL(2, 2), NODE_STRIDE(2), NODE_PAD(1, 1), NODE_BATCH_NORM | NODE_RELU);
    const int p3 = node_adaptive_pool(b, c7, 6, 6);
    const int inner = NODE_CONCAT_OF(b, p1, c6);
    const int outer = NODE_CONCAT_OF(b, p2, inner, p3);
    const int p4 = node_adaptive_pool(b, outer, 6, 6);
    const int head =
        node_conv(b, "head", p4, 9, NODE_KERNEL(1, 1), NODE_STRIDE(1), NODE_PAD(0, 0), NODE_BATCH_NORM | NODE_RELU);
    const int small = node_adaptive_pool(b, head, 4, 5);
    const int side = node_logits(b, "side", node_dropout(b, node_adaptive_pool(b, small, 4, 5), 0.25f));
    const int body =
        node_conv(b, "body", outer, 7, NODE_KERNEL(3, 3), NODE_STRIDE(1), NODE_PAD(1, 1), NODE_BATCH_NORM | NODE_RELU);

    node_loss(b, node_logits(b, "fc", node_dropout(b, body, 0.5f)), 0.75f);
    node_loss(b, side, 0.3f);
}

static const struct network_def patchwork = {
    .name = "patchwork",
    .source = "made up",
    .image_size = 12,
    .min_image_size = 12,
    .n_classes = 5,
    .C_in = 2,
    .build = build_patchwork,
};

const struct workload workload_patchwork = {
    .module.name = "patchwork",
    .dataset = "synthetic",
    .network = &patchwork,
    .default_lr = 0.01,
    .default_momentum = 0.9,
    .default_batch = 4,
    .default_steps = 50,
    .ops = &network_training_ops,
};
