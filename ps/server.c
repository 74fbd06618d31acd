/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.c - the server's loop: receive all requests that have arrived, serve the oldest, reply.
 *
 *   state of a worker   PUSH               FETCH                                    LEAVE     its loss (world.W8)
 *   TRAINING            server_push        worker 0: -> FETCHING; others: refused   -> LEFT   drop_worker: -> LOST
 *   FETCHING            refused            refused                                  refused   rank 0: the run ends
 *   LEFT                refused            refused                                  refused   drop_worker: -> LOST
 *   LOST                dropped            dropped                                  dropped   -
 *
 * GIVE and PULL are as PUSH, the latter by server_pull(). LOOK, of worker 0 in TRAINING, is answered at once and
 * changes no state; in any other it is refused. Refused, and so is
 * whatever is no request in any state, a request in a slot in which another one waits for its answer, or one of another
 * layout: it is counted and answered with REFUSED, and the worker's state stays; after PS_MOST_REFUSED of them:
 * drop_worker: -> LOST (P5 of wire.h; server_refuse.c). Of worker 0 that ends the run. Dropped: counted alone.
 *
 * FETCHING -> LEFT by answer_fetch(), when all other workers have left or are lost. The loss of another server ends
 * this one, and so the run.
 *
 * Before it serves a request, the server receives all that have arrived, and notes the time: how long a request then
 * waits is the queueing time, which its reply reports (queue_ns). A worker has at most PS_CREDITS requests outstanding
 * (P4).
 *
 * A gradient is applied from the buffer of its message, without a copy, at once or with its round: by the rule of the
 * run's consistency (server_push.c), which may keep a worker waiting for its answer. The transport borrows a reply
 * until the next request in the same slot proves that the reply arrived. The body of a reply is the server's own
 * parameter array, unless the push of another worker could change it before it is sent: with several workers over a
 * transport that does not copy what is posted, each worker has a reply buffer, into which the parameters are copied.
 */
#include "ps/server.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/world/world.h"
#include "ps/layout.h"
#include "ps/protocol.h"
#include "ps/server_state.h"

/* Could the next push change a posted reply, so that it needs a copy? See the head of this file. */
static bool copies_replies(const struct sync_env *env, const struct transport *transport)
{
    return env->n_workers > 1 && !(transport->ops->module.caps & TR_COPIES);
}

/* Allocate parameters, the body of STATE and the reply buffers. Worker 0's reply buffer is the memory of STATE, which
 * it gets in place of an answer to a push. */
static enum rc open_params(struct ps_server *s)
{
    const struct sync_env *env = &s->env;
    const size_t n_elems = s->n_elems;
    const int n_copies = copies_replies(env, s->env.transport) ? env->n_workers : 0;
    const int n_others = n_copies > 0 ? n_copies - 1 : 0;
    const int sums =
        (env->consistency.kind == CONSISTENCY_SYNC && env->n_workers > 1) || env->compression.kind != COMPRESSION_NONE;
    const size_t n_state = 1 + (size_t)optimizer_n_moments(&env->optimizer);
    enum rc rc = RC_OK;

    if (!env->compute->ops->touches_memory || n_elems == 0)
        return RC_OK;
    TRY(arena_open_ticking(
        &s->arena, (size_t)(1 + n_others + sums) * arena_floats_bytes(n_elems) + arena_floats_bytes(n_state * n_elems),
        env->compute->env.tick, env->compute->env.arg));
    s->param = arena_floats(&s->arena, n_elems);
    memcpy(s->param, env->slice_param, n_elems * sizeof(float));
    s->state = arena_floats(&s->arena, n_state * n_elems);
    if (sums)
        s->sum = arena_floats(&s->arena, n_elems);
    for (int w = 0; w < n_copies; w++)
        s->client[w].reply_params = w == 0 ? s->state : arena_floats(&s->arena, n_elems);
out:
    return rc;
}

static enum rc open_pieces(struct ps_server *s)
{
    const size_t n_pieces = s->env.buckets->n_pieces;
    enum rc rc = RC_OK;

    s->piece = calloc(n_pieces, sizeof *s->piece);
    if (!s->piece)
        return rc_raise(RC_NOMEM, "parameter server: no memory for %zu pieces", n_pieces);
    for (size_t k = 0; k < n_pieces; k++) {
        s->piece[k] =
            (struct piece_state){ .part = placement_part(s->env.placement, s->env.world->rank - s->env.n_workers,
                                                         s->env.buckets->piece[k]),
                                  .min_transit_ns = UINT64_MAX };
        TRY(clocks_open(&s->piece[k].clocks, &s->env.consistency, s->env.n_workers));
    }
out:
    return rc;
}

enum rc ps_server_open(struct ps_server **out, const struct sync_env *env)
{
    struct ps_server *s = calloc(1, sizeof *s);
    enum rc rc;

