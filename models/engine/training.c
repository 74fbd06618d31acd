/* SPDX-License-Identifier: Apache-2.0 */
/* training.c - a network as a workload: open, load batches, gradient, evaluate. */
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "data/dataset.h"
#include "data/loader.h"
#include "harness/base/rng.h"
#include "models/engine/stage.h"
#include "models/engine/trainer.h"

static struct network_trainer *trainer(struct training *t)
{
    return (struct network_trainer *)t;
}

static const struct network_trainer *trainer_const(const struct training *t)
{
    return (const struct network_trainer *)t;
}

static enum rc open_state(struct network_trainer *t)
{
    struct compute *c = t->base.env.compute;
    const size_t n_bytes = t->network->n_state * sizeof(float);
    float *host = NULL;
    enum rc rc = RC_OK;

    if (n_bytes == 0)
        return RC_OK;
    TRY(compute_memory_open(c, &t->state, n_bytes, "running means and variances"));
    host = malloc(n_bytes);
    if (host == NULL)
        FAIL(RC_NOMEM, "model %s: %zu bytes", t->network->name, n_bytes);
    network_init_state(t->network, host);
    compute_put(c, t->state, host, n_bytes);
out:
    free(host);
    return rc;
}

/* The next batch can be on its way while the compute works on this one. A gemm_only baseline keeps its batch. */
static bool uploads_ahead(const struct network_trainer *t)
{
    const struct training_env *env = &t->base.env;

    return env->compute->ops->upload != NULL && env->prefetch && env->order.stride > 0 && !env->compute->env.gemm_only;
}

/* Where the compute has memory of its own, the batch is copied there. */
static enum rc open_staging(struct network_trainer *t)
{
    struct compute *c = t->base.env.compute;
    const size_t batch = t->base.env.max_batch;
    enum rc rc = RC_OK;

    if (c->ops->host_memory)
        return RC_OK;
    for (int i = 0; t->base.env.stage == NULL && i < (uploads_ahead(t) ? 2 : 1); i++) {
        TRY(compute_memory_open(c, &t->batch[i].x, network_images_bytes(t->network, batch), "the batch"));
        TRY(compute_memory_open(c, &t->batch[i].label, batch * sizeof(uint32_t), "the labels"));
    }
    t->host = malloc(t->network->n_params * sizeof *t->host);
    if (t->host == NULL)
        FAIL(RC_NOMEM, "model %s: %zu bytes", t->network->name, t->network->n_params * sizeof *t->host);
out:
    return rc;
}

/* Pixels of a batch from which prefetching by a background thread pays: reading a smaller batch takes a few
 * microseconds, less than waking a thread. */
enum { PREFETCH_MIN_PIXELS = 1 << 16 };

static bool prefetch_pays(const struct training_env *env)
{
    const struct dataset *d = env->dataset;

    return env->prefetch && env->max_batch * (size_t)d->H * (size_t)d->W >= PREFETCH_MIN_PIXELS;
}

static enum rc open_memory(struct network_trainer *t)
{
    const struct training_env *env = &t->base.env;
    enum rc rc;

    if (env->dataset == NULL)
        FAIL(RC_INVAL, "model %s needs a data set", t->network->name);
    const struct loader_env loader_env = { .dataset = env->dataset,
                                           .part = env->part,
                                           .seed = env->seed,
                                           .max_batch = env->max_batch,
                                           .order = env->order,
                                           .source = env->source,
                                           .prefetch = prefetch_pays(env),
                                           .compute = env->compute,
                                           .tick = env->compute->env.tick,
                                           .now_ns = env->now_ns,
                                           .tick_arg = env->compute->env.arg };
    TRY(compute_memory_open(env->compute, &t->memory, t->sums.planned_bytes, "activations"));
    if (network_adds_parts(env))
        TRY(compute_memory_open(env->compute, &t->part, network_part_bytes(t->network), "gradients of a micro-batch"));
    if (compute_takes_packed(env->compute) && !env->forward_only)
        TRY(compute_memory_open(env->compute, &t->packed, network_packed_bytes(t->network), "packed weights"));
    TRY(open_state(t));
    TRY(open_staging(t));
    TRY(loader_open(&t->loader, &loader_env));
out:
    return rc;
}

