/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_loop.c - the server's loop: receive all that has arrived, serve the oldest request of each slice, reply.
 *
 * Before it serves a request, the server receives all that have arrived, and notes the time: how long a request then
 * waits is the queueing time, which its reply reports (queue_ns). A worker has at most PS_CREDITS requests outstanding
 * (P4), to each slice. What servers send each other is handled as it is received (replica.h); requests of a slice
 * that this one is the heir of wait until its holder is lost.
 *
 * The loss of a worker is one more change of each slice that is held here. That of a server ends the run, unless
 * another one has its slices (replica.R9).
 */
#include <limits.h>
#include <stdio.h>

#include "harness/world/world.h"
#include "ps/server_state.h"

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
        rc = server_drop_worker(s, worker);
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
    return s->ops->awaits(s) != AWAITS_NOBODY && !server_fetch_is_due(s);
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
    return server_drop_worker(s, a->worker);
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
    enum rc rc = server_end_posted(s, &c->refusal, s->env.timeout_ms);

    for (int i = 0; i < PS_CREDITS && (rc == RC_OK || rc == RC_PEER); i++) {
        const enum rc ended = server_end_reply(s, &c->request[i]);
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
    TRY(server_answer_fetch(s));
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
            TRY(server_serve_next(s->here[i]));
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