    if (!s)
        return rc_raise(RC_NOMEM, "parameter server: no memory");
    s->env = *env;
    s->n_elems = env->placement->n_elems[env->world->rank - env->n_workers];
    s->layout = ps_layout_digest(env, env->world->rank - env->n_workers);
    s->client = calloc((size_t)env->n_workers, sizeof *s->client);
    s->most_arrivals = env->n_workers * PS_CREDITS;
    s->arrival = calloc((size_t)s->most_arrivals, sizeof *s->arrival);
    if (!s->client || !s->arrival)
        FAIL(RC_NOMEM, "parameter server: no memory for %d workers", env->n_workers);
    TRY(open_pieces(s));
    server_open_stop(s);
    TRY(open_params(s));
    s->n_updates_before = env->slice_state.n_updates;
    TRY(optimizer_init(&s->optimizer, env->compute, s->n_elems, &env->optimizer, env->slice_state.moments));
    *out = s;
    s = NULL;
out:
    ps_server_close(&s);
    return rc;
}

void ps_server_close(struct ps_server **sp)
{
    struct ps_server *s = *sp;

    if (!s)
        return;
    optimizer_fini(&s->optimizer);
    arena_close(&s->arena);
    free(s->client);
    free(s->arrival);
    for (size_t k = 0; s->piece && k < s->env.buckets->n_pieces; k++)
        clocks_close(&s->piece[k].clocks);
    free(s->piece);
    free(s);
    *sp = NULL;
}

/* Of the piece that has had the fewest, of those that are here. */
static uint64_t least_updates(const struct ps_server *s)
{
    uint64_t n_least = UINT64_MAX;

    for (size_t k = 0; k < s->env.buckets->n_pieces; k++)
        if (s->piece[k].part.n_elems > 0 && s->piece[k].clock < n_least)
            n_least = s->piece[k].clock;
    return s->n_updates_before + (n_least == UINT64_MAX ? 0 : n_least);
}

/* Reply STATE, as it is now, to worker 0. */
static enum rc post_state(struct ps_server *s)
{
    const size_t n_elems = s->n_elems;
    const struct ps_header h = { .op = PS_STATE,
                                 .n_elems = (uint32_t)n_elems,
                                 .clock = least_updates(s),
                                 .n_moments = (uint32_t)optimizer_n_moments(&s->env.optimizer) };
    enum rc rc;

    TRY(server_end_reply(s, &s->client[0].request[0]));
    if (s->param) {
        memcpy(s->state, s->param, n_elems * sizeof(float));
        TRY(optimizer_moments(&s->optimizer, s->state + n_elems));
    }
    TRY(server_post_reply(s, 0, 0, &h, s->state));
out:
    return rc;
}

/* Worker 0's FETCH; all other workers have left. */
static enum rc answer_fetch(struct ps_server *s)
{
    enum rc rc;

    TRY(post_state(s));
    s->client[0].state = LEFT;
    s->n_left++;
out:
    return rc;
}

/* P4: a new request may come in its slot, and others than of pieces alone. */
static enum rc check_slot(const struct ps_server *s, const struct arrival *a, enum ps_op op)
{
    const int worker = a->message.peer;
    const uint32_t slot = server_slot_of(a);
    const bool is_alone = !ps_is_push(op) && op != PS_PULL;

    if (slot >= PS_CREDITS || (is_alone && slot != 0))
        return rc_raise(RC_MISMATCH, "worker %d sent op %d in slot %u, which it has not", worker, (int)op, slot);
    for (uint32_t i = 0; i < PS_CREDITS; i++)
        if (s->client[worker].request[i].waits && (is_alone || i == slot))
            return rc_raise(RC_MISMATCH, "worker %d sent op %d before its push was answered", worker, (int)op);
    return RC_OK;
}

/* Is request a one that this server takes, in the state that its worker is in? *out: its header. RC_MISMATCH, *why. */
static enum rc check_request(const struct ps_server *s, const struct arrival *a, struct ps_header *out,
                             enum refused *why)
{
    const int worker = a->message.peer;
    enum rc rc;

    TRY(ps_header_decode(out, a->message.head, a->message.n_head_bytes, a->message.n_bytes + a->message.n_hollow_bytes,
                         why));
    *why = REFUSED_OUT_OF_ORDER;
    if (!ps_op_is_request(out->op) || ((out->op == PS_FETCH || out->op == PS_LOOK) && worker != 0))
        FAIL(RC_MISMATCH, "worker %d sent op %d, which is not for this server", worker, (int)out->op);
    if (s->client[worker].state != TRAINING)
        FAIL(RC_MISMATCH, "worker %d sent op %d after FETCH or LEAVE", worker, (int)out->op);
    TRY(check_slot(s, a, out->op));
    *why = REFUSED_MODEL;
    if (out->layout != s->layout)
        FAIL(RC_MISMATCH, "worker %d has another model, or other options: its layout is %016llx, this server's %016llx",
             worker, (unsigned long long)out->layout, (unsigned long long)s->layout);
    if (ps_is_push(out->op))
        TRY(server_check_push(s, a, out, why));
    if (out->op == PS_PULL)
        TRY(server_check_pull(s, a, out, why));
out:
    return rc;
}

