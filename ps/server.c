/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.c - a server's loop, and what it does with a request of a worker, by the worker's state. Pushes and pulls:
 * server_push.c.
 *
 * Before it serves a request, the server receives all that have arrived, and notes the time. A request then waits for
 * its queueing time, which its reply reports (queue_ns). A worker has at most PS_CREDITS requests outstanding (P4).
 *
 *   state of a worker   PUSH               FETCH                                    LEAVE      its loss (world.W8)
 *   TRAINING            server_push        worker 0: -> FETCHING; others: refused   -> LEFT    drop_now: -> LOST
 *   FETCHING            refused            refused                                  refused    rank 0: the run ends
 *   LEFT                refused            refused                                  refused    drop_now: -> LOST
 *   LOST                dropped            dropped                                  dropped    -
 *   ABSENT              refused            refused                                  refused    drop_now: -> LOST
 *
 * GIVE is as PUSH, and so is PULL, by server_pull(). LOOK, of worker 0 in TRAINING, is answered at once and changes no
 * state. Refused is also: what is no request; a request in a slot in which another one waits for its answer; one of
 * another layout. A refused request is counted and answered with REFUSED, and the worker's state stays. After
 * PS_MOST_REFUSED of them drop_worker(): -> LOST (wire.P5). For worker 0 that ends the run. Dropped: only counted.
 * FETCHING -> LEFT by answer_fetch(), when all other workers have left or are lost.
 *
 * recovery.h has what else may happen. Then more slices than one may be here, and each is a struct ps_server. ABSENT is
 * a late joiner. The loss of a server ends the run, unless another one has its slices.
 *
 * A gradient is applied from the buffer of its message, without a copy, at once or with its round: by the rule of the
 * run's consistency, which may keep a worker waiting for its answer. The transport borrows a reply
 * until the next request in the same slot, or of the same chunk, proves that the reply arrived. The body of a reply is
 * where the parameters are, which the push of another worker does not change before that: server_push.c.
 */
#include "ps/server.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/terminal.h"
#include "harness/world/world.h"
#include "ps/layout.h"
#include "ps/recovery/attach.h"
#include "ps/server_state.h"

#define LINE_EVERY_NS UINT64_C(1000000000)

enum { LINE_BYTES = 640 };

/* --- begin and end --- */

/* Allocate parameters and the body of STATE. */
static enum rc open_params(struct ps_server *s)
{
    const struct sync_env *env = &s->env;
    const size_t n_elems = s->n_elems;
    const int sums =
        (consistency_has_rounds(&env->consistency) && env->n_workers > 1) || env->compression.kind != COMPRESSION_NONE;
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

static enum rc open_chunks(struct ps_server *s)
{
    const size_t n_chunks = s->env.buckets->n_chunks;
    int n_held = 0;
    enum rc rc = RC_OK;

    s->chunk = calloc(n_chunks, sizeof *s->chunk);
    if (!s->chunk)
        return rc_raise(RC_NOMEM, "parameter server: no memory for %zu chunks", n_chunks);
    for (size_t k = 0; k < n_chunks; k++) {
        s->chunk[k] =
            (struct chunk_state){ .part = placement_part(s->env.placement, s->slice, s->env.buckets->chunk[k]),
                                  .slot = n_held,
                                  .min_transit_ns = UINT64_MAX };
        n_held += s->chunk[k].part.n_elems > 0;
        TRY(clocks_open(&s->chunk[k].clocks, &s->env.consistency, sync_most_workers(&s->env)));
        for (int w = s->env.n_workers; w < sync_most_workers(&s->env); w++)
            clocks_keep_out(&s->chunk[k].clocks, w);
    }
    s->n_slots = !ps_has_chunk_slots(&s->env) ? PS_CREDITS : n_held > 0 ? n_held : 1;
out:
    return rc;
}

/* Of all workers. */
static enum rc open_clients(struct ps_server *s)
{
    const struct sync_env *env = &s->env;
    const int most_workers = sync_most_workers(env);

