/* SPDX-License-Identifier: Apache-2.0 */
/*
 * network_builder.h - adds nodes to a network, one call per line of a paper's table. Only for the files with the tables
 * (nets/); others read the result (network.h).
 *
 * Each call appends a node and returns its number. The first error sticks: later calls do nothing and return NODE_NONE,
 * which every call accepts as input, and network_open() returns that error. So a table needs no checks.
 */
#ifndef MODELS_ENGINE_NETWORK_BUILDER_H
#define MODELS_ENGINE_NETWORK_BUILDER_H

#include "models/engine/network.h"

struct network_builder; /* made by network_open() */

struct extent { /* size of a kernel, a stride, a pad */
    int h, w;
};
#define NODE_KERNEL(h, w) ((struct extent){ (h), (w) })
#define NODE_STRIDE(n) ((struct extent){ (n), (n) })
#define NODE_PAD(h, w) ((struct extent){ (h), (w) })

enum { /* what follows the convolution, in this order */
       NODE_BIAS = 1,
       NODE_BATCH_NORM = 2, /* batch norm */
       NODE_RELU = 4,
};

/* The user's options, resolved. */
const struct network_opts *node_opts(const struct network_builder *b);
/* epsilon of the batch norms that follow; at first BATCH_NORM_EPSILON. */
void node_epsilon(struct network_builder *b, float epsilon);
/* Weights of the following nodes start with variance gain / fan, so that the width divisor does not change the sums.
 * fan_out: C_out kernel_h kernel_w. At first, and with gain 0: 2 / fan_in before a relu or batch norm, else 1 / fan_in
 * (He et al., ICCV 2015). */
enum fan { FAN_IN, FAN_OUT };
void node_initial_weights(struct network_builder *b, enum fan fan, double gain);

/* C_out as published: the width divisor is applied here, C_out / divisor rounded down, at least 1. */
int node_conv(struct network_builder *b, const char *name, int from, int C_out, struct extent kernel,
              struct extent stride, struct extent pad, int then);
/* The output of add_from, which has the same shape, is added before relu. */
int node_conv_add(struct network_builder *b, const char *name, int from, int add_from, int C_out, struct extent kernel,
                  struct extent stride, struct extent pad, int then);
/* A convolution whose kernel is its whole input. */
int node_dense(struct network_builder *b, const char *name, int from, int n_out, int then);
/* The dense layer, with bias, with one output per class: no divisor. */
int node_logits(struct network_builder *b, const char *name, int from);
int node_max_pool(struct network_builder *b, int from, struct extent kernel, struct extent stride, struct extent pad);
int node_avg_pool(struct network_builder *b, int from, struct extent kernel, struct extent stride, struct extent pad);
int node_adaptive_pool(struct network_builder *b, int from, int out_h, int out_w);
/* part[n_parts]: 2 .. NETWORK_MAX_PARTS different nodes of equal height and width. None may be part of another
 * concatenation (models.Y3). */
int node_concat(struct network_builder *b, const int *part, int n_parts);
#define NODE_CONCAT_OF(b, ...) \
    node_concat((b), (const int[]){ __VA_ARGS__ }, (int)(sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int)))
int node_dropout(struct network_builder *b, int from, float drop_ratio);
/* from: node_logits(). The first loss of a network is used in evaluations. */
int node_loss(struct network_builder *b, int from, float loss_weight);

/* For network_open(): open a builder over an empty network, with opts resolved; then finish the network, or return the
 * error that stuck. *b is closed and set to NULL in any case; *out is written only on success. */
enum rc network_builder_open(struct network_builder **out, const struct network_def *def,
                             const struct network_opts *opts) MUST_CHECK;
enum rc network_builder_finish(struct network_builder **b, struct network **out) MUST_CHECK;
void network_builder_close(struct network_builder **b); /* NULL-safe, nulls */

#endif
