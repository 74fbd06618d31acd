/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inception.c - Inception V3: blocks whose branches are concatenated.
 *
 * A unit is a convolution, batch norm and relu; c1, c2, ... count them in the order of computation. Smallest image:
 * 75, which leaves 1 x 1 at the end; 299 with the auxiliary head, whose 5x5 unit needs the published 17 x 17.
 */
#include <stdio.h>

#include "models/nets/imagenet.h"

struct table {
    struct network_builder *b;
    int n_units;
};

static int unit(struct table *t, int from, int C_out, struct extent kernel, struct extent stride, struct extent pad)
{
    char name[NETWORK_NAME_BYTES];

    snprintf(name, sizeof name, "c%d", ++t->n_units);
    return node_conv(t->b, name, from, C_out, kernel, stride, pad, NODE_BATCH_NORM | NODE_RELU);
}

/* Height and width stay. */
static int same(struct table *t, int from, int C_out, int kernel_h, int kernel_w)
{
    return unit(t, from, C_out, NODE_KERNEL(kernel_h, kernel_w), NODE_STRIDE(1), NODE_PAD(kernel_h / 2, kernel_w / 2));
}

/* Height and width are halved. */
static int half(struct table *t, int from, int C_out)
{
    return unit(t, from, C_out, NODE_KERNEL(3, 3), NODE_STRIDE(2), NODE_PAD(0, 0));
}

static int half_pool(struct table *t, int from)
{
    return node_max_pool(t->b, from, NODE_KERNEL(3, 3), NODE_STRIDE(2), NODE_PAD(0, 0));
}

static int same_pool(struct table *t, int from)
{
    return node_avg_pool(t->b, from, NODE_KERNEL(3, 3), NODE_STRIDE(1), NODE_PAD(1, 1));
}

/* 299 x 299 x 3 -> 35 x 35 x 192 */
static int stem(struct table *t)
{
    int x = half(t, NODE_IMAGE, 32);

    x = unit(t, x, 32, NODE_KERNEL(3, 3), NODE_STRIDE(1), NODE_PAD(0, 0));
    x = same(t, x, 64, 3, 3);
    x = half_pool(t, x);
    x = same(t, x, 80, 1, 1);
    x = unit(t, x, 192, NODE_KERNEL(3, 3), NODE_STRIDE(1), NODE_PAD(0, 0));
    return half_pool(t, x);
}

/* Figure 5: 35 x 35; C_pool: channels of the pooled branch. (Its 5x5 stayed one in published code.) */
static int block_35(struct table *t, int x, int C_pool)
{
    const int one = same(t, x, 64, 1, 1);
    const int five = same(t, same(t, x, 48, 1, 1), 64, 5, 5);
    const int three = same(t, same(t, same(t, x, 64, 1, 1), 96, 3, 3), 96, 3, 3);
    const int pool = same(t, same_pool(t, x), C_pool, 1, 1);

    return NODE_CONCAT_OF(t->b, one, five, three, pool);
}

/* Figure 10: 35 x 35 -> 17 x 17 */
static int reduce_35(struct table *t, int x)
{
    const int three = half(t, x, 384);
    const int twice = half(t, same(t, same(t, x, 64, 1, 1), 96, 3, 3), 96);
    const int pool = half_pool(t, x);

    return NODE_CONCAT_OF(t->b, three, twice, pool);
}

/* Figure 6, n = 7: 17 x 17; C: channels inside the branches */
static int block_17(struct table *t, int x, int C)
{
    const int one = same(t, x, 192, 1, 1);
    const int seven = same(t, same(t, same(t, x, C, 1, 1), C, 1, 7), 192, 7, 1);
    int twice = same(t, same(t, same(t, x, C, 1, 1), C, 7, 1), C, 1, 7);

    twice = same(t, same(t, twice, C, 7, 1), 192, 1, 7);
    const int pool = same(t, same_pool(t, x), 192, 1, 1);
    return NODE_CONCAT_OF(t->b, one, seven, twice, pool);
}

/* 17 x 17 -> 8 x 8 */
static int reduce_17(struct table *t, int x)
{
    const int three = half(t, same(t, x, 192, 1, 1), 320);
    const int seven = half(t, same(t, same(t, same(t, x, 192, 1, 1), 192, 1, 7), 192, 7, 1), 192);
    const int pool = half_pool(t, x);

    return NODE_CONCAT_OF(t->b, three, seven, pool);
}

/* Figure 7: 8 x 8 */
static int block_8(struct table *t, int x)
{
    const int one = same(t, x, 320, 1, 1);
    const int three = same(t, x, 384, 1, 1);
    const int three_w = same(t, three, 384, 1, 3), three_h = same(t, three, 384, 3, 1);
    const int twice = same(t, same(t, x, 448, 1, 1), 384, 3, 3);
    const int twice_w = same(t, twice, 384, 1, 3), twice_h = same(t, twice, 384, 3, 1);
    const int pool = same(t, same_pool(t, x), 192, 1, 1);

    return NODE_CONCAT_OF(t->b, one, three_w, three_h, twice_w, twice_h, pool);
}

/* Figure 8, on 17 x 17 x 768. Logits. */
static int auxiliary(struct table *t, int x)
{
    x = node_avg_pool(t->b, x, NODE_KERNEL(5, 5), NODE_STRIDE(3), NODE_PAD(0, 0));
    x = node_conv(t->b, "aux/c1", x, 128, NODE_KERNEL(1, 1), NODE_STRIDE(1), NODE_PAD(0, 0),
                  NODE_BATCH_NORM | NODE_RELU);
    x = node_conv(t->b, "aux/c2", x, 768, NODE_KERNEL(5, 5), NODE_STRIDE(1), NODE_PAD(0, 0),
                  NODE_BATCH_NORM | NODE_RELU);
    x = node_adaptive_pool(t->b, x, 1, 1);
    return node_logits(t->b, "aux/fc", x);
}

static void build_inception3(struct network_builder *b)
{
    static const int C_pool[] = { 32, 64, 64 }, C_17[] = { 128, 160, 160, 192 };
    struct table t = { .b = b };
    int x, aux = NODE_NONE;

    node_epsilon(b, 1e-3f);
    x = stem(&t);
    for (size_t i = 0; i < sizeof C_pool / sizeof C_pool[0]; i++)
        x = block_35(&t, x, C_pool[i]);
    x = reduce_35(&t, x);
    for (size_t i = 0; i < sizeof C_17 / sizeof C_17[0]; i++)
        x = block_17(&t, x, C_17[i]);
    if (node_opts(b)->aux_head)
        aux = auxiliary(&t, x);
    x = reduce_17(&t, x);
    x = block_8(&t, x);
    x = block_8(&t, x);
    x = node_adaptive_pool(b, x, 1, 1);
    x = node_dropout(b, x, 0.5f);
    x = node_logits(b, "fc", x);
    node_loss(b, x, 1.0f);
    if (node_opts(b)->aux_head)
        node_loss(b, aux, 0.4f);
}

IMAGENET_WORKLOAD(
    inception3, 299, 75, 0.001,
    .source = "Szegedy et al., Rethinking the Inception Architecture for Computer Vision, CVPR 2016, with the channels "
              "of the published code (TensorFlow slim, torchvision)",
    .min_image_size_aux = 299)