    s->arrivals.most = most_workers * s->n_slots;
    s->n_seen = env->n_workers;
    s->client = calloc((size_t)most_workers, sizeof *s->client);
    s->request = calloc((size_t)s->arrivals.most, sizeof *s->request);
    s->arrivals.at = calloc((size_t)s->arrivals.most, sizeof *s->arrivals.at);
    if (!s->client || !s->request || !s->arrivals.at)
        return rc_raise(RC_NOMEM, "parameter server: no memory for %d workers", most_workers);
    for (int w = 0; w < most_workers; w++)
        s->client[w] = (struct client){ .state = w < env->n_workers ? TRAINING : ABSENT,
                                        .request = s->request + (size_t)w * (size_t)s->n_slots };
    return RC_OK;
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
    TRY(open_chunks(s));
    TRY(open_clients(s));
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
    free(s->request);
    free(s->arrivals.at);
    for (size_t k = 0; s->chunk && k < s->env.buckets->n_chunks; k++)
        clocks_close(&s->chunk[k].clocks);
    free(s->chunk);
    free(s);
    *sp = NULL;
}

/* --- workers that end --- */

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
    for (int i = 0; i < s->n_slots; i++)
        (void)!server_end_reply(s, &c->request[i], DO_NOT_WAIT);
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

static enum rc drop_worker(struct ps_server *s, int worker)
{
    char line[RC_MESSAGE_BYTES];

    if (worker == 0)
        return rc_raise(RC_MISMATCH,
                        "worker 0 sent what is no message of the run, again and again, and nobody takes its "
                        "place");
    abandon_replies(s, &s->client[worker]);
    (void)snprintf(line, sizeof line, "server %d drops worker %d, and continues without it", s->slice, worker);
    server_tell(s, line);
    return s->ops->lost(s, worker);
}

/* --- what is refused (wire.P5) --- */

void server_tell(const struct ps_server *s, const char *line)
{
    if (s->env.tell)
        s->env.tell(s->env.tell_arg, line);
    else
        terminal_note(stderr, "gradmark: %s", line);
}

void server_count_refused(struct ps_server *s, enum refused why, const char *text)
{
    const uint64_t now_ns = world_now_ns(s->env.world);
    char line[LINE_BYTES], more[64] = "";

    s->facts.refused_count[why]++;
    if (!server_is_holder(s)) /* the holder tells it */
        return;
    if (s->told.last_ns > 0 && now_ns - s->told.last_ns < LINE_EVERY_NS) {
        s->told.n_untold++;
        return;
    }
    if (s->told.n_untold > 0)
        (void)snprintf(more, sizeof more, "; %" PRIu64 " others since the last line", s->told.n_untold);
    (void)snprintf(line, sizeof line, "server %d refused a message (%s): %.400s%s",
                   s->env.world->rank - s->env.n_workers, refused_word(why), text, more);
    server_tell(s, line);
    s->told.last_ns = now_ns > 0 ? now_ns : 1;
    s->told.n_untold = 0;
}

/* Answer that it was not taken; RC_OK too where that is not possible: then the worker is dropped. */
static enum rc answer(struct ps_server *s, int worker, uint32_t slot, enum refused why)
{
    const struct ps_header h = { .op = PS_REFUSED, .why = why };
    enum rc rc;

    TRY(world_check(s->env.world));
    rc = server_end_posted(s, &s->client[worker].refusal, s->env.timeout_ms);
    if (rc == RC_OK)
        rc = server_post_refusal(s, worker, slot < (uint32_t)s->n_slots ? (int)slot : 0, &h);
    if (rc == RC_OK)
        goto out;
    TRY(world_check(s->env.world));
    rc = drop_worker(s, worker);
out:
    return rc;
}

enum rc server_refuse(struct ps_server *s, int worker, uint32_t slot, enum refused why)
{
    struct client *c = &s->client[worker];

    server_count_refused(s, why, rc_message());
    rc_clear();
    if (c->state == LOST)
        return RC_OK;
    if (++c->n_refused < PS_MOST_REFUSED)
        return answer(s, worker, slot, why);
    return drop_worker(s, worker);
}

/* --- what a server has, to worker 0: in the run (LOOK), and at its end (FETCH) --- */

/* Of the chunk that has had the fewest, of those that are here. */
static uint64_t least_updates(const struct ps_server *s)
{
    uint64_t n_least = UINT64_MAX;

    for (size_t k = 0; k < s->env.buckets->n_chunks; k++)
        if (s->chunk[k].part.n_elems > 0 && s->chunk[k].clock < n_least)
            n_least = s->chunk[k].clock;
    return s->n_updates_before + (n_least == UINT64_MAX ? 0 : n_least);
}

static enum rc post_state(struct ps_server *s)
{
    const size_t n_elems = s->n_elems;
    const struct ps_header h = { .op = PS_STATE,
                                 .n_elems = (uint32_t)n_elems,
                                 .clock = least_updates(s),
                                 .n_moments = (uint32_t)optimizer_n_moments(&s->env.optimizer) };
    enum rc rc;

