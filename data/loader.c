/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader.c - two batches used alternately: one is lent to the caller while the other is prepared.
 */
#include "data/loader.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/base/arena.h"
#include "harness/world/background.h"

enum { MESSAGE_BYTES = 512 };

struct batch {
    float *x;
    uint32_t *label;
    uint64_t first;
    size_t n_samples;
    bool ready; /* holds, or is about to hold, these training samples */
    enum rc rc;
    char message[MESSAGE_BYTES]; /* of the error rc */
};

struct loader {
    struct loader_env env;
    struct arena arena; /* empty: batches are in pinned */
    void *pinned;       /* of env.compute's host_open(); NULL: batches are in the arena */
    struct batch batch[2];
    int lent; /* index of the batch the caller has; the other one belongs to the background thread while it runs */
    struct background *background; /* NULL: no prefetch */
    struct loader_wait wait;       /* the last */
    uint64_t waited_ns;
};

/* Sample i of the data set -> position k of x (C, B, H, W) and label (B), B = n_samples. */
static enum rc read_sample(const struct dataset *d, size_t i, size_t k, size_t n_samples, float *x, uint32_t *label)
{
    const size_t plane = (size_t)d->H * (size_t)d->W;

    label[k] = d->ops->label(d, i);
    if (label[k] >= d->n_classes)
        return rc_raise(RC_INVAL, "data set %s: image %zu has label %u; there are %zu classes", d->name, i, label[k],
                        d->n_classes);
    return d->ops->image(d, i, x + k * plane, n_samples * plane);
}

static enum rc read_all(const struct loader_env *env, const struct loader_want *want, float *x, uint32_t *label,
                        bool ticks)
{
    const struct dataset *d = env->dataset;
    enum rc rc = RC_OK;

    for (size_t k = 0; k < want->n_samples; k++) {
        if (ticks && env->tick)
            env->tick(env->tick_arg);
        const size_t i = want->is_test ? d->n_train + (size_t)want->first + k
                                       : dataset_part_index(d, env->part, env->seed, want->first + k);
        TRY(read_sample(d, i, k, want->n_samples, x, label));
    }
out:
    return rc;
}

enum rc loader_read(const struct loader_env *env, const struct loader_want *want, float *x, uint32_t *label)
{
    return read_all(env, want, x, label, true);
}

/* The batch b->first, b->n_samples, by the caller's task. */
static enum rc get_now(const struct loader *l, struct batch *b, bool is_test)
{
    const struct loader_want want = { is_test, b->first, b->n_samples };
    const struct loader_source *from = l->env.source;

    return from ? from->fetch(from->arg, &want, b->x, b->label) : loader_read(&l->env, &want, b->x, b->label);
}

static void prefetch(void *arg)
{
    struct loader *l = arg;
    struct batch *b = &l->batch[1 - l->lent];
    const struct loader_want want = { false, b->first, b->n_samples };
    b->rc = read_all(&l->env, &want, b->x, b->label, false);
    if (b->rc != RC_OK)
        snprintf(b->message, sizeof b->message, "%s", rc_message());
}

/* Memory for n_batches, of which one has n_elems pixels: where the compute copies them from at full speed, if it has
 * such. */
static enum rc open_batches(struct loader *l, int n_batches, size_t n_elems)
{
    const size_t x_bytes = arena_floats_bytes(n_elems), batch_bytes = x_bytes + arena_floats_bytes(l->env.max_batch);
    struct compute *c = l->env.compute;
    enum rc rc = RC_OK;

    if (c != NULL && c->ops->host_open != NULL)
        TRY(compute_host_open(c, &l->pinned, (size_t)n_batches * batch_bytes, "the batches"));
    else
        TRY(arena_open(&l->arena, (size_t)n_batches * batch_bytes));
    for (int i = 0; i < n_batches; i++) {
        struct batch *b = &l->batch[i];
        b->x = l->pinned ? (float *)(void *)((unsigned char *)l->pinned + (size_t)i * batch_bytes)
                         : arena_floats(&l->arena, n_elems);
        b->label = l->pinned ? (uint32_t *)(void *)((unsigned char *)b->x + x_bytes)
                             : (uint32_t *)(void *)arena_floats(&l->arena, l->env.max_batch);
    }
out:
    return rc;
}

