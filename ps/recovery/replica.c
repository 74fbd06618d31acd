/* SPDX-License-Identifier: Apache-2.0 */
/* replica.c - a slice's chain: what its holder sends on to its standby, what the standby follows, and what both do when
 * the other one is lost; see replica.h. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/world/world.h"
#include "ps/recovery/copy.h"
#include "ps/recovery/elastic.h"
#include "ps/recovery/replica.h"

int ps_living(const struct sync_env *env, int from)
{
    for (int i = 0; i < env->n_servers; i++) {
        const int server = (from + i) % env->n_servers;
        if (!world_is_lost(env->world, env->n_workers + server))
            return server;
    }
    return -1;
}

enum rc replica_open(struct ps_server *s)
{
    const int n = s->env.n_servers, n_workers = sync_most_workers(&s->env);
    struct chain *c = &s->recovery->chain;

    c->heir = s->env.n_workers + ps_heir(s->slice, n);
    c->home = s->env.n_workers + s->slice;
    if (s->env.n_replicas == 0)
        return RC_OK;
    c->pending.most = n_workers * (PS_CREDITS + 2) + 1; /* R6 */
    c->pending.at = calloc((size_t)c->pending.most, sizeof *c->pending.at);
    c->held = calloc((size_t)c->pending.most, sizeof *c->held);
    if (!c->pending.at || !c->held)
        return rc_raise(RC_NOMEM, "parameter server: no memory for what %d workers send to a replica", n_workers);
    return RC_OK;
}

void replica_close(struct ps_server *s)
{
    copy_abandon(s);
    free(s->recovery->chain.pending.at);
    free(s->recovery->chain.held);
}

/* --- the holder --- */

void replica_end_forward(struct ps_server *s, struct posted *forward)
{
    struct chain *c = &s->recovery->chain;
    const enum rc ended = server_end_posted(s, forward, s->env.timeout_ms);
    const enum rc rc = world_forgive_loss(s->env.world, c->heir, ended);

    if (c->error == RC_OK)
        c->error = rc;
}

/* The header of the forward is set. */
static enum rc post_forward(struct ps_server *s, struct posted *forward, const struct message *m)
{
    const int heir = s->recovery->chain.heir;

    forward->xfer = (struct xfer){ .peer = heir,
                                   .tag = PS_TAG_FORWARD,
                                   .head = forward->header,
                                   .n_head_bytes = PS_HEADER_BYTES,
                                   .ptr = (void *)(uintptr_t)m->ptr,
                                   .n_bytes = m->n_bytes,
                                   .n_hollow_bytes = m->n_hollow_bytes,
                                   .lends = true };
    assert(!forward->is_posted);
    return world_forgive_loss(s->env.world, heir, server_post(s, forward));
}

static void add_pending(struct chain *c, const struct arrival *a)
{
    assert(c->pending.n < c->pending.most); /* R6 */
    arrivals_add(&c->pending, a);
}

enum rc replica_forward(struct ps_server *s, struct arrival *a, const struct ps_header *h)
{
    struct recovery_worker *w = &s->recovery->worker[a->worker];
    struct forward *f = &w->forward[a->slot];
    enum rc rc;

    memcpy(f->posted.header, a->message.head, PS_HEADER_BYTES);
    ps_forward_mark(f->posted.header, &(struct ps_mark){ a->worker, a->slot, s->slice });
    TRY(post_forward(s, &f->posted, &a->message));
    f->is_pending = true;
    f->since_ns = world_now_ns(s->env.world);
    w->is_ending = h->op == PS_LEAVE || h->op == PS_FETCH;
    add_pending(&s->recovery->chain, a);
    a->message = (struct message){ .peer = -1 };
out:
    return rc;
}

/* Forward `op` of the worker, without a message of it. */
static enum rc forward_alone(struct ps_server *s, struct posted *forward, int worker, enum ps_op op)
{
    const struct ps_header h = { .op = op };
    const struct message nothing = { .peer = -1, .tag = (uint32_t)op };
    enum rc rc;

    ps_header_encode(forward->header, &h);
    ps_forward_mark(forward->header, &(struct ps_mark){ worker, 0, s->slice });
    TRY(post_forward(s, forward, &nothing));
    add_pending(&s->recovery->chain, &(struct arrival){ .message = nothing, .worker = worker });
out:
    return rc;
}

