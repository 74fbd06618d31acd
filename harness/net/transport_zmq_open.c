/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport_zmq_open.c - how the ranks of a zmq transport find each other, and its end.
 *
 * Every rank listens, and tells the others where, over the world; each connects to those it sends to.
 *
 * Over TCP a gate says who may connect, and encrypts unless world.security says otherwise (zmq_gate.h); on the loopback
 * it encrypts only where it is asked to. What the gates of the others need of this rank goes the way of its address.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "harness/net/zmq_context.h"
#include "harness/net/zmq_files.h"
#include "harness/net/zmq_inbox.h"
#include "harness/net/zmq_kinds.h"
#include "harness/net/zmq_outbox.h"
#include "harness/net/zmq_tender.h"
#include "harness/world/world.h"

enum { ATTACH_MS = 20000, SILENCE_MS = 120000 };     /* SILENCE_MS: where the plan has none */
enum { LEAST_WINDOW = 64, UNPLANNED_WINDOW = 1024 }; /* messages */

struct outcome { /* of a rank in attach() */
    enum rc rc;
    char reason[RC_MESSAGE_BYTES];
};

enum rc zmq_gate_for(struct zmq_gate **out, void *context, const struct world *w, const struct zmq_address *address)
{
    const enum world_security security = w->security;
    enum rc rc = RC_OK;

    if (address->reach != ZMQ_REACH_HOSTS && security == SECURITY_ON)
        FAIL(RC_INVAL,
             "--secure: ranks of one host send nothing over a network, unless --interface names one: --interface "
             "lo, say");
    if (address->reach != ZMQ_REACH_HOSTS)
        return RC_OK;
    TRY(zmq_gate_open(out, context, security == SECURITY_ON || (security == SECURITY_AUTO && !address->is_loopback),
                      NULL));
out:
    return rc;
}

static enum rc open_gate(struct zmq *t, struct bootstrap *own)
{
    enum rc rc;

    TRY(zmq_gate_for(&t->gate, zmq_context_ptr(t->context), t->base.world, &t->address));
    if (!t->gate)
        return RC_OK;
    (void)snprintf(own->pass, sizeof own->pass, "%s", zmq_gate_pass(t->gate));
    t->base.encrypts = own->encrypts = zmq_gate_encrypts(t->gate);
    t->base.uses_tcp = true;
out:
    return rc;
}

/* All are known: they may come. A guest that enters later is one more. */
static enum rc admit(struct zmq *t, int first, int n_ranks)
{
    const char **pass = NULL;
    enum rc rc = RC_OK;

    if (!t->gate)
        return RC_OK;
    pass = calloc((size_t)n_ranks, sizeof *pass);
    if (!pass)
        FAIL(RC_NOMEM, "transport zmq: no memory for %d ranks", n_ranks);
    for (int r = 0; r < n_ranks; r++)
        pass[r] = t->bootstrap[first + r].pass;
    TRY(zmq_gate_admit(t->gate, pass, n_ranks));
out:
    free(pass);
    return rc;
}

static enum rc listen_somewhere(struct zmq *t, const struct transport_plan *plan, struct bootstrap *own)
{
    struct inbox_limits limits = { .most_message_bytes = plan->most_message_bytes,
                                   .most_waiting = plan->most_messages,
                                   .silence_ms = plan->silence_ms };
    enum rc rc;

    TRY(zmq_address_open(&t->address, t->base.world, t->has_guests ? ZMQ_WANT_TCP : t->wanted));
    TRY(zmq_files_check(t->address.reach, world_n_peers(t->base.world)));
    TRY(open_gate(t, own));
    limits.gate = t->gate;
    limits.is_private = t->address.reach == ZMQ_REACH_HOST;
    limits.reconnects = t->address.reach == ZMQ_REACH_HOSTS;
    limits.window = own->window;
    TRY(inbox_limit(t->inbox, &limits));
    TRY(inbox_listen(t->inbox, t->address.text, own->endpoint, sizeof own->endpoint));
    if (getrandom(own->token, sizeof own->token, 0) != (ssize_t)sizeof own->token)
        FAIL(RC_IO, "transport zmq: no random numbers: %s", strerror(errno));
out:
    return rc;
}

/* Of a guest, what rank 0 has told it of all ranks; it tells the servers of itself. */
static enum rc enter(struct zmq *t, const struct bootstrap *own)
{
    struct world *w = t->base.world;
    const size_t n_bytes = (size_t)w->n_ranks * sizeof *own;
    enum rc rc = own->rc;

