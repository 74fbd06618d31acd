/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resnet.c - residual networks: bottlenecks for photographs, basic blocks for small images.
 *
 * Smallest images: the last stage is 1 x 1 from 32 (resnet50 and deeper) and from 4 (resnet8) on down, and would
 * only see padding below.
 */
#include <stdio.h>

#include "models/nets/imagenet.h"

static int named_conv(struct network_builder *b, int stage, int block, const char *which, int from, int add_from,
                      int C_out, int kernel, int stride, int then)
{
    char name[NETWORK_NAME_BYTES];
    const int pad = kernel / 2;

    snprintf(name, sizeof name, "s%db%d/%s", stage, block, which);
    return node_conv_add(b, name, from, add_from, C_out, NODE_KERNEL(kernel, kernel), NODE_STRIDE(stride),
                         NODE_PAD(pad, pad), then);
}

/* 1x1 C, 3x3 C, 1x1 4 C, + input. v1.5: the stride is the 3x3's, not the first 1x1's. */
static int add_bottleneck(struct network_builder *b, int stage, int block, int x, int C, int stride)
{
    int around = x, y;

    if (block == 0)
        around = named_conv(b, stage, block, "proj", x, NODE_NONE, 4 * C, 1, stride, NODE_BATCH_NORM);
    y = named_conv(b, stage, block, "1", x, NODE_NONE, C, 1, 1, NODE_BATCH_NORM | NODE_RELU);
    y = named_conv(b, stage, block, "2", y, NODE_NONE, C, 3, stride, NODE_BATCH_NORM | NODE_RELU);
    return named_conv(b, stage, block, "3", y, around, 4 * C, 1, 1, NODE_BATCH_NORM | NODE_RELU);
}

/* Initial weights as in torchvision's models. */
static int add_first_conv(struct network_builder *b, int C, int kernel, int stride)
{
    node_initial_weights(b, FAN_OUT, 2.0);
    return node_conv(b, "c1", NODE_IMAGE, C, NODE_KERNEL(kernel, kernel), NODE_STRIDE(stride),
                     NODE_PAD(kernel / 2, kernel / 2), NODE_BATCH_NORM | NODE_RELU);
}

static void add_classifier(struct network_builder *b, int x)
{
    x = node_adaptive_pool(b, x, 1, 1);
    node_initial_weights(b, FAN_IN, 1.0 / 3.0);
    x = node_logits(b, "fc", x);
    node_loss(b, x, 1.0f);
}

/* He et al., table 1: n_blocks[4] bottlenecks of 64, 128, 256, 512 channels. */
static void build_deep(struct network_builder *b, const int *n_blocks)
{
    int x = add_first_conv(b, 64, 7, 2);

    x = node_max_pool(b, x, NODE_KERNEL(3, 3), NODE_STRIDE(2), NODE_PAD(1, 1));
    for (int stage = 0; stage < 4; stage++)
        for (int block = 0; block < n_blocks[stage]; block++)
            x = add_bottleneck(b, stage, block, x, 64 << stage, stage > 0 && block == 0 ? 2 : 1);
    add_classifier(b, x);
}

static void build_resnet50(struct network_builder *b)
{
    static const int n_blocks[] = { 3, 4, 6, 3 };

    build_deep(b, n_blocks);
}

static void build_resnet101(struct network_builder *b)
{
    static const int n_blocks[] = { 3, 4, 23, 3 };

    build_deep(b, n_blocks);
}

static void build_resnet152(struct network_builder *b)
{
    static const int n_blocks[] = { 3, 8, 36, 3 };

    build_deep(b, n_blocks);
}

/* 3x3 C, 3x3 C, + input. */
static int add_basic_block(struct network_builder *b, int stage, int x, int C, int stride)
{
    int around = x, y;

    if (stride != 1)
        around = named_conv(b, stage, 0, "proj", x, NODE_NONE, C, 1, stride, NODE_BATCH_NORM);
    y = named_conv(b, stage, 0, "1", x, NODE_NONE, C, 3, stride, NODE_BATCH_NORM | NODE_RELU);
    return named_conv(b, stage, 0, "2", y, around, C, 3, 1, NODE_BATCH_NORM | NODE_RELU);
}

/* He et al., section 4.2: 6 n + 2 layers, n = 1. */
static void build_8(struct network_builder *b)
{
    int x = add_first_conv(b, 16, 3, 1);

    for (int stage = 0; stage < 3; stage++)
        x = add_basic_block(b, stage, x, 16 << stage, stage > 0 ? 2 : 1);
    add_classifier(b, x);
}

#define SOURCE "He et al., Deep Residual Learning for Image Recognition, CVPR 2016, table 1; v1.5: stride on the 3x3"

static const struct network_def resnet8 = {
    .name = "resnet8",
    .source = "He et al., CVPR 2016, section 4.2 with n = 1, projections (B) as shortcuts; the size of the image "
              "classifier in MLPerf Tiny (Banbury et al., 2021)",
    .image_size = 32,
    .min_image_size = 4,
    .n_classes = 10,
    .C_in = 3,
    .build = build_8,
};

const struct workload workload_resnet8 = {
    .module.name = "resnet8",
    .dataset = "synthetic",
    .network = &resnet8,
    .default_lr = 0.05,
    .default_momentum = 0.9,
    .default_batch = 32,
    .default_steps = 100,
    .default_target_loss = 0.2,
    .ops = &network_training_ops,
};

IMAGENET_WORKLOAD(resnet50, 224, 32, 0.001, .source = SOURCE)

IMAGENET_WORKLOAD(resnet101, 224, 32, 0.001, .source = SOURCE)

IMAGENET_WORKLOAD(resnet152, 224, 32, 0.001, .source = SOURCE)
