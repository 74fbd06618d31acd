/* SPDX-License-Identifier: Apache-2.0 */
/* server_replica.c - a server's chain: what it sends on to its heir, and what it follows as one; see replica.h. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/world/world.h"
#include "ps/replica.h"
#include "ps/snapshot.h"

enum rc replica_open(struct ps_server *s)
{
    const int n = s->env.n_servers, n_workers = s->env.n_workers;
    struct chain *c = &s->chain;

    c->heir = n_workers + ps_heir(s->slice, n);
    c->home = n_workers + ps_home(s->slice, n);
    if (s->env.n_replicas == 0)
        return RC_OK;
    c->most_pending = n_workers * (PS_CREDITS + 1); /* R6 */
    c->pending = calloc((size_t)c->most_pending, sizeof *c->pending);
    c->held = calloc((size_t)c->most_pending, sizeof *c->held);
    if (!c->pending || !c->held)
        return rc_raise(RC_NOMEM, "parameter server: no memory for what %d workers send to a replica", n_workers);
    c->is_on = true;
    return RC_OK;
}

void replica_close(struct ps_server *s)
{
    free(s->chain.pending);
    free(s->chain.held);
    ps_server_close(&s->replica);
}

/* --- the home --- */

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
    ps_forward_mark(r->forward_header, a->worker, a->slot);
    TRY(post_forward(s, r, &a->message));
    r->is_pending = true;
    r->pending_piece = h->piece;
    r->forwarded_ns = world_now_ns(s->env.world);
    c->is_ending = !ps_is_push(h->op);
    add_pending(&s->chain, a);
    a->message = (struct message){ .peer = -1 };
out:
    return rc;
}

enum rc replica_forward_loss(struct ps_server *s, int worker)
{
    const struct ps_header h = { .op = PS_LOST };
    const struct message nothing = { .peer = -1 };
    struct client *c = &s->client[worker];
    enum rc rc = RC_OK;

    if (c->loss_is_told)
        return RC_OK;
    c->loss_is_told = c->is_ending = true;
    server_forget_arrivals(s, worker);
    if (c->state == LEFT) { /* it is the same without it */
        server_drop_now(s, worker);
        return RC_OK;
    }
    ps_header_encode(c->loss.forward_header, &h);
    ps_forward_mark(c->loss.forward_header, worker, 0);
    TRY(post_forward(s, &c->loss, &nothing));
    add_pending(&s->chain, &(struct arrival){ .message = nothing, .worker = worker });
out:
    return rc;
}

/* A push has waited until now for its replica. */
static void note_wait(struct ps_server *s, const struct request *r)
{
    s->facts.replicated_count++;
    s->facts.replicate_ns += world_now_ns(s->env.world) - r->forwarded_ns;
}

/* R2: the replica has it, or there is none any more. */
static enum rc serve_pending(struct ps_server *s)
{
    struct chain *chain = &s->chain;
    struct arrival a = chain->pending[chain->first_pending];
    struct client *c = &s->client[a.worker];
    struct request *r = &c->request[a.slot];
    const bool is_loss = a.message.peer < 0;
    struct ps_header h;
    enum refused why;
    enum rc rc = RC_OK;

    chain->first_pending = (chain->first_pending + 1) % chain->most_pending;
    chain->n_pending--;
    if (is_loss) {
        replica_end_forward(s, &c->loss);
        server_drop_now(s, a.worker);
    } else {
        r->is_pending = false;
        TRY(ps_header_decode(&h, a.message.head, a.message.n_head_bytes, a.message.n_bytes + a.message.n_hollow_bytes,
                             &why));
        if (ps_is_push(h.op))
            note_wait(s, r);
        rc = server_serve(s, &a, &h);
        if (rc == RC_PEER)
            rc = server_forgive_lost(s, a.worker);
    }
    if (rc == RC_OK)
        rc = server_settle_all(s); /* R1: as the replica does, before the next change */
out:
    if (a.message.peer >= 0) {
        replica_end_forward(s, r); /* R7 */
        transport_release(s->env.transport, &a.message);
    }
    return rc;
}

enum rc replica_take_held(struct ps_server *s, struct message *m, enum refused *why)
{
    struct chain *c = &s->chain;
    struct ps_header h;
    enum rc rc;

    TRY(ps_header_decode(&h, m->head, m->n_head_bytes, m->n_bytes + m->n_hollow_bytes, why));
    *why = REFUSED_OUT_OF_ORDER;
    if (m->peer == c->heir && !c->is_on) /* it was lost before that came */
        goto out;
    if (m->peer != c->heir || h.op != PS_HELD || h.clock != c->n_held + 1 || c->n_pending == 0)
        FAIL(RC_MISMATCH, "rank %d says that it holds forward %llu of server %d, where %llu of %d come next", m->peer,
             (unsigned long long)h.clock, s->slice, (unsigned long long)c->n_held + 1, c->n_pending);
    *why = NOT_REFUSED;
    c->n_held++;
    TRY(serve_pending(s));
out:
    transport_release(s->env.transport, m);
    return rc;
}

/* --- the heir --- */

static enum rc post_held(struct ps_server *s)
{
    struct chain *c = &s->chain;
    struct held *held = &c->held[++c->n_served % (uint64_t)c->most_pending];
    const struct ps_header h = { .op = PS_HELD, .clock = c->n_served };
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

/* What the home has checked fits the replica, too, as R1 is. */
static enum rc follow(struct ps_server *replica, struct arrival *a, const struct ps_header *h)
{
    enum refused why;
    enum rc rc = RC_OK;

