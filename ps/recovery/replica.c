/* SPDX-License-Identifier: Apache-2.0 */
/* replica.c - a slice's chain: what its holder sends on to its heir, and what that follows; see replica.h. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/world/world.h"
#include "ps/recovery/copy.h"
#include "ps/recovery/replica.h"

enum rc replica_open(struct ps_server *s)
{
    const int n = s->env.n_servers, n_workers = sync_most_workers(&s->env);
    struct chain *c = &s->chain;

    c->heir = s->env.n_workers + ps_heir(s->slice, n);
    c->home = s->env.n_workers + s->slice;
    if (s->env.n_replicas == 0)
        return RC_OK;
    c->most_pending = n_workers * (PS_CREDITS + 2) + 1; /* R6 */
    c->pending = calloc((size_t)c->most_pending, sizeof *c->pending);
    c->held = calloc((size_t)c->most_pending, sizeof *c->held);
    if (!c->pending || !c->held)
        return rc_raise(RC_NOMEM, "parameter server: no memory for what %d workers send to a replica", n_workers);
    return RC_OK;
}

void replica_close(struct ps_server *s)
{
    copy_abandon(s);
    free(s->chain.pending);
    free(s->chain.held);
}

/* --- the holder --- */

static enum rc end_forward(struct ps_server *s, struct request *r, int timeout_ms)
{
    if (!r->is_forwarded)
        return RC_OK;
    r->is_forwarded = false;
    return transport_wait(s->env.transport, &r->forward, timeout_ms); /* over, either way: transport.T3 */
}

void replica_end_forward(struct ps_server *s, struct request *r)
{
    const enum rc rc = ps_forgive_loss(s->env.world, s->chain.heir, end_forward(s, r, s->env.timeout_ms));

    if (s->chain.error == RC_OK)
        s->chain.error = rc;
}

static enum rc post_forward(struct ps_server *s, struct request *r, const struct message *m)
{
    enum rc rc;

    r->forward = (struct xfer){ .peer = s->chain.heir,
                                .tag = PS_TAG_FORWARD,
                                .head = r->forward_header,
                                .n_head_bytes = PS_HEADER_BYTES,
                                .ptr = (void *)(uintptr_t)m->ptr,
                                .n_bytes = m->n_bytes,
                                .n_hollow_bytes = m->n_hollow_bytes,
                                .lends = true };
    assert(!r->is_forwarded);
    rc = transport_send(s->env.transport, &r->forward);
    r->is_forwarded = rc == RC_OK;
    return ps_forgive_loss(s->env.world, s->chain.heir, rc);
}

static void add_pending(struct chain *c, const struct arrival *a)
{
    assert(c->n_pending < c->most_pending); /* R6 */
    c->pending[(c->first_pending + c->n_pending++) % c->most_pending] = *a;
}

enum rc replica_forward(struct ps_server *s, struct arrival *a, const struct ps_header *h)
{
    struct client *c = &s->client[a->worker];
    struct request *r = &c->request[a->slot];
    enum rc rc;

    memcpy(r->forward_header, a->message.head, PS_HEADER_BYTES);
    ps_forward_mark(r->forward_header, &(struct ps_mark){ a->worker, a->slot, s->slice });
    TRY(post_forward(s, r, &a->message));
    r->is_pending = true;
    r->pending_piece = h->piece;
    r->forwarded_ns = world_now_ns(s->env.world);
    c->is_ending = h->op == PS_LEAVE || h->op == PS_FETCH;
    add_pending(&s->chain, a);
    a->message = (struct message){ .peer = -1 };
out:
    return rc;
}

/* Forward `op` of the worker, without a message of it, by r. */
static enum rc forward_alone(struct ps_server *s, struct request *r, int worker, enum ps_op op)
{
    const struct ps_header h = { .op = op };
    const struct message nothing = { .peer = -1, .tag = (uint32_t)op };
    enum rc rc;

