/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed.c - batches by message: a driver reads the samples of all workers and pushes them, so that no worker opens a
 * file; see feed.h.
 */
#include "data/feed.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "harness/net/transport.h"
#include "harness/world/world.h"

enum { TAG_GRANT = 1, TAG_BATCH = 2 };

static size_t head_bytes_of(size_t n_samples)
{
    return sizeof(struct feed_want) + n_samples * sizeof(uint32_t);
}

static size_t body_bytes_of(const struct feed_env *env, size_t n_samples)
{
    return n_samples * env->n_features * sizeof(float);
}

enum rc feed_transport_open(struct transport **out, const struct transport_ops *ops, const struct feed_env *env)
{
    const struct transport_plan plan = { .most_message_bytes =
                                             head_bytes_of(env->max_batch) + body_bytes_of(env, env->max_batch),
                                         .most_messages = env->queue_batches + 2 };
    enum rc rc;

    TRY(transport_open_planned(out, ops, env->world, &plan));
    (*out)->fails_together = true;
out:
    return rc;
}

/* --- a worker --- */

struct feed_client {
    struct transport *t;
    struct feed_env env;
    struct batch_order order;
    struct feed_want granted[FEED_MAX_QUEUE]; /* not yet received, the oldest first */
    size_t n_granted;
    unsigned char *head; /* of a batch, max_batch labels */
    float *dropped;      /* room for a batch that is not wanted any more, from feed_client_end() on; else NULL */
};

enum rc feed_client_open(struct feed_client **out, struct transport *t, const struct feed_env *env,
                         const struct batch_order *order)
{
    struct feed_client *c = calloc(1, sizeof *c);
    enum rc rc = RC_OK;

    assert(env->queue_batches >= 1 && env->queue_batches <= FEED_MAX_QUEUE);
    if (c == NULL)
        FAIL(RC_NOMEM, "feed: %zu bytes", sizeof *c);
    c->t = t;
    c->env = *env;
    c->order = *order;
    c->head = malloc(head_bytes_of(env->max_batch));
    if (c->head == NULL)
        FAIL(RC_NOMEM, "feed: no memory for %zu labels", env->max_batch);
    *out = c;
    c = NULL;
out:
    feed_client_close(&c);
    return rc;
}

static int driver_of(const struct feed_client *c)
{
    return c->env.world->n_ranks - 1;
}

static enum rc tell(struct feed_client *c, struct feed_want want)
{
    struct xfer x = { .head = &want, .n_head_bytes = sizeof want, .peer = driver_of(c), .tag = TAG_ANY | TAG_GRANT };
    enum rc rc;

    TRY(transport_send(c->t, &x));
    TRY(transport_wait(c->t, &x, c->env.timeout_ms));
out:
    return rc;
}

static enum rc grant(struct feed_client *c, struct feed_want want)
{
    enum rc rc;

    TRY(tell(c, want));
    c->granted[c->n_granted++] = want;
out:
    return rc;
}

/* The oldest batch that was granted -> x, and its labels at c->head. */
static enum rc receive(struct feed_client *c, float *x)
{
    const struct feed_want want = c->granted[0];
    struct xfer in = { .ptr = x,
                       .n_bytes = body_bytes_of(&c->env, want.n_samples),
                       .head = c->head,
                       .n_head_bytes = head_bytes_of(want.n_samples),
                       .peer = driver_of(c),
                       .tag = TAG_BATCH };
    enum rc rc;

    TRY(transport_recv(c->t, &in));
    TRY(transport_wait(c->t, &in, c->env.timeout_ms));
    c->n_granted--;
    memmove(c->granted, c->granted + 1, c->n_granted * sizeof *c->granted);
    if (in.n_bytes != body_bytes_of(&c->env, want.n_samples) || memcmp(c->head, &want, sizeof want) != 0)
        FAIL(RC_MISMATCH, "feed: the driver has pushed another batch than the one from sample %llu on",
             (unsigned long long)want.first);
out:
    return rc;
}

static bool is_wanted(const struct feed_want *granted, const struct loader_want *want)
{
    return granted->first == want->first && granted->n_samples == want->n_samples &&
           (granted->is_test != 0) == want->is_test;
}

/* data.V2: what will be asked for behind this batch. */
static enum rc grant_more(struct feed_client *c, const struct loader_want *want)
{
    uint64_t first = c->n_granted > 0 ? c->granted[c->n_granted - 1].first : want->first;
    enum rc rc = RC_OK;

    while (!want->is_test && c->order.stride > 0 && c->n_granted < c->env.queue_batches) {
        first = batch_order_next(&c->order, first, want->n_samples);
        TRY(grant(c, (struct feed_want){ .first = first, .n_samples = (uint32_t)want->n_samples }));
    }
out:
    return rc;
}

static enum rc fetch(void *arg, const struct loader_want *want, float *x, uint32_t *label)
{
    struct feed_client *c = arg;
    enum rc rc = RC_OK;

