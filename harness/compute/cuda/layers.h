/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layers.h - arguments of logged calls other than GEMMs and convolutions. Private to the cuda backend.
 *
 * One struct for all, zeroed and then assigned member by member, so that equal calls are equal bytes (cuda.h).
 */
#ifndef HARNESS_COMPUTE_CUDA_LAYERS_H
#define HARNESS_COMPUTE_CUDA_LAYERS_H

#include "harness/compute/cuda/cuda.h"

struct layer_args;
/* Queues the kernel of a logged call. */
typedef void layer_run_fn(struct cuda_compute *c, const struct layer_args *a);

/* The arrays and numbers of an operation, in the order of compute.h. */
struct layer_args {
    layer_run_fn *run; /* set by layer_log() */
    float *out[3];
    const float *in[2];
    uint8_t *argmax;
    uint16_t *packed; /* of out[0] */
    struct cuda_result *result;
    const uint64_t *key;
    size_t n[3];
    float number;
    int add;
    union {
        struct cuda_window window;
        struct cuda_sgd sgd;
        struct cuda_adagrad adagrad;
        struct cuda_adam adam;
        struct conv_bias_grad bias_grad;
        struct batch_norm_forward norm;
        struct batch_norm_fold fold;
        struct batch_norm_grad norm_grad;
        struct softmax_xent xent;
    } op;
};

struct layer_args layer_no_args(void);
void layer_log(struct compute *base, const char *name, layer_run_fn *run, struct layer_args *a);

#endif
