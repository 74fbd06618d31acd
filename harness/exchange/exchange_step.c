/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange_step.c - from submit() to await(): pieces are exchanged and updated, by the communicator or in the caller,
 * and then settled by the caller: of a settled piece the parameters are there, and its cost is counted.
 */
#include <assert.h>

#include "harness/exchange/exchange_state.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

/* --- one piece --- */

/* The elements of the piece; NULL: hollow. */
static float *at(float *floats, struct range piece)
{
    return floats ? floats + piece.offset_elems : NULL;
}

static int32_t bucket_of_piece(const struct exchange *x, size_t k)
{
    return (int32_t)buckets_of_piece(&x->buckets, k);
}

/* Inline, what ends is the beginning of what follows: a step of a small model takes as long as a few readings. */
uint64_t exchange_follow_ns(const struct exchange *x)
{
    return x->overlaps ? world_now_ns(x->env.world) : x->inline_ns;
}

static void note_inline(struct exchange *x, uint64_t now_ns)
{
    if (!x->overlaps)
        x->inline_ns = now_ns;
}

/* The pieces of bucket b are summed on the device, behind their gradients. */
static enum rc queue_bucket(struct exchange *x, size_t b)
{
    const struct bucket *bucket = &x->buckets.bucket[b];
    const uint64_t now_ns = world_now_ns(x->env.world), sent_bytes = x->transport->moved.bytes_sent;
    enum rc rc = RC_OK;

    for (size_t k = bucket->first_piece; k < bucket->first_piece + bucket->n_pieces; k++) {
        x->state[k].is_queued = true;
        x->state[k].times.at_server = (struct piece_cost){ 0 };
        x->state[k].times.start_ns = now_ns;
    }
    if (!x->is_left_out)
        TRY(x->sync->ops->queue(x->sync, b, x->grad));
    x->sent_bytes += x->transport->moved.bytes_sent - sent_bytes; /* between hosts, of buckets before */
out:
    return rc;
}

/* The sum of piece k is there, for what the compute is asked to do from now on. The device sums one after the other: a
 * piece begins when the one before it has ended, as far as the host can see. */
static enum rc finish_queued(struct exchange *x, size_t k)
{
    const uint64_t sent_bytes = x->transport->moved.bytes_sent;
    struct piece_times *t = &x->state[k].times;
    enum rc rc = RC_OK;

    if (!x->state[k].is_left_out)
        TRY(x->sync->ops->wait(x->sync, buckets_of_piece(&x->buckets, k)));
    x->sent_bytes += x->transport->moved.bytes_sent - sent_bytes; /* between hosts */
    x->state[k].is_queued = false;
    t->exchanged_ns = world_now_ns(x->env.world);
    if (t->start_ns < x->last_sum_ns)
        t->start_ns = x->last_sum_ns;
    t->oldest_ns = t->start_ns;
    x->last_sum_ns = t->exchanged_ns;
    exchange_note_queued(x, k);
    exchange_note_exchanged(x, k);
out:
    return rc;
}

/* Copy a piece of what the mode left in host memory to the compute's. */
static void unstage(struct exchange *x, struct range piece)
{
    float *to = x->has_servers ? x->param : x->grad, *from = x->has_servers ? x->host_param : x->host_grad;

    compute_put(x->env.compute, to + piece.offset_elems, from + piece.offset_elems, piece.n_elems * sizeof(float));
}

/* The parameters of piece k become those of the next step. */
static enum rc apply_piece(struct exchange *x, size_t k)
{
    const struct range piece = x->buckets.piece[k];
    struct piece_times *t = &x->state[k].times;
    enum rc rc = RC_OK;