/* Handle one request as the state table above says. */
static enum rc serve_request(struct ps_server *s, struct arrival *a)
{
    const int worker = a->message.peer;
    enum refused why = REFUSED_OUT_OF_ORDER;
    struct ps_header h;
    enum rc rc = RC_OK;

    if (worker >= s->env.n_workers) {
        server_count_refused(s, why, "it is of another server");
        return RC_OK;
    }
    if (check_request(s, a, &h, &why) != RC_OK)
        return server_refuse(s, worker, server_slot_of(a), why);
    if (ps_is_push(h.op))
        TRY(server_push(s, a, &h));
    else if (h.op == PS_PULL)
        TRY(server_pull(s, a, &h));
    else if (h.op == PS_FETCH) {
        s->client[0].state = FETCHING;
        server_forget(s, 0);
    } else if (h.op == PS_LOOK)
        TRY(post_state(s));
    else {
        s->client[worker].state = LEFT;
        s->n_left++;
        server_forget(s, worker);
    }
out:
    return rc;
}

/* Worker w is lost: what it has sent and not got an answer to is dropped, and it counts as one that has left. */
static void drop_worker(struct ps_server *s, int w)
{
    struct client *c = &s->client[w];
    int n_kept = 0;

    for (int i = 0; i < PS_CREDITS; i++)
        (void)!server_end_reply(s, &c->request[i]); /* transport.T6: an error, for it alone */
    (void)!server_end_reply(s, &c->refusal);
    for (int i = 0; i < s->n_arrivals; i++) {
        struct arrival *a = &s->arrival[(s->first_arrival + i) % s->most_arrivals];
        if (a->message.peer == w)
            transport_release(s->env.transport, &a->message);
        else
            s->arrival[(s->first_arrival + n_kept++) % s->most_arrivals] = *a;
    }
    s->n_arrivals = n_kept;
    if (c->state != LEFT)
        s->n_left++;
    if (c->state == TRAINING && c->may_push) /* exchange.E11: another may */
        s->n_granted--;
    c->state = LOST;
    server_forget(s, w);
}

/* Take back what was sent by r: nobody may be there to take it. */
static void abandon_reply(struct ps_server *s, struct request *r)
{
    if (r->reply_posted)
        (void)!transport_wait(s->env.transport, &r->reply, DO_NOT_WAIT);
    r->reply_posted = false;
}

enum rc server_drop_worker(struct ps_server *s, int worker)
{
    char line[RC_MESSAGE_BYTES];

    if (worker == 0)
        return rc_raise(RC_MISMATCH,
                        "worker 0 sent what is no message of the run, again and again, and nobody takes its "
                        "place");
    for (int i = 0; i < PS_CREDITS; i++)
        abandon_reply(s, &s->client[worker].request[i]);
    abandon_reply(s, &s->client[worker].refusal);
    drop_worker(s, worker);
    (void)snprintf(line, sizeof line, "server %d drops worker %d, and goes on without it",
                   s->env.world->rank - s->env.n_workers, worker);
    server_tell(s, line);
    return RC_OK;
}

/* Drop the workers that are lost now. RC_PEER: a server is. Cheap where none is. */
static enum rc drop_lost(struct ps_server *s)
{
    const struct world *w = s->env.world;

    if (world_lost_rank(w) < 0)
        return RC_OK;
    for (int r = 0; r < s->env.n_workers; r++)
        if (s->client[r].state != LOST && world_is_lost(w, r))
            drop_worker(s, r);
    for (int r = s->env.n_workers; r < w->n_ranks; r++)
        if (world_is_lost(w, r))
            return world_raise_loss(w, r);
    return RC_OK;
}

/* The next message, or out->peer -1: there is none by now (DO_NOT_WAIT), or a rank was lost (transport.T12). */
static enum rc receive(struct ps_server *s, struct message *out, int timeout_ms)
{
    enum rc rc;

    rc = transport_recv_divided(s->env.transport, out, PS_HEADER_BYTES, timeout_ms);
    if (rc == RC_MISMATCH && out->peer >= 0 && out->peer < s->env.n_workers && s->client[out->peer].state != LOST) {
        server_count_refused(s, REFUSED_OVERSIZED, rc_message()); /* transport.T13: more than the plan has */
        const int worker = out->peer;
        out->peer = -1;
        TRY(world_check(s->env.world));
        rc = server_drop_worker(s, worker);
    }
    TRY(rc);
    if (out->peer < 0)
        TRY(drop_lost(s));
out:
    return rc;
}

