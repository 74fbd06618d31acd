/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange_flight.c - pieces between ranks: one after the other, or as many at once as the mode lets (sync_mode.post).
 *
 * They end in the order in which they began. So what is under way is a queue of its own, in which the oldest is waited
 * for, and no piece is put off by later ones.
 */
#include <assert.h>
#include <stdlib.h>

#include "harness/exchange/exchange_state.h"
#include "harness/exchange/topk.h"
#include "harness/net/message_log.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

/* The elements of the piece; NULL: hollow. */
static float *piece_in(float *floats, struct range piece)
{
    return floats ? floats + piece.offset_elems : NULL;
}

enum rc exchange_open_flight(struct exchange *x)
{
    const struct sync_mode *mode = x->env.mode;
    const int most = x->exchanges && mode->post ? mode->most_in_flight : 1, wanted = x->env.opts.n_in_flight;
    struct flight *f = &x->flight;

    f->most_pieces = (size_t)(wanted < 1 ? 1 : wanted < most ? wanted : most);
    f->piece = calloc(f->most_pieces, sizeof *f->piece);
    return f->piece ? RC_OK : rc_raise(RC_NOMEM, "no memory for %zu pieces under way", f->most_pieces);
}

/* --- into the timeline --- */

void exchange_note_span(const struct exchange *x, struct span_ring *ring, size_t k, struct span s)
{
    if (!ring)
        return;
    s.segment = (int32_t)buckets_of_piece(&x->buckets, k);
    s.piece = (int32_t)k;
    s.n_bytes = x->buckets.piece[k].n_elems * sizeof(float);
    s.step = x->state[k].step;
    span_ring_add(ring, &s);
}

struct span_ring *exchange_exchanging_ring(const struct exchange *x)
{
    return x->ring[x->overlaps ? EXCHANGE_COMMUNICATOR : EXCHANGE_MAIN];
}

/* In the queue a piece is shown while it is the next: since the one before it was taken, or since it was submitted, so
 * that the spans of the queue do not overlap. When it was submitted is a fact of its span. */
void exchange_note_queued(struct exchange *x, size_t k)
{
    const struct piece_times *t = &x->state[k].times;
    const uint64_t next_ns = t->submitted_ns > x->last_start_ns ? t->submitted_ns : x->last_start_ns;

    exchange_note_span(
        x, x->ring[EXCHANGE_QUEUE], k,
        (struct span){ .start_ns = next_ns, .end_ns = t->start_ns, .what = "queue", .submitted_ns = t->submitted_ns });
    x->last_start_ns = t->start_ns;
}

/* Of several that are under way the oldest is shown (X2). When its messages were posted is a fact of its span. */
void exchange_note_exchanged(const struct exchange *x, size_t k)
{
    const struct piece_times *t = &x->state[k].times;

    exchange_note_span(x, x->ring[EXCHANGE_QUEUE] ? exchange_exchanging_ring(x) : NULL, k,
                       (struct span){ .start_ns = t->oldest_ns,
                                      .end_ns = t->exchanged_ns,
                                      .what = x->env.mode->exchange_name,
                                      .submitted_ns = t->oldest_ns > t->start_ns ? t->start_ns : 0 });
}

/* --- a piece --- */

enum rc exchange_compress_piece(struct exchange *x, struct range piece)
{
    const struct compression *c = &x->env.opts.compression;
    enum rc rc;

    TRY(compression_apply(c, x->side ? x->side : x->env.compute, piece_in(exchange_pushed(x), piece),
                          piece_in(x->residual, piece), piece.n_elems));
    if (c->kind == COMPRESSION_TOPK)
        world_charge(x->env.world, 0, (double)TOPK_BYTES * (double)piece.n_elems);
out:
    return rc;
}

enum rc exchange_move_piece(struct exchange *x, const struct piece_work *work)
{
    const struct sync_mode *mode = x->sync->ops;
    enum rc rc;

    if (!mode->post)
        return mode->exchange_part(x->sync, work, &x->state[work->k].times.at_server);
    TRY(mode->post(x->sync, work));
    x->state[work->k].is_posted = true;
out:
    return rc;
}

static enum rc begin_crossing(struct exchange *x, size_t k)
{
    const struct range piece = x->buckets.piece[k];
    struct piece_state *state = &x->state[k];
    enum rc rc;

    exchange_weigh(x, piece_in(x->host_grad, piece), piece.n_elems, 1.0f);
    if (exchange_has_periods(x))
        return exchange_begin_periodic(x, k);
    TRY(exchange_compress_piece(x, piece));
    if (x->sync->ops->post) {
        const struct piece_work work = exchange_work_of(x, k, state->parts);
        TRY(exchange_move_piece(x, &work));
    } else
        TRY(x->sync->ops->exchange(x->sync, k, state->lr, x->host_param, x->host_grad, &state->times.at_server));
out:
    return rc;
}

static enum rc end_crossing(struct exchange *x, size_t k)
{
    struct piece_state *state = &x->state[k];
    const bool is_posted = state->is_posted;
    enum rc rc = RC_OK;

    state->is_posted = false;
    if (is_posted)
        TRY(x->sync->ops->end(x->sync, x->host_param, &state->times.at_server));
    if (exchange_has_periods(x))
        TRY(exchange_end_periodic(x, k));
out:
    return rc;
}

/* --- the pieces under way --- */

static bool crosses(const struct exchange *x, size_t k)
{
    return x->sync && !x->state[k].is_left_out;
}

static bool is_idle(const struct exchange *x)
{
    return x->flight.n_begun == x->flight.n_ended;
}

/* Messages that are sent from here on are of piece k. Returns the bytes that were sent before. */
static uint64_t begin_messages(struct exchange *x, size_t k)
{
    if (x->log)
        x->log->step = x->state[k].step;
    return exchange_moved_bytes(x);
}

static void end_messages(struct exchange *x, uint64_t sent_bytes)
{
    x->sent_bytes += exchange_moved_bytes(x) - sent_bytes;
}

enum rc exchange_begin_piece(void *arg, size_t k)
{
    struct exchange *x = arg;
    struct flight *f = &x->flight;
    struct piece_times *t = &x->state[k].times;
    enum rc rc = RC_OK;

    assert(f->n_begun - f->n_ended < f->most_pieces);
    t->at_server = (struct piece_cost){ 0 };
    t->start_ns = is_idle(x) ? exchange_follow_ns(x) : world_now_ns(x->env.world);
    f->piece[f->n_begun++ % f->most_pieces] = k;
    exchange_note_queued(x, k);
    const uint64_t sent_bytes = begin_messages(x, k);
    if (crosses(x, k))
        TRY(begin_crossing(x, k));
    end_messages(x, sent_bytes);
out:
    return rc;
}

enum rc exchange_end_piece(struct exchange *x, size_t *out)
{
    struct flight *f = &x->flight;
    const size_t k = f->piece[f->n_ended % f->most_pieces];
    struct piece_times *t = &x->state[k].times;
    enum rc rc = RC_OK;

    assert(!is_idle(x));
    const uint64_t sent_bytes = begin_messages(x, k);
    if (crosses(x, k))
        TRY(end_crossing(x, k));
    end_messages(x, sent_bytes);
    f->n_ended++;
    t->exchanged_ns = crosses(x, k) ? world_now_ns(x->env.world) : t->start_ns;
    t->oldest_ns = t->start_ns > f->last_ns ? t->start_ns : f->last_ns;
    f->last_ns = t->exchanged_ns;
    exchange_note_exchanged(x, k);
    *out = k;
out:
    return rc;
}
