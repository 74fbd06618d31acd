/* SPDX-License-Identifier: Apache-2.0 */
/* network_mutants.c - changes one call of a table on its way to the builder, or one entry of the opened network. */
#include "models/suite/network_mutants.h"

#include <stdio.h>
#include <string.h>

#include "models/engine/network_builder.h"

enum bug {
    NONE,
    STRIDE_ON_1X1,     /* ResNet v1 */
    PAD_LOST,          /* of the stem's third unit */
    KERNEL_TRANSPOSED, /* 7x1 for 1x7: same tensors, same work */
    RELU_ON_SHORTCUT,  /* of a projection */
    ADD_ELSEWHERE,     /* the shortcut of a middle block comes from inside the block */
    AUX_WEIGHT,        /* 1 instead of 0.4 */
    AUX_FIRST,         /* so that it is what is evaluated */
    EPSILON,           /* 1e-5 where 1e-3 is published */
    DROP_RATIO,        /* share kept for share dropped, of 0.2 */
    CONCAT_ORDER,      /* branches of equal shape are swapped */
    TENSORS_SWAPPED,   /* the projection is published after the block's first convolution */
    DIVISOR_LOST,      /* one unit keeps its published width */
};

static const struct {
    struct network_mutant mutant;
    enum bug bug;
} all[] = {
    { { "stride_on_1x1", &workload_resnet50, { 0 } }, STRIDE_ON_1X1 },
    { { "pad_lost", &workload_inception3, { 0 } }, PAD_LOST },
    { { "kernel_transposed", &workload_inception3, { 0 } }, KERNEL_TRANSPOSED },
    { { "relu_on_shortcut", &workload_resnet50, { 0 } }, RELU_ON_SHORTCUT },
    { { "add_elsewhere", &workload_resnet8, { 0 } }, ADD_ELSEWHERE },
    { { "aux_weight", &workload_inception3, { .aux_head = true } }, AUX_WEIGHT },
    { { "aux_first", &workload_inception3, { .aux_head = true } }, AUX_FIRST },
    { { "epsilon", &workload_inception3, { 0 } }, EPSILON },
    { { "drop_ratio", &workload_alexnet, { 0 } }, DROP_RATIO },
    { { "concat_order", &workload_inception3, { 0 } }, CONCAT_ORDER },
    { { "tensors_swapped", &workload_resnet50, { 0 } }, TENSORS_SWAPPED },
    { { "divisor_lost", &workload_resnet50, { .width_divisor = 4 } }, DIVISOR_LOST },
};

static enum bug bug;
static bool keeps_all;

void network_mutants_keep_all(void)
{
    keeps_all = true;
}

const struct network_mutant *network_mutant_start(const char *name)
{
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(all[i].mutant.name, name) == 0) {
            bug = all[i].bug;
            return &all[i].mutant;
        }
    return NULL;
}

struct call { /* of node_conv and node_conv_add */
    const char *name;
    int from, add_from, C_out;
    struct extent kernel, stride, pad;
    int then;
};

static bool is(const struct call *c, enum bug which, const char *name)
{
    return bug == which && strcmp(c->name, name) == 0;
}

static struct call changed(const struct network_builder *b, struct call c)
{
    if (is(&c, STRIDE_ON_1X1, "s1b0/1"))
        c.stride = NODE_STRIDE(2);
    if (is(&c, STRIDE_ON_1X1, "s1b0/2"))
        c.stride = NODE_STRIDE(1);
    if (is(&c, PAD_LOST, "c3"))
        c.pad = NODE_PAD(0, 0);
    if (is(&c, KERNEL_TRANSPOSED, "c37")) {
        c.kernel = NODE_KERNEL(7, 1);
        c.pad = NODE_PAD(3, 0);
    }
    if (is(&c, RELU_ON_SHORTCUT, "s1b0/proj"))
        c.then = NODE_BATCH_NORM | NODE_RELU;
    if (is(&c, ADD_ELSEWHERE, "s0b0/2"))
        c.add_from = c.from;
    if (is(&c, DIVISOR_LOST, "s0b1/2") || is(&c, DIVISOR_LOST, "s0b1/1"))
        c.C_out *= node_opts(b)->width_divisor;
    return c;
}

