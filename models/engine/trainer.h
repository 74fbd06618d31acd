/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.h - what a training of a network consists of. Internal to the networks; tests plant mistakes in
 * it. */
#ifndef MODELS_ENGINE_TRAINER_H
#define MODELS_ENGINE_TRAINER_H

#include "models/engine/network_shard.h"
#include "models/engine/run.h"
#include "models/engine/stage.h"

struct loader;

/* A batch in memory of the compute, where that is not the host's. */
struct device_batch {
    void *x, *label;
    uint64_t first;
    size_t n_samples;
    bool is_ahead; /* uploaded for a gradient to come, which has these samples */
};

/* One of the micro-batches that a stage holds; arrays NULL: hollow. */
struct stage_block {
    char *memory;             /* as network_trainer.memory, for the program of training */
    float *x;                 /* images of the first stage, or what the stage before has passed on */
    uint32_t *label;          /* of the last stage; else NULL. A shard has those of its group */
    size_t micro_batch;       /* the last one that it was used for */
    bool sends[N_STAGE_WAYS]; /* of that one: it is not yet known to be sent (P3) */
};

struct stage_spare {
    float *grad; /* what has come of the stage behind, while memory has other activations; NULL: the last stage */
    void *state; /* of the second forward of each micro-batch, which is not to count; NULL: there is none */
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
    double *loss;              /* run.h, [infer.n_losses + 1]: both programs count all losses of the network */
    size_t n_correct;          /* of the last batch */
    struct stage_block *block; /* [n_held] of a stage: one for each micro-batch that it holds; else NULL */
    size_t n_held;             /* 0: no stage */
    bool recomputes;           /* P4: memory is that of all blocks, one after the other */
    struct stage_spare spare;  /* of a stage that recomputes */
    uint32_t *read_label;      /* [max_batch] of a stage: on their way to a block; else NULL */
    void *signal;              /* of a stage: what an evaluation sends when a batch is through; hollow: NULL */
    size_t most_held;          /* so far */
    uint64_t group_key[NETWORK_MAX_SHARDS]; /* of a shard: run.h */
    uint32_t *read_group_label;             /* [n_shards][max_batch], likewise, where the loss is; else NULL */
    void *group_label;                      /* the same in memory of the compute */
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

/* training_stage.c: of a training with env.stage. Bytes of its blocks and of what it has to spare; m: of one batch, as
 * planned; step: of a stage. */
size_t network_stage_bytes(const struct network *n, const struct network_memory *m, const struct network_step *step);
enum rc network_stage_open(struct network_trainer *t) MUST_CHECK; /* its blocks, in t->memory. RC_NOMEM */
void network_stage_close(struct network_trainer *t);
/* struct training_ops.gradient, by the schedule. The loss is NaN where no loss is in this stage. */
enum rc network_stage_gradient(struct network_trainer *t, struct run *r, uint64_t first, double *mean_loss,
                               grad_ready_fn *ready) MUST_CHECK;
/* struct training_ops.evaluate, by all stages at once; only the last one knows what comes of it, others: NaN. */
enum rc network_stage_evaluate(struct network_trainer *t, const float *param, size_t n_samples,
                               struct evaluation *out) MUST_CHECK;

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