    if (a->worker >= replica->env.n_workers || a->slot >= PS_CREDITS)
        FAIL(RC_MISMATCH, "it is of worker %d, slot %u", a->worker, a->slot);
    if (replica->client[a->worker].state == LOST)
        FAIL(RC_MISMATCH, "worker %d is lost", a->worker);
    if (h->op == PS_LOST) {
        server_drop_now(replica, a->worker);
        goto settle;
    }
    if (ps_is_push(h->op))
        TRY(server_check_push(replica, a, h, &why));
    else if (h->op != PS_LEAVE && h->op != PS_FETCH)
        FAIL(RC_MISMATCH, "op %d changes nothing", (int)h->op);
    TRY(server_serve(replica, a, h));
settle:
    TRY(server_settle_all(replica));
out:
    return rc;
}

enum rc replica_take_forward(struct ps_server *s, struct message *m, enum refused *why)
{
    unsigned char header[PS_HEADER_BYTES];
    struct arrival a = { .message = *m, .seen_ns = world_now_ns(s->env.world) };
    char message[RC_MESSAGE_BYTES];
    struct ps_header h;
    enum rc rc = RC_OK;

    *why = REFUSED_OUT_OF_ORDER;
    if (m->peer != s->chain.home || !s->replica || m->n_head_bytes != PS_HEADER_BYTES)
        FAIL(RC_MISMATCH, "rank %d forwards to server %d, which is not its heir", m->peer, s->slice);
    if (s->replica->is_heir) /* the home was lost before it came */
        goto out;
    memcpy(header, m->head, sizeof header);
    TRY(ps_forward_unmark(header, &a.worker, &a.slot));
    TRY(ps_header_decode(&h, header, sizeof header, m->n_bytes + m->n_hollow_bytes, why));
    *why = NOT_REFUSED;
    rc = follow(s->replica, &a, &h);
    if (rc == RC_MISMATCH) {
        (void)snprintf(message, sizeof message, "%s", rc_message());
        (void)rc_raise(rc, "the replica of server %d is not as its home: %.400s", s->replica->slice, message);
    }
    TRY(rc);
out:
    if (a.message.peer >= 0) /* its gradient is not kept */
        transport_release(s->env.transport, &a.message);
    *m = (struct message){ .peer = -1 };
    if (rc == RC_OK && !s->replica->is_heir)
        rc = post_held(s); /* R7: when it is released */
    return rc;
}

/* --- losses --- */

static bool heir_is_due(const struct ps_server *s)
{
    return s->chain.is_on && world_is_lost(s->env.world, s->chain.heir);
}

static bool home_is_due(const struct ps_server *s)
{
    return s->replica && !s->replica->is_heir && world_is_lost(s->env.world, s->chain.home);
}

bool replica_is_due(const struct ps_server *s)
{
    return world_lost_rank(s->env.world) >= 0 && (heir_is_due(s) || home_is_due(s));
}

static void end_all_forwards(struct ps_server *s, int timeout_ms)
{
    for (int w = 0; w < s->env.n_workers; w++) {
        for (int i = 0; i < PS_CREDITS; i++)
            (void)!end_forward(s, &s->client[w].request[i], timeout_ms); /* the heir is lost, or all is over */
        (void)!end_forward(s, &s->client[w].loss, timeout_ms);
    }
}

/* Nobody will say HELD any more. */
static enum rc go_on_without_heir(struct ps_server *s)
{
    char line[RC_MESSAGE_BYTES];
    enum rc rc = RC_OK;

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

/* The replica is the slice from now on. */
static enum rc take_place(struct ps_server *s)
{
    struct ps_server *r = s->replica;
    char line[RC_MESSAGE_BYTES];
    enum rc rc = RC_OK;

    if (s->env.n_replicas == 0)
        TRY(snapshot_restore(r));
    r->is_heir = true;
    s->facts.n_taken_over++;
    for (int w = 0; w < s->env.n_workers; w++) {
        if (r->client[w].state != LOST && world_is_lost(s->env.world, w))
            server_drop_now(r, w);
        else if (s->client[w].has_left_all) { /* R8 */
            snapshot_end_worker(r, w, s->client[w].n_pushed_before);
            server_leave(r, w);
        }
    }
    TRY(server_settle_all(r));
    (void)snprintf(line, sizeof line, "server %d takes the place of server %d, which is lost%s", s->slice, r->slice,
                   s->env.n_replicas > 0 ? "; those parameters have no replica any more" : ", from its last snapshot");
    server_tell(s, line);
out:
    return rc;
}

enum rc replica_look(struct ps_server *s)
{
    enum rc rc = RC_OK;

    if (s->chain.error != RC_OK)
        return rc_raise(s->chain.error, "server %d: what it has forwarded is not released by its heir, which lives",
                        s->slice);
    if (!replica_is_due(s))
        return RC_OK;
    if (heir_is_due(s))
        TRY(go_on_without_heir(s));
    if (home_is_due(s))
        TRY(take_place(s));
out:
    return rc;
}

void replica_end(struct ps_server *s, bool has_failed)
{
    struct chain *c = &s->chain;
    const int timeout_ms = has_failed ? DO_NOT_WAIT : s->env.timeout_ms;

    end_all_forwards(s, timeout_ms);
    for (int i = 0; i < c->most_pending; i++) {
        if (c->held[i].is_posted)
            (void)!transport_wait(s->env.transport, &c->held[i].tx, timeout_ms); /* its home may be lost */
        c->held[i].is_posted = false;
    }
    for (; c->n_pending > 0; c->n_pending--) {
        struct arrival *a = &c->pending[c->first_pending];
        if (a->message.peer >= 0)
            transport_release(s->env.transport, &a->message);
        c->first_pending = (c->first_pending + 1) % c->most_pending;
    }
}
