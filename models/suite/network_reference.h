/* SPDX-License-Identifier: Apache-2.0 */
/*
 * network_reference.h - any network of network.h again, naive and in double: what the tests hold the real one to.
 *
 * Its operations are those of harness/compute/suite/reference.h, so that central differences of its losses check
 * these, too. Every node keeps its own output and gradient, everything is copied and added up; nothing is shared with
 * the real one but the tables. Tests only.
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

#endif