    t->update_ns = x->is_staged ? world_now_ns(x->env.world) : t->exchanged_ns; /* staged: later, by another task */
    if (x->flips && x->has_servers)
        exchange_flip_pulled(x, k);
    else if (x->flips)
        TRY(exchange_flip(x, k));
    if (x->is_staged)
        unstage(x, piece);
    if (!x->has_servers) {
        exchange_keep_piece(x, k);
        x->optimizer.lr = x->state[k].lr;
        x->optimizer.n_updates = x->n_updates_before + x->state[k].n_updates;
        TRY(optimizer_step_range(&x->optimizer, piece.offset_elems, piece.n_elems, at(x->param, piece),
                                 at(x->grad, piece)));
    }
    x->state[k].n_updates++;
    t->applied_ns = x->has_servers ? t->update_ns : world_now_ns(x->env.world);
    note_inline(x, x->is_staged && x->has_servers ? world_now_ns(x->env.world) : t->applied_ns); /* the copy is over */
    if (!x->has_servers)
        exchange_note_span(x, x->is_staged ? x->ring[EXCHANGE_MAIN] : exchange_exchanging_ring(x), k,
                           (struct span){ .start_ns = t->update_ns, .end_ns = t->applied_ns, .what = "apply" });
out:
    return rc;
}

enum rc exchange_end_work(void *arg, size_t *out)
{
    struct exchange *x = arg;
    enum rc rc;

    TRY(exchange_end_piece(x, out));
    if (!x->is_staged)
        TRY(apply_piece(x, *out));
out:
    return rc;
}

/* E8: in place of exchange and update. */
static enum rc update_and_average(struct exchange *x, size_t k)
{
    struct piece_times *t = &x->state[k].times;
    enum rc rc;

    t->at_server = (struct piece_cost){ 0 };
    t->start_ns = t->oldest_ns = t->exchanged_ns = exchange_follow_ns(x);
    TRY(apply_piece(x, k));
    if (!exchange_averages_now(x))
        return RC_OK;
    t->start_ns = t->oldest_ns = exchange_follow_ns(x);
    TRY(exchange_average_piece(x, k));
    t->exchanged_ns = world_now_ns(x->env.world);
    note_inline(x, t->exchanged_ns);
    exchange_note_queued(x, k);
    exchange_note_exchanged(x, k);
out:
    return rc;
}

/* The caller's part, after the communicator's. */
static enum rc settle(struct exchange *x, size_t k)
{
    enum rc rc = RC_OK;

    if (x->is_staged && x->communicator)
        TRY(apply_piece(x, k));
    x->state[k].pending = false;
    x->n_pending--;
    cost_add_piece(&x->cost, &x->state[k].times, x->has_servers);
out:
    return rc;
}

/* --- a step --- */

/* This rank is to submit bucket b next; all are submitted: none. */
static void owe(struct exchange *x, size_t b)
{
    const bool by_segments = !x->env.forward_only && exchange_wants_segments(x);
    const struct peer_duty duty = { PHASE_STEP, (int64_t)x->step,
                                    by_segments && b < x->buckets.n_buckets ? (int32_t)b : -1 };

    world_set_duty(x->env.world, &duty);
}

enum rc exchange_begin(struct exchange *x, uint64_t step, float lr)
{
    cost_reset(&x->cost);
    x->lr = lr;
    x->n_begun++;
    x->is_averaged = false;
    x->step = (uint32_t)step;
    x->parts = periods_parts(&x->env.opts.periods, step + 1, x->n_begun == x->env.n_steps);
    if (x->has_servers)
        periods_add(&x->counts, x->parts);
    x->cost.sum.keeps_gradient = !(x->parts & EXCHANGE_PUSH);
    owe(x, 0);
    for (size_t i = 0; !x->env.forward_only && i < x->buckets.n_buckets; i++)
        x->n_missing[i] = x->buckets.bucket[i].n_segments;
    return RC_OK;
}

static void submit_bucket(struct exchange *x, size_t b, uint64_t now_ns)
{
    const struct bucket *bucket = &x->buckets.bucket[b];

    for (size_t k = bucket->first_piece; k < bucket->first_piece + bucket->n_pieces; k++) {
        assert(!x->state[k].pending);
        x->state[k].pending = true;
        x->state[k].is_left_out = x->is_left_out;
        x->state[k].lr = x->lr;
        x->state[k].step = x->step;
        x->state[k].parts = x->parts;
        x->state[k].times.submitted_ns = now_ns;
        x->n_pending++;
        if (x->communicator)
            communicator_submit(x->communicator, k);
        else
            piece_queue_push(&x->queue, k);
    }
}

