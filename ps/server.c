/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.c - what a server does with a request of a worker, by its state; where requests come from: server_loop.c.
 *
 *   state of a worker   PUSH               FETCH                                    LEAVE      its loss (world.W8)
 *   TRAINING            server_push        worker 0: -> FETCHING; others: refused   -> LEFT    drop_now: -> LOST
 *   FETCHING            refused            refused                                  refused    rank 0: the run ends
 *   LEFT                refused            refused                                  refused    drop_now: -> LOST
 *   LOST                dropped            dropped                                  dropped    -
 *   ABSENT              refused            refused                                  refused    drop_now: -> LOST
 *
 * ABSENT is a guest (leases.B8) until its JOIN, by server_join(): -> TRAINING. In any other state that is refused.
 * GIVE and PULL are as PUSH, the latter by server_pull(), and so is NEXT, by server_next() of the server that hands out
 * batches (leases.h). LOOK, of worker 0 in TRAINING, is answered at once and
 * changes no state; in any other it is refused. Refused, and so is
 * whatever is no request in any state, a request in a slot in which another one waits for its answer, or one of another
 * layout: it is counted and answered with REFUSED, and the worker's state stays; after PS_MOST_REFUSED of them:
 * server_drop_worker(): -> LOST (P5 of wire.h; server_refuse.c). Of worker 0 that ends the run. Dropped: counted alone.
 *
 * FETCHING -> LEFT by server_answer_fetch(), when all other workers have left or are lost. With replicas every change
 * is made behind the one of the replica (replica.h): what is forwarded and not made yet is "ending" or "pending", and a
 * worker with such a LEAVE or FETCH is as one that has left; an heir takes a FETCH again, and a push of the step
 * before; and worker 0, LEFT, sends LEAVE, with which the server ends. A LEAVE is of all slices that the server holds,
 * but of a run that hands out batches, in which another worker's is of one. An heir takes NEXT, JOIN and LEAVE again,
 * too (server_lease_is_again()).
 *
 * A gradient is applied from the buffer of its message, without a copy, at once or with its round: by the rule of the
 * run's consistency (server_push.c), which may keep a worker waiting for its answer. The transport borrows a reply
 * until the next request in the same slot, or of the same piece, proves that the reply arrived. The body of a reply is
 * where the parameters are, which the push of another worker does not change before that: server_version.c.
 */
#include "ps/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/world/world.h"
#include "ps/layout.h"
#include "ps/protocol.h"
#include "ps/recovery/attach.h"
#include "ps/server_state.h"

/* Allocate parameters and the body of STATE. */
static enum rc open_params(struct ps_server *s)
{
    const struct sync_env *env = &s->env;
    const size_t n_elems = s->n_elems;
    const int sums =
        (env->consistency.kind == CONSISTENCY_SYNC && env->n_workers > 1) || env->compression.kind != COMPRESSION_NONE;
    const size_t n_state = 1 + (size_t)optimizer_n_moments(&env->optimizer);
    enum rc rc = RC_OK;

    if (!env->compute->ops->touches_memory || n_elems == 0)
        return RC_OK;
    TRY(arena_open_ticking(&s->arena,
                           (size_t)(1 + sums) * arena_floats_bytes(n_elems) + arena_floats_bytes(n_state * n_elems),
                           env->compute->env.tick, env->compute->env.arg));
    s->param = arena_floats(&s->arena, n_elems);
    if (env->slice_param)
        memcpy(s->param, env->slice_param, n_elems * sizeof(float));
    s->state = arena_floats(&s->arena, n_state * n_elems);
    if (sums)
        s->sum = arena_floats(&s->arena, n_elems);
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
            (struct piece_state){ .part = placement_part(s->env.placement, s->slice, s->env.buckets->piece[k]),
                                  .min_transit_ns = UINT64_MAX };
        TRY(clocks_open(&s->piece[k].clocks, &s->env.consistency, sync_most_workers(&s->env)));
        for (int w = s->env.n_workers; w < sync_most_workers(&s->env); w++)
            clocks_keep_out(&s->piece[k].clocks, w);
    }
out:
    return rc;
}

/* Into the list of those that are here. */
static enum rc list_slice(struct ps_server *s, struct ps_server *rank)
{
    s->rank = rank ? rank : s;
    s->role = rank ? SLICE_FOLLOWED : SLICE_OWN;
    if (!rank)
        s->here = calloc((size_t)s->env.n_servers, sizeof *s->here);
    if (!s->rank->here)
        return rc_raise(RC_NOMEM, "parameter server: no memory for %d servers", s->env.n_servers);
    s->rank->here[s->rank->n_here++] = s;
    return RC_OK;
}

