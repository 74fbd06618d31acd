/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.h - the recorded times of a network's layers: what `gradmark profile` writes and workload
 * "replay" plays.
 *
 * A file is JSON: {"format": "gradmark-profile", "version": 1, "model", "batch", "image_size", "classes",
 * "aux_head", "width_divisor", "precision", "device", "threads", "source", "images_per_s", "layers": [{"name",
 * "forward_ns", "backward_ns", "gemm_forward_ns", "gemm_backward_ns", "flops_forward", "flops_backward",
 * "bytes_forward", "bytes_backward", "tensors": [{"name", "n_elems"}]}]}. Every key is required and no other is
 * known. Times, flops and bytes are of one step of `batch` images; layers in forward order.
 *
 * Invariants
 *   J1  What profile_save() wrote, profile_load() reads back to the same profile.
 *   J2  A file whose model is one of ours holds that network's tensors; a model of another name may hold any.
 *   J3  Derived times of a step sum up to the published time of a step, to the nanosecond.
 *   J4  A model MODEL-N is one of ours at 1/N of its bytes: each tensor has 1/N of the elements of MODEL's, rounded up.
 *       (Only profile_open_network() asks for that: any other use takes such a file as one of another name, J2.)
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
    uint64_t gemm_forward_ns, gemm_backward_ns; /* the same GEMMs alone; 0: not measured */
    double flops_forward, flops_backward;
    double bytes_forward, bytes_backward;
    struct profile_tensor *tensor; /* in forward order; owned */
    int n_tensors;
};

struct profile { /* owned */
    char model[32], precision[8], device[PROFILE_TEXT_BYTES];
    char source[PROFILE_SOURCE_BYTES]; /* "measured ...", or what it was derived from and how */
    int batch, image_size, n_classes, width_divisor;
    int n_threads; /* 0: does not apply, or not known */
    bool aux_head;
    double images_per_s; /* of whole steps; 0: not known */
    struct profile_layer *layer;
    int n_layers;
};

/* RC_INVAL: "FILE: ..." or "FILE:LINE: ..." with the key, the value and what would be right. */
enum rc profile_load(struct profile **out, const char *path) MUST_CHECK;
/* Writes a temporary file beside path and renames it: path is whole or as before. */
enum rc profile_save(const struct profile *p, const char *path) MUST_CHECK;
void profile_close(struct profile **p); /* NULL-safe, nulls */

/* A profile of n_layers empty layers: the caller fills it. RC_NOMEM. */
enum rc profile_open(struct profile **out, int n_layers) MUST_CHECK;
/* Room for n_tensors in a layer that has none. RC_NOMEM. */
enum rc profile_layer_tensors(struct profile_layer *l, int n_tensors) MUST_CHECK;

/* A layer for each node of n, in its order, with its tensors and the flops of its GEMMs; times and bytes 0. */
enum rc profile_of_network(struct profile **out, const struct network *n, int batch) MUST_CHECK;
/* J2, of a profile of that file. RC_INVAL. profile_load() has. */
enum rc profile_check_model(const struct profile *p, const char *path) MUST_CHECK;
/* The network that p was recorded of, at 1/divisor of its bytes (J4), of which each node is a layer of p, with its
 * tensors. path: for messages. RC_INVAL: it is none of ours, or has other layers. */
enum rc profile_open_network(struct network **out, size_t *divisor, const struct profile *p,
                             const char *path) MUST_CHECK;
/* Spread the time of a whole step over the layers by their flops: a pass's share is its flops' share, which are
 * 1:2 forward to backward, and 1:1 where there is no input gradient to compute. J3. RC_INVAL: no layer has flops. */
enum rc profile_spread(struct profile *p, uint64_t step_ns) MUST_CHECK;
/* Change all times in proportion, so that a step has this rate. images_per_s > 0; p has times. */
void profile_scale(struct profile *p, double images_per_s);
/* J4: elements of a tensor of the network at 1/divisor of its bytes. */
static inline size_t profile_divided(size_t n_elems, size_t divisor)
{
    return (n_elems + divisor - 1) / divisor;
}
size_t profile_n_params(const struct profile *p);
int profile_n_tensors(const struct profile *p);
/* Of one step: the layers' times. */
uint64_t profile_step_ns(const struct profile *p);
double profile_flops(const struct profile *p);

#endif