static void trainer_close(struct training **base)
{
    struct network_trainer *t = trainer(*base);
    struct compute *c = t->base.env.compute;

    network_stage_close(t);
    loader_close(&t->loader);
    compute_memory_close(c, &t->memory);
    compute_memory_close(c, &t->state);
    compute_memory_close(c, &t->part);
    compute_memory_close(c, &t->packed);
    for (int i = 0; i < 2; i++) {
        compute_memory_close(c, &t->batch[i].x);
        compute_memory_close(c, &t->batch[i].label);
    }
    program_close(&t->train);
    program_close(&t->infer);
    network_close(&t->network);
    free(t->host);
    free(t->loss);
    free(t->read_group_label);
    compute_memory_close(c, &t->group_label);
    free(t);
    *base = NULL;
}

/* All of it, a stage, or a shard of either. */
static enum rc open_network(struct network_trainer *t, const struct workload *w, const struct training_env *env)
{
    const struct pipeline_stage *s = env->stage;
    const struct dense_shard *cut = env->shard;
    struct network *whole = NULL, *stage = NULL;
    enum rc rc;

    if (s == NULL && cut == NULL)
        return network_open(&t->network, w->network, &env->network);
    TRY(network_open(&whole, w->network, &env->network));
    if (s != NULL) {
        TRY(network_open_stage(&stage, whole, &s->cuts, s->number));
        t->n_held = stage_held(s->schedule, s->number, s->cuts.n_stages, workload_n_micro_batches(env));
        t->recomputes = s->recomputes && t->n_held > 1;
    }
    if (cut != NULL) {
        TRY(network_open_shard(&t->network, stage != NULL ? stage : whole, cut->number, cut->n_shards));
    } else {
        t->network = stage;
        stage = NULL;
    }
out:
    network_close(&whole);
    network_close(&stage);
    return rc;
}

static enum rc trainer_open(struct training **out, const struct workload *w, const struct training_env *env)
{
    struct network_trainer *t = calloc(1, sizeof *t);
    struct training *base;
    enum rc rc;

    if (t == NULL)
        return rc_raise(RC_NOMEM, "model %s: %zu bytes", w->module.name, sizeof *t);
    base = &t->base;
    base->env = *env;
    TRY(open_network(t, w, env));
    if (env->dataset != NULL)
        TRY(network_check_dataset(t->network, env->dataset));
    TRY(network_check_batch(t->network, env->max_batch));
    TRY(network_program_open(&t->infer, env->compute, t->network, false));
    if (!env->forward_only)
        TRY(network_program_open(&t->train, env->compute, t->network, true));
    t->loss = calloc((size_t)t->infer.n_losses + 1, sizeof *t->loss);
    if (t->loss == NULL)
        FAIL(RC_NOMEM, "model %s: no memory for its losses", w->module.name);
    TRY(network_memory_plan(t));
    if (env->compute->ops->touches_memory)
        TRY(open_memory(t));
    if (env->stage != NULL)
        TRY(network_stage_open(t));
    if (env->shard != NULL)
        TRY(network_group_open(t));
    *out = base;
    base = NULL;
out:
    if (base != NULL)
        trainer_close(&base);
    return rc;
}

static size_t trainer_n_params(const struct training *t)
{
    return trainer_const(t)->network->n_params;
}

static size_t trainer_n_segments(const struct training *t)
{
    return (size_t)trainer_const(t)->network->n_segments;
}

static struct segment trainer_segment(const struct training *t, size_t i)
{
    assert(i < (size_t)trainer_const(t)->network->n_segments);
    return trainer_const(t)->network->segment[i];
}

static void trainer_init(const struct training *base, uint64_t replica, float *param)
{
    const struct network_trainer *t = trainer_const(base);
    const uint64_t own = base->env.seed, seed = replica == 0 ? own : rng_u64(own, RNG_REPLICA, replica);

    if (t->host == NULL) {
        network_init(t->network, seed, param, base->env.compute);
        return;
    }
    network_init(t->network, seed, t->host, base->env.compute);
    compute_put(base->env.compute, param, t->host, t->network->n_params * sizeof *t->host);
}

static void copy_to_device(struct network_trainer *t, struct run *r)
{
    struct compute *c = t->base.env.compute;
    const struct device_batch *b = &t->batch[t->now];

    if (b->x == NULL)
        return;
    compute_put(c, b->x, r->x, network_images_bytes(t->network, r->B));
    compute_put(c, b->label, r->label, r->B * sizeof(uint32_t));
    r->x = b->x;
    r->label = b->label;
}