    TRY(server_end_reply(s, &s->client[0].request[0], s->env.timeout_ms));
    if (s->param) {
        server_gather(s, s->state);
        TRY(optimizer_moments(&s->optimizer, s->state + n_elems));
    }
    TRY(server_post_reply(s, 0, 0, &h, s->state));
out:
    return rc;
}

static bool fetch_is_due(const struct ps_server *s)
{
    return s->client[0].state == FETCHING && s->n_left >= s->n_seen - 1 && !s->client[0].request[0].is_silent &&
           s->ops->may_give_state(s);
}

static enum rc answer_fetch(struct ps_server *s)
{
    enum rc rc = RC_OK;

    if (!fetch_is_due(s))
        return RC_OK;
    TRY(post_state(s));
    s->client[0].state = LEFT;
    s->n_left++;
out:
    return rc;
}

/* --- requests --- */

enum rc server_check_slot(const struct ps_server *s, const struct arrival *a, enum ps_op op)
{
    const int worker = a->worker;
    const uint32_t slot = a->slot;
    const bool is_alone = !ps_is_push(op) && op != PS_PULL;

    if (slot >= (uint32_t)s->n_slots || (is_alone && slot != 0))
        return rc_raise(RC_MISMATCH, "worker %d sent op %d in slot %u, which it has not", worker, (int)op, slot);
    for (uint32_t i = is_alone ? 0 : slot; i < (is_alone ? (uint32_t)s->n_slots : slot + 1); i++)
        if (request_waits(&s->client[worker].request[i]))
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
        return post_state(s);
    if (h->op == PS_LEAVE) {
        server_leave(s, a->worker);
        return RC_OK;
    }
    s->client[0].state = FETCHING;
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

/* --- the loop --- */

/* The slice of server i is nowhere any more; with replicas who would hold it knows (replica.R9). */
static bool slice_is_lost(const struct ps_server *s, int i)
{
    const struct sync_env *env = &s->env;

    return env->n_replicas == 0 && world_is_lost(env->world, env->n_workers + i);
}

static enum rc lose_worker(struct ps_server *s, int worker)
{
    enum rc rc = RC_OK;

    for (int i = 0; i < s->n_here; i++)
        if (server_is_holder(s->here[i]) && s->here[i]->client[worker].state != LOST)
            TRY(s->here[i]->ops->lost(s->here[i], worker));
out:
    return rc;
}

/* The workers that are lost now are, in every slice. RC_PEER: a slice is. Cheap where nobody is. */
static enum rc see_losses(struct ps_server *s)
{
    const struct world *w = s->env.world;
    enum rc rc = RC_OK;

    if (!world_has_losses(w))
        return RC_OK;
    for (int r = 0; r < sync_most_workers(&s->env); r++)
        if (world_is_lost(w, sync_rank_of(&s->env, r)))
            TRY(lose_worker(s, r));
    for (int i = 0; i < s->env.n_servers; i++)
        if (slice_is_lost(s, i))
            return world_raise_loss(w, s->env.n_workers + i);
out:
    return rc;
}

enum rc server_forgive_lost(struct ps_server *s, int worker)
{
    char message[RC_MESSAGE_BYTES];
    enum rc rc;

    (void)snprintf(message, sizeof message, "%s", rc_message());
    TRY(world_check(s->env.world)); /* the run has failed */
    TRY(see_losses(s->rank));
    if (s->client[worker].state != LOST && !world_is_lost(s->env.world, sync_rank_of(&s->env, worker)))
        FAIL(RC_PEER, "%s", message);
out:
    return rc;
}

/* Serve the oldest request. A worker that was lost meanwhile is dropped: what it then fails with is not the server's.
 */
static enum rc serve_oldest(struct ps_server *s)
{
    struct arrival a = arrivals_take(&s->arrivals);
    const enum rc served = serve_request(s, &a);

    transport_release(s->env.transport, &a.message); /* where it was not kept */
    return served == RC_PEER ? server_forgive_lost(s, a.worker) : served;
}

/* The next message, or out->peer -1: there is none by now (DO_NOT_WAIT), or a rank was lost (transport.T12). */
static enum rc receive(struct ps_server *s, struct message *out, int timeout_ms)
{
    enum rc rc;

