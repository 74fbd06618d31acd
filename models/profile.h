/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.h - the recorded times of a network's layers: what `gradmark profile` writes and workload
 * "replay" plays.
 *
 * A file is JSON: {"format": "gradmark-profile", "version": 1, "model", "batch", "image_size", "classes",
 * "precision", "device", "threads", "source", "images_per_s", "layers": [{"name", "forward_ns", "backward_ns",
 * "gemm_forward_ns", "gemm_backward_ns", "flops_forward", "flops_backward", "bytes_forward", "bytes_backward",
 * "tensors": [{"name", "n_elems"}]}]}. Times are of one step of `batch` images; layers in forward order.
 */
#ifndef MODELS_PROFILE_H
#define MODELS_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"

struct network;

enum { PROFILE_TEXT_BYTES = 128 };

struct profile_tensor {
    char name[48];
    size_t n_elems;
};

struct profile_layer {
    char name[48];
    uint64_t forward_ns, backward_ns;
    uint64_t gemm_forward_ns, gemm_backward_ns; /* the same GEMMs alone; 0: not measured */
    double flops_forward, flops_backward;
    double bytes_forward, bytes_backward;
    struct profile_tensor *tensor; /* in forward order */
    int n_tensors;
};

struct profile { /* owned */
    char model[32], precision[8], device[PROFILE_TEXT_BYTES];
    char source[PROFILE_TEXT_BYTES * 2]; /* "measured ...", or what it was derived from and how */
    int batch, image_size, n_classes, n_threads;
    double images_per_s;
    struct profile_layer *layer;
    int n_layers;
};

/* RC_INVAL: "FILE: ..." or "FILE:LINE: ..." with the key, the value and what would be right. */
enum rc profile_load(struct profile **out, const char *path) MUST_CHECK;
/* Writes a temporary file beside path and renames it: path is whole or as before. */
enum rc profile_save(const struct profile *p, const char *path) MUST_CHECK;
void profile_close(struct profile **p); /* NULL-safe, nulls */

/* Layers and tensors of n, all times 0. */
enum rc profile_of_network(struct profile **out, const struct network *n, int batch) MUST_CHECK;
size_t profile_n_params(const struct profile *p);
/* Of one step. */
uint64_t profile_step_ns(const struct profile *p);

#endif
