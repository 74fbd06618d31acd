/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.c - repeats a profile: waits for the recorded time of each layer, then reports its gradients ready.
 *
 * All the forward time passes first, layer by layer where parameters are awaited; then, last layer first, a layer's
 * backward time, after which its tensors become ready, last first. A layer without tensors has nothing to make ready:
 * its time is added to the next one's. A batch other than the profile's takes time in proportion: as if images were
 * alike and a larger batch no more efficient.
 *
 * Micro-batches (models.M8) take their time one after the other; adding up their gradients takes none, which no profile
 * has. What is written is a gradient of all samples.
 *
 * Where the host can write them the gradients hold numbers, so that exchanges carry real bytes and a checksum
 * tells a lost one: multiples of 1/1024, whose sums are exact, that depend on the index and on a hash of the first
 * sample, so that workers differ. In memory that only a device can write they are zeros. What writing them takes in a
 * real world, which no profile has, is part of the recorded time of their layer, and of the layers behind where it is
 * longer. Nothing is learnt, hence there is no loss: it is NaN, null in records.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/layer.h"
#include "models/replay/player.h"

/* Which layers it plays, and what follows from that. */
static void choose_layers(struct replay *t)
{
    const struct pipeline_stage *s = t->base.env.stage;
    const struct profile *p = t->profile;

    t->first_layer = s != NULL && s->number > 0 ? s->cuts.end[s->number - 1] : 0;
    t->end_layer = s != NULL ? s->cuts.end[s->number] : p->n_layers;
    for (int i = 0; i < t->first_layer; i++)
        for (int k = 0; k < p->layer[i].n_tensors; k++)
            t->n_elems_before += p->layer[i].tensor[k].n_elems;
    for (int i = t->first_layer; i < t->end_layer; i++) {
        t->n_segments += (size_t)p->layer[i].n_tensors;
        t->forward_ns += p->layer[i].forward_ns;
        t->step_ns += p->layer[i].forward_ns + p->layer[i].backward_ns;
    }
}

static void fill_segments(struct replay *t)
{
    size_t s = 0;

    for (int i = t->first_layer; i < t->end_layer; i++)
        for (int k = 0; k < t->profile->layer[i].n_tensors; k++)
            t->segment[s++] = layer_take(&t->n_params, t->profile->layer[i].tensor[k].n_elems);
}

/* -1/2 .. 1/2, in an order in which neighbours differ: 389 is prime to 1024. */
static void fill_pattern(struct replay *t)
{
    for (size_t i = 0; i < 2 * PATTERN_ELEMS; i++)
        t->pattern[i] = (float)(i * 389 % PATTERN_ELEMS) / PATTERN_ELEMS - 0.5F;
}

/* The largest batch whose time can be counted in ns. */
static uint64_t largest_batch(const struct profile *p)
{
    const uint64_t batch = (uint64_t)p->batch, sample_ns = profile_step_ns(p) / batch + 1;

    return UINT64_MAX / (sample_ns > batch ? sample_ns : batch);
}

static void replay_close(struct training **t)
{
    struct replay *r = (struct replay *)*t;

    replay_stage_close(r);
    replay_shard_close(&r->shard);
    free(r->segment);
    free(r);
    *t = NULL;
}

static enum rc replay_open(struct training **out, const struct workload *w, const struct training_env *env)
{
    struct replay *t = calloc(1, sizeof *t);
    struct training *base = (struct training *)t;
    enum rc rc = RC_OK;

    (void)w;
    if (env->profile == NULL)
        FAIL(RC_INVAL, "model replay needs a profile: --profile FILE (gradmark profile writes them)");
    if (env->max_batch > largest_batch(env->profile))
        FAIL(RC_INVAL, "--batch %zu: model replay: takes longer than can be counted; use at most %llu", env->max_batch,
             (unsigned long long)largest_batch(env->profile));
    if (t == NULL)
        FAIL(RC_NOMEM, "model replay: no memory");
    t->profile = env->profile;
    t->base.env = *env;
    if (env->shard != NULL) {
        TRY(replay_shard_open(&t->shard, env));
        t->profile = replay_shard_profile(t->shard);
    }
    choose_layers(t);
    t->segment = malloc(t->n_segments * sizeof *t->segment);
    if (t->segment == NULL)
        FAIL(RC_NOMEM, "model replay: no memory for %zu tensors", t->n_segments);
    fill_segments(t);
    fill_pattern(t);
    if (env->stage != NULL)
        TRY(replay_stage_open(t));
    *out = base;
    base = NULL;
out:
    if (base != NULL)
        replay_close(&base);
    return rc;
}

static size_t replay_n_params(const struct training *t)
{
    return ((const struct replay *)t)->n_params;
}