enum rc server_open_slice(struct ps_server **out, const struct sync_env *env, int slice, struct ps_server *rank)
{
    struct ps_server *s = calloc(1, sizeof *s);
    enum rc rc;

    if (!s)
        return rc_raise(RC_NOMEM, "parameter server: no memory");
    s->ops = &no_recovery;
    s->env = *env;
    s->slice = slice;
    s->n_elems = env->placement->n_elems[slice];
    s->layout = ps_layout_digest(env, slice);
    const int most_workers = sync_most_workers(env);
    s->client = calloc((size_t)most_workers, sizeof *s->client);
    s->arrivals.most = most_workers * PS_CREDITS;
    s->n_seen = env->n_workers;
    s->arrivals.at = calloc((size_t)s->arrivals.most, sizeof *s->arrivals.at);
    if (!s->client || !s->arrivals.at)
        FAIL(RC_NOMEM, "parameter server: no memory for %d workers", most_workers);
    for (int w = 0; w < most_workers; w++)
        s->client[w].state = w < env->n_workers ? TRAINING : ABSENT;
    TRY(open_pieces(s));
    server_open_stop(s);
    TRY(open_params(s));
    s->n_updates_before = env->slice_state.n_updates;
    TRY(optimizer_init(&s->optimizer, env->compute, s->n_elems, &env->optimizer, env->slice_state.moments));
    TRY(list_slice(s, rank));
    *out = s;
    s = NULL;
out:
    ps_server_close(&s);
    return rc;
}

enum rc ps_server_open(struct ps_server **out, const struct sync_env *env)
{
    struct ps_server *s = NULL;
    enum rc rc;

    TRY(server_open_slice(&s, env, env->world->rank - env->n_workers, NULL));
    TRY(server_open_versions(s));
    TRY(recovery_attach(s));
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
    for (int i = 1; i < s->n_here; i++)
        ps_server_close(&s->here[i]);
    free(s->here);
    s->ops->close(s);
    optimizer_fini(&s->optimizer);
    arena_close(&s->arena);
    server_close_versions(s);
    free(s->client);
    free(s->arrivals.at);
    for (size_t k = 0; s->piece && k < s->env.buckets->n_pieces; k++)
        clocks_close(&s->piece[k].clocks);
    free(s->piece);
    free(s);
    *sp = NULL;
}

enum rc server_check_slot(const struct ps_server *s, const struct arrival *a, enum ps_op op)
{
    const int worker = a->worker;
    const uint32_t slot = a->slot;
    const bool is_alone = !ps_is_push(op) && op != PS_PULL;

    if (slot >= PS_CREDITS || (is_alone && slot != 0))
        return rc_raise(RC_MISMATCH, "worker %d sent op %d in slot %u, which it has not", worker, (int)op, slot);
    for (uint32_t i = 0; i < PS_CREDITS; i++)
        if (request_waits(&s->client[worker].request[i]) && (is_alone || i == slot))
            return rc_raise(RC_MISMATCH, "worker %d sent op %d before its push was answered", worker, (int)op);
    return RC_OK;
}

enum rc server_check_layout(const struct ps_server *s, const struct arrival *a, const struct ps_header *h)
{
    if (h->layout == s->layout)
        return RC_OK;
    return rc_raise(RC_MISMATCH,
                    "worker %d has another model, or other options: its layout is %016llx, this server's %016llx",
                    a->worker, (unsigned long long)h->layout, (unsigned long long)s->layout);
}

/* Is the request with the header h one that this server takes, in the state that its worker is in? RC_MISMATCH, *why.
 */
static enum rc check_request(const struct ps_server *s, const struct arrival *a, const struct ps_header *h,
                             enum refused *why)
{
    const int worker = a->worker;
    const bool is_of_first = h->op == PS_FETCH || h->op == PS_LOOK;
    enum rc rc = RC_OK;