    if (own->rc != RC_OK)
        FAIL(own->rc, "%s", own->reason);
    if (w->n_welcome_bytes != n_bytes)
        FAIL(RC_MISMATCH, "transport zmq: rank 0 tells of %zu bytes in place of %zu: it is another program",
             w->n_welcome_bytes, n_bytes);
    memcpy(t->bootstrap, w->welcome, n_bytes);
    if (t->bootstrap[0].encrypts != own->encrypts)
        FAIL(RC_MISMATCH,
             "transport zmq: the run %s, and this process %s; --secure or --insecure as the others have it",
             t->bootstrap[0].encrypts ? "encrypts" : "does not encrypt", own->encrypts ? "does" : "does not");
    TRY(world_enter(w, own, sizeof *own));
out:
    return rc;
}

enum rc zmq_take_guests(struct zmq *t)
{
    struct world *w = t->base.world;
    struct guest_event guest;
    enum rc rc = RC_OK;

    while (world_next_guest(w, &guest)) {
        struct bootstrap *b = &t->bootstrap[guest.rank];
        if (guest.n_bytes != sizeof *b) /* of another program: it gets nowhere */
            continue;
        memcpy(b, guest.bytes, sizeof *b);
        b->endpoint[sizeof b->endpoint - 1] = b->pass[sizeof b->pass - 1] = '\0';
        TRY(admit(t, guest.rank, 1));
        zmq_tender_lock(t->tender);
        outbox_set_endpoint(t->outbox, guest.rank, b->endpoint, t->gate ? b->pass : NULL);
        zmq_tender_unlock(t->tender);
    }
out:
    return rc;
}

/* Exchange endpoint, window and token with all ranks. A rank that cannot listen still takes part and says why: then all
 * ranks fail, and none waits for a missing one. Collective. */
static enum rc exchange_endpoints(struct zmq *t, const struct transport_plan *plan)
{
    const uint64_t wanted = plan->most_messages > 0 ? plan->most_messages : UNPLANNED_WINDOW;
    struct world *w = t->base.world;
    struct bootstrap own;
    enum rc rc;

    memset(&own, 0, sizeof own); /* it is sent as bytes */
    own.window = wanted > LEAST_WINDOW ? wanted : LEAST_WINDOW;
    own.rc = listen_somewhere(t, plan, &own);
    if (own.rc != RC_OK)
        (void)snprintf(own.reason, sizeof own.reason, "%s", rc_message());
    TRY(world_is_guest(w) ? enter(t, &own) : world_allgather(w, &own, t->bootstrap, sizeof own));
    if (own.rc != RC_OK)
        FAIL(own.rc, "%s", own.reason);
    for (int r = 0; r < w->n_ranks; r++) {
        if (t->bootstrap[r].rc != RC_OK)
            FAIL(RC_PEER, "rank %d cannot listen: %s", r, t->bootstrap[r].reason);
        if (t->bootstrap[r].window != own.window)
            FAIL(RC_MISMATCH, "transport zmq: rank %d plans %llu messages to a rank, rank %d %llu", r,
                 (unsigned long long)t->bootstrap[r].window, w->rank, (unsigned long long)own.window);
    }
    inbox_set_token(t->inbox, t->bootstrap[0].token);
    TRY(admit(t, 0, w->n_ranks));
    if (t->has_guests && w->rank == 0)
        TRY(world_open_doors(w, t->bootstrap, (size_t)w->n_ranks * sizeof own));
out:
    return rc;
}

static enum rc open_outbox(struct zmq *t, const struct transport_plan *plan)
{
    const struct world *w = t->base.world;
    struct outbox_env env = { .context = zmq_context_ptr(t->context),
                              .rank = w->rank,
                              .n_ranks = world_n_peers(w),
                              .window = t->bootstrap[0].window,
                              .reconnects = t->address.reach == ZMQ_REACH_HOSTS,
                              .is_eager = t->address.reach == ZMQ_REACH_HOST,
                              .is_copying = t->address.reach == ZMQ_REACH_PROCESS,
                              .silence_ms = plan->silence_ms,
                              .gate = t->gate };
    enum rc rc;

    memcpy(env.token, t->bootstrap[0].token, sizeof env.token);
    TRY(outbox_open(&t->outbox, &env));
    for (int r = 0; r < w->n_ranks; r++)
        outbox_set_endpoint(t->outbox, r, t->bootstrap[r].endpoint, t->gate ? t->bootstrap[r].pass : NULL);
    if (env.reconnects)
        TRY(zmq_tender_open(&t->tender, t->outbox));
out:
    return rc;
}

/* Connect to a rank of this host. */
static enum rc attach_to(struct zmq *t, int rank)
{
    bool connected = false;
    enum rc rc = RC_OK;

