/* SPDX-License-Identifier: Apache-2.0 */
/*
 * communicator.h - a task of a worker that exchanges chunks, to overlap communication with computation. It takes them
 * from the worker, posts them in the order of a queue, and hands them back when they are complete.
 *
 * Invariants
 *   Y1  submit() never waits. poll() or wait() hands a submitted chunk back once; until then it is not submitted again.
 *   Y2  One task posts and completes chunks. They are completed in the order in which they were posted. At most
 *       most_posted chunks are posted and not completed. A chunk is posted as soon as it is there, and one is completed
 *       when no other can be posted. post() and complete() can read what the worker wrote before submit(); the worker
 *       can read what they wrote after the chunk was handed back.
 *   Y3  is_ordered: the communicators of all workers take the chunks in the order of worker 0's (exchange.E6): before
 *       each chunk its number is sent down a binary tree of the workers, one message each.
 *   Y4  An error of post() or complete() ends the communicator; wait() and finish() report it unchanged.
 */
#ifndef HARNESS_EXCHANGE_COMMUNICATOR_H
#define HARNESS_EXCHANGE_COMMUNICATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"
#include "harness/exchange/buckets.h"

struct world;
struct transport;
struct communicator;

struct communicator_env { /* borrowed; outlives the communicator */
    struct world *world;  /* workers are its first n_workers ranks */
    const struct buckets *buckets;
    bool by_priority, is_ordered;
    struct transport *transport; /* is_ordered: the communicator owns it until finish() or close() */
    int n_workers, timeout_ms;
    size_t most_posted; /* exchange.Y2, at least 1; is_ordered: 1 */
    /* Both on the communicator. complete: the chunk that was posted first; *out: its number. */
    enum rc (*post)(void *arg, size_t chunk);
    enum rc (*complete)(void *arg, size_t *out);
    void *arg;
};

/* Starts it. RC_NOMEM. */
enum rc communicator_open(struct communicator **out, const struct communicator_env *env) MUST_CHECK;
void communicator_submit(struct communicator *c, size_t chunk);
/* A chunk handed back, without waiting; NO_CHUNK: none. */
size_t communicator_poll(struct communicator *c);
/* The next chunk handed back. Waits as long as the work takes; the waits of the work have limits. Errors: the
 * work's. */
enum rc communicator_wait(struct communicator *c, size_t *chunk) MUST_CHECK;
/* world_check() failed with rc while chunks were outstanding: ends the task. Returns the task's error, which may be the
 * cause, or rc if the task has ended before. */
enum rc communicator_failure(struct communicator *c, enum rc rc) MUST_CHECK;
/* Ends the task after all chunks have been handed back. Errors: the task's. */
enum rc communicator_finish(struct communicator *c) MUST_CHECK;
void communicator_close(struct communicator **c); /* at any time; NULL-safe, nulls */

#endif