static size_t replay_n_segments(const struct training *t)
{
    return ((const struct replay *)t)->n_segments;
}

static struct segment replay_segment(const struct training *t, size_t i)
{
    return ((const struct replay *)t)->segment[i];
}

/* It learns nothing: replicas do not differ. */
static void replay_init(const struct training *base, uint64_t replica, float *param)
{
    const struct replay *t = (const struct replay *)base;
    const float zero[PATTERN_ELEMS] = { 0 };

    (void)replica;
    for (size_t at = 0; at < t->n_params; at += PATTERN_ELEMS) {
        const size_t left = t->n_params - at, n = left < PATTERN_ELEMS ? left : PATTERN_ELEMS;
        compute_put(base->env.compute, param + at, zero, n * sizeof(float));
    }
}

/* Index in the pattern of a gradient's element 0: batches whose first samples are near each other start far apart. */
static size_t pattern_start(uint64_t first)
{
    return (size_t)(first * UINT64_C(0x9e3779b97f4a7c15) >> 54);
}

static void write_gradient(const struct replay *t, struct segment s, uint64_t first, float *grad)
{
    struct compute *c = t->base.env.compute;
    const size_t start = pattern_start(first);

    if (!c->ops->touches_memory)
        return;
    if (!c->ops->host_memory) {
        compute_zero(c, grad + s.offset_elems, s.n_elems);
        return;
    }
    for (size_t i = 0; i < s.n_elems; i += PATTERN_ELEMS) {
        const size_t left = s.n_elems - i, n = left < PATTERN_ELEMS ? left : PATTERN_ELEMS;
        const size_t index = t->n_elems_before + s.offset_elems + i; /* of all layers: a stage's numbers are theirs */
        memcpy(grad + s.offset_elems + i, t->pattern + (index + start) % PATTERN_ELEMS, n * sizeof(float));
    }
}

uint64_t replay_scaled_ns(const struct replay *t, uint64_t ns, size_t n_samples)
{
    const uint64_t n = (uint64_t)n_samples, b = (uint64_t)t->profile->batch;

    return ns / b * n + ns % b * n / b;
}

enum rc replay_forward(const struct replay *t, size_t n_samples, bool awaits)
{
    const struct profile *p = t->profile;
    struct compute *c = t->base.env.compute;
    const uint64_t whole_ns = replay_scaled_ns(t, t->forward_ns, n_samples);
    uint64_t done_ns = 0, passed_ns = 0;
    size_t s = 0;
    enum rc rc = RC_OK;

    for (int i = t->first_layer; (awaits || t->shard != NULL) && i < t->end_layer; i++) {
        for (int k = 0; awaits && k < p->layer[i].n_tensors; k++)
            TRY(layer_await(&t->base, t->segment[s++]));
        TRY(replay_shard_forward(t->shard, i, false, n_samples));
        done_ns += p->layer[i].forward_ns;
        const uint64_t due_ns = replay_scaled_ns(t, done_ns, n_samples);
        compute_pass(c, due_ns - passed_ns);
        passed_ns = due_ns;
        TRY(replay_shard_forward(t->shard, i, true, n_samples));
    }
    compute_pass(c, whole_ns - passed_ns);
out:
    return rc;
}

enum rc replay_pass_backward(const struct replay *t, size_t n_samples)
{
    const struct profile *p = t->profile;
    uint64_t done_ns = t->forward_ns, passed_ns = replay_scaled_ns(t, done_ns, n_samples);
    enum rc rc = RC_OK;

    if (t->shard == NULL) {
        compute_pass(t->base.env.compute, replay_scaled_ns(t, t->step_ns, n_samples) - passed_ns);
        return RC_OK;
    }
    for (int i = t->end_layer - 1; i >= t->first_layer; i--) {
        TRY(replay_shard_backward(t->shard, i, false, n_samples));
        done_ns += p->layer[i].backward_ns;
        const uint64_t due_ns = replay_scaled_ns(t, done_ns, n_samples);
        compute_pass(t->base.env.compute, due_ns - passed_ns);
        passed_ns = due_ns;
        TRY(replay_shard_backward(t->shard, i, true, n_samples));
    }
out:
    return rc;
}

/* Let the time of one of n_left micro-batches pass, which is taken off *n_samples. */
static enum rc pass_micro_batch(const struct replay *t, size_t *n_samples, size_t n_left, bool awaits)
{
    const size_t B = *n_samples / n_left;
    enum rc rc;

    TRY(replay_forward(t, B, awaits));
    if (!t->base.env.forward_only)
        TRY(replay_pass_backward(t, B));
    *n_samples -= B;
out:
    return rc;
}