/* The batch of r, if it was uploaded ahead. */
static bool take_uploaded(struct network_trainer *t, struct run *r, uint64_t first)
{
    struct device_batch *ahead = &t->batch[1 - t->now];

    if (!ahead->is_ahead || ahead->first != first || ahead->n_samples != r->B)
        return false;
    t->now = 1 - t->now;
    r->x = ahead->x;
    r->label = ahead->label;
    return true;
}

struct upload { /* of the batch behind [first, first + n) */
    struct network_trainer *t;
    uint64_t first;
    size_t n;
};

/* While the compute works on a batch, upload the one behind it. If that cannot be read, the gradient that asks for it
 * says so. */
static void upload_next(void *arg)
{
    const struct upload *u = arg;
    struct network_trainer *t = u->t;
    struct device_batch *ahead = &t->batch[1 - t->now];
    struct compute *c = t->base.env.compute;
    const uint32_t *label;
    const float *x;
    const size_t n = u->n;

    compute_start(c); /* before this waits for the batch */
    ahead->first = batch_order_next(&t->base.env.order, u->first, n);
    ahead->n_samples = n;
    ahead->is_ahead = loader_batch(t->loader, ahead->first, n, &x, &label) == RC_OK;
    if (!ahead->is_ahead)
        return;
    compute_upload(c, ahead->x, x, network_images_bytes(t->network, n));
    compute_upload(c, ahead->label, label, n * sizeof(uint32_t));
}

/* The batch of a gradient. A gemm_only baseline multiplies any values: it keeps its first batch, so that no copy is
 * timed beside its GEMMs. */
enum rc network_load_batch(struct network_trainer *t, struct run *r, uint64_t first)
{
    enum rc rc = RC_OK;

    if (t->loader != NULL && (t->batch_x == NULL || !t->base.env.compute->env.gemm_only)) {
        if (!take_uploaded(t, r, first)) {
            TRY(loader_batch(t->loader, first, r->B, &r->x, &r->label));
            copy_to_device(t, r);
        }
        t->batch_x = r->x;
        t->batch_label = r->label;
    }
    r->x = t->batch_x;
    r->label = t->batch_label;
out:
    return rc;
}

struct run network_run_of(struct network_trainer *t, const struct program *p, const float *param, size_t B)
{
    return (struct run){ .compute = t->base.env.compute,
                         .network = t->network,
                         .program = p,
                         .memory = t->memory,
                         .state = t->state,
                         .param = param,
                         .packed = t->packed,
                         .B = B,
                         .share = 1.0f,
                         .loss = t->loss,
                         .shard = t->base.env.shard,
                         .poison = t->poison };
}

double network_weighted_loss(const struct network_trainer *t)
{
    double sum = 0.0;
    int which = 0;

    for (int i = 0; i < t->network->n_nodes; i++)
        if (t->network->node[i].kind == NODE_LOSS)
            sum += (double)t->network->node[i].loss_weight * t->loss[which++];
    return sum;
}

/* Samples of parts are numbered alike, and are not to have the same masks. */
uint64_t network_dropout_key(const struct training *t, uint64_t first)
{
    const uint64_t number = t->env.part != NULL ? first + ((1 + t->env.part->number) << 44) : first;

    return rng_u64(t->env.seed, RNG_DROPOUT, number);
}

/* All of r is set but what follows from the samples. n_samples: of the gradient. */
static enum rc run_micro_batch(struct network_trainer *t, struct run *r, uint64_t first, size_t n_samples,
                               double *mean_loss)
{
    const struct training_env *env = &t->base.env;
    enum rc rc;

    r->dropout_key = network_dropout_key(&t->base, first);
    TRY(network_load_batch(t, r, first));
    if (r->shard != NULL)
        TRY(network_group_load(t, r, first, n_samples));
    TRY(network_run(r));
    TRY(compute_sync(env->compute)); /* models.M6; and the next micro-batch is uploaded to where this one is */
    *mean_loss = env->forward_only ? t->loss[0] : network_weighted_loss(t);
out:
    return rc;
}

