/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.c - repeats a profile: waits for the recorded time of each layer, then reports its gradients ready.
 *
 * All the forward time passes first, layer by layer where parameters are awaited; then, last layer first, a layer's
 * backward time, after which its tensors become ready, last first. A layer without tensors has nothing to make ready:
 * its time is added to the next one's. A batch other than the profile's takes time in proportion: as if images were
 * alike and a larger batch no more efficient.
 *
 * Micro-batches (M8) take their time one after the other; adding up their gradients takes none, which no profile has.
 * What is written is a gradient of all samples.
 *
 * Where the host can write them the gradients hold numbers, so that exchanges carry real bytes and a checksum
 * tells a lost one: multiples of 1/1024, whose sums are exact, that depend on the index and on a hash of the first
 * sample, so that workers differ. In memory that only a device can write they are zeros. To write either takes a
 * real world time that no profile has: that of one pass over the gradients.
 * Nothing is learnt, hence there is no loss: it is NaN, null in records.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/layer.h"
#include "models/replay/profile.h"
#include "models/replay/replay_shard.h"

enum { PATTERN_ELEMS = 1024 };

struct replay {
    struct training base;
    const struct profile *profile; /* borrowed; of a shard: its own */
    struct replay_shard *shard;    /* NULL: it is none */
    struct segment *segment;       /* of all layers, in forward order */
    size_t n_segments, n_params;
    float pattern[2 * PATTERN_ELEMS]; /* twice, so that any range of PATTERN_ELEMS can be copied */
};

static void fill_segments(struct replay *t)
{
    size_t s = 0;

    for (int i = 0; i < t->profile->n_layers; i++)
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

static enum rc replay_open(struct training **out, const struct workload *w, const struct training_env *env)
{
    struct replay *t = calloc(1, sizeof *t);
    enum rc rc = RC_OK;

    (void)w;
    if (env->profile == NULL)
        FAIL(RC_INVAL, "model replay needs a profile: --profile FILE (gradmark profile writes them)");
    if (env->max_batch > largest_batch(env->profile))
        FAIL(RC_INVAL, "--batch %zu: model replay: takes longer than can be counted; at most %llu would be right",
             env->max_batch, (unsigned long long)largest_batch(env->profile));
    if (t == NULL)
        FAIL(RC_NOMEM, "model replay: no memory");
    t->profile = env->profile;
    if (env->shard != NULL) {
        TRY(replay_shard_open(&t->shard, env));
        t->profile = replay_shard_profile(t->shard);
    }
    t->n_segments = (size_t)profile_n_tensors(env->profile);
    t->segment = malloc(t->n_segments * sizeof *t->segment);
    if (t->segment == NULL)
        FAIL(RC_NOMEM, "model replay: no memory for %zu tensors", t->n_segments);
    fill_segments(t);
    fill_pattern(t);
    *out = &t->base;
    t = NULL;
out:
    if (t != NULL)
        replay_shard_close(&t->shard);
    free(t);
    return rc;
}

static void replay_close(struct training **t)
{
    replay_shard_close(&((struct replay *)*t)->shard);
    free(((struct replay *)*t)->segment);
    free(*t);
    *t = NULL;
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
        memcpy(grad + s.offset_elems + i, t->pattern + (s.offset_elems + i + start) % PATTERN_ELEMS, n * sizeof(float));
    }
}

/* ns n_samples / batch, rounded down; no product overflows up to largest_batch(). */
static uint64_t scaled_ns(uint64_t ns, size_t n_samples, int batch)
{
    const uint64_t n = (uint64_t)n_samples, b = (uint64_t)batch;

    return ns / b * n + ns % b * n / b;
}

static uint64_t forward_ns(const struct profile *p)
{
    uint64_t sum_ns = 0;

    for (int i = 0; i < p->n_layers; i++)
        sum_ns += p->layer[i].forward_ns;
    return sum_ns;
}