/* Will some worker send something more, unless it is lost? */
static bool is_awaiting(const struct ps_server *s)
{
    const int n_fetching = s->client[0].state == FETCHING;

    return s->n_left + n_fetching < s->env.n_workers;
}

/* Receive all requests that have arrived; wait for one only if none is left to serve. */
static enum rc take_arrivals(struct ps_server *s)
{
    enum rc rc = RC_OK;

    while (s->n_arrivals < s->most_arrivals) {
        struct arrival a = { .message = { .peer = -1 } };
        TRY(receive(s, &a.message, DO_NOT_WAIT));
        if (a.message.peer < 0 && s->has_new_left) /* others may wait for it alone */
            break;
        a.was_awaited = a.message.peer < 0 && s->n_arrivals == 0 && is_awaiting(s);
        const uint64_t idle_ns = s->env.ring ? world_now_ns(s->env.world) : 0;
        if (a.was_awaited)
            TRY(receive(s, &a.message, s->silence_ms));
        if (a.message.peer < 0)
            break;
        a.seen_ns = world_now_ns(s->env.world);
        if (a.was_awaited)
            server_note_span(s, "wait", idle_ns > 0 ? idle_ns : a.seen_ns, a.seen_ns, -1, 0);
        s->arrival[(s->first_arrival + s->n_arrivals++) % s->most_arrivals] = a;
    }
out:
    return rc;
}

enum rc server_forgive_lost(struct ps_server *s, int worker)
{
    char message[RC_MESSAGE_BYTES];
    enum rc rc;

    (void)snprintf(message, sizeof message, "%s", rc_message());
    TRY(world_check(s->env.world)); /* the run has failed */
    TRY(drop_lost(s));
    if (s->client[worker].state != LOST)
        FAIL(RC_PEER, "%s", message);
out:
    return rc;
}

static enum rc end_all_replies(struct ps_server *s)
{
    enum rc rc = RC_OK;

    for (int i = 0; i < s->env.n_workers * (PS_CREDITS + 1); i++) {
        const int w = i / (PS_CREDITS + 1), slot = i % (PS_CREDITS + 1);
        struct client *c = &s->client[w];
        const enum rc ended = server_end_reply(s, slot < PS_CREDITS ? &c->request[slot] : &c->refusal);
        TRY(ended == RC_PEER ? server_forgive_lost(s, w) : ended);
    }
out:
    return rc;
}

/* Serve the oldest request. A worker that was lost meanwhile is dropped: what it then fails with is not the server's.
 */
static enum rc serve_next(struct ps_server *s)
{
    struct arrival a = s->arrival[s->first_arrival];
    const int worker = a.message.peer;

    s->first_arrival = (s->first_arrival + 1) % s->most_arrivals;
    s->n_arrivals--;
    const enum rc served = serve_request(s, &a);
    transport_release(s->env.transport, &a.message); /* where it was not kept */
    return served == RC_PEER ? server_forgive_lost(s, worker) : served;
}

int ps_server_silence_ms(int timeout_ms, uint64_t step_ns)
{
    const uint64_t most_ms = INT_MAX, steps_ms = step_ns / 1000000 * PS_SILENT_STEPS;

    if (timeout_ms == WAIT_FOREVER || steps_ms <= (uint64_t)timeout_ms)
        return timeout_ms;
    return (int)(steps_ms < most_ms ? steps_ms : most_ms);
}

enum rc ps_server_run(struct ps_server *s, uint64_t step_ns)
{
    enum rc rc = RC_OK;

    s->silence_ms = ps_server_silence_ms(s->env.timeout_ms, step_ns);

    while (s->n_left < s->env.n_workers) {
        TRY(server_settle_all(s));
        TRY(take_arrivals(s));
        if (s->n_arrivals > 0)
            TRY(serve_next(s));
        if (s->client[0].state == FETCHING && s->n_left == s->env.n_workers - 1)
            TRY(answer_fetch(s));
    }
    TRY(end_all_replies(s));
out:
    for (; s->n_arrivals > 0; s->n_arrivals--) { /* after an error: requests received and not served */
        transport_release(s->env.transport, &s->arrival[s->first_arrival].message);
        s->first_arrival = (s->first_arrival + 1) % s->most_arrivals;
    }
    for (int w = 0; rc != RC_OK && w < s->env.n_workers; w++)
        server_forget(s, w); /* likewise: gradients that are kept */
    return rc;
}

void ps_server_facts(const struct ps_server *s, struct server_facts *out)
{
    *out = s->facts;
    out->refused_count[REFUSED_STRANGER] += transport_n_strangers(s->env.transport);
}
