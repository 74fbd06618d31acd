/* SPDX-License-Identifier: Apache-2.0 */
/* attach.c - the functions of ps/recovery.h: which part of this folder does what, and when. */
#include "ps/recovery/attach.h"

#include <stdlib.h>

#include "harness/world/world.h"
#include "ps/recovery/elastic.h"
#include "ps/recovery/replica.h"

/* --- a request --- */

/* replica.R3: the request is in the replica that this standby has been, and its worker does not know. */
static bool is_again(const struct ps_server *s, const struct arrival *a, const struct ps_header *h)
{
    const struct client *c = &s->client[a->worker];

    if (s->role != SLICE_TAKEN || a->slot >= PS_CREDITS || !c->request[a->slot].is_silent)
        return false;
    if (h->op == PS_FETCH)
        return a->worker == 0 && a->slot == 0 && c->state == FETCHING;
    if (!ps_is_push(h->op))
        return server_is_elastic(s) && server_lease_is_again(s, a, h);
    return c->state == TRAINING && h->chunk < s->env.buckets->n_chunks &&
           h->chunk == c->request[a->slot].answer.chunk && h->n_elems == s->chunk[h->chunk].part.n_elems &&
           h->step + 1 == s->chunk[h->chunk].clocks.clock[a->worker];
}

/* Its answer, or that of a push as soon as the worker may read. */
static enum rc serve_again(struct ps_server *s, const struct arrival *a, const struct ps_header *h)
{
    struct request *r = &s->client[a->worker].request[a->slot];

    if (!ps_is_push(h->op) && h->op != PS_FETCH)
        return server_lease_again(s, a);
    r->is_silent = false; /* replica.R4 */
    return h->op == PS_FETCH || request_waits(r) ? RC_OK : server_answer(s, a->worker, (int)a->slot);
}

/* replica.R8: the worker has left every slice, and has all answers. */
static bool is_last_leave(const struct ps_server *s, const struct arrival *a, const struct ps_header *h)
{
    const bool is_second = s->role == SLICE_OWN && (a->worker == 0 || server_is_elastic(s));

    return ps_has_heirs(&s->env) && h->op == PS_LEAVE && is_second && s->client[a->worker].state == LEFT &&
           !s->recovery->worker[a->worker].has_left_all;
}

/* replica.R8: of all slices that are here, but the own one. */
static enum rc leave_others(struct ps_server *own, int worker)
{
    enum rc rc = RC_OK;

    own->recovery->worker[worker].has_left_all = true;
    for (int i = 1; i < own->n_here; i++)
        if (server_is_holder(own->here[i]))
            TRY(replica_leave(own->here[i], worker));
out:
    return rc;
}

/* No request follows one that is forwarded in its slot, nor a LEAVE, a FETCH or a NEXT that is not answered yet. */
static enum rc check_forwarded(const struct ps_server *s, const struct arrival *a, enum ps_op op)
{
    const struct recovery_worker *w = &s->recovery->worker[a->worker];
    const bool is_alone = !ps_is_push(op) && op != PS_PULL;

    if (w->is_ending)
        return rc_raise(RC_MISMATCH, "worker %d sent op %d after FETCH or LEAVE", a->worker, (int)op);
    if (w->asks)
        return rc_raise(RC_MISMATCH, "worker %d sent op %d before it got a batch", a->worker, (int)op);
    for (uint32_t i = 0; i < PS_CREDITS; i++)
        if (w->forward[i].is_pending && (is_alone || i == a->slot))
            return rc_raise(RC_MISMATCH, "worker %d sent op %d before its push was answered", a->worker, (int)op);
    return RC_OK;
}

static enum rc check_last_leave(const struct ps_server *s, const struct arrival *a, const struct ps_header *h,
                                enum refused *why)
{
    enum rc rc;

    *why = REFUSED_OUT_OF_ORDER;
    TRY(server_check_slot(s, a, h->op));
    *why = REFUSED_MODEL;
    TRY(server_check_layout(s, a, h));
    TRY(server_check_done(s, a, h, why));
out:
    return rc;
}

/* Does it change what a replica has? */
static bool is_change(const struct ps_server *s, enum ps_op op)
{
    if (op == PS_JOIN) /* a late joiner that comes too late only learns that */
        return !server_joins_late(s);
    return op != PS_PULL && op != PS_LOOK;
}

