/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_push.c - what a server does with a push, by the rule of the run's consistency (clocks.h).
 *
 *   its gradient   what is done                                        its answer
 *   counts         applied at once, from the buffer of its message     PARAMS, once the worker may read
 *                  (compressed: unpacked before), at the rate of
 *                  lr_staleness.h
 *   is kept        its message is, until the round is full: then all   PARAMS, behind the round
 *                  kept ones are summed in the order of workers, and
 *                  their mean is applied
 *   is late, or    dropped, and counted                                LATE, at once: the newest parameters
 *   repeated (leases.B4)
 *
 * Behind a GIVE the answer is TAKEN, and has no parameters. A PULL is answered as if it were a push that has counted.
 *
 * The order of the sum is that of workers, not of arrival: with sync:0 a run has the same bits whatever its timing.
 */
#include <stdio.h>
#include <string.h>

#include "harness/world/span.h"
#include "harness/world/world.h"
#include "ps/protocol.h"
#include "ps/server_state.h"

enum rc server_post(struct ps_server *s, struct posted *p)
{
    const enum rc rc = transport_send(s->env.transport, &p->xfer);

    p->is_posted = rc == RC_OK;
    return rc;
}

enum rc server_end_posted(struct ps_server *s, struct posted *p, int timeout_ms)
{
    if (!p->is_posted)
        return RC_OK;
    p->is_posted = false;
    return transport_wait(s->env.transport, &p->xfer, timeout_ms); /* over, either way: transport.T3 */
}

enum rc server_end_reply(struct ps_server *s, struct request *r)
{
    const enum rc rc = server_end_posted(s, &r->reply, s->env.timeout_ms);

    server_release_version(r);
    return rc;
}

enum rc server_begin_request(struct ps_server *s, int worker, int slot)
{
    struct request *r = &s->client[worker].request[slot];

    r->is_silent = !server_is_holder(s);
    return world_forgive_loss(s->env.world, sync_rank_of(&s->env, worker), server_end_reply(s, r));
}

/* Of piece k: end what the worker has had in the slot, and (server_version.c, V2) what it has had of the piece. */
static enum rc begin_of_piece(struct ps_server *s, int worker, int slot, size_t k)
{
    const int rank = sync_rank_of(&s->env, worker);
    enum rc rc;

    TRY(server_begin_request(s, worker, slot));
    for (int i = 0; i < PS_CREDITS; i++) {
        struct request *r = &s->client[worker].request[i];
        if (r->n_readers && r->answer.piece == k)
            TRY(world_forgive_loss(s->env.world, rank, server_end_reply(s, r)));
    }
out:
    return rc;
}

/* Added to the tags of its slice here. */
static uint32_t tag_place(const struct ps_server *s)
{
    const int own = s->env.world->rank - s->env.n_workers, n = s->env.n_servers;

    return PS_TAG_PLACE * (uint32_t)((own - s->slice + n) % n);
}

static enum rc post(struct ps_server *s, struct posted *p, int worker, int slot, const struct ps_header *h, float *body)
{
    const size_t n_body_bytes = (size_t)h->n_elems * sizeof(float) * (1 + h->n_moments);

    ps_header_encode(p->header, h);
    p->xfer = (struct xfer){ .peer = sync_rank_of(&s->env, worker),
                             .tag = PS_TAG_REPLY + tag_place(s) + (uint32_t)slot,
                             .head = p->header,
                             .n_head_bytes = PS_HEADER_BYTES,
                             .ptr = body,
                             .lends = h->op != PS_STATE,
                             .n_bytes = server_is_hollow(s) ? 0 : n_body_bytes,
                             .n_hollow_bytes = server_is_hollow(s) ? n_body_bytes : 0 };
    return server_post(s, p);
}

enum rc server_post_reply(struct ps_server *s, int worker, int slot, const struct ps_header *h, float *body)
{
    return post(s, &s->client[worker].request[slot].reply, worker, slot, h, body);
}

enum rc server_post_refusal(struct ps_server *s, int worker, int slot, const struct ps_header *h)
{
    return post(s, &s->client[worker].refusal, worker, slot, h, NULL);
}

void server_note_span(const struct ps_server *s, const char *what, uint64_t start_ns, uint64_t end_ns, int32_t k,
                      size_t n_elems)
{
    if (!s->env.ring)
        return;
    const struct span span = { .start_ns = start_ns,
                               .end_ns = end_ns,
                               .what = what,
                               .segment = k < 0 ? -1 : (int32_t)buckets_of_piece(s->env.buckets, (size_t)k),
                               .piece = k,
                               .n_bytes = n_elems * sizeof(float),
                               .step = s->rank->served_step };

    span_ring_add(s->env.ring, &span);
}

void server_note_update(const struct ps_server *s, uint64_t start_ns, uint64_t end_ns, size_t k)
{
    if (s->env.ring)
        server_note_span(s, server_is_holder(s) ? "apply" : "follow", start_ns, end_ns, (int32_t)k,
                         s->piece[k].part.n_elems);
}

