/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workload.h - a model with its data: the same work for every sync mode.
 *
 * Invariants
 *   M1  init gives the same bits on all ranks, depending only on seed and replica. A training starts with replica 0.
 *       Higher replicas differ; a rank that receives nothing from rank 0 starts with one of these.
 *   M2  gradient() calls ready once per segment, last segment first; together the segments cover the parameters once.
 *       When ready is called, the gradient of the segment is final, and its parameters are no longer read: an exchange
 *       may change both from then on.
 *   M3  On a compute that touches no memory (hollow) every array may be NULL. The same work is counted, and ready is
 *       called equally; losses are NaN.
 *   M4  Nothing allocates after the first gradient().
 *   M5  param and grad are in memory of the compute (compute_memory_open); so is grad in ready().
 *   M6  gradient() ends with compute_sync(): mean_loss and the values of grad are valid when it returns.
 *   M7  With workload_set_await(), gradient() calls await for each segment before it reads its parameters, first
 *       segment first.
 *   M8  gradient() of a training with n_micro_batches takes its samples in that many parts of equal size, in order, and
 *       computes one part after the other. grad is the sum, in that order, of the parts' gradients, each of a loss
 *       divided by their number; mean_loss is the mean. Operations over a batch (batch norm, dropout) see one part.
 *       await (M7) is called in the first part, ready (M2) in the last.
 */
#ifndef MODELS_WORKLOAD_H
#define MODELS_WORKLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "data/dataset.h"
#include "harness/base/module.h"
#include "harness/base/range.h"
#include "harness/base/rc.h"
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

/* grad float[seg.n_elems]: the values of this segment only; no data: NULL. Work counted so far is not charged yet: a
 * ready function that sends or reads a clock calls compute_sync() first (C2). */
typedef enum rc grad_ready_fn(void *arg, struct segment seg, const float *grad);

/* Wait until the parameters of seg are those of this step. Work counted so far is not charged yet. */
typedef enum rc param_await_fn(void *arg, struct segment seg);

struct loader_source;

struct training_env { /* borrowed; outlives the training */
    struct compute *compute;
    const struct dataset *dataset;   /* NULL: not needed (replay), or nothing is computed */
    const struct dataset_part *part; /* part of the training samples, in which gradient() counts; NULL: all */
    uint64_t seed;
    size_t max_batch;                   /* maximum of samples computed at once */
    struct batch_order order;           /* for gradient(); its n_micro_batches: models.M8 */
    const struct loader_source *source; /* batches from a source instead of the data set; NULL: none (data/loader.h) */
    uint64_t (*now_ns)(void *arg);      /* clock for waits for samples, and for writing replayed gradients; arg: the
                                      compute's; NULL: they are not measured */
    bool prefetch;                      /* a background thread may load the next batch, and does if it pays */
    bool forward_only;                  /* gradient() computes only the loss, with inference's batch norm */
    struct network_opts network;        /* image networks */
    const struct profile *profile;      /* for workloads that play a profile */
    const struct pipeline_stage *stage; /* this training is a stage of a network (engine/stage.h); NULL: all of it */
    const struct dense_shard *shard;    /* this training is a shard of split dense layers (engine/stage.h): gradient()
                                           is as in models.D3; NULL: not split */
};

struct evaluation {
    double loss;           /* mean over the test set (line: over all samples) */
    double accuracy_ratio; /* share of test samples classified correctly; NaN for regression */
};

/* The functions that run a model. Shared by all models that run the same way, such as the networks. */
struct training_ops {
    enum rc (*open)(struct training **out, const struct workload *w, const struct training_env *env);
    size_t (*n_params)(const struct training *t);
    /* Segments in forward order. */
    size_t (*n_segments)(const struct training *t);
    struct segment (*segment)(const struct training *t, size_t i);
    void (*init)(const struct training *t, uint64_t replica, float *param); /* models.M1 */
    /* grad[n_params] := d mean_loss / d param over global samples [first, first + n_samples), which divide evenly into
     * the micro-batches, at most max_batch each. Blocks only in ready (NULL: not called), for data and for the compute
     * (models.M6). Errors: those of ready, of reading the data set and of the compute; grad is then undefined.
     * forward_only: grad may be NULL, nothing is written to it, and ready is not called. */
    enum rc (*gradient)(struct training *t, const float *param, uint64_t first, size_t n_samples, float *grad,
                        double *mean_loss, grad_ready_fn *ready, void *arg);
    /* Evaluate the first n_samples of the test set (line: of all samples); 0, or more than exist: all. No samples: NaN.
     * Waits for the results; errors: those of reading the data set and of the compute. */
    enum rc (*evaluate)(struct training *t, const float *param, size_t n_samples, struct evaluation *out);
    /* Optional (NULL: none): values learnt in addition to the parameters (running means), float[*n_elems] in memory of
     * the compute, forward order. A checkpoint keeps it. */
    float *(*state)(struct training *t, size_t *n_elems);
    double (*flops_per_sample)(const struct training *t); /* of gradient(), GEMMs: forward_only counts no backward */
    void (*close)(struct training **t);
};

