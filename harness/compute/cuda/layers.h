/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layers.h - arguments of the logged calls that are no GEMMs. Private to the cuda backend.
 *
 * One struct for all, zeroed before it is filled, so that two equal calls are equal bytes (cuda.h).
 */
#ifndef HARNESS_COMPUTE_CUDA_LAYERS_H
#define HARNESS_COMPUTE_CUDA_LAYERS_H

#include "harness/compute/cuda/cuda.h"

/* What an operation reads and writes, and its numbers, in the order of compute.h. */
struct layer_args {
    float *out[5];
    const float *in[6];
    uint8_t *at;
    const uint32_t *label;
    struct cuda_result *result;
    const uint64_t *key;
    size_t n[3];
    float number, unused;
    union {
        struct cuda_window window;
        struct cuda_norm norm;
        struct cuda_sgd sgd;
    } shape;
    int add, unused_too;
};

struct layer_args layer_no_args(void);
/* A yardstick run (gemms_alone) logs none of them. */
void layer_log(struct compute *base, const char *name, cuda_run_fn *run, const struct layer_args *a);

#endif