    rc = transport_recv_divided(s->env.transport, out, PS_HEADER_BYTES, timeout_ms);
    const int worker = out->peer >= 0 ? sync_worker_of(&s->env, out->peer) : -1;
    if (rc == RC_MISMATCH && worker >= 0 && s->client[worker].state != LOST) {
        server_count_refused(s, REFUSED_OVERSIZED, rc_message()); /* transport.T13: more than the plan has */
        out->peer = -1;
        TRY(world_check(s->env.world));
        rc = drop_worker(s, worker);
    }
    TRY(rc);
    if (out->peer < 0)
        TRY(see_losses(s));
out:
    return rc;
}

/* Will some rank send something more, unless it is lost? */
static bool is_awaiting(const struct ps_server *s)
{
    return s->ops->awaits(s) != AWAITS_NOBODY && !fetch_is_due(s);
}

static bool has_work(const struct ps_server *s)
{
    for (int i = 0; i < s->n_here; i++)
        if (server_is_holder(s->here[i]) && s->here[i]->arrivals.n > 0)
            return true;
    return false;
}

/* Of another server. */
static enum rc take_of_server(struct ps_server *s, struct message *m)
{
    enum refused why = REFUSED_OUT_OF_ORDER;
    const enum rc rc = s->ops->receive(s, m, &why);

    if (m->peer >= 0) /* it was not taken */
        transport_release(s->env.transport, m);
    if (rc != RC_MISMATCH || why == NOT_REFUSED)
        return rc;
    server_count_refused(s, why, rc_message());
    rc_clear();
    return RC_OK;
}

/* The slice that a request is of, by its tag, and its slot; NULL: it is not here. */
static struct ps_server *slice_of(const struct ps_server *s, const struct message *m, uint32_t *slot)
{
    const uint32_t place = (m->tag & ~TAG_ANY) / PS_TAG_PLACE, n = (uint32_t)s->env.n_servers;

    *slot = m->tag - (TAG_ANY | PS_TAG_CHUNK_SLOT);
    if (ps_has_chunk_slots(&s->env))
        return s->here[0];
    *slot = m->tag - PS_TAG_REQUEST - place * PS_TAG_PLACE;
    if (place == 0)
        return s->here[0];
    return place < n ? server_of_slice(s, (int)(((uint32_t)s->slice + n - place) % n)) : NULL;
}

/* A request of a slice that is not here: nobody is to answer it. Where its worker knows of losses that this server does
 * not know of yet, the run ends by replica.R9. */
static enum rc refuse_unheld(struct ps_server *s, const struct arrival *a)
{
    char text[64];

    (void)snprintf(text, sizeof text, "worker %d asks for what this server has not", a->worker);
    server_count_refused(s, REFUSED_OUT_OF_ORDER, text);
    if (s->client[a->worker].state == LOST || ++s->client[a->worker].n_refused < PS_MOST_REFUSED)
        return RC_OK;
    return drop_worker(s, a->worker);
}

/* Into the queue of its slice. */
static enum rc take_request(struct ps_server *s, struct arrival *a)
{
    struct ps_server *slice = slice_of(s, &a->message, &a->slot);

    a->worker = sync_worker_of(&s->env, a->message.peer);
    if (!slice) {
        transport_release(s->env.transport, &a->message);
        return refuse_unheld(s, a);
    }
    if (slice->arrivals.n == slice->arrivals.most) { /* of a slice that waits for its home to be lost: not by P4 */
        transport_release(s->env.transport, &a->message);
        (void)rc_raise(RC_MISMATCH, "worker %d sends more than slots are", a->worker);
        return server_refuse(s, a->worker, 0, REFUSED_OUT_OF_ORDER);
    }
    arrivals_add(&slice->arrivals, a);
    return RC_OK;
}

/* Wait for the next message, where there is nothing else to do; no message: a->message.peer -1. */
static enum rc await_arrival(struct ps_server *s, struct arrival *a)
{
    const uint64_t idle_ns = s->env.ring ? world_now_ns(s->env.world) : 0;
    const char *what = s->ops->awaits(s) == AWAITS_STANDBY ? "replicate" : "wait";
    enum rc rc;

    a->was_awaited = true;
    TRY(receive(s, &a->message, s->silence_ms));
    if (a->message.peer < 0)
        return RC_OK;
    a->seen_ns = world_now_ns(s->env.world);
    server_note_span(s, what, idle_ns > 0 ? idle_ns : a->seen_ns, a->seen_ns, -1, 0);
out:
    return rc;
}

/* Has a rank been lost, for whose loss alone others may wait? */
static bool has_news(const struct ps_server *s)
{
    for (int i = 0; i < s->n_here; i++)
        if (s->here[i]->has_new_left)
            return true;
    return s->ops->is_due(s);
}

/* Receive all that has arrived; wait only if nothing is left to do. */
static enum rc take_arrivals(struct ps_server *s)
{
    bool is_idle = !has_work(s);
    enum rc rc = RC_OK;