static enum rc trainer_gradient(struct training *base, const float *param, uint64_t first, size_t n_samples,
                                float *grad, double *mean_loss, grad_ready_fn *ready, void *arg)
{
    struct network_trainer *t = trainer(base);
    const size_t n_parts = workload_n_micro_batches(&base->env), B = n_samples / n_parts;
    struct run r = network_run_of(t, base->env.forward_only ? &t->infer : &t->train, param, B);
    struct upload next = { .t = t, .n = B };
    double sum = 0.0, loss;
    enum rc rc = RC_OK;

    if (t->loader != NULL && uploads_ahead(t) && base->env.stage == NULL) {
        r.queued = upload_next;
        r.queued_arg = &next;
    }
    r.grad = grad;
    r.part = t->part;
    r.share = 1.0f / (float)n_parts;
    r.arg = arg;
    r.observer = t->observer;
    if (base->env.stage != NULL)
        return network_stage_gradient(t, &r, first, mean_loss, ready);
    for (size_t i = 0; i < n_parts; i++) { /* models.M8 */
        next.first = first + i * B;
        r.adds = i > 0;
        r.training = i == 0 && base->await != NULL ? base : NULL;
        r.ready = i + 1 == n_parts ? ready : NULL;
        TRY(run_micro_batch(t, &r, next.first, n_samples, &loss));
        sum += loss;
    }
    *mean_loss = sum / (double)n_parts;
out:
    return rc;
}

static enum rc trainer_evaluate(struct training *base, const float *param, size_t n_samples, struct evaluation *out)
{
    struct network_trainer *t = trainer(base);
    const size_t n_test = base->env.dataset != NULL ? base->env.dataset->n_test : 0;
    const size_t n = n_samples == 0 || n_samples > n_test ? n_test : n_samples;
    size_t n_correct = 0;
    double sum = 0.0;
    enum rc rc = RC_OK;

    if (base->env.stage != NULL)
        return network_stage_evaluate(t, param, n, out);
    if (base->env.shard != NULL)
        FAIL(RC_UNSUPPORTED, "model %s: a shard cannot be evaluated by itself", t->network->name);
    for (size_t done = 0; done < n; done += base->env.max_batch) {
        const size_t left = n - done, B = left < base->env.max_batch ? left : base->env.max_batch;
        struct run r = network_run_of(t, &t->infer, param, B);
        r.n_correct = &t->n_correct;
        if (t->loader != NULL)
            TRY(loader_test_batch(t->loader, done, B, &r.x, &r.label));
        copy_to_device(t, &r);
        TRY(network_run(&r));
        TRY(compute_sync(base->env.compute));
        sum += t->loss[0] * (double)B;
        n_correct += t->n_correct;
    }
    out->loss = sum / (double)n; /* no samples: NaN */
    out->accuracy_ratio = isnan(out->loss) ? NAN : (double)n_correct / (double)n;
out:
    return rc;
}

static float *trainer_state(struct training *base, size_t *n_elems)
{
    *n_elems = trainer(base)->network->n_state;
    return trainer(base)->state;
}

static double trainer_flops_per_sample(const struct training *base)
{
    const struct network *n = trainer_const(base)->network;

    return base->env.forward_only ? 2.0 * network_multiply_adds(n) : network_train_flops(n);
}

struct network_trainer *network_trainer_of(const struct training *t)
{
    return t->workload->ops == &network_training_ops ? (struct network_trainer *)t : NULL;
}

const struct network *network_of(const struct training *t)
{
    const struct network_trainer *n = network_trainer_of(t);

    return n != NULL ? n->network : NULL;
}

uint64_t network_data_waited_ns(const struct training *t)
{
    const struct network_trainer *n = network_trainer_of(t);

    return n != NULL && n->loader != NULL ? loader_waited_ns(n->loader) : 0;
}

struct loader_wait network_last_data_wait(const struct training *t)
{
    const struct network_trainer *n = network_trainer_of(t);

    return n != NULL && n->loader != NULL ? loader_last_wait(n->loader) : (struct loader_wait){ 0, 0 };
}

size_t network_most_held(const struct training *t)
{
    const struct network_trainer *n = network_trainer_of(t);

    return n != NULL ? n->most_held : 0;
}

void network_observe(struct training *t, const struct network_observer *o)
{
    assert(network_trainer_of(t) != NULL);
    trainer(t)->observer = o;
}