/* At once, or behind the replica. */
static enum rc serve(struct ps_server *s, struct arrival *a, const struct ps_header *h)
{
    enum rc rc = RC_OK;

    if (h->op == PS_LEAVE && s->role == SLICE_OWN && !server_is_elastic(s))
        TRY(leave_others(s, a->worker));
    if (replica_is_kept(s) && is_change(s, h->op))
        return replica_forward(s, a, h);
    TRY(recovery_serve(s, a, h));
out:
    return rc;
}

static enum rc arrived(struct ps_server *s, struct arrival *a, const struct ps_header *h, bool *is_taken)
{
    enum refused why = REFUSED_OUT_OF_ORDER;

    *is_taken = true;
    if (is_again(s, a, h) && server_check_layout(s, a, h) == RC_OK)
        return serve_again(s, a, h);
    if (s->client[a->worker].state == ABSENT || h->op == PS_JOIN) {
        if (server_check_join(s, a, h, &why) == RC_OK)
            return serve(s, a, h);
    } else if (is_last_leave(s, a, h)) {
        if (check_last_leave(s, a, h, &why) == RC_OK)
            return leave_others(s, a->worker);
    } else if (check_forwarded(s, a, h->op) == RC_OK) {
        *is_taken = false;
        return RC_OK;
    }
    return server_refuse(s, a->worker, a->slot, why);
}

static enum rc check(const struct ps_server *s, const struct arrival *a, const struct ps_header *h, enum refused *why)
{
    if (ps_is_push(h->op))
        return server_check_batch(s, a, h, why);
    return h->op == PS_LOOK ? RC_OK : server_check_done(s, a, h, why);
}

enum rc recovery_serve(struct ps_server *s, struct arrival *a, const struct ps_header *h)
{
    const bool is_of_batch = h->op == PS_NEXT || h->op == PS_JOIN || h->op == PS_LEAVE || h->op == PS_FETCH;

    s->client[a->worker].request[a->slot].is_silent = !server_is_holder(s); /* replica.R4 */
    return server_is_elastic(s) && is_of_batch ? server_serve_batch(s, a, h) : server_serve(s, a, h);
}

static void released(struct ps_server *s, int worker, struct request *r)
{
    replica_end_forward(s, &s->recovery->worker[worker].forward[r - s->client[worker].request].posted); /* R7 */
}

/* --- a worker --- */

static enum rc lost(struct ps_server *s, int worker)
{
    if (replica_is_kept(s))
        return replica_forward_loss(s, worker);
    server_drop_now(s, worker);
    return RC_OK;
}

/* --- the loop --- */

static bool is_due(const struct ps_server *own)
{
    for (int i = 0; i < own->n_here; i++)
        if (server_is_holder(own->here[i]) && server_leases_are_due(own->here[i]))
            return true;
    return replica_is_due(own);
}

/* replica.R8 */
static bool has_left_all(const struct ps_server *own, int worker)
{
    const enum worker_state state = own->client[worker].state;

    return own->recovery->worker[worker].has_left_all || state == ABSENT || state == LOST ||
           world_is_lost(own->env.world, sync_rank_of(&own->env, worker));
}

static enum awaited awaits(const struct ps_server *own)
{
    int n_left = 0;

    if (!ps_has_heirs(&own->env))
        return no_recovery.awaits(own);
    for (int w = 0; w < sync_most_workers(&own->env); w++)
        n_left += has_left_all(own, w);
    if (n_left == sync_most_workers(&own->env))
        return AWAITS_NOBODY;
    for (int i = 0; i < own->n_here; i++)
        if (own->here[i]->recovery->chain.pending.n > 0)
            return AWAITS_STANDBY;
    return AWAITS_WORKERS;
}

static enum rc receive(struct ps_server *own, struct message *m, enum refused *why)
{
    if (ps_has_heirs(&own->env) && m->tag == PS_TAG_FORWARD)
        return replica_take_forward(own, m, why);
    if (ps_has_heirs(&own->env) && m->tag == PS_TAG_HELD)
        return replica_take_held(own, m, why);
    return no_recovery.receive(own, m, why);
}

static void end(struct ps_server *own, bool has_failed)
{
    for (int i = 0; i < own->n_here; i++)
        replica_end(own->here[i], has_failed);
}

