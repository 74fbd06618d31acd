/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workload.h - a model with its data: the same work, whatever the sync mode.
 *
 * Invariants
 *   M1  init gives the same bits on all ranks, from seed and replica alone. Replica 0 is what a training begins with;
 *       the others are what a rank begins with that gets nothing from rank 0, and differ.
 *   M2  gradient() calls ready once per segment, last segment first; together the segments cover the parameters
 *       once. The gradient of a segment is final when ready is called, and its parameters are not read any more: an
 *       exchange may change both from then on.
 *   M3  On a compute that touches no memory (hollow) every array may be NULL; the same work is counted, the same
 *       calls to ready are made, losses are NaN.
 *   M4  Nothing allocates after the first gradient().
 *   M5  param and grad are in memory of the compute (compute_memory_open); so is grad in ready().
 *   M6  gradient() ends with compute_sync(): mean_loss and the values of grad are valid when it returns.
 *   M7  With workload_set_await(), gradient() calls await for each segment before it reads its parameters, first
 *       segment first.
 *   M8  gradient() of a training with n_micro_batches takes its samples in that many parts of equal size, the first
 *       samples first, and computes one after the other. grad is the sum, in that order, of the gradients of the
 *       parts, each of a loss that is divided by their number; mean_loss is the mean. What looks at a batch, batch norm
 *       and dropout, sees one part. await (M7) is called in the first part, ready (M2) in the last.
 */
#ifndef MODELS_WORKLOAD_H
#define MODELS_WORKLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "data/batch_order.h"
#include "harness/base/module.h"
#include "harness/base/rc.h"
#include "harness/base/segment.h"
#include "harness/compute/compute.h"
#include "models/engine/network.h"
#include "models/workload_list.h"

struct dataset;
struct network_def;
struct profile;
struct pipeline_stage;
struct dense_shard;
struct training;
struct workload;

/* grad float[seg.n_elems]: the values of this segment alone; hollow: NULL. Work counted so far is not charged yet: a
 * ready that sends or reads a clock calls compute_sync() first (C2). */
typedef enum rc grad_ready_fn(void *arg, struct segment seg, const float *grad);

/* Wait until the parameters of seg are those of this step. Work counted so far is not charged yet. */
typedef enum rc param_await_fn(void *arg, struct segment seg);

struct loader_source;

struct training_env { /* borrowed; outlives the training */
    struct compute *compute;
    const struct dataset *dataset;   /* NULL: none is needed (replay), or nothing will be computed */
    const struct dataset_part *part; /* of the training samples, which gradient() counts in it; NULL: all */
    uint64_t seed;
    size_t max_batch;                   /* most samples that are computed at once */
    struct batch_order order;           /* of gradient(); its n_micro_batches: M8 */
    const struct loader_source *source; /* of batches, in place of reading the data set; NULL: none (data/loader.h) */
    uint64_t (*now_ns)(void *arg); /* by which waits for samples, and writing of replayed gradients, are measured; arg:
                                      the compute's; NULL: they are not */
    bool prefetch;                 /* a background thread may load the next batch, and does where that pays */
    bool forward_only;             /* gradient() only computes the loss, with inference's batch norm */
    struct network_opts network;   /* image networks */
    const struct profile *profile; /* workloads that play one */
    const struct pipeline_stage *stage; /* this training is a stage of a network (engine/stage.h); NULL: all of it */
    const struct dense_shard *shard;    /* its dense layers are cut, and this is a shard (engine/shard.h): gradient() is
                                           as network_shard.D3 has it; NULL: they are not */
};

struct evaluation {
    double loss;           /* mean over the test set (line: over all samples) */
    double accuracy_ratio; /* share of test samples classified right; NaN for regression */
};

