/* SPDX-License-Identifier: Apache-2.0 */
/*
 * network_reference.h - any network of network.h again, naive and in double: what the tests hold the real one to.
 *
 * Every node keeps its own output and gradient, everything is copied and added up; nothing is shared with the
 * real one but the tables. Tests only.
 */
#ifndef MODELS_SUITE_NETWORK_REFERENCE_H
#define MODELS_SUITE_NETWORK_REFERENCE_H

#include "models/engine/network.h"

struct network_reference;

/* Aborts when there is no memory. */
struct network_reference *network_reference_open(const struct network *n, size_t B);
void network_reference_close(struct network_reference **r); /* NULL-safe, nulls */

struct network_reference_batch {
    const double *param;
    const float *x;        /* (C, B, H, W) */
    const uint32_t *label; /* (B) */
    uint64_t dropout_key;
};

/* Training: the sum of the losses. grad (NULL: not wanted): d loss / d param; state (NULL: not wanted): running
 * values, updated. */
double network_reference_train(struct network_reference *r, const struct network_reference_batch *batch, double *grad,
                               double *state);
/* Inference with these running values: the first loss. */
double network_reference_infer(struct network_reference *r, const struct network_reference_batch *batch,
                               const double *state, size_t *n_correct);

/* The nodes of a reference, and those that slide a window. Internal to network_reference.c. */

struct layer { /* of one node, (C, B, H, W) */
    double *value, *grad;
    double *inner;      /* before the norm */
    double *mean, *var; /* of the batch, (C) */
    float *kept;        /* dropout: 0 or 1 / keep_ratio */
    size_t n;           /* elements */
};

struct network_reference {
    const struct network *n;
    size_t B;
    struct layer *layer;
    struct layer image;
    struct compute *compute; /* knows what dropout keeps */
};

static inline struct layer *reference_layer(struct network_reference *r, int node)
{
    return node == NODE_IMAGE ? &r->image : &r->layer[node];
}

/* Node i: convolution, norm, addition, relu. state: running values; training updates them (NULL: not), inference uses
 * them. */
void reference_conv(struct network_reference *r, int i, const double *param, double *state, bool training);
/* Adds to the gradients of its inputs, and writes those of its tensors. */
void reference_conv_grad(struct network_reference *r, int i, const double *param, double *grad);
/* Node i: a max or average pool; backward: adds to the gradient of its input. */
void reference_pool(struct network_reference *r, int i, bool backward);

#endif
