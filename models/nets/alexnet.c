/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alexnet.c - AlexNet in one column, without local response normalisation.
 *
 * Whatever the image, the dense layers see 6 x 6. Smallest image: 63, of which the last pooling leaves 1 x 1. Initial
 * weights of the dense layers: 0.01^2 (Krizhevsky et al., NIPS 2012); of the convolutions, where that would let the
 * signal fade without the paper's biases, He's.
 */
#include "models/nets/imagenet.h"

static void build_alexnet(struct network_builder *b)
{
    int x =
        node_conv(b, "c1", NODE_IMAGE, 64, NODE_KERNEL(11, 11), NODE_STRIDE(4), NODE_PAD(2, 2), NODE_BIAS | NODE_RELU);

    x = node_max_pool(b, x, NODE_KERNEL(3, 3), NODE_STRIDE(2), NODE_PAD(0, 0));
    x = node_conv(b, "c2", x, 192, NODE_KERNEL(5, 5), NODE_STRIDE(1), NODE_PAD(2, 2), NODE_BIAS | NODE_RELU);
    x = node_max_pool(b, x, NODE_KERNEL(3, 3), NODE_STRIDE(2), NODE_PAD(0, 0));
    x = node_conv(b, "c3", x, 384, NODE_KERNEL(3, 3), NODE_STRIDE(1), NODE_PAD(1, 1), NODE_BIAS | NODE_RELU);
    x = node_conv(b, "c4", x, 256, NODE_KERNEL(3, 3), NODE_STRIDE(1), NODE_PAD(1, 1), NODE_BIAS | NODE_RELU);
    x = node_conv(b, "c5", x, 256, NODE_KERNEL(3, 3), NODE_STRIDE(1), NODE_PAD(1, 1), NODE_BIAS | NODE_RELU);
    x = node_max_pool(b, x, NODE_KERNEL(3, 3), NODE_STRIDE(2), NODE_PAD(0, 0));
    x = node_adaptive_pool(b, x, 6, 6);
    x = node_dropout(b, x, 0.5f);
    node_initial_weights(b, FAN_IN, 9216 * 1e-4);
    x = node_dense(b, "fc6", x, 4096, NODE_BIAS | NODE_RELU);
    x = node_dropout(b, x, 0.5f);
    node_initial_weights(b, FAN_IN, 4096 * 1e-4);
    x = node_dense(b, "fc7", x, 4096, NODE_BIAS | NODE_RELU);
    x = node_logits(b, "fc8", x);
    node_loss(b, x, 1.0f);
}

IMAGENET_WORKLOAD(
    alexnet, 224, 63, 0.003,
    .source = "Krizhevsky, One weird trick for parallelizing convolutional neural networks, 2014; 64-192-384-256-256")
