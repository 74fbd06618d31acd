/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lenet.c - a small convolutional network for small grey images, such as 8 x 8 digits.
 *
 * Its first dense layer looks at all that is left, so its parameters grow with the image. Smallest image: 4,
 * which two poolings leave 1 x 1.
 */
#include "models/engine/network_builder.h"
#include "models/engine/training.h"

static void build_lenet(struct network_builder *b)
{
    int x =
        node_conv(b, "c1", NODE_IMAGE, 16, NODE_KERNEL(3, 3), NODE_STRIDE(1), NODE_PAD(1, 1), NODE_BIAS | NODE_RELU);

    x = node_max_pool(b, x, NODE_KERNEL(2, 2), NODE_STRIDE(2), NODE_PAD(0, 0));
    x = node_conv(b, "c2", x, 32, NODE_KERNEL(3, 3), NODE_STRIDE(1), NODE_PAD(1, 1), NODE_BIAS | NODE_RELU);
    x = node_max_pool(b, x, NODE_KERNEL(2, 2), NODE_STRIDE(2), NODE_PAD(0, 0));
    x = node_dense(b, "fc3", x, 64, NODE_BIAS | NODE_RELU);
    x = node_logits(b, "fc4", x);
    node_loss(b, x, 1.0f);
}

static const struct network_def lenet = {
    .name = "lenet",
    .source = "after LeCun et al., Gradient-Based Learning Applied to Document Recognition, 1998: its form, with relu "
              "and max pooling, for 8 x 8 images",
    .image_size = 8,
    .min_image_size = 4,
    .n_classes = 10,
    .C_in = 1,
    .build = build_lenet,
};

const struct workload workload_lenet = {
    .module.name = "lenet",
    .dataset = "digits",
    .network = &lenet,
    .default_lr = 0.01, /* calm: twice as much, or updates two steps late, still train */
    .default_momentum = 0.9,
    .default_batch = 32,
    .default_steps = 400,
    .default_target_loss = 0.2,
    .ops = &network_training_ops,
};