    for (int waited_ms = 0; !connected; waited_ms += ZMQ_SLICE_MS) {
        if (waited_ms >= ATTACH_MS)
            FAIL(RC_TIMEOUT, "transport zmq: %s: rank %d does not answer within %d ms", t->bootstrap[rank].endpoint,
                 rank, ATTACH_MS);
        TRY(transport_check(&t->base, -1));
        TRY(outbox_attach(t->outbox, rank, ZMQ_SLICE_MS, &connected));
    }
out:
    return rc;
}

/* Connect to all ranks of this host, so that nobody needs the sockets' folders any more; they are removed, also where
 * that fails. Collective. */
static enum rc attach(struct zmq *t)
{
    struct world *w = t->base.world;
    struct outcome own, *all = calloc((size_t)w->n_ranks, sizeof *all);
    enum rc rc = RC_OK;

    if (!all)
        FAIL(RC_NOMEM, "transport zmq: no memory for %d ranks", w->n_ranks);
    memset(&own, 0, sizeof own);
    for (int r = 0; r < w->n_ranks && own.rc == RC_OK; r++)
        if (r != w->rank)
            own.rc = attach_to(t, r);
    if (own.rc != RC_OK)
        (void)snprintf(own.reason, sizeof own.reason, "%s", rc_message());
    TRY(world_allgather(w, &own, all, sizeof own));
    if (own.rc != RC_OK)
        FAIL(own.rc, "%s", own.reason);
    for (int r = 0; r < w->n_ranks; r++)
        if (all[r].rc != RC_OK)
            FAIL(RC_PEER, "rank %d cannot reach another one: %s", r, all[r].reason);
out:
    zmq_address_remove(&t->address);
    free(all);
    return rc;
}

/* Is there nobody who would receive what is still to be sent to this peer? Where a loss ends the run, one error ends
 * all this rank does, and it has to be gone soon (world.W4). */
static bool is_given_up(const struct zmq *t, int peer)
{
    const struct world *w = t->base.world;

    if (t->base.dead != RC_OK || (t->base.peer_error && w->on_loss == ON_LOSS_ABORT))
        return true;
    return transport_peer_error(&t->base, peer) != RC_OK || world_is_lost(w, peer);
}

void zmq_close_transport(struct transport **tp)
{
    struct zmq *t = zmq_self(*tp);

    zmq_tender_close(&t->tender);
    for (int r = 0; t->outbox && r < world_n_peers(t->base.world); r++)
        if (is_given_up(t, r))
            outbox_give_up(t->outbox, r);
    outbox_close(&t->outbox);
    inbox_close(&t->inbox);
    zmq_gate_close(&t->gate);
    zmq_address_remove(&t->address);
    zmq_context_close(&t->context);
    if (t->bootstrap)
        explicit_bzero(t->bootstrap, (size_t)world_n_peers(t->base.world) * sizeof *t->bootstrap); /* passes */
    free(t->bootstrap);
    free(t);
    *tp = NULL;
}

enum rc zmq_open_transport(struct transport **out, struct world *w, const struct transport_plan *given,
                           const struct zmq_kind *kind)
{
    struct transport_plan plan = *given;
    struct transport *base = NULL;
    struct zmq *t;
    enum rc rc = RC_OK;

    if (w->ops->module.caps & WORLD_VIRTUAL_TIME)
        return rc_raise(RC_UNSUPPORTED, "transport %s: real sockets cannot run in the virtual time of world %s",
                        kind->ops->module.name, w->ops->module.name);
    t = calloc(1, sizeof *t);
    if (!t)
        return rc_raise(RC_NOMEM, "transport zmq: no memory");
    base = &t->base;
    *base = (struct transport){ .ops = kind->ops, .world = w };
    t->wanted = kind->wanted;
    plan.silence_ms = plan.silence_ms > 0 ? plan.silence_ms : SILENCE_MS;
    t->has_guests = plan.has_guests && w->n_guests > 0;
    t->bootstrap = calloc((size_t)world_n_peers(w), sizeof *t->bootstrap);
    if (!t->bootstrap)
        FAIL(RC_NOMEM, "transport zmq: no memory for %d ranks", w->n_ranks);
    zmq_files_raise();
    TRY(zmq_context_open(&t->context, w, kind->wanted == ZMQ_WANT_ANY));
    TRY(inbox_open(&t->inbox, zmq_context_ptr(t->context), w->rank, world_n_peers(w)));
    TRY(exchange_endpoints(t, &plan));
    TRY(open_outbox(t, &plan));
    if (t->address.reach == ZMQ_REACH_HOST)
        TRY(attach(t));
    *out = base;
    base = NULL;
out:
    if (base)
        zmq_close_transport(&base);
    return rc;
}