/* --- the report --- */

/* What was served of slice s, whose place this server has taken, or would have, had the run not been over. */
static void add_taken(struct server_facts *out, const struct ps_server *s)
{
    const struct server_facts *taken = &s->facts;

    for (int i = 0; i < STALENESS_BINS; i++)
        out->pushes_count[i] += taken->pushes_count[i];
    for (int i = 0; i < N_REFUSED; i++)
        out->refused_count[i] += taken->refused_count[i];
    out->late_count += taken->late_count;
    out->lead_max_count = taken->lead_max_count > out->lead_max_count ? taken->lead_max_count : out->lead_max_count;
    out->replicated_count += taken->replicated_count;
    out->replicate_ns += taken->replicate_ns;
    out->copies_count += taken->copies_count;
    out->copied_bytes += taken->copied_bytes;
    out->repeated_parts_count += taken->repeated_parts_count;
    out->n_taken_over += (s->role == SLICE_TAKEN);
}

static void facts(const struct ps_server *own, struct server_facts *out)
{
    for (int i = 0; i < own->n_here; i++) {
        const struct ps_server *s = own->here[i];
        out->n_alone +=
            server_is_holder(s) && ps_has_heirs(&s->env) && (!replica_is_kept(s) || s->recovery->chain.copy);
        if (s->role == SLICE_TAKEN || replica_is_left_with(s))
            add_taken(out, s);
    }
    if (server_is_elastic(own))
        server_batch_facts(own, out);
}

/* --- begin and end --- */

static void close_slice(struct ps_server *s)
{
    replica_close(s);
    server_close_leases(s);
    free(s->recovery->worker);
    free(s->recovery);
    s->recovery = NULL;
}

static const struct recovery_ops recovery = {
    .arrived = arrived,
    .check = check,
    .serve = serve,
    .applied = server_push_batch,
    .released = released,
    .lost = lost,
    .left = server_end_lease,
    .turn = replica_look,
    .settle = server_answer_next,
    .is_due = is_due,
    .awaits = awaits,
    .may_give_state = replica_may_give_state,
    .receive = receive,
    .end = end,
    .facts = facts,
    .close = close_slice,
};

enum rc recovery_open(struct ps_server *s)
{
    const int n_workers = sync_most_workers(&s->env);
    struct recovery *r = calloc(1, sizeof *r);
    enum rc rc;

    if (!r)
        return rc_raise(RC_NOMEM, "parameter server: no memory");
    s->recovery = r;
    s->ops = &recovery;
    r->worker = calloc((size_t)n_workers, sizeof *r->worker);
    if (!r->worker)
        FAIL(RC_NOMEM, "parameter server: no memory for %d workers", n_workers);
    for (int w = 0; w < s->env.n_workers; w++)
        r->worker[w].is_seen = true;
    TRY(server_open_leases(s));
    TRY(replica_open(s));
out:
    return rc;
}

/* In an elastic run, of each chunk at each server which batches are in it; of all, the queue of the first one, and when
 * rounds ended. With a replica the same of the server that this one follows, and once more as words of a copy. */
size_t recovery_bytes(const struct job_facts *facts)
{
    const size_t n_set_bytes = facts->n_chunks * batch_set_bytes(facts->n_batches);

    if (facts->n_batches == 0)
        return 0;
    const size_t n_rounds = (size_t)facts->n_batches / (size_t)facts->n_workers;
    return (1 + 2 * (size_t)facts->n_replicas) *
           (n_set_bytes + leases_bytes(facts->n_workers) + n_rounds * sizeof(uint64_t));
}

enum rc recovery_attach(struct ps_server *own)
{
    struct sync_env before = own->env;
    struct ps_server *replica = NULL; /* which own has */
    enum rc rc = RC_OK;

    if (!ps_has_heirs(&own->env) && !server_is_elastic(own))
        return RC_OK;
    TRY(recovery_open(own));
    if (!ps_has_heirs(&own->env))
        return RC_OK;
    before.slice_param = own->env.before_param;
    before.slice_state.moments = own->env.before_moments;
    TRY(server_open_slice(&replica, &before, ps_home(own->slice, own->env.n_servers), own));
    TRY(recovery_open(replica));
    own->recovery->chain.is_on = true;
out:
    return rc;
}
