/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_loop.c - the server's loop: receive all that has arrived, serve the oldest request of each slice, reply.
 *
 * Before it serves a request, the server receives all that have arrived, and notes the time: how long a request then
 * waits is the queueing time, which its reply reports (queue_ns). A worker has at most PS_CREDITS requests outstanding
 * (P4), to each slice. What servers send each other is handled as it is received (replica.h); requests of the slice
 * that this one is the heir of wait until its home is lost.
 *
 * The loss of a worker is one more change of each slice. That of a server ends the run, unless another one has its
 * slice.
 */
#include <limits.h>
#include <stdio.h>

#include "harness/world/world.h"
#include "ps/replica.h"
#include "ps/server_state.h"
#include "ps/snapshot.h"

/* The slice of server i is nowhere any more (replica.R9). */
static bool slice_is_lost(const struct ps_server *s, int i)
{
    const struct sync_env *env = &s->env;

    if (!world_is_lost(env->world, env->n_workers + i))
        return false;
    return !ps_has_heirs(env) || world_is_lost(env->world, env->n_workers + ps_heir(i, env->n_servers));
}

/* The workers that are lost now are, in every slice. RC_PEER: a slice is. Cheap where nobody is. */
static enum rc see_losses(struct ps_server *s)
{
    const struct world *w = s->env.world;
    enum rc rc = RC_OK;

    if (!world_has_losses(w))
        return RC_OK;
    for (int r = 0; r < sync_most_workers(&s->env); r++) {
        if (!world_is_lost(w, sync_rank_of(&s->env, r)))
            continue;
        if (s->client[r].state != LOST)
            TRY(server_lose_worker(s, r));
        if (s->replica && s->replica->is_heir && s->replica->client[r].state != LOST)
            server_drop_now(s->replica, r);
    }
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
    TRY(see_losses(s->rank ? s->rank : s));
    if (s->client[worker].state != LOST && !s->client[worker].loss_is_told)
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
    const int n_fetching = s->client[0].state == FETCHING;

    return ps_has_heirs(&s->env) || s->n_left + n_fetching < s->n_seen;
}

static bool has_work(const struct ps_server *s)
{
    return s->n_arrivals > 0 || (s->replica && s->replica->is_heir && s->replica->n_arrivals > 0);
}

/* Of another server. */
static enum rc take_of_server(struct ps_server *s, struct message *m)
{
    enum refused why = REFUSED_OUT_OF_ORDER;
    enum rc rc;

    if (s->env.n_replicas > 0 && m->tag == PS_TAG_FORWARD)
        rc = replica_take_forward(s, m, &why);
    else if (s->env.n_replicas > 0 && m->tag == PS_TAG_HELD)
        rc = replica_take_held(s, m, &why);
    else
        rc = rc_raise(RC_MISMATCH, "it is of another server");
    transport_release(s->env.transport, m); /* where it was not taken */
    if (rc != RC_MISMATCH || why == NOT_REFUSED)
        return rc;
    server_count_refused(s, why, rc_message());
    rc_clear();
    return RC_OK;
}

/* Into the queue of its slice. */
static enum rc take_request(struct ps_server *s, struct arrival *a)
{
    struct ps_server *slice = s;

    a->worker = sync_worker_of(&s->env, a->message.peer);
    a->slot = a->message.tag - PS_TAG_REQUEST;
    if (s->replica && a->slot - PS_TAG_OF_HEIR < PS_CREDITS) {
        slice = s->replica;
        a->slot -= PS_TAG_OF_HEIR;
    }
    if (slice->n_arrivals == slice->most_arrivals) { /* of a slice that waits for its home to be lost: not by P4 */
        transport_release(s->env.transport, &a->message);
        (void)rc_raise(RC_MISMATCH, "worker %d sends more than slots are", a->worker);
        return server_refuse(s, a->worker, 0, REFUSED_OUT_OF_ORDER);
    }
    slice->arrival[(slice->first_arrival + slice->n_arrivals++) % slice->most_arrivals] = *a;
    return RC_OK;
}

/* Wait for the next message, where there is nothing else to do; no message: a->message.peer -1. */
static enum rc await_arrival(struct ps_server *s, struct arrival *a)
{
    const uint64_t idle_ns = s->env.ring ? world_now_ns(s->env.world) : 0;
    const bool waits_for_heir = s->chain.n_pending > 0;
    enum rc rc;