enum rc exchange_check(struct exchange *x)
{
    const enum rc rc = world_check(x->env.world);

    return rc != RC_OK && x->communicator && x->n_pending > 0 ? communicator_failure(x->communicator, rc) : rc;
}

void exchange_leave_out(struct exchange *x, bool is_left_out)
{
    assert(x->n_pending == 0);
    x->is_left_out = is_left_out;
}

bool exchange_overlaps(const struct exchange *x)
{
    return x->overlaps;
}

bool exchange_wants_segments(const struct exchange *x)
{
    return x->is_staged || x->overlaps;
}

enum rc exchange_submit(struct exchange *x, struct segment s)
{
    const size_t b = x->buckets.bucket_of[buckets_segment_at(&x->buckets, s.offset_elems)];
    enum rc rc = RC_OK;

    if (!x->is_queued)                     /* else the device waits for it */
        TRY(compute_sync(x->env.compute)); /* compute.C2: in sim, the time to compute it passes before it is sent */
    if (x->is_staged)                      /* E4 */
        TRY(compute_fetch(x->env.compute, x->host_grad + s.offset_elems, x->grad + s.offset_elems,
                          s.n_elems * sizeof(float)));
    assert(x->n_missing[b] > 0);
    if (--x->n_missing[b] == 0) {
        submit_bucket(x, b, x->ring[EXCHANGE_QUEUE] ? world_now_ns(x->env.world) : 0); /* of use to a timeline alone */
        if (x->is_queued)
            TRY(queue_bucket(x, b));
        owe(x, b + 1);
    }
out:
    return rc;
}

void exchange_submit_all(struct exchange *x, uint64_t now_ns)
{
    for (size_t b = 0; !x->env.forward_only && b < x->buckets.n_buckets; b++)
        submit_bucket(x, b, now_ns);
}

/* The caller exchanges the next of the queue, and begins with others as far as the mode lets. */
static enum rc exchange_inline(struct exchange *x, size_t *out)
{
    enum rc rc = RC_OK;

    while (x->queue.n > 0 && x->flight.n_begun - x->flight.n_ended < x->flight.most_pieces)
        TRY(exchange_begin_piece(x, piece_queue_pop(&x->queue)));
    TRY(exchange_end_piece(x, out));
out:
    return rc;
}

/* Without a communicator: the next piece, which becomes that of the next step. */
static enum rc work_inline(struct exchange *x, size_t *out)
{
    enum rc rc = RC_OK;

    if (x->env.opts.average_every > 0) {
        *out = piece_queue_pop(&x->queue);
        return update_and_average(x, *out);
    }
    if (x->is_queued) {
        *out = piece_queue_pop(&x->queue);
        TRY(finish_queued(x, *out));
    } else
        TRY(exchange_inline(x, out));
    TRY(apply_piece(x, *out));
    x->flight.last_ns = x->inline_ns; /* the caller's copy counts for no exchange, whatever is under way */
out:
    return rc;
}

/* Settle one piece more: the next of the queue, or the next that the communicator is through with. */
static enum rc settle_next(struct exchange *x)
{
    size_t k;
    enum rc rc;

    TRY(x->communicator ? communicator_wait(x->communicator, &k) : work_inline(x, &k));
    TRY(settle(x, k));
out:
    return rc;
}

/* What the communicator is through with by now. */
static enum rc settle_done(struct exchange *x)
{
    enum rc rc = RC_OK;

    for (size_t k; x->communicator && (k = communicator_poll(x->communicator)) != NO_PIECE;)
        TRY(settle(x, k));
out:
    return rc;
}