    while (s->arrivals.n < s->arrivals.most) {
        struct arrival a = { .message = { .peer = -1 } };
        TRY(receive(s, &a.message, DO_NOT_WAIT));
        if (a.message.peer < 0 && has_news(s))
            break;
        if (a.message.peer < 0 && is_idle && is_awaiting(s))
            TRY(await_arrival(s, &a));
        if (a.message.peer < 0)
            break;
        if (!a.was_awaited)
            a.seen_ns = world_now_ns(s->env.world);
        is_idle = false;
        if (sync_worker_of(&s->env, a.message.peer) < 0)
            TRY(take_of_server(s, &a.message));
        else
            TRY(take_request(s, &a));
    }
out:
    return rc;
}

/* Completes them all. RC_PEER: at least one did not arrive. */
static enum rc end_replies(struct ps_server *s, struct client *c)
{
    enum rc rc = RC_OK;

    for (int i = 0; i <= s->n_slots && (rc == RC_OK || rc == RC_PEER); i++) {
        const enum rc ended = i < s->n_slots ? server_end_reply(s, &c->request[i], s->env.timeout_ms)
                                             : server_end_posted(s, &c->refusal, s->env.timeout_ms);
        rc = ended == RC_OK ? rc : ended;
    }
    return rc;
}

static enum rc end_all_replies(struct ps_server *s)
{
    enum rc rc = RC_OK;

    for (int w = 0; w < sync_most_workers(&s->env); w++) {
        const enum rc ended = end_replies(s, &s->client[w]);
        TRY(ended == RC_PEER ? server_forgive_lost(s, w) : ended);
    }
out:
    return rc;
}

int ps_server_silence_ms(int timeout_ms, uint64_t step_ns)
{
    const uint64_t most_ms = INT_MAX, steps_ms = step_ns / 1000000 * PS_SILENT_STEPS;

    if (timeout_ms == WAIT_FOREVER || steps_ms <= (uint64_t)timeout_ms)
        return timeout_ms;
    return (int)(steps_ms < most_ms ? steps_ms : most_ms);
}

/* Of one slice: the answers that no message asks for. */
static enum rc settle_slice(struct ps_server *s)
{
    enum rc rc;

    TRY(server_settle_all(s));
    TRY(s->ops->settle(s));
    TRY(answer_fetch(s));
out:
    return rc;
}

/* Of all slices that it holds: what no message asks for, or the oldest request. */
static enum rc settle_slices(struct ps_server *s)
{
    enum rc rc = RC_OK;

    for (int i = 0; i < s->n_here; i++)
        if (server_is_holder(s->here[i]))
            TRY(settle_slice(s->here[i]));
out:
    return rc;
}

static enum rc serve_slices(struct ps_server *s)
{
    enum rc rc = RC_OK;

    for (int i = 0; i < s->n_here; i++)
        if (server_is_holder(s->here[i]) && s->here[i]->arrivals.n > 0)
            TRY(serve_oldest(s->here[i]));
out:
    return rc;
}

/* After an error, or where replicas have it otherwise: requests received and not served, and gradients that are kept.
 */
static void drop_rest(struct ps_server *s, bool has_failed)
{
    while (s->arrivals.n > 0) {
        struct arrival a = arrivals_take(&s->arrivals);
        transport_release(s->env.transport, &a.message);
    }
    for (int w = 0; has_failed && w < sync_most_workers(&s->env); w++)
        server_forget(s, w, false);
}

/* What is still posted or received, in a run that ended with rc. Returns rc, with its message. */
static enum rc end_run(struct ps_server *s, enum rc rc)
{
    char message[RC_MESSAGE_BYTES];

    (void)snprintf(message, sizeof message, "%s", rc_message());
    s->ops->end(s, rc != RC_OK);
    for (int i = 0; i < s->n_here; i++)
        drop_rest(s->here[i], rc != RC_OK || i > 0);
    return rc == RC_OK ? RC_OK : rc_raise(rc, "%s", message);
}

enum rc ps_server_run(struct ps_server *s, uint64_t step_ns)
{
    enum rc rc = RC_OK;

    s->silence_ms = ps_server_silence_ms(s->env.timeout_ms, step_ns);
    while (s->ops->awaits(s) != AWAITS_NOBODY) {
        TRY(s->ops->turn(s));
        TRY(settle_slices(s));
        TRY(take_arrivals(s)); /* waits, where there is nothing to do */
        TRY(serve_slices(s));
    }
    for (int i = 0; i < s->n_here; i++)
        TRY(end_all_replies(s->here[i]));
out:
    return end_run(s, rc);
}

void ps_server_facts(const struct ps_server *s, struct server_facts *out)
{
    *out = s->facts;
    s->ops->facts(s, out);
    out->refused_count[REFUSED_STRANGER] += transport_n_strangers(s->env.transport);
}
