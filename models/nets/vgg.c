/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vgg.c - VGG-16: blocks of 3x3 convolutions, each block followed by a pooling.
 *
 * Whatever the image, the dense layers see 7 x 7. Smallest image: 32, of which five poolings leave 1 x 1. Initial
 * weights as in torchvision's model: convolutions 2 / fan_out, dense layers 0.01^2.
 */
#include <stdio.h>

#include "models/nets/imagenet.h"

static void build_vgg16(struct network_builder *b)
{
    static const struct {
        int n_convs, C;
    } block[] = { { 2, 64 }, { 2, 128 }, { 3, 256 }, { 3, 512 }, { 3, 512 } }; /* column D */
    char name[NETWORK_NAME_BYTES];
    int x = NODE_IMAGE, n_convs = 0;

    node_initial_weights(b, FAN_OUT, 2.0);
    for (size_t k = 0; k < sizeof block / sizeof block[0]; k++) {
        for (int i = 0; i < block[k].n_convs; i++) {
            snprintf(name, sizeof name, "c%d", ++n_convs);
            x = node_conv(b, name, x, block[k].C, NODE_KERNEL(3, 3), NODE_STRIDE(1), NODE_PAD(1, 1),
                          NODE_BIAS | NODE_RELU);
        }
        x = node_max_pool(b, x, NODE_KERNEL(2, 2), NODE_STRIDE(2), NODE_PAD(0, 0));
    }
    x = node_adaptive_pool(b, x, 7, 7);
    node_initial_weights(b, FAN_IN, 25088 * 1e-4);
    x = node_dense(b, "fc6", x, 4096, NODE_BIAS | NODE_RELU);
    x = node_dropout(b, x, 0.5f);
    node_initial_weights(b, FAN_IN, 4096 * 1e-4);
    x = node_dense(b, "fc7", x, 4096, NODE_BIAS | NODE_RELU);
    x = node_dropout(b, x, 0.5f);
    x = node_logits(b, "fc8", x);
    node_loss(b, x, 1.0f);
}

IMAGENET_WORKLOAD(
    vgg16, 224, 32, 0.003,
    .source = "Simonyan and Zisserman, Very Deep Convolutional Networks for Large-Scale Image Recognition, ICLR 2015, "
              "table 1, column D")