/* Into the timeline: the wait that has just ended, for piece k or (NO_PIECE) for all. */
static void note_wait(const struct exchange *x, size_t k)
{
    const struct span s = { .start_ns = cost_last_wait_ns(&x->cost, false),
                            .end_ns = cost_last_wait_ns(&x->cost, true),
                            .what = "wait",
                            .segment = k == NO_PIECE ? -1 : bucket_of_piece(x, k),
                            .piece = k == NO_PIECE ? 0 : (int32_t)k,
                            .step = x->step };

    if (x->overlaps)
        span_ring_add(x->ring[EXCHANGE_MAIN], &s);
}

/* What the communicator is through with, before a wait. Where the caller applies it, that is no hidden time: it is a
 * wait, too. */
static enum rc settle_early(struct exchange *x)
{
    const size_t k = x->communicator ? communicator_poll(x->communicator) : NO_PIECE;
    enum rc rc = RC_OK;

    if (k == NO_PIECE)
        return RC_OK;
    if (x->is_staged)
        cost_wait_begin(&x->cost, world_now_ns(x->env.world));
    TRY(settle(x, k));
    TRY(settle_done(x));
    if (x->is_staged) {
        cost_wait_end(&x->cost, world_now_ns(x->env.world));
        note_wait(x, k);
    }
out:
    return rc;
}

/* Without overlap nothing is on the device yet of what was submitted. */
static enum rc queue_submitted(struct exchange *x)
{
    enum rc rc = RC_OK;

    for (size_t b = 0; b < x->buckets.n_buckets && x->n_pending > 0; b++) {
        const struct piece_state *first = &x->state[x->buckets.bucket[b].first_piece];
        if (first->pending && !first->is_queued)
            TRY(queue_bucket(x, b));
    }
out:
    return rc;
}

/* Until `wanted` is settled, from now_ns on; NO_PIECE: until all are. */
static enum rc settle_until(struct exchange *x, size_t wanted, uint64_t now_ns)
{
    enum rc rc = RC_OK;

    note_inline(x, now_ns);
    cost_wait_begin(&x->cost, now_ns);
    if (x->is_queued && !x->overlaps)
        TRY(queue_submitted(x));
    while (wanted == NO_PIECE ? x->n_pending > 0 : x->state[wanted].pending)
        TRY(settle_next(x));
    if (x->env.opts.average_every > 0 && wanted == NO_PIECE)
        x->is_averaged = x->is_averaged || exchange_averages_now(x);
    TRY(settle_done(x)); /* what ran while the wait came to its end belongs to it */
    cost_wait_end(&x->cost, exchange_follow_ns(x));
    note_wait(x, wanted);
out:
    return rc;
}

static bool overlap(struct range a, struct segment b)
{
    return a.offset_elems < b.offset_elems + b.n_elems && b.offset_elems < a.offset_elems + a.n_elems;
}

enum rc exchange_await(struct exchange *x, struct segment s)
{
    const struct bucket *b = &x->buckets.bucket[x->buckets.bucket_of[buckets_segment_at(&x->buckets, s.offset_elems)]];
    enum rc rc = RC_OK;

    if (x->n_pending == 0)
        return RC_OK;
    TRY(compute_sync(x->env.compute)); /* compute.C2: what is done by now depends on what time it is */
    TRY(settle_early(x));
    for (size_t k = b->first_piece; k < b->first_piece + b->n_pieces; k++)
        if (x->state[k].pending && overlap(x->buckets.piece[k], s))
            TRY(settle_until(x, k, world_now_ns(x->env.world)));
out:
    return rc;
}

enum rc exchange_await_all(struct exchange *x, uint64_t *now_ns)
{
    enum rc rc = RC_OK;

    if (x->env.forward_only)
        return RC_OK;
    TRY(settle_until(x, NO_PIECE, *now_ns));
    *now_ns = cost_last_wait_ns(&x->cost, true);
out:
    return rc;
}

struct exchange_cost exchange_cost(const struct exchange *x)
{
    return x->cost.sum;
}