struct network_memory network_memory_of(const struct training *t)
{
    assert(network_trainer_of(t) != NULL);
    return trainer_const(t)->sums;
}

const struct training_ops network_training_ops = {
    .open = trainer_open,
    .n_params = trainer_n_params,
    .n_segments = trainer_n_segments,
    .segment = trainer_segment,
    .init = trainer_init,
    .gradient = trainer_gradient,
    .evaluate = trainer_evaluate,
    .state = trainer_state,
    .flops_per_sample = trainer_flops_per_sample,
    .close = trainer_close,
};

/* --- what it can learn from --- */

enum rc network_check_dataset(const struct network *n, const struct dataset *d)
{
    const struct network_opts *o = &n->opts;

    if (d->C == 0)
        return rc_raise(RC_INVAL, "model %s learns from images, data set %s has none", n->name, d->name);
    if (d->C != n->C_in || d->H != o->image_size || d->W != o->image_size)
        return rc_raise(RC_INVAL, "model %s is open for images of %d x %d x %d, data set %s has %d x %d x %d", n->name,
                        n->C_in, o->image_size, o->image_size, d->name, d->C, d->H, d->W);
    if (d->n_classes > (size_t)o->n_classes)
        return rc_raise(RC_INVAL, "model %s is open for %d classes, data set %s has %zu", n->name, o->n_classes,
                        d->name, d->n_classes);
    return RC_OK;
}

/* Elements of one image in a channel of the node's input or output, whichever has more. */
static size_t channel_elems(const struct node *n)
{
    const size_t n_in = (size_t)n->in.H * (size_t)n->in.W, n_out = (size_t)n->out_h * (size_t)n->out_w;

    return (size_t)n->group * (n_in > n_out ? n_in : n_out);
}

enum rc network_check_batch(const struct network *n, size_t max_batch)
{
    const struct node *largest = &n->node[0];

    for (int i = 1; i < n->n_nodes; i++)
        if (channel_elems(&n->node[i]) > channel_elems(largest))
            largest = &n->node[i];
    const size_t n_elems = channel_elems(largest);
    if (max_batch <= INT_MAX / n_elems)
        return RC_OK;
    return rc_raise(RC_INVAL,
                    "--batch %zu: model %s: node %s has %zu places an image, %d of a batch can be counted; use at most "
                    "%zu",
                    max_batch, n->name, largest->name[0] != '\0' ? largest->name : node_kind_name(largest->kind),
                    n_elems, INT_MAX, INT_MAX / n_elems);
}

/* --- the images of the other ranks of a shard --- */

enum rc network_group_open(struct network_trainer *t)
{
    const struct training_env *env = &t->base.env;
    const size_t n_bytes = (size_t)env->shard->n_shards * env->max_batch * sizeof(uint32_t);
    enum rc rc = RC_OK;

    if (!env->compute->ops->touches_memory || t->network->out_node != NODE_NONE) /* the loss is in another stage */
        return RC_OK;
    t->read_group_label = malloc(n_bytes);
    if (t->read_group_label == NULL)
        FAIL(RC_NOMEM, "model %s: no memory for %zu labels", t->network->name, n_bytes / sizeof(uint32_t));
    TRY(compute_memory_open(env->compute, &t->group_label, n_bytes, "the labels of a group"));
out:
    return rc;
}

/* Ranks of a group have batches that follow one another, in the order of shards. */
enum rc network_group_load(struct network_trainer *t, struct run *r, uint64_t first, size_t n_samples)
{
    const struct dense_shard *s = r->shard;
    enum rc rc = RC_OK;

    for (int k = 0; k < s->n_shards; k++) {
        const uint64_t its = first + (uint64_t)k * n_samples - (uint64_t)s->number * n_samples;
        t->group_key[k] = network_dropout_key(&t->base, its);
        if (t->group_label != NULL)
            TRY(network_read_labels(t, t->read_group_label + (size_t)k * r->B, its, r->B));
    }
    r->group_key = t->group_key;
    if (t->group_label == NULL)
        return RC_OK;
    compute_put(r->compute, t->group_label, t->read_group_label, (size_t)s->n_shards * r->B * sizeof(uint32_t));
    r->label = t->group_label;
out:
    return rc;
}
