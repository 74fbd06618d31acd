/* SPDX-License-Identifier: Apache-2.0 */
/* loss_mutants.c - the operations with a bug; those without are world_threads' own. */
#include "harness/world/suite/suite_mutants.h"

#include <stdatomic.h>
#include <stddef.h>

#include "harness/world/share_inner.h"

extern const struct world_ops world_threads;

/* Parts have the mutant's operations, too. */
static enum rc keep_ops(const struct world *w, struct world **out, enum rc rc)
{
    if (rc == RC_OK && *out)
        (*out)->ops = w->ops;
    return rc;
}

static enum rc split(struct world *w, int color, int key, struct world **out)
{
    return keep_ops(w, out, world_threads.split(w, color, key, out));
}

static enum rc survivors(struct world *w, struct world **out)
{
    return keep_ops(w, out, world_threads.survivors(w, out));
}

/* Who waits for a lost rank goes on as if it had come. */
static enum rc barrier_lets_through(struct world *w)
{
    const enum rc rc = world_threads.barrier(w);

    return rc == RC_PEER && world_check(w) == RC_OK ? RC_OK : rc;
}

static enum rc gather_lets_through(struct world *w, const void *in, void *out, size_t n_bytes_each)
{
    const enum rc rc = world_threads.gather(w, in, out, n_bytes_each);

    return rc == RC_PEER && world_check(w) == RC_OK ? RC_OK : rc;
}

static enum rc broadcast_lets_through(struct world *w, void *bytes, size_t n_bytes)
{
    const enum rc rc = world_threads.broadcast(w, bytes, n_bytes);

    return rc == RC_PEER && world_check(w) == RC_OK ? RC_OK : rc;
}

/* A loss ends the operation under way, but not the next: where rank 0 alone gets through. */
static enum rc allgather_of_rank_0(struct world *w, const void *in, void *out, size_t n_bytes_each)
{
    const enum rc rc = world_threads.allgather(w, in, out, n_bytes_each);

    return rc == RC_PEER && w->rank == 0 && world_check(w) == RC_OK ? RC_OK : rc;
}

/* The loss of a rank is a failure of all. */
static enum rc check_fails(struct world *w)
{
    enum rc rc;

    TRY(world_threads.check(w));
    TRY(world_check_losses(w));
out:
    return rc;
}

/* A loss ends operations of all worlds, also of those without the lost rank. */
static enum rc barrier_of_the_run(struct world *w)
{
    if (w->losses && atomic_load(&w->losses->n_lost) > 0)
        return rc_raise(RC_PEER, "rank 1 was lost: somewhere");
    return world_threads.barrier(w);
}

/* Messages name ranks as this world numbers them. */
static enum rc barrier_names_own_number(struct world *w)
{
    const enum rc rc = world_threads.barrier(w);
    const int lost = world_lost_rank(w);

    return rc == RC_PEER && lost >= 0 ? rc_raise(rc, "rank %d was lost: ended before its work was done", lost) : rc;
}

static enum rc barrier_gives_no_reason(struct world *w)
{
    const enum rc rc = world_threads.barrier(w);

    return rc == RC_PEER ? rc_raise(rc, "rank %d was lost", world_number(w, world_lost_rank(w))) : rc;
}

/* A loss ends the operation with another error. */
static enum rc split_times_out(struct world *w, int color, int key, struct world **out)
{
    const enum rc rc = split(w, color, key, out);

    return rc == RC_PEER ? rc_raise(RC_TIMEOUT, "%s", "split: a rank did not come") : rc;
}

/* The last rank has another view of who is left. */
static enum rc survivors_differ(struct world *w, struct world **out)
{
    const enum rc rc = survivors(w, out);

    if (rc == RC_OK && w->rank == w->n_ranks - 1)
        (*out)->n_ranks++;
    return rc;
}

static enum rc survivors_in_reverse(struct world *w, struct world **out)
{
    const enum rc rc = survivors(w, out);

    if (rc == RC_OK)
        (*out)->rank = (*out)->n_ranks - 1 - (*out)->rank;
    return rc;
}

static enum rc survivors_without_numbers(struct world *w, struct world **out)
{
    const enum rc rc = survivors(w, out);

    if (rc == RC_OK)
        (*out)->number = NULL;
    return rc;
}

/* A loss while ranks wait for the others ends their wait. */
static enum rc survivors_give_up(struct world *w, struct world **out)
{
    const int lost_before = world_lost_rank(w);
    const enum rc rc = survivors(w, out);

    if (rc != RC_OK || world_lost_rank(w) == lost_before)
        return rc;
    world_split_close(out);
    return world_check_losses(w);
}

/* The wait for a ring does not look for losses. */
static enum rc deaf_share_wait(struct share *s, uint32_t seen, uint64_t limit_ns)
{
    struct peer_losses *losses = s->group->losses;
    enum rc rc;

    (void)limit_ns;
    s->group->losses = NULL;
    rc = thread_share_ops.wait(s, seen, UINT64_C(100000000));
    s->group->losses = losses;
    return rc;
}

const struct suite_mutant *loss_mutants(void)
{
    static const struct suite_mutant all[] = {
        { .name = "none", .world.split = split, .world.survivors = survivors },
        { "lets-through", "barrier", .world.barrier = barrier_lets_through },
        { "gather-lets-through", "barrier", .world.gather = gather_lets_through },
        { "broadcast-lets-through", "barrier", .world.broadcast = broadcast_lets_through },
        { "one-gets-through", "barrier", .world.allgather = allgather_of_rank_0 },
        { "all-fail", "barrier", .world.check = check_fails },
        { "all-worlds-end", "barrier", .world.barrier = barrier_of_the_run },
        { "gives-no-reason", "barrier", .world.barrier = barrier_gives_no_reason },
        { "own-numbers", "other part", .world.barrier = barrier_names_own_number },
        { "times-out", "barrier", .world.split = split_times_out },
        { "differ", "barrier", .world.survivors = survivors_differ },
        { "in-reverse", "barrier", .world.survivors = survivors_in_reverse },
        { "without-numbers", "barrier", .world.survivors = survivors_without_numbers },
        { "give-up", "survivors", .world.survivors = survivors_give_up },
        { "deaf-share-wait", "share_wait", .shares.wait = deaf_share_wait },
        { .name = NULL },
    };

    return all;
}