/* By the clock of the training; 0: it has none. */
static uint64_t now_ns(const struct replay *t)
{
    const struct training_env *env = &t->base.env;

    return env->now_ns != NULL ? env->now_ns(env->compute->env.arg) : 0;
}

/* The gradients of a layer, whose last one is segment s - 1; the ns that this takes are added to *took_ns. */
static void write_layer(const struct replay *t, const struct profile_layer *layer, size_t s,
                        const struct replay_backward *b, uint64_t *took_ns)
{
    const uint64_t began_ns = now_ns(t);

    for (int k = 1; k <= layer->n_tensors; k++)
        write_gradient(t, t->segment[s - (size_t)k], b->first, b->grad);
    *took_ns += now_ns(t) - began_ns;
}

/* Of ns, those that have not been taken by writing already. */
static uint64_t still_to_pass(uint64_t ns, uint64_t *took_ns)
{
    const uint64_t used_ns = *took_ns < ns ? *took_ns : ns;

    *took_ns -= used_ns;
    return ns - used_ns;
}

enum rc replay_last_backward(const struct replay *t, const struct replay_backward *b)
{
    const struct profile *p = t->profile;
    uint64_t done_ns = t->forward_ns, passed_ns = replay_scaled_ns(t, done_ns, b->n_samples), took_ns = 0;
    size_t s = t->n_segments;
    enum rc rc = RC_OK;

    for (int i = t->end_layer - 1; i >= t->first_layer; i--) {
        TRY(replay_shard_backward(t->shard, i, false, b->n_samples));
        done_ns += p->layer[i].backward_ns;
        if (p->layer[i].n_tensors == 0 && i > t->first_layer)
            continue;
        /* What has passed is what was recorded so far, scaled: roundings do not add up. */
        const uint64_t due_ns = replay_scaled_ns(t, done_ns, b->n_samples);
        write_layer(t, &p->layer[i], s, b, &took_ns);
        compute_pass(t->base.env.compute, still_to_pass(due_ns - passed_ns, &took_ns));
        passed_ns = due_ns;
        TRY(replay_shard_backward(t->shard, i, true, b->n_samples));
        for (int k = 0; k < p->layer[i].n_tensors; k++) {
            s--;
            TRY(layer_ready(b->ready, b->arg, t->segment[s], b->grad));
        }
    }
out:
    return rc;
}

static enum rc replay_gradient(struct training *base, const float *param, uint64_t first, size_t n_samples, float *grad,
                               double *mean_loss, grad_ready_fn *ready, void *arg)
{
    struct replay *t = (struct replay *)base;
    struct replay_backward last = { .n_samples = n_samples, .first = first, .grad = grad, .ready = ready, .arg = arg };
    bool awaits = base->await != NULL;
    enum rc rc = RC_OK;

    (void)param;
    *mean_loss = NAN;
    if (base->env.stage != NULL)
        return replay_stage_gradient(t, &last);
    for (size_t left = workload_n_micro_batches(&base->env); left > 1; left--, awaits = false)
        TRY(pass_micro_batch(t, &last.n_samples, left, awaits));
    TRY(replay_forward(t, last.n_samples, awaits));
    if (!base->env.forward_only)
        TRY(replay_last_backward(t, &last));
    TRY(compute_sync(base->env.compute));
out:
    return rc;
}

static enum rc replay_evaluate(struct training *t, const float *param, size_t n_samples, struct evaluation *out)
{
    (void)t;
    (void)param;
    (void)n_samples;
    out->loss = NAN;
    out->accuracy_ratio = NAN;
    return RC_OK;
}

static double replay_flops_per_sample(const struct training *base)
{
    const struct replay *t = (const struct replay *)base;
    double sum = 0.0;

    for (int i = t->first_layer; i < t->end_layer; i++) {
        sum += t->profile->layer[i].flops_forward;
        sum += base->env.forward_only ? 0.0 : t->profile->layer[i].flops_backward;
    }
    return sum / t->profile->batch;
}

static const struct training_ops ops = {
    .open = replay_open,
    .n_params = replay_n_params,
    .n_segments = replay_n_segments,
    .segment = replay_segment,
    .init = replay_init,
    .gradient = replay_gradient,
    .evaluate = replay_evaluate,
    .flops_per_sample = replay_flops_per_sample,
    .close = replay_close,
};

const struct workload workload_replay = {
    .module = { .name = "replay", .caps = WORKLOAD_PLAYS_PROFILE },
    .default_lr = 0.01,
    .default_momentum = 0.9, /* the update's cost is that of the networks */
    .default_batch = 64,
    .default_steps = 50,
    .default_target_loss = 0.0, /* never reached: there is no loss */
    .ops = &ops,
};
