/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.h - the parts of a network's training. Internal to the networks; tests plant mistakes in it. */
#ifndef MODELS_ENGINE_TRAINER_H
#define MODELS_ENGINE_TRAINER_H

#include "models/engine/network_shard.h"
#include "models/engine/run.h"
#include "models/engine/stage.h"

struct loader;

/* A batch in memory of the compute, if that is not the host's. */
struct device_batch {
    void *x, *label;
    uint64_t first;
    size_t n_samples;
    bool is_ahead; /* uploaded in advance for a later gradient with these samples */
};

/* One of the micro-batches that a stage holds; arrays NULL: no data. */
struct stage_block {
    char *memory;             /* as network_trainer.memory, for the program of training */
    float *x;                 /* first stage: images; else the previous stage's output */
    uint32_t *label;          /* for the last stage; else NULL. A shard has those of its group */
    size_t micro_batch;       /* the last one that used it */
    bool sends[N_STAGE_WAYS]; /* for that one: the send is not yet complete (models.P3) */
};

struct stage_spare {
    float *grad; /* received from the next stage while memory has other activations; NULL: the last stage */
    void *state; /* state for the second forward of each micro-batch, to be discarded; NULL: no state */
};

struct network_trainer {
    struct training base;
    struct network *network;
    struct program train; /* empty: forward_only */
    struct program infer;
    struct network_memory sums;
    void *memory;                 /* the block of both programs */
    void *state;                  /* float[network->n_state] */
    void *packed;                 /* run.packed; NULL: not with this compute, or forward_only */
    void *part;                   /* run.part; NULL: one micro-batch */
    struct device_batch batch[2]; /* x NULL: host and compute share memory; the second: for upload in advance */
    int now;                      /* index of the one that the last gradient or evaluation used */
    float *host;                  /* float[n_params], for init, if the compute has separate memory */
    struct loader *loader;        /* NULL: no data */
    const float *batch_x;         /* the last batch of a gradient: x and label, or borrowed from the loader */
    const uint32_t *batch_label;
    double *loss;              /* run.h, [infer.n_losses + 1]: both programs count all losses of the network */
    size_t n_correct;          /* of the last batch */
    struct stage_block *block; /* [n_held] for a stage: one per held micro-batch; else NULL */
    size_t n_held;             /* 0: not a stage */
    bool recomputes;           /* models.P4: all blocks share memory, one after the other */
    struct stage_spare spare;  /* for a stage that recomputes */
    uint32_t *read_label;      /* [max_batch] for a stage: on the way to a block; else NULL */
    void *signal;              /* for a stage: sent in an evaluation when a batch is complete; no data: NULL */
    size_t most_held;          /* maximum so far */
    uint64_t group_key[NETWORK_MAX_SHARDS]; /* for a shard: run.h */
    uint32_t *read_group_label;             /* [n_shards][max_batch], likewise, if it has the loss; else NULL */
    void *group_label;                      /* the same in memory of the compute */
    const struct network_observer *observer;
    bool poison; /* run.h */
};

/* NULL: t is not a network's training. */
struct network_trainer *network_trainer_of(const struct training *t);

/* Does a gradient add up those of its micro-batches (models.M8)? */
static inline bool network_adds_parts(const struct training_env *env)
{
    return workload_n_micro_batches(env) > 1 && !env->forward_only;
}

/* A network of 1000 classes can learn 10 classes, but not labels without an output. RC_INVAL. */
enum rc network_check_dataset(const struct network *n, const struct dataset *d) MUST_CHECK;
/* Backends count the elements of a channel, over the batch, in int. RC_INVAL names the node. */
enum rc network_check_batch(const struct network *n, size_t max_batch) MUST_CHECK;

/* training.c, for training_stage.c. */
struct run network_run_of(struct network_trainer *t, const struct program *p, const float *param, size_t B);
enum rc network_load_batch(struct network_trainer *t, struct run *r, uint64_t first) MUST_CHECK;
double network_weighted_loss(const struct network_trainer *t);
uint64_t network_dropout_key(const struct training *t, uint64_t first);

/* For a training with env.shard. */
enum rc network_group_open(struct network_trainer *t) MUST_CHECK; /* RC_NOMEM */
/* Load into r the labels and dropout keys of the group's images. The rank's own images begin with sample `first` of a
 * gradient of n_samples per rank. Errors: RC_INVAL, a label. */
enum rc network_group_load(struct network_trainer *t, struct run *r, uint64_t first, size_t n_samples) MUST_CHECK;
/* training_stage.c: read the labels of samples [first, first + B), whose images another rank reads. RC_INVAL. */
enum rc network_read_labels(const struct network_trainer *t, uint32_t *label, uint64_t first, size_t B) MUST_CHECK;

/* training_stage.c: for a training with env.stage. Bytes of its blocks and spare memory. m: planned, for one batch;
 * step: of a stage. */
size_t network_stage_bytes(const struct network *n, const struct network_memory *m, const struct network_step *step);
enum rc network_stage_open(struct network_trainer *t) MUST_CHECK; /* opens its blocks, in t->memory. RC_NOMEM */
void network_stage_close(struct network_trainer *t);
/* struct training_ops.gradient, by the schedule. The loss is NaN if this stage has no loss. */
enum rc network_stage_gradient(struct network_trainer *t, struct run *r, uint64_t first, double *mean_loss,
                               grad_ready_fn *ready) MUST_CHECK;
/* struct training_ops.evaluate, by all stages together; only the last one gets the result, the rest get NaN. */
enum rc network_stage_evaluate(struct network_trainer *t, const float *param, size_t n_samples,
                               struct evaluation *out) MUST_CHECK;

/* memory_plan.c: bytes of the images of a batch of B, in the network's format. */
size_t network_images_bytes(const struct network *n, size_t B);
/* memory_plan.c: bytes of run.packed. */
size_t network_packed_bytes(const struct network *n);
/* memory_plan.c: program_open(), and packing if the compute takes packed arrays. */
enum rc network_program_open(struct program *out, const struct compute *c, const struct network *n,
                             bool training) MUST_CHECK;
/* memory_plan.c: compute the memory of a batch, and check that it is available. Plans t's programs for
 * env.max_batch. */
enum rc network_memory_plan(struct network_trainer *t) MUST_CHECK;

#endif