    *why = REFUSED_OUT_OF_ORDER;
    if (!ps_op_is_request(h->op) || h->op == PS_JOIN || (is_of_first && worker != 0))
        FAIL(RC_MISMATCH, "worker %d sent op %d, which is not for this server", worker, (int)h->op);
    if (s->client[worker].state != TRAINING)
        FAIL(RC_MISMATCH, "worker %d sent op %d after FETCH or LEAVE", worker, (int)h->op);
    TRY(server_check_slot(s, a, h->op));
    *why = REFUSED_MODEL;
    TRY(server_check_layout(s, a, h));
    if (ps_is_push(h->op))
        TRY(server_check_push(s, a, h, why));
    else if (h->op == PS_PULL)
        TRY(server_check_pull(s, a, h, why));
    else
        TRY(s->ops->check(s, a, h, why));
out:
    return rc;
}

void server_leave(struct ps_server *s, int worker)
{
    if (s->client[worker].state != TRAINING)
        return;
    s->client[worker].state = LEFT;
    s->n_left++;
    server_forget(s, worker, false);
}

enum rc server_serve(struct ps_server *s, struct arrival *a, const struct ps_header *h)
{
    if (ps_is_push(h->op))
        return server_push(s, a, h);
    if (h->op == PS_PULL)
        return server_pull(s, a, h);
    if (h->op == PS_LOOK)
        return server_post_state(s);
    if (h->op == PS_LEAVE) {
        server_leave(s, a->worker);
        return RC_OK;
    }
    s->client[0].state = FETCHING;
    s->client[0].request[0].is_silent = !server_is_holder(s);
    server_forget(s, 0, false);
    return RC_OK;
}

/* Handle one request as the state table above says. */
static enum rc serve_request(struct ps_server *s, struct arrival *a)
{
    const struct message *m = &a->message;
    bool is_taken = false;
    enum refused why;
    struct ps_header h;
    enum rc rc;

    if (ps_header_decode(&h, m->head, m->n_head_bytes, m->n_bytes + m->n_hollow_bytes, &why) != RC_OK)
        return server_refuse(s, a->worker, a->slot, why);
    if (ps_is_push(h.op) && s->env.on_push)
        s->env.on_push(s->env.on_push_arg, h.step);
    rc = s->ops->arrived(s, a, &h, &is_taken);
    if (is_taken)
        return rc;
    if (check_request(s, a, &h, &why) != RC_OK)
        return server_refuse(s, a->worker, a->slot, why);
    return s->ops->serve(s, a, &h);
}

void server_forget_arrivals(struct ps_server *s, int worker)
{
    for (int n = s->arrivals.n; n > 0; n--) {
        struct arrival a = arrivals_take(&s->arrivals);
        if (a.worker == worker)
            transport_release(s->env.transport, &a.message);
        else
            arrivals_add(&s->arrivals, &a);
    }
}

/* Take back what was sent to the worker: nobody may be there to take it. */
static void abandon_replies(struct ps_server *s, struct client *c)
{
    for (int i = 0; i < PS_CREDITS; i++) {
        (void)!server_end_posted(s, &c->request[i].reply, DO_NOT_WAIT);
        server_release_version(&c->request[i]);
    }
    (void)!server_end_posted(s, &c->refusal, DO_NOT_WAIT);
}

/* Worker w is lost: what it has sent and not got an answer to is dropped, and it counts as one that has left. */
void server_drop_now(struct ps_server *s, int w)
{
    struct client *c = &s->client[w];
    const bool was_training = c->state == TRAINING;

    abandon_replies(s, c);
    server_forget_arrivals(s, w);
    if (c->state != LEFT && c->state != ABSENT)
        s->n_left++;
    if (was_training && c->may_push) /* exchange.E11: another may */
        s->stop.n_granted--;
    c->state = LOST;
    server_forget(s, w, was_training);
}

enum rc server_drop_worker(struct ps_server *s, int worker)
{
    char line[RC_MESSAGE_BYTES];

    if (worker == 0)
        return rc_raise(RC_MISMATCH,
                        "worker 0 sent what is no message of the run, again and again, and nobody takes its "
                        "place");
    abandon_replies(s, &s->client[worker]);
    (void)snprintf(line, sizeof line, "server %d drops worker %d, and goes on without it", s->slice, worker);
    server_tell(s, line);
    return s->ops->lost(s, worker);
}

/* Serve the oldest request. A worker that was lost meanwhile is dropped: what it then fails with is not the server's.
 */
enum rc server_serve_next(struct ps_server *s)
{
    struct arrival a = arrivals_take(&s->arrivals);
    const enum rc served = serve_request(s, &a);

    transport_release(s->env.transport, &a.message); /* where it was not kept */
    return served == RC_PEER ? server_forgive_lost(s, a.worker) : served;
}
