/* SPDX-License-Identifier: Apache-2.0 */
/*
 * communicator.c - two rings of chunk numbers between worker and communicator, each with an event that counts what is
 * in it: a post publishes an entry, a wait takes it.
 */
#include "harness/exchange/communicator.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/base/bytes.h"
#include "harness/net/transport.h"
#include "harness/world/task.h"

#define NO_LIMIT_NS UINT64_MAX

/* Not the tags of a mode, which uses the same transport (sync_mode.h). */
enum { TAG_ORDER = 0x7000, N_TAGS = 0x1000, ORDER_BYTES = 8, MAX_CHILDREN = 2 };

struct ring { /* one task puts, another takes */
    size_t *chunk;
    size_t n_entries, n_put, n_taken; /* n_put: the putting task's; n_taken: the taking one's */
    struct event *filled;
};

struct communicator {
    struct communicator_env env;
    struct task *task;
    struct ring submitted, done; /* NO_CHUNK in submitted: the end */
    struct chunk_queue queue;    /* the communicator's: submitted, not posted yet */
    bool is_ended;               /* the communicator has taken the end out of the ring */
    size_t n_posted;             /* chunks that are posted and not completed */
    uint32_t n_ordered;          /* chunks taken so far, where is_ordered; the same on every worker */
};

/* --- rings --- */

static enum rc ring_open(struct ring *r, struct world *w, const char *name, size_t n_entries)
{
    enum rc rc;

    r->n_entries = n_entries;
    r->chunk = calloc(n_entries, sizeof *r->chunk);
    if (!r->chunk)
        FAIL(RC_NOMEM, "communicator: no memory for %zu chunks", n_entries);
    TRY(event_open(&r->filled, w, name));
out:
    return rc;
}

static void ring_close(struct ring *r)
{
    event_close(&r->filled);
    free(r->chunk);
}

static void ring_put(struct ring *r, size_t chunk)
{
    r->chunk[r->n_put++ % r->n_entries] = chunk;
    event_post(r->filled);
}

/* After a wait for `filled` that returned RC_OK. */
static size_t ring_take(struct ring *r)
{
    return r->chunk[r->n_taken++ % r->n_entries];
}

/* --- the order of worker 0 --- */

static int children_of(const struct communicator *c, int *child)
{
    const int first = 2 * c->env.world->rank + 1;
    int n = 0;

    for (int i = first; i < first + MAX_CHILDREN && i < c->env.n_workers; i++)
        child[n++] = i;
    return n;
}

static enum rc receive_order(struct communicator *c, uint32_t tag, size_t *chunk)
{
    const int parent = (c->env.world->rank - 1) / 2;
    unsigned char bytes[ORDER_BYTES];
    struct xfer rx = { .peer = parent, .tag = tag, .ptr = bytes, .n_bytes = sizeof bytes };
    enum rc rc;

    TRY(transport_recv(c->env.transport, &rx));
    TRY(transport_wait(c->env.transport, &rx, c->env.timeout_ms));
    *chunk = (size_t)bytes_get(bytes, ORDER_BYTES);
    if (rx.n_bytes != sizeof bytes || *chunk >= c->env.buckets->n_chunks)
        FAIL(RC_MISMATCH, "rank %d says that chunk %zu is next; there are %zu", parent, *chunk,
             c->env.buckets->n_chunks);
out:
    return rc;
}

static enum rc pass_on_order(struct communicator *c, uint32_t tag, size_t chunk)
{
    unsigned char bytes[ORDER_BYTES];
    struct xfer tx[MAX_CHILDREN];
    char first_message[RC_MESSAGE_BYTES] = "";
    int child[MAX_CHILDREN], n_posted = 0;
    const int n_children = children_of(c, child);
    enum rc rc = RC_OK;

    bytes_put(bytes, chunk, ORDER_BYTES);
    for (; n_posted < n_children; n_posted++) {
        tx[n_posted] = (struct xfer){ .peer = child[n_posted], .tag = tag, .ptr = bytes, .n_bytes = sizeof bytes };
        TRY(transport_send(c->env.transport, &tx[n_posted]));
    }
out:
    if (rc != RC_OK)
        snprintf(first_message, sizeof first_message, "%s", rc_message());
    for (int i = 0; i < n_posted; i++) { /* all are ended (T3), the first error is reported */
        const enum rc ended = transport_wait(c->env.transport, &tx[i], rc == RC_OK ? c->env.timeout_ms : DO_NOT_WAIT);
        if (rc == RC_OK && ended != RC_OK) {
            rc = ended;
            snprintf(first_message, sizeof first_message, "%s", rc_message());
        }
    }
    return rc == RC_OK ? rc : rc_raise(rc, "%s", first_message);
}

/* --- the communicator's side --- */

static void take_submitted(struct communicator *c)
{
    const size_t chunk = ring_take(&c->submitted);

    if (chunk == NO_CHUNK)
        c->is_ended = true;
    else
        chunk_queue_push(&c->queue, chunk);
}