/* The builder's own functions, and what the linker calls in their place. */
int __real_node_conv(struct network_builder *b, const char *name, int from, int C_out, struct extent kernel,
                     struct extent stride, struct extent pad, int then);
int __wrap_node_conv(struct network_builder *b, const char *name, int from, int C_out, struct extent kernel,
                     struct extent stride, struct extent pad, int then);
int __real_node_conv_add(struct network_builder *b, const char *name, int from, int add_from, int C_out,
                         struct extent kernel, struct extent stride, struct extent pad, int then);
int __wrap_node_conv_add(struct network_builder *b, const char *name, int from, int add_from, int C_out,
                         struct extent kernel, struct extent stride, struct extent pad, int then);
int __real_node_concat(struct network_builder *b, const int *part, int n_parts);
int __wrap_node_concat(struct network_builder *b, const int *part, int n_parts);
int __real_node_dropout(struct network_builder *b, int from, float drop_ratio);
int __wrap_node_dropout(struct network_builder *b, int from, float drop_ratio);
int __real_node_loss(struct network_builder *b, int from, float loss_weight);
int __wrap_node_loss(struct network_builder *b, int from, float loss_weight);
void __real_node_epsilon(struct network_builder *b, float epsilon);
void __wrap_node_epsilon(struct network_builder *b, float epsilon);

int __wrap_node_conv(struct network_builder *b, const char *name, int from, int C_out, struct extent kernel,
                     struct extent stride, struct extent pad, int then)
{
    const struct call c = changed(b, (struct call){ name, from, NODE_NONE, C_out, kernel, stride, pad, then });

    return __real_node_conv(b, c.name, c.from, c.C_out, c.kernel, c.stride, c.pad, c.then);
}

int __wrap_node_conv_add(struct network_builder *b, const char *name, int from, int add_from, int C_out,
                         struct extent kernel, struct extent stride, struct extent pad, int then)
{
    const struct call c = changed(b, (struct call){ name, from, add_from, C_out, kernel, stride, pad, then });

    return __real_node_conv_add(b, c.name, c.from, c.add_from, c.C_out, c.kernel, c.stride, c.pad, c.then);
}

int __wrap_node_concat(struct network_builder *b, const int *part, int n_parts)
{
    int swapped[NETWORK_MAX_PARTS];

    if (bug != CONCAT_ORDER || n_parts != 6)
        return __real_node_concat(b, part, n_parts);
    memcpy(swapped, part, sizeof swapped[0] * (size_t)n_parts);
    swapped[1] = part[2];
    swapped[2] = part[1];
    return __real_node_concat(b, swapped, n_parts);
}

int __wrap_node_dropout(struct network_builder *b, int from, float drop_ratio)
{
    return __real_node_dropout(b, from, keeps_all ? 0.0f : bug == DROP_RATIO ? 0.8f : drop_ratio);
}

int __wrap_node_loss(struct network_builder *b, int from, float loss_weight)
{
    return __real_node_loss(b, from, bug == AUX_WEIGHT ? 1.0f : loss_weight);
}

void __wrap_node_epsilon(struct network_builder *b, float epsilon)
{
    if (bug != EPSILON)
        __real_node_epsilon(b, epsilon);
}

static void swap_segments(struct network *n, int i, int k)
{
    char name[sizeof *n->segment_name];
    const struct segment s = n->segment[i];

    memcpy(name, n->segment_name[i], sizeof name);
    memcpy(n->segment_name[i], n->segment_name[k], sizeof name);
    memcpy(n->segment_name[k], name, sizeof name);
    n->segment[i] = n->segment[k];
    n->segment[k] = s;
}

void network_mutant_change(struct network *n)
{
    const int last = n->n_nodes - 1;

    if (bug == TENSORS_SWAPPED) /* s0b0/proj and s0b0/1 */
        for (int i = 3; i < 6; i++)
            swap_segments(n, i, i + 3);
    if (bug == AUX_FIRST) {
        const struct node d = n->node[last];
        n->node[last] = n->node[last - 1];
        n->node[last - 1] = d;
    }
}
