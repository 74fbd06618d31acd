/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.h - what a training of a network consists of. Internal to the networks; tests plant mistakes in
 * it. */
#ifndef MODELS_ENGINE_TRAINER_H
#define MODELS_ENGINE_TRAINER_H

#include "models/engine/network_shard.h"
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
    void *part;                   /* run.part; NULL: one micro-batch */
    struct device_batch batch[2]; /* x NULL: the host's memory is the compute's; the second: to be uploaded ahead */
    int now;                      /* which of them the last gradient or evaluation used */
    float *host;                  /* float[n_params], for init, where the compute has memory of its own */
    struct loader *loader;        /* NULL: hollow */
    const float *batch_x;         /* the last batch of a gradient: x and label, or lent by the loader */
    const uint32_t *batch_label;
    double *loss;              /* run.h, [infer.n_losses + 1]: both programs count all losses of the network */
    size_t n_correct;          /* of the last batch */
    struct stage_block *block; /* [n_held] of a stage: one for each micro-batch that it holds; else NULL */
    size_t n_held;
    uint64_t group_key[NETWORK_MAX_SHARDS]; /* of a shard: run.h */
    uint32_t *group_label;                  /* [n_shards][max_batch], likewise; else NULL */
    const struct network_observer *observer;
    bool poison; /* run.h */
};

/* One of the micro-batches that a stage holds. */
struct stage_block {
    char *memory;    /* as network_trainer.memory, for the program of training */
    float *x;        /* images of the first stage; else NULL */
    uint32_t *label; /* of the last stage; else NULL */
};

/* NULL: not one. */
struct network_trainer *network_trainer_of(const struct training *t);

/* Does a gradient add up those of its micro-batches (M8)? */
static inline bool network_adds_parts(const struct training_env *env)
{
    return workload_n_micro_batches(env) > 1 && !env->forward_only;
}

/* training_check.c. A network of 1000 classes can learn 10; labels it has no output for, it cannot. RC_INVAL. */
enum rc network_check_dataset(const struct network *n, const struct dataset *d) MUST_CHECK;
/* Backends count the elements of a channel, over the batch, in int. RC_INVAL names the node. */
enum rc network_check_batch(const struct network *n, size_t max_batch) MUST_CHECK;

/* training.c, for training_stage.c. */
struct run network_run_of(struct network_trainer *t, const struct program *p, const float *param, size_t B);
enum rc network_load_batch(struct network_trainer *t, struct run *r, uint64_t first) MUST_CHECK;
double network_weighted_loss(const struct network_trainer *t);
uint64_t network_dropout_key(const struct training *t, uint64_t first);

/* training_shard.c: of a training with env.shard. */
enum rc network_group_open(struct network_trainer *t) MUST_CHECK; /* RC_NOMEM */
/* The labels and dropout keys of the group's images in r, whose own begin with sample `first` of a gradient of
 * n_samples of each rank. Errors: RC_INVAL, a label. */
enum rc network_group_load(struct network_trainer *t, struct run *r, uint64_t first, size_t n_samples) MUST_CHECK;
/* training_stage.c: the labels of samples [first, first + B), whose images another rank reads. RC_INVAL. */
enum rc network_read_labels(const struct network_trainer *t, uint32_t *label, uint64_t first, size_t B) MUST_CHECK;

/* training_stage.c: of a training with env.stage. */
enum rc network_stage_open(struct network_trainer *t) MUST_CHECK; /* its blocks. RC_NOMEM */
void network_stage_close(struct network_trainer *t);
/* struct training_ops.gradient, by the schedule. The loss is NaN where no loss is in this stage. */
enum rc network_stage_gradient(struct network_trainer *t, struct run *r, uint64_t first, double *mean_loss,
                               grad_ready_fn *ready) MUST_CHECK;

/* batch_memory.c: of the images of a batch of B, as the network takes them. */
size_t network_images_bytes(const struct network *n, size_t B);
/* batch_memory.c: what a batch needs, and whether that is to be had. Plans t's programs for env.max_batch. */
enum rc network_memory_plan(struct network_trainer *t) MUST_CHECK;

#endif