enum rc replica_forward_loss(struct ps_server *s, int worker)
{
    struct recovery_worker *w = &s->recovery->worker[worker];

    if (w->loss_is_told)
        return RC_OK;
    w->loss_is_told = w->is_ending = true;
    server_forget_arrivals(s, worker);
    if (s->client[worker].state == LEFT) { /* it is the same without it */
        server_drop_now(s, worker);
        return RC_OK;
    }
    return forward_alone(s, &w->loss, worker, PS_LOST);
}

enum rc replica_leave(struct ps_server *s, int worker)
{
    struct recovery_worker *w = &s->recovery->worker[worker];

    if (!replica_is_kept(s)) {
        server_leave(s, worker);
        return RC_OK;
    }
    if (s->client[worker].state != TRAINING || w->is_ending)
        return RC_OK;
    w->is_ending = true;
    return forward_alone(s, &w->leave, worker, PS_LEAVE);
}

/* A push has waited until now for its replica. */
static void note_wait(struct ps_server *s, const struct forward *f)
{
    s->facts.replicated_count++;
    s->facts.replicate_ns += world_now_ns(s->env.world) - f->since_ns;
}

/* A loss, or a LEAVE without a message. */
static void serve_alone(struct ps_server *s, const struct arrival *a)
{
    struct recovery_worker *w = &s->recovery->worker[a->worker];

    if (a->message.tag == PS_LOST) {
        replica_end_forward(s, &w->loss);
        server_drop_now(s, a->worker);
    } else {
        replica_end_forward(s, &w->leave);
        server_leave(s, a->worker);
    }
}

static enum rc serve_forwarded(struct ps_server *s, struct arrival *a)
{
    struct forward *f = &s->recovery->worker[a->worker].forward[a->slot];
    const struct message *m = &a->message;
    struct ps_header h;
    enum refused why;
    enum rc rc;

    f->is_pending = false;
    TRY(ps_header_decode(&h, m->head, m->n_head_bytes, m->n_bytes + m->n_hollow_bytes, &why));
    if (ps_is_push(h.op))
        note_wait(s, f);
    rc = recovery_serve(s, a, &h);
    if (rc == RC_PEER)
        rc = server_forgive_lost(s, a->worker);
out:
    return rc;
}

/* R2: the replica has it, or there is none any more. */
static enum rc serve_pending(struct ps_server *s)
{
    struct arrival a = arrivals_take(&s->recovery->chain.pending);
    enum rc rc = RC_OK;

    if (a.message.peer < 0)
        serve_alone(s, &a);
    else
        rc = serve_forwarded(s, &a);
    if (rc == RC_OK)
        rc = server_settle_all(s); /* R1: as the replica does, before the next change */
    if (rc == RC_OK)
        rc = server_answer_next(s); /* likewise */
    if (a.message.peer >= 0) {
        replica_end_forward(s, &s->recovery->worker[a.worker].forward[a.slot].posted); /* R7 */
        transport_release(s->env.transport, &a.message);
    }
    return rc;
}

/* Number h->clock of its forwards is there. */
static enum rc take_held(struct ps_server *s, const struct message *m, const struct ps_header *h)
{
    struct chain *c = &s->recovery->chain;
    const bool is_of_copy = c->copy && h->clock == 1;

    if (m->peer != c->heir || h->op != PS_HELD || h->clock != c->n_held + 1 || (c->pending.n == 0 && !is_of_copy))
        return rc_raise(RC_MISMATCH, "rank %d says that it holds forward %llu of server %d, where %llu of %d come next",
                        m->peer, (unsigned long long)h->clock, s->slice, (unsigned long long)c->n_held + 1,
                        c->pending.n);
    c->n_held++;
    return RC_OK;
}

enum rc replica_take_held(struct ps_server *s, struct message *m, enum refused *why)
{
    struct ps_server *held = NULL;
    struct ps_header h;
    enum rc rc;