/* When push a of piece p arrived: by the transport if it knows; seen_ns if the server was idle; else, as a busy server
 * sees a push late, sent_ns plus the shortest transit time seen so far, at most seen_ns. */
static uint64_t arrival_ns(struct piece_state *p, const struct arrival *a, const struct ps_header *h)
{
    if (a->message.arrived_ns > 0)
        return a->message.arrived_ns;
    const uint64_t transit_ns = a->seen_ns > h->sent_ns ? a->seen_ns - h->sent_ns : 0;
    if (transit_ns < p->min_transit_ns)
        p->min_transit_ns = transit_ns;
    if (a->was_awaited)
        return a->seen_ns;
    return h->sent_ns + p->min_transit_ns < a->seen_ns ? h->sent_ns + p->min_transit_ns : a->seen_ns;
}

/* --- one gradient --- */

static struct request *request_of(struct ps_server *s, const struct arrival *a)
{
    return &s->client[a->worker].request[a->slot];
}

/* The gradient of the push counts: its update, at once. */
static enum rc apply_push(struct ps_server *s, const struct arrival *a, const struct ps_header *h, uint64_t served_ns)
{
    const struct piece_state *p = &s->piece[h->piece];
    const struct push_body body = ps_push_body(h);
    struct ps_header *answer = &request_of(s, a)->answer;
    enum rc rc;

    answer->staleness = p->clock > h->clock ? p->clock - h->clock : 0; /* P2 */
    s->facts.pushes_count[staleness_bin(answer->staleness)]++;
    TRY(server_apply(s, h->piece, server_unpacked(s, &body, a->message.ptr), 1,
                     lr_of_stale(s->env.lr_staleness, h->lr, answer->staleness)));
    answer->apply_ns = world_now_ns(s->env.world) - served_ns;
    server_note_update(s, served_ns, served_ns + answer->apply_ns, h->piece);
out:
    return rc;
}

/* --- answers --- */

enum rc server_answer(struct ps_server *s, int w, int slot)
{
    struct request *r = &s->client[w].request[slot];
    const struct piece_state *p = &s->piece[r->answer.piece];
    const bool has_waited = request_waits(r),
               is_timed = has_waited || s->env.ring; /* else the clock need not be read */
    const uint64_t start_ns = is_timed ? world_now_ns(s->env.world) : 0;
    const uint32_t lead = p->clocks.clock[w] - p->clocks.slowest;
    enum rc rc;

    if (has_waited)
        r->answer.held_ns += start_ns - r->waits_since_ns;
    r->state = REQUEST_ANSWERED;
    r->answer.clock = p->clock;
    r->answer.step = p->clocks.slowest;
    s->facts.lead_max_count = lead > s->facts.lead_max_count ? lead : s->facts.lead_max_count;
    if (r->is_silent)
        return RC_OK;
    /* Simulated cost of handing it over, a copy made by the transport, or of what it is lent by the system: each float
     * is read and written. */
    world_charge(s->env.world, 0, 2.0 * (double)(r->answer.n_elems * sizeof(float)));
    TRY(server_post_reply(s, w, slot, &r->answer, server_param(s, r->answer.piece)));
    if (r->answer.n_elems > 0)
        server_hold_version(s, r);
    if (s->env.ring)
        server_note_span(s, "reply", start_ns, world_now_ns(s->env.world), (int32_t)r->answer.piece, r->answer.n_elems);
out:
    return rc;
}

/* Piece k has changed: end its round if it is full, and answer all who may read. */
static enum rc settle(struct ps_server *s, size_t k)
{
    const struct clocks *clocks = &s->piece[k].clocks;
    enum rc rc = RC_OK;

    if (clocks_round_is_full(clocks))
        TRY(server_end_round(s, k));
    for (int i = 0; i < s->arrivals.most; i++) {
        const int w = i / PS_CREDITS, slot = i % PS_CREDITS;
        const struct request *r = &s->client[w].request[slot];
        if (!request_waits(r) || r->answer.piece != k || !clocks_may_read(clocks, w))
            continue;
        const enum rc answered = server_answer(s, w, slot);
        TRY(answered == RC_PEER ? server_forgive_lost(s, w) : answered);
    }
out:
    return rc;
}

enum rc server_settle_all(struct ps_server *s)
{
    enum rc rc = RC_OK;

    while (s->has_new_left) { /* an answer may find one more that is lost */
        s->has_new_left = false;
        for (size_t k = 0; k < s->env.buckets->n_pieces; k++)
            TRY(settle(s, k));
    }
out:
    return rc;
}

void server_forget(struct ps_server *s, int w, bool is_loss)
{
    for (size_t k = 0; k < s->env.buckets->n_pieces; k++)
        clocks_leave(&s->piece[k].clocks, w, server_kept_of(s, w, k) != NULL);
    for (int i = 0; i < PS_CREDITS; i++) {
        server_release_kept(s, w, &s->client[w].request[i]);
        s->client[w].request[i].state = REQUEST_ANSWERED;
    }
    s->ops->left(s, w, is_loss);
    s->has_new_left = s->env.consistency.kind != CONSISTENCY_ASYNC; /* else nobody waits */
}