    ps_header_encode(r->forward_header, &h);
    ps_forward_mark(r->forward_header, &(struct ps_mark){ worker, 0, s->slice });
    TRY(post_forward(s, r, &nothing));
    add_pending(&s->chain, &(struct arrival){ .message = nothing, .worker = worker });
out:
    return rc;
}

enum rc replica_forward_loss(struct ps_server *s, int worker)
{
    struct client *c = &s->client[worker];

    if (c->loss_is_told)
        return RC_OK;
    c->loss_is_told = c->is_ending = true;
    server_forget_arrivals(s, worker);
    if (c->state == LEFT) { /* it is the same without it */
        server_drop_now(s, worker);
        return RC_OK;
    }
    return forward_alone(s, &c->loss, worker, PS_LOST);
}

enum rc replica_leave(struct ps_server *s, int worker)
{
    struct client *c = &s->client[worker];

    if (!replica_is_kept(s)) {
        server_leave(s, worker);
        return RC_OK;
    }
    if (c->state != TRAINING || c->is_ending)
        return RC_OK;
    c->is_ending = true;
    return forward_alone(s, &c->leave, worker, PS_LEAVE);
}

/* A push has waited until now for its replica. */
static void note_wait(struct ps_server *s, const struct request *r)
{
    s->facts.replicated_count++;
    s->facts.replicate_ns += world_now_ns(s->env.world) - r->forwarded_ns;
}

/* A loss, or a LEAVE without a message. */
static void serve_alone(struct ps_server *s, const struct arrival *a)
{
    struct client *c = &s->client[a->worker];

    if (a->message.tag == PS_LOST) {
        replica_end_forward(s, &c->loss);
        server_drop_now(s, a->worker);
    } else {
        replica_end_forward(s, &c->leave);
        server_leave(s, a->worker);
    }
}

static enum rc serve_forwarded(struct ps_server *s, struct arrival *a)
{
    struct request *r = &s->client[a->worker].request[a->slot];
    const struct message *m = &a->message;
    struct ps_header h;
    enum refused why;
    enum rc rc;

    r->is_pending = false;
    TRY(ps_header_decode(&h, m->head, m->n_head_bytes, m->n_bytes + m->n_hollow_bytes, &why));
    if (ps_is_push(h.op))
        note_wait(s, r);
    rc = server_serve(s, a, &h);
    if (rc == RC_PEER)
        rc = server_forgive_lost(s, a->worker);
out:
    return rc;
}

/* R2: the replica has it, or there is none any more. */
static enum rc serve_pending(struct ps_server *s)
{
    struct chain *chain = &s->chain;
    struct arrival a = chain->pending[chain->first_pending];
    enum rc rc = RC_OK;

    chain->first_pending = (chain->first_pending + 1) % chain->most_pending;
    chain->n_pending--;
    if (a.message.peer < 0)
        serve_alone(s, &a);
    else
        rc = serve_forwarded(s, &a);
    if (rc == RC_OK)
        rc = server_settle_all(s); /* R1: as the replica does, before the next change */
    if (rc == RC_OK)
        rc = server_answer_next(s); /* likewise */
    if (a.message.peer >= 0) {
        replica_end_forward(s, &s->client[a.worker].request[a.slot]); /* R7 */
        transport_release(s->env.transport, &a.message);
    }
    return rc;
}

/* Number h->clock of its forwards is there. */
static enum rc take_held(struct ps_server *s, const struct message *m, const struct ps_header *h)
{
    struct chain *c = &s->chain;
    const bool is_of_copy = c->copy && h->clock == 1;

    if (m->peer != c->heir || h->op != PS_HELD || h->clock != c->n_held + 1 || (c->n_pending == 0 && !is_of_copy))
        return rc_raise(RC_MISMATCH, "rank %d says that it holds forward %llu of server %d, where %llu of %d come next",
                        m->peer, (unsigned long long)h->clock, s->slice, (unsigned long long)c->n_held + 1,
                        c->n_pending);
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
    held = server_of_slice(s, h.piece < (uint32_t)s->env.n_servers ? (int)h.piece : -1);
    if (!held || !server_is_holder(held))
        FAIL(RC_MISMATCH, "rank %d says that it holds what this server has not: slice %u", m->peer, h.piece);
    if (m->peer != held->chain.heir || !held->chain.is_on)
        if (world_is_lost(s->env.world, m->peer)) /* it was lost before that came */
            goto out;
    TRY(take_held(held, m, &h));
    *why = NOT_REFUSED;
    TRY(held->chain.copy ? copy_end(held) : serve_pending(held));
out:
    transport_release(s->env.transport, m);
    return rc;
}