    TRY(ps_header_decode(&h, m->head, m->n_head_bytes, m->n_bytes + m->n_hollow_bytes, why));
    *why = REFUSED_OUT_OF_ORDER;
    held = server_of_slice(s, h.chunk < (uint32_t)s->env.n_servers ? (int)h.chunk : -1);
    if (!held || !server_is_holder(held))
        FAIL(RC_MISMATCH, "rank %d says that it holds what this server has not: slice %u", m->peer, h.chunk);
    if (m->peer != held->recovery->chain.heir || !held->recovery->chain.is_on)
        if (world_is_lost(s->env.world, m->peer)) /* it was lost before that came */
            goto out;
    TRY(take_held(held, m, &h));
    *why = NOT_REFUSED;
    TRY(held->recovery->chain.copy ? copy_end(held) : serve_pending(held));
out:
    transport_release(s->env.transport, m);
    return rc;
}

/* --- the heir --- */

enum rc replica_post_held(struct ps_server *s)
{
    struct chain *c = &s->recovery->chain;
    struct posted *held = &c->held[++c->n_served % (uint64_t)c->pending.most];
    const struct ps_header h = { .op = PS_HELD, .chunk = (uint32_t)s->slice, .clock = c->n_served };
    enum rc rc;

    TRY(world_forgive_loss(s->env.world, c->home,
                           server_end_posted(s, held, s->env.timeout_ms))); /* it has arrived: R6 */
    ps_header_encode(held->header, &h);
    held->xfer =
        (struct xfer){ .peer = c->home, .tag = PS_TAG_HELD, .head = held->header, .n_head_bytes = PS_HEADER_BYTES };
    TRY(world_forgive_loss(s->env.world, c->home, server_post(s, held)));
out:
    return rc;
}

/* What the holder has checked fits the replica, too, as R1 is. */
static enum rc check_followed(const struct ps_server *replica, const struct arrival *a, const struct ps_header *h)
{
    const struct client *c = &replica->client[a->worker];
    enum refused why;

    if (c->state == LOST)
        return rc_raise(RC_MISMATCH, "worker %d is lost", a->worker);
    if (h->op == PS_LOST)
        return RC_OK;
    if (h->op == PS_JOIN && server_is_elastic(replica)) {
        struct ps_header whole = *h; /* a forward says whose it is in place of its layout */
        whole.layout = replica->layout;
        return server_check_join(replica, a, &whole, &why);
    }
    if (c->state == ABSENT)
        return rc_raise(RC_MISMATCH, "worker %d has not joined", a->worker);
    if (ps_is_push(h->op))
        return server_check_push(replica, a, h, &why);
    if (h->op == PS_NEXT && (c->state != TRAINING || replica->recovery->worker[a->worker].asks))
        return rc_raise(RC_MISMATCH, "worker %d asks for a batch in state %d", a->worker, (int)c->state);
    if (h->op == PS_NEXT || h->op == PS_LEAVE || h->op == PS_FETCH)
        return server_check_done(replica, a, h, &why);
    return rc_raise(RC_MISMATCH, "op %d changes nothing", (int)h->op);
}

static enum rc serve_followed(struct ps_server *replica, struct arrival *a, const struct ps_header *h)
{
    enum rc rc;

    TRY(check_followed(replica, a, h));
    if (h->op == PS_LOST)
        server_drop_now(replica, a->worker);
    else
        TRY(recovery_serve(replica, a, h));
    TRY(server_settle_all(replica));
    TRY(server_answer_next(replica));
out:
    return rc;
}

/* Where that is not so, R1 is broken, and nothing more can be said of the slice. */
static enum rc follow(struct ps_server *replica, struct arrival *a, const struct ps_header *h)
{
    char message[RC_MESSAGE_BYTES];
    enum rc rc = serve_followed(replica, a, h);

    if (rc == RC_MISMATCH) {
        (void)snprintf(message, sizeof message, "%s", rc_message());
        (void)rc_raise(rc, "the replica of server %d is not as its holder: %.400s", replica->slice, message);
    }
    TRY(rc);
    if (a->message.peer >= 0) { /* its gradient is not kept */
        transport_release(replica->env.transport, &a->message);
        a->message = (struct message){ .peer = -1 };
    }
    if (replica->role != SLICE_TAKEN)
        TRY(replica_post_held(replica)); /* R7: when it is released */
out:
    return rc;
}

/* Forward a of slice number `slice`, with the header h, for the rank s. */
static enum rc take_of_slice(struct ps_server *s, struct arrival *a, int slice, const struct ps_header *h,
                             enum refused *why)
{
    struct ps_server *replica = server_of_slice(s, slice);
    const int peer = a->message.peer;