/* Wait for something to do, and take all there is. */
static enum rc fill_queue(struct communicator *c)
{
    enum rc rc = RC_OK;

    if (c->queue.n == 0 && c->n_posted == 0 && !c->is_ended) {
        TRY(event_wait(c->submitted.filled, NO_LIMIT_NS));
        take_submitted(c);
    }
    while (event_try_wait(c->submitted.filled))
        take_submitted(c);
out:
    return rc;
}

/* The chunk that worker 0 has chosen, as soon as it has been submitted here, too. */
static enum rc next_in_order(struct communicator *c, size_t *chunk)
{
    const uint32_t tag = TAG_ORDER + c->n_ordered++ % N_TAGS;
    enum rc rc;

    if (c->env.world->rank == 0)
        *chunk = chunk_queue_pop(&c->queue);
    else
        TRY(receive_order(c, tag, chunk));
    TRY(pass_on_order(c, tag, *chunk));
    while (c->env.world->rank > 0 && !chunk_queue_take(&c->queue, *chunk)) {
        TRY(event_wait(c->submitted.filled, NO_LIMIT_NS));
        take_submitted(c);
        if (c->is_ended)
            FAIL(RC_MISMATCH, "rank 0 exchanges chunk %zu, this rank has ended", *chunk);
    }
    rc = RC_OK;
out:
    return rc;
}

static enum rc next_to_post(struct communicator *c, size_t *chunk)
{
    if (c->env.is_ordered)
        return next_in_order(c, chunk);
    *chunk = chunk_queue_pop(&c->queue);
    return RC_OK;
}

static enum rc communicate(struct world *w, void *arg)
{
    struct communicator *c = arg;
    size_t chunk;
    enum rc rc;

    (void)w;
    for (;;) {
        TRY(fill_queue(c));
        if (c->queue.n == 0 && c->n_posted == 0)
            break;
        if (c->queue.n > 0 && c->n_posted < c->env.most_posted) {
            TRY(next_to_post(c, &chunk));
            TRY(c->env.post(c->env.arg, chunk));
            c->n_posted++;
        } else {
            TRY(c->env.complete(c->env.arg, &chunk));
            c->n_posted--;
            ring_put(&c->done, chunk);
        }
    }
out:
    return rc;
}

/* --- the worker's side --- */

enum rc communicator_open(struct communicator **out, const struct communicator_env *env)
{
    struct communicator *c = calloc(1, sizeof *c);
    const size_t n_entries = env->buckets->n_chunks + 1; /* all chunks, and the end */
    enum rc rc;

    if (!c)
        return rc_raise(RC_NOMEM, "communicator: no memory");
    c->env = *env;
    TRY(ring_open(&c->submitted, env->world, "chunk submitted", n_entries));
    TRY(ring_open(&c->done, env->world, "chunk done", n_entries));
    TRY(chunk_queue_open(&c->queue, env->buckets, env->by_priority));
    const struct task_opts task = { .name = "communicator", .core = TASK_ON_SPARE_CORE, .fn = communicate, .arg = c };
    TRY(world_spawn(&c->task, env->world, &task));
    *out = c;
    c = NULL;
out:
    communicator_close(&c);
    return rc;
}

void communicator_submit(struct communicator *c, size_t chunk)
{
    ring_put(&c->submitted, chunk);
}

size_t communicator_poll(struct communicator *c)
{
    return event_try_wait(c->done.filled) ? ring_take(&c->done) : NO_CHUNK;
}

enum rc communicator_wait(struct communicator *c, size_t *chunk)
{
    enum rc rc = event_wait(c->done.filled, NO_LIMIT_NS);

    if (rc == RC_OK)
        *chunk = ring_take(&c->done);
    else
        rc = communicator_failure(c, rc);
    return rc;
}

/* exchange.Y4; a rank that failed ends the communicator, too: join does not wait for long. */
enum rc communicator_failure(struct communicator *c, enum rc rc)
{
    if (!c->task)
        return rc;
    const enum rc own = world_join(&c->task);
    return own != RC_OK ? own : rc_raise(RC_PEER, "the communicator ended before its work was done");
}

enum rc communicator_finish(struct communicator *c)
{
    assert(c->task);
    ring_put(&c->submitted, NO_CHUNK);
    return world_join(&c->task);
}

void communicator_close(struct communicator **cp)
{
    struct communicator *c = *cp;

    if (!c)
        return;
    if (c->task) {
        char message[RC_MESSAGE_BYTES]; /* of the caller's error, which ended the worker */
        snprintf(message, sizeof message, "%s", rc_message());
        world_stop_tasks(c->env.world, "the worker has ended");
        (void)!world_join(&c->task);
        (void)!rc_raise(RC_PEER, "%s", message);
    }
    chunk_queue_close(&c->queue);
    ring_close(&c->submitted);
    ring_close(&c->done);
    free(c);
    *cp = NULL;
}