    a->was_awaited = true;
    TRY(receive(s, &a->message, s->silence_ms));
    if (a->message.peer < 0)
        return RC_OK;
    a->seen_ns = world_now_ns(s->env.world);
    server_note_span(s, waits_for_heir ? "replicate" : "wait", idle_ns > 0 ? idle_ns : a->seen_ns, a->seen_ns, -1, 0);
out:
    return rc;
}

/* Has a rank been lost, for whose loss alone others may wait? */
static bool has_news(const struct ps_server *s)
{
    return s->has_new_left || (s->replica && s->replica->has_new_left) || replica_is_due(s) || server_leases_are_due(s);
}

/* Receive all that has arrived; wait only if nothing is left to do. */
static enum rc take_arrivals(struct ps_server *s)
{
    bool is_idle = !has_work(s);
    enum rc rc = RC_OK;

    while (s->n_arrivals < s->most_arrivals) {
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

static enum rc end_all_replies(struct ps_server *s)
{
    enum rc rc = RC_OK;

    for (int i = 0; i < sync_most_workers(&s->env) * (PS_CREDITS + 1); i++) {
        const int w = i / (PS_CREDITS + 1), slot = i % (PS_CREDITS + 1);
        struct client *c = &s->client[w];
        const enum rc ended = server_end_reply(s, slot < PS_CREDITS ? &c->request[slot] : &c->refusal);
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
    TRY(server_answer_next(s));
    TRY(server_answer_fetch(s));
out:
    return rc;
}

static enum rc serve_slice(struct ps_server *s)
{
    return s->n_arrivals > 0 ? server_serve_next(s) : RC_OK;
}

static bool is_over(const struct ps_server *s)
{
    return ps_has_heirs(&s->env) ? s->is_over : s->n_left == s->n_seen;
}

/* After an error, or where replicas have it otherwise: requests received and not served, and gradients that are kept.
 */
static void drop_rest(struct ps_server *s, bool has_failed)
{
    for (; s->n_arrivals > 0; s->n_arrivals--) {
        transport_release(s->env.transport, &s->arrival[s->first_arrival].message);
        s->first_arrival = (s->first_arrival + 1) % s->most_arrivals;
    }
    for (int w = 0; has_failed && w < sync_most_workers(&s->env); w++)
        server_forget(s, w);
}

/* What is still posted or received, in a run that ended with rc. Returns rc, with its message. */
static enum rc end_run(struct ps_server *s, enum rc rc)
{
    char message[RC_MESSAGE_BYTES];

    (void)snprintf(message, sizeof message, "%s", rc_message());
    replica_end(s, rc != RC_OK);
    drop_rest(s, rc != RC_OK);
    if (s->replica)
        drop_rest(s->replica, true);
    return rc == RC_OK ? RC_OK : rc_raise(rc, "%s", message);
}

enum rc ps_server_run(struct ps_server *s, uint64_t step_ns)
{
    struct ps_server *replica = s->replica;
    enum rc rc = RC_OK;

    s->silence_ms = ps_server_silence_ms(s->env.timeout_ms, step_ns);
    while (!is_over(s)) {
        TRY(replica_look(s));
        TRY(settle_slice(s));
        if (replica && replica->is_heir)
            TRY(settle_slice(replica));
        TRY(take_arrivals(s)); /* waits, where there is nothing to do */
        TRY(serve_slice(s));
        TRY(snapshot_if_due(s));
        if (replica && replica->is_heir)
            TRY(serve_slice(replica));
    }
    TRY(end_all_replies(s));
    if (replica)
        TRY(end_all_replies(replica));
out:
    return end_run(s, rc);
}

void ps_server_facts(const struct ps_server *s, struct server_facts *out)
{
    *out = s->facts;
    if (s->replica && s->replica->is_heir) {
        const struct server_facts *taken = &s->replica->facts;
        for (int i = 0; i < STALENESS_BINS; i++)
            out->pushes_count[i] += taken->pushes_count[i];
        for (int i = 0; i < N_REFUSED; i++)
            out->refused_count[i] += taken->refused_count[i];
        out->late_count += taken->late_count;
        if (s->replica->has_given_state) /* else its home had, and all of it */
            out->rolled_back_count += taken->rolled_back_count;
        out->lead_max_count = taken->lead_max_count > out->lead_max_count ? taken->lead_max_count : out->lead_max_count;
    }
    if (server_is_elastic(s))
        server_batch_facts(s, out);
    out->refused_count[REFUSED_STRANGER] += transport_n_strangers(s->env.transport);
}