    if (world_is_lost(s->env.world, peer) && (!replica || server_is_holder(replica)))
        return RC_OK; /* it was lost before that came */
    if (h->op == PS_COPY)
        return copy_take(s, &a->message, slice, h, why);
    *why = REFUSED_OUT_OF_ORDER;
    if (!replica || server_is_holder(replica) || peer != replica->recovery->chain.home)
        return rc_raise(RC_MISMATCH, "rank %d forwards a change of slice %d, but this server is not its standby", peer,
                        slice);
    if (a->worker >= sync_most_workers(&s->env) || a->slot >= PS_CREDITS)
        return rc_raise(RC_MISMATCH, "it is of worker %d, slot %u", a->worker, a->slot);
    if (replica->role == SLICE_PARTIAL)
        return copy_take_kept(replica, a, h, why);
    *why = NOT_REFUSED;
    return follow(replica, a, h);
}

enum rc replica_take_forward(struct ps_server *s, struct message *m, enum refused *why)
{
    unsigned char header[PS_HEADER_BYTES];
    struct arrival a = { .message = *m, .seen_ns = world_now_ns(s->env.world) };
    struct ps_header h;
    struct ps_mark mark;
    enum rc rc;

    *m = (struct message){ .peer = -1 };
    *why = REFUSED_TRUNCATED;
    if (a.message.n_head_bytes != PS_HEADER_BYTES)
        FAIL(RC_MISMATCH, "what rank %d forwards has %zu bytes", a.message.peer, a.message.n_head_bytes);
    memcpy(header, a.message.head, sizeof header);
    *why = REFUSED_MALFORMED;
    TRY(ps_forward_unmark(header, &mark));
    TRY(ps_header_decode(&h, header, sizeof header, a.message.n_bytes + a.message.n_hollow_bytes, why));
    a.worker = mark.worker;
    a.slot = mark.slot;
    TRY(take_of_slice(s, &a, mark.slice, &h, why));
out:
    if (a.message.peer >= 0)
        transport_release(s->env.transport, &a.message);
    return rc;
}

/* --- its end --- */

static void end_all_forwards(struct ps_server *s, int timeout_ms)
{
    for (int i = 0; i < sync_most_workers(&s->env); i++) {
        struct recovery_worker *w = &s->recovery->worker[i];
        for (int slot = 0; slot < PS_CREDITS; slot++)
            (void)!server_end_posted(s, &w->forward[slot].posted, timeout_ms); /* the heir is lost, or all is over */
        (void)!server_end_posted(s, &w->loss, timeout_ms);
        (void)!server_end_posted(s, &w->leave, timeout_ms);
    }
}

static void end_held(struct ps_server *s, int timeout_ms)
{
    struct chain *c = &s->recovery->chain;

    for (int i = 0; i < c->pending.most; i++)
        (void)!server_end_posted(s, &c->held[i], timeout_ms); /* its holder may be lost */
}

void replica_end(struct ps_server *s, bool has_failed)
{
    struct chain *c = &s->recovery->chain;
    const int timeout_ms = has_failed ? DO_NOT_WAIT : s->env.timeout_ms;

    copy_abandon(s);
    end_all_forwards(s, timeout_ms);
    end_held(s, timeout_ms);
    while (c->pending.n > 0) {
        struct arrival a = arrivals_take(&c->pending);
        if (a.message.peer >= 0)
            transport_release(s->env.transport, &a.message);
    }
}

bool replica_is_left_with(const struct ps_server *s)
{
    return s->role == SLICE_FOLLOWED && world_is_lost(s->env.world, s->recovery->chain.home);
}

/* --- losses of servers: a holder continues without a standby, or makes a new one; a standby replaces its holder --- */

static enum rc go_on_alone(struct ps_server *s)
{
    char line[RC_MESSAGE_BYTES];
    enum rc rc = RC_OK;

    copy_abandon(s);
    end_all_forwards(s, DO_NOT_WAIT);
    while (s->recovery->chain.pending.n > 0)
        TRY(serve_pending(s));
    s->recovery->chain.is_on = false;
    (void)snprintf(line, sizeof line, "server %d continues without a replica, which server %d had", s->slice,
                   s->recovery->chain.heir - s->env.n_workers);
    server_tell(s, line);
out:
    return rc;
}

static bool heir_is_due(const struct ps_server *s)
{
    return s->recovery->chain.is_on && world_is_lost(s->env.world, s->recovery->chain.heir);
}