/* --- the heir --- */

enum rc replica_post_held(struct ps_server *s)
{
    struct chain *c = &s->chain;
    struct held *held = &c->held[++c->n_served % (uint64_t)c->most_pending];
    const struct ps_header h = { .op = PS_HELD, .piece = (uint32_t)s->slice, .clock = c->n_served };
    enum rc rc = RC_OK;

    if (held->is_posted) /* it has arrived: R6 */
        rc = transport_wait(s->env.transport, &held->tx, s->env.timeout_ms);
    held->is_posted = false;
    TRY(ps_forgive_loss(s->env.world, c->home, rc));
    ps_header_encode(held->header, &h);
    held->tx =
        (struct xfer){ .peer = c->home, .tag = PS_TAG_HELD, .head = held->header, .n_head_bytes = PS_HEADER_BYTES };
    rc = transport_send(s->env.transport, &held->tx);
    held->is_posted = rc == RC_OK;
    rc = ps_forgive_loss(s->env.world, c->home, rc);
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
    if (h->op == PS_NEXT && (c->state != TRAINING || c->asks))
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
        TRY(server_serve(replica, a, h));
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
    if (!replica->is_heir)
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
    if (!replica || server_is_holder(replica) || peer != replica->chain.home)
        return rc_raise(RC_MISMATCH, "rank %d forwards a change of slice %d, whose heir this server is not", peer,
                        slice);
    if (a->worker >= sync_most_workers(&s->env) || a->slot >= PS_CREDITS)
        return rc_raise(RC_MISMATCH, "it is of worker %d, slot %u", a->worker, a->slot);
    if (replica->is_partial)
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
    for (int w = 0; w < sync_most_workers(&s->env); w++) {
        for (int i = 0; i < PS_CREDITS; i++)
            (void)!end_forward(s, &s->client[w].request[i], timeout_ms); /* the heir is lost, or all is over */
        (void)!end_forward(s, &s->client[w].loss, timeout_ms);
        (void)!end_forward(s, &s->client[w].leave, timeout_ms);
    }
}

void replica_end_held(struct ps_server *s, int timeout_ms)
{
    struct chain *c = &s->chain;

    for (int i = 0; i < c->most_pending; i++) {
        if (c->held[i].is_posted)
            (void)!transport_wait(s->env.transport, &c->held[i].tx, timeout_ms); /* its holder may be lost */
        c->held[i].is_posted = false;
    }
}

enum rc replica_go_on_alone(struct ps_server *s)
{
    char line[RC_MESSAGE_BYTES];
    enum rc rc = RC_OK;

    copy_abandon(s);
    end_all_forwards(s, DO_NOT_WAIT);
    while (s->chain.n_pending > 0)
        TRY(serve_pending(s));
    s->chain.is_on = false;
    (void)snprintf(line, sizeof line, "server %d goes on without a replica, which server %d had", s->slice,
                   s->chain.heir - s->env.n_workers);
    server_tell(s, line);
out:
    return rc;
}

void replica_end(struct ps_server *s, bool has_failed)
{
    struct chain *c = &s->chain;
    const int timeout_ms = has_failed ? DO_NOT_WAIT : s->env.timeout_ms;

    copy_abandon(s);
    end_all_forwards(s, timeout_ms);
    replica_end_held(s, timeout_ms);
    for (; c->n_pending > 0; c->n_pending--) {
        struct arrival *a = &c->pending[c->first_pending];
        if (a->message.peer >= 0)
            transport_release(s->env.transport, &a->message);
        c->first_pending = (c->first_pending + 1) % c->most_pending;
    }
}