enum { WORKLOAD_MAX_NAMED = 4 };

/* Parameters that a user reads individually: a row "ROW NAME=VALUE NAME=VALUE" in the table at the end of a run, and a
 * key NAME in its record (null in the records of other models). */
struct named_params {
    const char *row;
    const char *name[WORKLOAD_MAX_NAMED + 1]; /* of parameter 0, 1, ...; NULL-terminated */
};

/* flags of a workload */
enum {
    WORKLOAD_PLAYS_PROFILE = 1, /* its time comes from env.profile, which it needs; it computes and learns nothing */
};

struct workload {
    struct module module;
    const char *dataset;               /* "line", "digits", "synthetic"; NULL: none */
    const struct network_def *network; /* NULL: not a network of network.h */
    const struct named_params *named;  /* Optional (NULL): default none */
    double default_lr;                 /* trains it at its default batch and momentum, one worker */
    double default_momentum;
    int default_batch; /* networks: for a laptop; published ones, 64 to 256 images per device, need tens of GiB */
    int default_steps; /* for a comparison: enough to see it learn */
    double default_target_loss; /* reached in about half of default_steps; 0: none, as for 1000 classes in 50 steps */
    const struct training_ops *ops;
};

struct training { /* first member of each implementation's struct */
    const struct workload *workload;
    struct training_env env;
    param_await_fn *await; /* NULL: the parameters are ready when gradient() is called */
    void *await_arg;
};

#define WORKLOAD_DECLARE_(name) extern const struct workload workload_##name;
WORKLOAD_LIST(WORKLOAD_DECLARE_)
#undef WORKLOAD_DECLARE_

/* The models: option --model. */
extern const struct module_kind workload_kind;
/* The models that are networks, whose layers can be timed individually: --model of gradmark profile. */
extern const struct module_kind network_kind;
/* Model i of that list; NULL after the last. */
const struct workload *workload_at(int i);
/* RC_INVAL names the nearest valid name. */
enum rc workload_find(const struct workload **out, const char *name) MUST_CHECK;
/* The workload that plays profiles (WORKLOAD_PLAYS_PROFILE). */
const struct workload *workload_profile_player(void);

/* Number of micro-batches of a gradient(): 1 or more. */
static inline size_t workload_n_micro_batches(const struct training_env *env)
{
    return batch_order_n_parts(&env->order);
}

/* RC_INVAL: this workload cannot learn from env->dataset. RC_NOMEM: max_batch needs more memory than available; names
 * both, and the largest batch that fits. */
enum rc workload_open(struct training **out, const struct workload *w, const struct training_env *env) MUST_CHECK;
size_t workload_n_params(const struct training *t);
void workload_init(const struct training *t, float *param); /* replica 0; param NULL: does nothing (no data) */
void workload_init_own(const struct training *t, uint64_t replica, float *param); /* likewise */
enum rc workload_gradient(struct training *t, const float *param, uint64_t first, size_t n_samples, float *grad,
                          double *mean_loss, grad_ready_fn *ready, void *arg) MUST_CHECK;
/* Set models.M7's await, from the next gradient() on. NULL: none. Its errors are returned by gradient(). */
void workload_set_await(struct training *t, param_await_fn *await, void *arg);
enum rc workload_evaluate(struct training *t, const float *param, size_t n_samples, struct evaluation *out) MUST_CHECK;
float *workload_state(struct training *t, size_t *n_elems);
void workload_close(struct training **t); /* NULL-safe, nulls */

#endif