/* Let the forward time pass, n_samples images'; it is *passed_ns. awaits: parameters are awaited layer by layer. */
static enum rc pass_forward(const struct replay *t, size_t n_samples, bool awaits, uint64_t *passed_ns)
{
    const struct profile *p = t->profile;
    struct compute *c = t->base.env.compute;
    const uint64_t whole_ns = scaled_ns(forward_ns(p), n_samples, p->batch);
    uint64_t done_ns = 0;
    size_t s = 0;
    enum rc rc = RC_OK;

    *passed_ns = 0;
    for (int i = 0; (awaits || t->shard != NULL) && i < p->n_layers; i++) {
        for (int k = 0; awaits && k < p->layer[i].n_tensors; k++)
            TRY(layer_await(&t->base, t->segment[s++]));
        TRY(replay_shard_forward(t->shard, i, false, n_samples));
        done_ns += p->layer[i].forward_ns;
        const uint64_t due_ns = scaled_ns(done_ns, n_samples, p->batch);
        compute_pass(c, due_ns - *passed_ns);
        *passed_ns = due_ns;
        TRY(replay_shard_forward(t->shard, i, true, n_samples));
    }
    compute_pass(c, whole_ns - *passed_ns);
    *passed_ns = whole_ns;
out:
    return rc;
}

/* Let the backward time pass, of a shard whose micro-batch is not the last. */
static enum rc pass_backward(const struct replay *t, size_t n_samples, uint64_t passed_ns)
{
    const struct profile *p = t->profile;
    uint64_t done_ns = forward_ns(p);
    enum rc rc = RC_OK;

    for (int i = p->n_layers - 1; i >= 0; i--) {
        TRY(replay_shard_backward(t->shard, i, false, n_samples));
        done_ns += p->layer[i].backward_ns;
        const uint64_t due_ns = scaled_ns(done_ns, n_samples, p->batch);
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
    uint64_t passed_ns;
    enum rc rc;

    TRY(pass_forward(t, B, awaits, &passed_ns));
    if (t->shard != NULL)
        TRY(pass_backward(t, B, passed_ns));
    else if (!t->base.env.forward_only)
        compute_pass(t->base.env.compute, scaled_ns(profile_step_ns(t->profile), B, t->profile->batch) - passed_ns);
    *n_samples -= B;
out:
    return rc;
}

static enum rc replay_gradient(struct training *base, const float *param, uint64_t first, size_t n_samples, float *grad,
                               double *mean_loss, grad_ready_fn *ready, void *arg)
{
    const struct replay *t = (const struct replay *)base;
    const struct profile *p = t->profile;
    struct compute *c = base->env.compute;
    size_t s = t->n_segments;
    uint64_t done_ns = forward_ns(p), passed_ns = 0, due_ns;
    bool awaits = base->await != NULL;
    enum rc rc = RC_OK;

    (void)param;
    *mean_loss = NAN;
    for (size_t left = workload_n_micro_batches(&base->env); left > 1; left--, awaits = false)
        TRY(pass_micro_batch(t, &n_samples, left, awaits));
    TRY(pass_forward(t, n_samples, awaits, &passed_ns));
    for (int i = base->env.forward_only ? -1 : p->n_layers - 1; i >= 0; i--) {
        TRY(replay_shard_backward(t->shard, i, false, n_samples));
        done_ns += p->layer[i].backward_ns;
        if (p->layer[i].n_tensors == 0 && i > 0)
            continue;
        /* What has passed is what was recorded so far, scaled: roundings do not add up. */
        due_ns = scaled_ns(done_ns, n_samples, p->batch);
        compute_pass(c, due_ns - passed_ns);
        passed_ns = due_ns;
        TRY(replay_shard_backward(t->shard, i, true, n_samples));
        for (int k = 0; k < p->layer[i].n_tensors; k++) {
            s--;
            write_gradient(t, t->segment[s], first, grad);
            TRY(layer_ready(ready, arg, t->segment[s], grad));
        }
    }
    TRY(compute_sync(c));
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

static double replay_flops_per_sample(const struct training *t)
{
    const struct profile *p = ((const struct replay *)t)->profile;
    double forward = 0.0;

    for (int i = 0; i < p->n_layers; i++)
        forward += p->layer[i].flops_forward;
    return (t->env.forward_only ? forward : profile_flops(p)) / p->batch;
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
