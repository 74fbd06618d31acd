/* SPDX-License-Identifier: Apache-2.0 */
/* reference_windows.h - the nodes of a reference, and those that slide a window. Internal to network_reference.c. */
#ifndef MODELS_SUITE_REFERENCE_WINDOWS_H
#define MODELS_SUITE_REFERENCE_WINDOWS_H

#include "models/suite/network_reference.h"

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
