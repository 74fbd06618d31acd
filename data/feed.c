/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed.c - two batches in turn: one is lent to the caller, the other is filled meanwhile.
 */
#include "data/feed.h"

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
    bool ready; /* filled, or being filled, with training samples */
    enum rc rc;
    char message[MESSAGE_BYTES]; /* of the thread that filled it */
};

struct feed {
    struct feed_env env;
    struct arena arena;
    struct batch batch[2];
    int lent;                  /* which the caller has; the other is the helper's between start and wait */
    struct background *helper; /* NULL: none */
};

static enum rc take(const struct feed *f, struct batch *b, size_t at, size_t i)
{
    const struct dataset *d = f->env.dataset;
    const size_t plane = (size_t)d->H * (size_t)d->W;

    b->label[at] = d->ops->label(d, i);
    if (b->label[at] >= d->n_classes)
        return rc_raise(RC_INVAL, "data set %s: image %zu has label %u; there are %zu classes", d->name, i,
                        b->label[at], d->n_classes);
    return d->ops->image(d, i, b->x + at * plane, b->n_samples * plane);
}

static enum rc fill(const struct feed *f, struct batch *b)
{
    enum rc rc = RC_OK;

    for (size_t k = 0; k < b->n_samples; k++)
        TRY(take(f, b, k, dataset_index(f->env.dataset, f->env.seed, b->first + k)));
out:
    return rc;
}

static void fill_ahead(void *arg)
{
    struct feed *f = arg;
    struct batch *b = &f->batch[1 - f->lent];

    b->rc = fill(f, b);
    if (b->rc != RC_OK)
        snprintf(b->message, sizeof b->message, "%s", rc_message());
}

enum rc feed_open(struct feed **out, const struct feed_env *env)
{
    const struct dataset *d = env->dataset;
    struct feed *f = NULL;
    enum rc rc = RC_OK;

    if (d->ops == NULL || d->C == 0)
        FAIL(RC_INVAL, "data set %s has no images", d->name);
    f = calloc(1, sizeof *f);
    if (f == NULL)
        FAIL(RC_NOMEM, "feed: %zu bytes", sizeof *f);
    f->env = *env;
    const int n_batches = env->prefetch ? 2 : 1;
    const size_t n_elems = env->max_batch * d->n_features;
    TRY(arena_open(&f->arena, (size_t)n_batches * (arena_floats_bytes(n_elems) + arena_floats_bytes(env->max_batch))));
    for (int i = 0; i < n_batches; i++) {
        f->batch[i].x = arena_floats(&f->arena, n_elems);
        f->batch[i].label = (uint32_t *)(void *)arena_floats(&f->arena, env->max_batch);
    }
    if (env->prefetch)
        TRY(background_open(&f->helper, fill_ahead, f));
    *out = f;
    f = NULL;
out:
    feed_close(&f);
    return rc;
}

/* The batch the caller is lent: from the helper where it was working on this one, else made now. */
static enum rc get(struct feed *f, uint64_t first, size_t n_samples)
{
    struct batch *ahead = &f->batch[1 - f->lent];

    if (f->helper != NULL)
        background_wait(f->helper);
    if (ahead->ready && ahead->first == first && ahead->n_samples == n_samples) {
        f->lent = 1 - f->lent;
        ahead->ready = false;
        return ahead->rc == RC_OK ? RC_OK : rc_raise(ahead->rc, "%s", ahead->message);
    }
    struct batch *now = &f->batch[f->lent];
    now->first = first;
    now->n_samples = n_samples;
    return fill(f, now);
}

static void start_next(struct feed *f, uint64_t first, size_t n_samples)
{
    struct batch *ahead = &f->batch[1 - f->lent];

    if (f->helper == NULL || f->env.stride == 0)
        return;
    ahead->first = first + f->env.stride;
    ahead->n_samples = n_samples;
    ahead->ready = true;
    background_start(f->helper);
}

enum rc feed_batch(struct feed *f, uint64_t first, size_t n_samples, const float **x, const uint32_t **label)
{
    enum rc rc;

    assert(n_samples <= f->env.max_batch);
    TRY(get(f, first, n_samples));
    start_next(f, first, n_samples);
    *x = f->batch[f->lent].x;
    *label = f->batch[f->lent].label;
out:
    return rc;
}

enum rc feed_test(struct feed *f, size_t first, size_t n_samples, const float **x, const uint32_t **label)
{
    struct batch *b = &f->batch[f->lent];
    enum rc rc = RC_OK;

    assert(n_samples <= f->env.max_batch && first + n_samples <= f->env.dataset->n_test);
    b->n_samples = n_samples;
    for (size_t k = 0; k < n_samples; k++)
        TRY(take(f, b, k, f->env.dataset->n_train + first + k));
    *x = b->x;
    *label = b->label;
out:
    return rc;
}

uint64_t feed_waited_ns(const struct feed *f)
{
    return f->helper != NULL ? background_waited_ns(f->helper) : 0;
}

void feed_close(struct feed **f)
{
    if (*f == NULL)
        return;
    background_close(&(*f)->helper);
    arena_close(&(*f)->arena);
    free(*f);
    *f = NULL;
}