static bool holder_is_due(const struct ps_server *s)
{
    return !server_is_holder(s) && world_is_lost(s->env.world, s->recovery->chain.home);
}

/* Whom a holder that has no heir makes one; -1: nobody. R8: nor once it has given its own final state, as others may
 * have ended then. */
static int new_heir(const struct ps_server *s)
{
    const int own = s->env.world->rank - s->env.n_workers;
    const bool is_needed = s->env.n_replicas > 0 && s->rank->client[0].state != LEFT;
    const bool has_none = is_needed && server_is_holder(s) && !s->recovery->chain.is_on;
    const int next = has_none ? ps_living(&s->env, ps_heir(own, s->env.n_servers)) : -1;

    return next == own ? -1 : next;
}

bool replica_may_give_state(const struct ps_server *s)
{
    for (int i = 0; s->role == SLICE_OWN && i < s->n_here; i++)
        if (server_is_holder(s->here[i]) && s->here[i]->recovery->chain.copy)
            return false;
    return true;
}

bool replica_is_due(const struct ps_server *s)
{
    if (world_lost_rank(s->env.world) < 0)
        return false;
    for (int i = 0; i < s->n_here; i++)
        if (heir_is_due(s->here[i]) || holder_is_due(s->here[i]) || new_heir(s->here[i]) >= 0)
            return true;
    return false;
}

/* The replica is the slice from now on. */
static enum rc take_place(struct ps_server *r)
{
    const struct ps_server *own = r->rank;
    const int from = r->recovery->chain.home - r->env.n_workers;
    char line[RC_MESSAGE_BYTES];
    enum rc rc = RC_OK;

    TRY(server_open_versions(r));
    end_held(r, DO_NOT_WAIT);
    r->role = SLICE_TAKEN;
    for (int w = 0; w < sync_most_workers(&r->env); w++) {
        if (r->client[w].state != LOST && world_is_lost(r->env.world, sync_rank_of(&r->env, w)))
            server_drop_now(r, w);
        else if (own->recovery->worker[w].has_left_all) /* R8 */
            TRY(replica_leave(r, w));
    }
    TRY(server_settle_all(r));
    (void)snprintf(line, sizeof line, "server %d takes the place of server %d, which is lost%s", own->slice, from,
                   from != r->slice ? ", of what that held" : "");
    server_tell(own, line);
out:
    return rc;
}

/* R9: the servers before this one that are lost, and the holder of whose slices this one would be. */
static enum rc check_slices(const struct ps_server *s)
{
    const struct sync_env *env = &s->env;
    const int own = s->slice, n = env->n_servers;
    char line[RC_MESSAGE_BYTES];

    for (int i = ps_home(own, n); i != own && world_is_lost(env->world, env->n_workers + i); i = ps_home(i, n)) {
        const struct ps_server *here = server_of_slice(s, i);
        if (here && here->role != SLICE_PARTIAL)
            continue;
        (void)snprintf(line, sizeof line,
                       "the parameters of server %d are lost: who held them was lost before server %d had a whole "
                       "replica of them",
                       i, own);
        server_tell(s, line);
        return rc_raise(RC_PEER, "%s", line);
    }
    return RC_OK;
}

static enum rc look_at(struct ps_server *s)
{
    enum rc rc = s->recovery->chain.error;

    if (rc != RC_OK)
        return rc_raise(rc, "server %d: what it has forwarded is not released by its heir, which lives", s->slice);
    if (heir_is_due(s))
        TRY(go_on_alone(s));
    if (holder_is_due(s))
        TRY(take_place(s));
    const int next = new_heir(s);
    if (next < 0)
        goto out;
    TRY(server_settle_all(s));
    TRY(server_answer_next(s)); /* copy.Y1 */
    TRY(copy_begin(s, next));
out:
    return rc;
}

enum rc replica_look(struct ps_server *s)
{
    const bool has_lost = world_lost_rank(s->env.world) >= 0;
    enum rc rc = RC_OK;

    if (has_lost && s->env.n_replicas > 0)
        TRY(check_slices(s));
    for (int i = 0; i < s->n_here; i++)
        if (has_lost || s->here[i]->recovery->chain.error != RC_OK)
            TRY(look_at(s->here[i]));
out:
    return rc;
}
