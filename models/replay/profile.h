/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.h - the recorded times of a network's layers: written by `gradmark profile`, played by workload "replay".
 *
 * A file is JSON: {"format": "gradmark-profile", "version": 1, "model", "batch", "image_size", "classes",
 * "aux_head", "width_divisor", "precision", "device", "threads", "source", "images_per_s", "layers": [{"name",
 * "forward_ns", "backward_ns", "gemm_forward_ns", "gemm_backward_ns", "flops_forward", "flops_backward",
 * "bytes_forward", "bytes_backward", "tensors": [{"name", "n_elems"}]}]}. Every key is required and no other is
 * known. Times, flops and bytes are of one step of `batch` images; layers in forward order.
 *
 * Invariants
 *   J1  What profile_save() wrote, profile_load() reads back to the same profile.
 *   J2  A file whose model is built in has that network's tensors; a model of another name may have any.
 *   J3  Derived times of a step sum up to the published time of a step, to the nanosecond.
 *   J4  A model MODEL-N is a built-in model at 1/N of its bytes: each tensor has 1/N of the elements of MODEL's,
 *       rounded up. (Only profile_open_network() interprets such a name: elsewhere the file counts as one of another
 *       name, J2.)
 */
#ifndef MODELS_REPLAY_PROFILE_H
#define MODELS_REPLAY_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"

struct network;

enum { PROFILE_NAME_BYTES = 48, PROFILE_TEXT_BYTES = 128, PROFILE_SOURCE_BYTES = 512 };

/* Largest values of a file, so that no sum of them overflows. */
#define PROFILE_MAX_LAYER_NS 3600000000000.0 /* an hour */
#define PROFILE_MAX_ELEMS 1e12
#define PROFILE_MAX_WORK 1e21
enum { PROFILE_MAX_LAYERS = 65536, PROFILE_MAX_TENSORS = 1024, PROFILE_MAX_BATCH = 1 << 20 };

struct profile_tensor {
    char name[PROFILE_NAME_BYTES];
    size_t n_elems;
};

struct profile_layer {
    char name[PROFILE_NAME_BYTES];
    uint64_t forward_ns, backward_ns;
    uint64_t gemm_forward_ns, gemm_backward_ns; /* the GEMMs alone; 0: not measured */
    double flops_forward, flops_backward;
    double bytes_forward, bytes_backward;
    struct profile_tensor *tensor; /* in forward order; owned */
    int n_tensors;
};

struct profile { /* owned */
    char model[32], precision[8], device[PROFILE_TEXT_BYTES];
    char source[PROFILE_SOURCE_BYTES]; /* "measured ...", or its source and derivation */
    int batch, image_size, n_classes, width_divisor;
    int n_threads; /* 0: does not apply, or not known */
    bool aux_head;
    double images_per_s; /* of whole steps; 0: not known */
    struct profile_layer *layer;
    int n_layers;
};

/* RC_INVAL: "FILE: ..." or "FILE:LINE: ..." with the key, the value and valid ones. */
enum rc profile_load(struct profile **out, const char *path) MUST_CHECK;
/* Writes a temporary file next to path and renames it: path is complete or unchanged. */
enum rc profile_save(const struct profile *p, const char *path) MUST_CHECK;
/* Write the same as one line to standard output (file.h). RC_IO. */
enum rc profile_print_json(const struct profile *p) MUST_CHECK;
void profile_close(struct profile **p); /* NULL-safe, nulls */

/* A profile of n_layers empty layers: the caller fills it. RC_NOMEM. */
enum rc profile_open(struct profile **out, int n_layers) MUST_CHECK;
/* Allocate n_tensors in a layer that has none. RC_NOMEM. */
enum rc profile_layer_tensors(struct profile_layer *l, int n_tensors) MUST_CHECK;

/* A layer for each node of n, in its order, with its tensors and the flops of its GEMMs; times and bytes 0. */
enum rc profile_of_network(struct profile **out, const struct network *n, int batch) MUST_CHECK;
/* models.J2, for a profile loaded from path. RC_INVAL. profile_load() already calls it. */
enum rc profile_check_model(const struct profile *p, const char *path) MUST_CHECK;
/* Open the network that p was recorded from, at 1/divisor of its bytes (models.J4). Each of its nodes is a layer of p,
 * with its tensors. path: for messages. RC_INVAL: not a built-in network, or its layers differ. */
enum rc profile_open_network(struct network **out, size_t *divisor, const struct profile *p,
                             const char *path) MUST_CHECK;
/* Spread the time of a whole step over the layers by flops (models.J3). The shares of forward and backward are 1:2, and
 * 1:1 without an input gradient. RC_INVAL: no layer has flops. */
enum rc profile_spread(struct profile *p, uint64_t step_ns) MUST_CHECK;
/* Scale all times so that a step has this rate. images_per_s > 0; p has times. */
void profile_scale(struct profile *p, double images_per_s);
/* models.J4: elements of a tensor of the network at 1/divisor of its bytes. */
static inline size_t profile_divided(size_t n_elems, size_t divisor)
{
    return (n_elems + divisor - 1) / divisor;
}
size_t profile_n_params(const struct profile *p);
int profile_n_tensors(const struct profile *p);
/* Sum of the layers' times in one step. */
uint64_t profile_step_ns(const struct profile *p);
double profile_flops(const struct profile *p);

#endif
