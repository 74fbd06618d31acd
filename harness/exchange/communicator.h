/* SPDX-License-Identifier: Apache-2.0 */
/*
 * communicator.h - a task of a worker that takes pieces from it, does the work on them in the order of a queue, some of
 * them at once, and hands them back: communication overlapped with computing.
 *
 * Invariants
 *   Y1  submit() never waits. A piece submitted is handed back once, by poll() or wait(); it is not submitted again
 *       before.
 *   Y2  The work on pieces is begun and ended by one task, and ends in the order in which it began: that of most_begun
 *       pieces at most is begun and not ended. It is begun as soon as a piece is there, and ended when no other can be
 *       begun. What the worker wrote before submit() is read by the work; what the work wrote is read after the piece
 *       was handed back.
 *   Y3  is_ordered: the communicators of all workers take the pieces in the order in which worker 0's does (E6):
 *       before each piece its number goes down a binary tree of the workers, one message each.
 *   Y4  A communicator with nothing to do that gets a piece waits cycle_ns for more important ones, then takes the most
 *       important of all it has. It does not wait once it has the piece with the first parameters, which none goes
 *       before, nor with pieces left of earlier; is_ordered: nor on others than worker 0, whose order they follow.
 *   Y5  An error of the work ends the communicator; wait() and finish() report it as it was.
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
    uint64_t cycle_ns;           /* Y4; 0: it never waits */
    struct transport *transport; /* is_ordered: the communicator's until finish() or close() */
    int n_workers, timeout_ms;
    size_t most_begun; /* Y2, at least 1; is_ordered: 1 */
    /* Both on the communicator: begin the work on a piece; end that which began first, *out: on which. */
    enum rc (*begin)(void *arg, size_t piece);
    enum rc (*end)(void *arg, size_t *out);
    void *arg;
};

/* Start it. RC_NOMEM. */
enum rc communicator_open(struct communicator **out, const struct communicator_env *env) MUST_CHECK;
void communicator_submit(struct communicator *c, size_t piece);
/* A piece handed back, without waiting; NO_PIECE: none now. */
size_t communicator_poll(struct communicator *c);
/* The next piece handed back. Waits as long as the work takes, whose waits have limits. Errors: the work's. */
enum rc communicator_wait(struct communicator *c, size_t *piece) MUST_CHECK;
/* world_check() failed with rc, while pieces were not handed back: end the task. Returns its own error, which may be
 * what failed the check; rc where it has ended before. */
enum rc communicator_failure(struct communicator *c, enum rc rc) MUST_CHECK;
/* All pieces have been handed back: end the task. Errors: its own. */
enum rc communicator_finish(struct communicator *c) MUST_CHECK;
void communicator_close(struct communicator **c); /* at any time; NULL-safe, nulls */

#endif