/* What runs a model. Shared by all models that are run the same way, as the networks are. */
struct training_ops {
    enum rc (*open)(struct training **out, const struct workload *w, const struct training_env *env);
    size_t (*n_params)(const struct training *t);
    /* Segments in forward order. */
    size_t (*n_segments)(const struct training *t);
    struct segment (*segment)(const struct training *t, size_t i);
    void (*init)(const struct training *t, uint64_t replica, float *param); /* M1 */
    /* grad[n_params] := d mean_loss / d param over global samples [first, first + n_samples), of which there is a
     * whole number in each micro-batch, at most max_batch.
     * Blocks only in ready (NULL: not called), for data and for the compute (M6). Errors: those of ready, of
     * reading the data set and of the compute; grad is then undefined. forward_only: grad may be NULL, nothing is
     * written to it, and ready is not called. */
    enum rc (*gradient)(struct training *t, const float *param, uint64_t first, size_t n_samples, float *grad,
                        double *mean_loss, grad_ready_fn *ready, void *arg);
    /* The first n_samples of the test set (line: of all samples); 0, or more than there are: all. No samples: NaN.
     * Waits for the results; errors: those of reading the data set and of the compute. */
    enum rc (*evaluate)(struct training *t, const float *param, size_t n_samples, struct evaluation *out);
    /* Optional (NULL: nothing): what is learnt beside the parameters (running means), float[*n_elems] in memory of the
     * compute, forward order. A checkpoint keeps it. */
    float *(*state)(struct training *t, size_t *n_elems);
    double (*flops_per_sample)(const struct training *t); /* of gradient(), GEMMs: forward_only counts no backward */
    void (*close)(struct training **t);
};

enum { WORKLOAD_MAX_NAMED = 4 };

/* Parameters that a user reads one by one: a row "ROW  NAME=VALUE NAME=VALUE" in the table that ends a run, and a key
 * NAME of its record (null in the records of other models). */
struct named_params {
    const char *row;
    const char *name[WORKLOAD_MAX_NAMED + 1]; /* of parameter 0, 1, ...; NULL-terminated */
};

/* caps of a workload */
enum {
    WORKLOAD_PLAYS_PROFILE = 1, /* its time is env.profile's, which it needs; it computes and learns nothing */
};

struct workload {
    struct module module;
    const char *dataset;               /* "line", "digits", "synthetic"; NULL: none */
    const struct network_def *network; /* NULL: not a network of network.h */
    const struct named_params *named;  /* Optional (NULL): default none */
    double default_lr;                 /* that trains it at its default batch and momentum, one worker */
    double default_momentum;
    int default_batch; /* networks: of a laptop; the published ones, 64 to 256 images a device, need tens of GiB */
    int default_steps; /* of a comparison: enough to see it learn */
    double default_target_loss; /* that it reaches in about half of them; 0: none, as with 1000 classes in 50 steps */
    const struct training_ops *ops;
};

struct training { /* first member of each implementation's struct */
    const struct workload *workload;
    struct training_env env;
    param_await_fn *await; /* NULL: the parameters are there when gradient() is called */
    void *await_arg;
};

#define WORKLOAD_DECLARE_(name) extern const struct workload workload_##name;
WORKLOAD_LIST(WORKLOAD_DECLARE_)
#undef WORKLOAD_DECLARE_

/* The models: option --model. */
extern const struct module_kind workload_kind;
/* Those of them that are networks, whose layers can be timed one by one: --model of gradmark profile. */
extern const struct module_kind network_kind;
/* Model i of that list; NULL behind the last. */
const struct workload *workload_at(int i);
/* RC_INVAL names the nearest. */
enum rc workload_find(const struct workload **out, const char *name) MUST_CHECK;
/* The one that plays profiles (WORKLOAD_PLAYS_PROFILE). */
const struct workload *workload_profile_player(void);

/* How many micro-batches a gradient() has: 1 or more. */
static inline size_t workload_n_micro_batches(const struct training_env *env)
{
    return batch_order_n_parts(&env->order);
}

/* RC_INVAL: env->dataset is not one this workload can learn from. RC_NOMEM: max_batch needs more memory than there
 * is; names both, and the largest batch that fits. */
enum rc workload_open(struct training **out, const struct workload *w, const struct training_env *env) MUST_CHECK;
size_t workload_n_params(const struct training *t);
void workload_init(const struct training *t, float *param); /* replica 0; param NULL: nothing to do (hollow) */
void workload_init_own(const struct training *t, uint64_t replica, float *param); /* likewise */
enum rc workload_gradient(struct training *t, const float *param, uint64_t first, size_t n_samples, float *grad,
                          double *mean_loss, grad_ready_fn *ready, void *arg) MUST_CHECK;
/* M7, from the next gradient() on. NULL: none. Its errors are gradient()'s. */
void workload_set_await(struct training *t, param_await_fn *await, void *arg);
enum rc workload_evaluate(struct training *t, const float *param, size_t n_samples, struct evaluation *out) MUST_CHECK;
float *workload_state(struct training *t, size_t *n_elems);
void workload_close(struct training **t); /* NULL-safe, nulls */

#endif
