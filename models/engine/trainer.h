/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.h - what a training of a network consists of. Internal to the networks; tests plant mistakes in
 * it. */
#ifndef MODELS_ENGINE_TRAINER_H
#define MODELS_ENGINE_TRAINER_H

#include "models/engine/run.h"

struct loader;

/* A batch in memory of the compute, where that is not the host's. */
struct device_batch {
    void *x, *label;
    uint64_t first;
    size_t n_samples;
    bool is_ahead; /* uploaded for a gradient to come, which has these samples */
};

struct network_trainer {
    struct training base;
    struct network *network;
    struct program train; /* empty: forward_only */
    struct program infer;
    struct network_memory sums;
    void *memory;                 /* the block of both programs */
    void *state;                  /* float[network->n_state] */
    void *packed;                 /* run.packed; NULL: not of this compute, or forward_only */
    void *part;                   /* run.part; NULL: one micro-batch */
    struct device_batch batch[2]; /* x NULL: the host's memory is the compute's; the second: to be uploaded ahead */
    int now;                      /* which of them the last gradient or evaluation used */
    float *host;                  /* float[n_params], for init, where the compute has memory of its own */
    struct loader *loader;        /* NULL: hollow */
    const float *batch_x;         /* the last batch of a gradient: x and label, or lent by the loader */
    const uint32_t *batch_label;
    double *loss;     /* [infer.n_losses]: both programs count all losses of the network */
    size_t n_correct; /* of the last batch */
    const struct network_observer *observer;
    bool poison; /* run.h */
};

/* NULL: not one. */
struct network_trainer *network_trainer_of(const struct training *t);

/* Does a gradient add up those of its micro-batches (M8)? */
static inline bool network_adds_parts(const struct training_env *env)
{
    return workload_n_micro_batches(env) > 1 && !env->forward_only;
}

/* batch_memory.c: of the images of a batch of B, as the network takes them. */
size_t network_images_bytes(const struct network *n, size_t B);
/* batch_memory.c: of run.packed. */
size_t network_packed_bytes(const struct network *n);
/* batch_memory.c: program_open(), and of a compute that takes them with packed arrays. */
enum rc network_program_open(struct program *out, const struct compute *c, const struct network *n,
                             bool training) MUST_CHECK;
/* batch_memory.c: what a batch needs, and whether that is to be had. Plans t's programs for env.max_batch. */
enum rc network_memory_plan(struct network_trainer *t) MUST_CHECK;

#endif