/* --- a push --- */

/* P6 */
static bool is_finite(struct ps_server *s, const struct arrival *a, const struct ps_header *h)
{
    const struct push_body body = ps_push_body(h);
    char text[RC_MESSAGE_BYTES];

    if (push_body_is_finite(&body, server_is_hollow(s) ? NULL : a->message.ptr))
        return true;
    (void)snprintf(text, sizeof text, "worker %d pushed a gradient of piece %u that is not finite, in its step %u",
                   a->worker, h->piece, h->step);
    server_count_refused(s, REFUSED_NOT_FINITE, text);
    return false;
}

/* By the rule of the run; what is kept is taken from *a. */
static enum rc count_push(struct ps_server *s, struct arrival *a, const struct ps_header *h, uint64_t served_ns)
{
    struct request *r = request_of(s, a);
    const bool counts = s->ops->applied(s, a->worker, h, &r->answer), is_refused = counts && !is_finite(s, a, h);
    enum rc rc = RC_OK;

    if (is_refused) {
        r->answer.op = PS_REFUSED;
        r->answer.why = REFUSED_NOT_FINITE;
    }
    switch (clocks_push(&s->piece[h->piece].clocks, a->worker)) {
    case PUSH_COUNTS:
        if (!counts)
            r->answer.op = PS_LATE;
        else if (!is_refused)
            TRY(apply_push(s, a, h, served_ns));
        break;
    case PUSH_IS_KEPT:
        r->kept = a->message;
        r->body = ps_push_body(h);
        r->state = REQUEST_KEPT;
        r->lr = h->lr;
        a->message = (struct message){ .peer = -1 };
        break;
    case PUSH_IS_LATE:
        if (!is_refused)
            r->answer.op = PS_LATE;
        s->facts.late_count += !is_refused;
        break;
    }
out:
    return rc;
}

/* Answer it as soon as its worker may read. */
static enum rc settle_request(struct ps_server *s, int w, int slot)
{
    struct request *r = &s->client[w].request[slot];

    if (s->env.consistency.kind == CONSISTENCY_ASYNC)
        return server_answer(s, w, slot);
    if (!request_waits(r))
        r->state = REQUEST_WAITS;
    r->waits_since_ns = world_now_ns(s->env.world);
    return settle(s, r->answer.piece);
}

/* --- where the training ends (exchange.E11) --- */

void server_open_stop(struct ps_server *s)
{
    struct stop_rule *stop = &s->stop;
    const bool is_first = s->slice == 0;

    stop->counted_piece = s->env.buckets->n_pieces;
    for (size_t k = stop->counted_piece; k-- > 0 && is_first && s->env.stop_at > 0;)
        if (s->piece[k].part.n_elems > 0)
            stop->counted_piece = k;
    stop->n_granted = (uint64_t)s->env.n_workers;
    for (int w = 0; w < sync_most_workers(&s->env); w++)
        s->client[w].may_push = true;
}

/* With the push of piece k that c has just pushed: may it push another one? */
static bool grant(struct ps_server *s, struct client *c, size_t k)
{
    if (k != s->stop.counted_piece)
        return true;
    c->may_push = s->stop.n_granted < s->env.stop_at;
    s->stop.n_granted += c->may_push;
    return c->may_push;
}

/* What is answered to push h, if it is taken: all but figures. */
static struct ps_header answer_to(const struct ps_header *h)
{
    if (h->op == PS_GIVE)
        return (struct ps_header){ .op = PS_TAKEN, .piece = h->piece };
    return (struct ps_header){ .op = PS_PARAMS, .n_elems = h->n_elems, .piece = h->piece };
}

enum rc server_push(struct ps_server *s, struct arrival *a, const struct ps_header *h)
{
    const int worker = a->worker, slot = (int)a->slot; /* what is kept takes the message from *a */
    struct request *r = request_of(s, a);
    enum rc rc;

    const uint64_t served_ns = world_now_ns(s->env.world);
    s->rank->served_step = h->step;
    TRY(begin_of_piece(s, worker, slot, h->piece));
    r->answer = answer_to(h);
    r->answer.is_last = !grant(s, &s->client[worker], h->piece);
    r->answer.queue_ns = served_ns - arrival_ns(&s->piece[h->piece], a, h);
    TRY(count_push(s, a, h, served_ns));
    TRY(settle_request(s, worker, slot));
out:
    return rc;
}

enum rc server_pull(struct ps_server *s, struct arrival *a, const struct ps_header *h)
{
    const int worker = a->worker;
    struct request *r = request_of(s, a);
    enum rc rc;

    TRY(begin_of_piece(s, worker, (int)a->slot, h->piece));
    r->is_silent = false;
    r->answer = (struct ps_header){ .op = PS_PARAMS,
                                    .n_elems = (uint32_t)s->piece[h->piece].part.n_elems,
                                    .piece = h->piece,
                                    .queue_ns = world_now_ns(s->env.world) - a->seen_ns };
    TRY(settle_request(s, worker, (int)a->slot));
out:
    return rc;
}