enum rc loader_open(struct loader **out, const struct loader_env *env)
{
    const struct dataset *d = env->dataset;
    struct loader *l = NULL;
    enum rc rc = RC_OK;

    if (d->ops == NULL || d->C == 0)
        FAIL(RC_INVAL, "data set %s has no images", d->name);
    l = calloc(1, sizeof *l);
    if (!l)
        FAIL(RC_NOMEM, "data loader: %zu bytes", sizeof *l);
    l->env = *env;
    TRY(open_batches(l, env->prefetch || env->source ? 2 : 1, env->max_batch * d->n_features));
    if (env->prefetch && !env->source) {
        TRY(background_open(&l->background, prefetch, l));
        background_set_tick(l->background, env->tick, env->tick_arg);
    }
    *out = l;
    l = NULL;
out:
    loader_close(&l);
    return rc;
}

/* Make the requested batch the lent one: the prefetched batch if it is the same, else it is read now. */
static enum rc get_batch(struct loader *l, uint64_t first, size_t n_samples)
{
    struct batch *ahead = &l->batch[1 - l->lent];

    if (l->background)
        background_wait(l->background);
    if (ahead->ready && ahead->first == first && ahead->n_samples == n_samples) {
        l->lent = 1 - l->lent;
        ahead->ready = false;
        return ahead->rc == RC_OK ? RC_OK : rc_raise(ahead->rc, "%s", ahead->message);
    }
    if (l->env.source != NULL) /* the one before may still be on its way to a device */
        l->lent = 1 - l->lent;
    struct batch *now = &l->batch[l->lent];
    now->first = first;
    now->n_samples = n_samples;
    return get_now(l, now, false);
}

static void start_prefetch(struct loader *l, uint64_t first, size_t n_samples)
{
    struct batch *ahead = &l->batch[1 - l->lent];

    if (l->background == NULL || l->env.order.stride == 0)
        return;
    ahead->first = batch_order_next(&l->env.order, first, n_samples);
    ahead->n_samples = n_samples;
    ahead->ready = true;
    background_start(l->background);
}

static uint64_t now_ns(const struct loader *l)
{
    return l->env.now_ns ? l->env.now_ns(l->env.tick_arg) : 0;
}

enum rc loader_batch(struct loader *l, uint64_t first, size_t n_samples, const float **x, const uint32_t **label)
{
    enum rc rc;

    assert(n_samples <= l->env.max_batch);
    l->wait.start_ns = now_ns(l);
    rc = get_batch(l, first, n_samples);
    l->wait.end_ns = now_ns(l);
    l->waited_ns += l->wait.end_ns - l->wait.start_ns;
    TRY(rc);
    start_prefetch(l, first, n_samples);
    *x = l->batch[l->lent].x;
    *label = l->batch[l->lent].label;
out:
    return rc;
}

enum rc loader_test_batch(struct loader *l, size_t first, size_t n_samples, const float **x, const uint32_t **label)
{
    struct batch *b = &l->batch[l->lent];
    enum rc rc = RC_OK;

    assert(n_samples <= l->env.max_batch && first + n_samples <= l->env.dataset->n_test);
    b->first = first;
    b->n_samples = n_samples;
    TRY(get_now(l, b, true));
    *x = b->x;
    *label = b->label;
out:
    return rc;
}

uint64_t loader_waited_ns(const struct loader *l)
{
    return l->waited_ns;
}

struct loader_wait loader_last_wait(const struct loader *l)
{
    return l->wait;
}

void loader_close(struct loader **l)
{
    if (!*l)
        return;
    background_close(&(*l)->background);
    arena_close(&(*l)->arena);
    if ((*l)->pinned != NULL)
        compute_host_close((*l)->env.compute, &(*l)->pinned);
    free(*l);
    *l = NULL;
}