    while (c->n_granted > 0 && !is_wanted(&c->granted[0], want))
        TRY(receive(c, x)); /* data.V3 */
    if (c->n_granted == 0)
        TRY(grant(c, (struct feed_want){ want->first, (uint32_t)want->n_samples, want->is_test }));
    TRY(receive(c, x));
    memcpy(label, c->head + sizeof(struct feed_want), want->n_samples * sizeof *label);
    TRY(grant_more(c, want));
out:
    return rc;
}

struct loader_source feed_client_source(struct feed_client *c)
{
    return (struct loader_source){ .fetch = fetch, .arg = c };
}

enum rc feed_client_end(struct feed_client *c)
{
    enum rc rc = RC_OK;

    if (c->n_granted > 0) {
        c->dropped = malloc(body_bytes_of(&c->env, c->env.max_batch));
        if (c->dropped == NULL)
            FAIL(RC_NOMEM, "feed: no memory for a batch");
    }
    while (c->n_granted > 0)
        TRY(receive(c, c->dropped));
    TRY(tell(c, (struct feed_want){ .n_samples = 0 }));
out:
    return rc;
}

void feed_client_close(struct feed_client **c)
{
    if (*c == NULL)
        return;
    free((*c)->head);
    free((*c)->dropped);
    free(*c);
    *c = NULL;
}

/* --- the driver --- */

struct driver {
    struct feed_drive *drive;
    const struct feed_env *env;
    unsigned char *head; /* of a batch, max_batch labels */
    float *x;            /* of that batch */
};

/* The next word of any worker. */
static enum rc hear(struct driver *d, int *worker, struct feed_want *want)
{
    struct message m = { .ptr = NULL };
    enum rc rc;

    do
        TRY(transport_recv_divided(d->drive->t, &m, sizeof *want, WAIT_FOREVER));
    while (m.peer < 0); /* of a loss, which ends the next call */
    *worker = m.peer;
    if (m.n_head_bytes != sizeof *want || m.n_bytes != 0 || m.tag != (TAG_ANY | TAG_GRANT))
        rc = rc_raise(RC_MISMATCH, "feed: worker %d grants no batch: %zu bytes", m.peer, m.n_head_bytes + m.n_bytes);
    else
        memcpy(want, m.head, sizeof *want);
    transport_release(d->drive->t, &m);
out:
    return rc;
}

/* Can this be read without leaving the data set? */
static enum rc check_want(const struct driver *d, const struct loader_env *reads, int worker,
                          const struct feed_want *want)
{
    const size_t n_test = reads->dataset->n_test;

    if (want->n_samples <= d->env->max_batch &&
        (!want->is_test || (want->first <= n_test && want->n_samples <= n_test - want->first)))
        return RC_OK;
    return rc_raise(RC_MISMATCH, "feed: worker %d grants %lu %s samples from %llu on; there are %zu, in batches of %zu",
                    worker, (unsigned long)want->n_samples, want->is_test ? "test" : "training",
                    (unsigned long long)want->first, want->is_test ? n_test : reads->dataset->n_train,
                    d->env->max_batch);
}

static enum rc push(struct driver *d, int worker, const struct feed_want *want)
{
    const struct loader_env reads = d->drive->reads(d->drive->arg, worker);
    const struct loader_want wanted = { want->is_test != 0, want->first, want->n_samples };
    struct xfer out = { .ptr = d->x,
                        .n_bytes = body_bytes_of(d->env, want->n_samples),
                        .head = d->head,
                        .n_head_bytes = head_bytes_of(want->n_samples),
                        .peer = worker,
                        .tag = TAG_BATCH };
    enum rc rc;

    TRY(check_want(d, &reads, worker, want));
    memcpy(d->head, want, sizeof *want);
    const uint64_t began_ns = world_now_ns(d->env->world);
    TRY(loader_read(&reads, &wanted, d->x, (uint32_t *)(void *)(d->head + sizeof *want)));
    d->drive->read_ns += world_now_ns(d->env->world) - began_ns;
    TRY(transport_send(d->drive->t, &out));
    TRY(transport_wait(d->drive->t, &out, WAIT_FOREVER)); /* at once: data.V2 is within the transport's window */
    d->drive->n_pushed++;
out:
    return rc;
}

enum rc feed_drive(struct feed_drive *drive, const struct feed_env *env)
{
    struct driver d = { .drive = drive, .env = env };
    struct feed_want want = { .n_samples = 0 };
    int worker = -1;
    enum rc rc = RC_OK;

    drive->n_pushed = drive->read_ns = 0;
    d.head = malloc(head_bytes_of(env->max_batch));
    d.x = malloc(body_bytes_of(env, env->max_batch));
    if (d.head == NULL || d.x == NULL)
        FAIL(RC_NOMEM, "feed: no memory for a batch of %zu samples", env->max_batch);
    for (int n_left = env->world->n_ranks - 1; n_left > 0;) {
        TRY(hear(&d, &worker, &want));
        if (want.n_samples == 0)
            n_left--;
        else
            TRY(push(&d, worker, &want));
    }
out:
    free(d.head);
    free(d.x);
    return rc;
}
