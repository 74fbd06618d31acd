/* SPDX-License-Identifier: Apache-2.0 */
/* network_feed.c - batches without a helper thread, until data/feed.c takes over. */
#include <stdlib.h>
#include <string.h>

#include "data/feed.h"

struct feed {
    struct feed_env env;
    float *x;
    uint32_t *label;
};

enum rc feed_open(struct feed **out, const struct feed_env *env)
{
    struct feed *f = calloc(1, sizeof *f);
    enum rc rc = RC_OK;

    if (f == NULL)
        return rc_raise(RC_NOMEM, "feed: %zu bytes", sizeof *f);
    f->env = *env;
    f->x = malloc(env->max_batch * env->dataset->n_features * sizeof *f->x);
    f->label = malloc(env->max_batch * sizeof *f->label);
    if (f->x == NULL || f->label == NULL)
        FAIL(RC_NOMEM, "feed: no memory for %zu images", env->max_batch);
    *out = f;
    f = NULL;
out:
    feed_close(&f);
    return rc;
}

static enum rc take(struct feed *f, size_t i, size_t b, size_t B)
{
    const struct dataset *d = f->env.dataset;
    const size_t plane = d->ops != NULL ? (size_t)d->H * (size_t)d->W : d->n_features;

    f->label[b] = d->label != NULL ? d->label[i] : d->ops->label(d, i);
    if (d->ops != NULL)
        return d->ops->image(d, i, f->x + b * plane, B * plane);
    for (size_t k = 0; k < plane; k++)
        f->x[b * plane + k] = d->feature[i * plane + k] - 0.3f;
    return RC_OK;
}

enum rc feed_batch(struct feed *f, uint64_t first, size_t n_samples, const float **x, const uint32_t **label)
{
    enum rc rc = RC_OK;

    for (size_t b = 0; b < n_samples; b++)
        TRY(take(f, dataset_index(f->env.dataset, f->env.seed, first + b), b, n_samples));
    *x = f->x;
    *label = f->label;
out:
    return rc;
}

enum rc feed_test(struct feed *f, size_t first, size_t n_samples, const float **x, const uint32_t **label)
{
    enum rc rc = RC_OK;

    for (size_t b = 0; b < n_samples; b++)
        TRY(take(f, f->env.dataset->n_train + first + b, b, n_samples));
    *x = f->x;
    *label = f->label;
out:
    return rc;
}

uint64_t feed_waited_ns(const struct feed *f)
{
    (void)f;
    return 0;
}

void feed_close(struct feed **f)
{
    if (*f != NULL) {
        free((*f)->x);
        free((*f)->label);
    }
    free(*f);
    *f = NULL;
}
