/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport_inproc.c - messages between rank threads: the receiver reads the sender's memory.
 *
 * A posted send waits, as a struct xfer of the sender's transport, in the receiver's inbox; the receiver copies
 * (or adds) straight out of the sender's buffer and marks it done: one pass over memory, no
 * scratch. Every wait first serves the receives this rank has posted, so no order of complete()
 * calls can deadlock (net.T2). A rank that is lost (world.W8) leaves its sends behind, and they outlive its stack; what
 * was copied is good if the sender is not lost even then.
 *
 * State of a send:  POSTED -> TAKEN (under the inbox lock, by the receiver) -> DONE (by the receiver)
 * State of a recv:  POSTED -> DONE | TOO_LONG | LOST (by its own thread)
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "harness/net/transport.h"
#include "harness/net/xfer.h"
#include "harness/net/xfer_queue.h"
#include "harness/world/wait.h"
#include "harness/world/world.h"

extern const struct transport_ops transport_inproc;

#define GIVE_UP_NS UINT64_C(2000000000)

enum state { STATE_ENDED, STATE_POSTED, STATE_TAKEN, STATE_DONE, STATE_TOO_LONG, STATE_LOST };

struct inbox {
    pthread_mutex_t lock;
    struct xfer_queue sends; /* posted to this rank, oldest first; guarded by lock */
    struct doorbell bell;    /* rung for a new send, and for the end of one of our own */
    atomic_int *n_taken;     /* [n_ranks]: sends of this rank that each receiver reads, or holds, right now */
};

struct hub { /* shared by the ranks of one open() */
    atomic_int n_users;
    int n_ranks;
    _Atomic(struct inproc *) left; /* closed while a reader held their sends, which it may still release */
    struct inbox inbox[];
};

struct sent {      /* a posted send; xfer.priv of its owner's */
    struct xfer x; /* its priv: the struct inproc that it is of */
    int sender;
    struct sent *next, *next_free; /* of the transport's: all, and those not in use */
};

struct inproc {
    struct transport base;
    struct hub *hub;
    int rank;            /* the world may be closed before this */
    struct inproc *next; /* of hub->left */
    struct sent *sent, *free;
    uint64_t *failed_ns;     /* [n_ranks]: when a transfer with each first ended with an error; 0: none has */
    struct xfer_queue recvs; /* posted by this rank; touched by its thread only */
};

static struct inproc *self(struct transport *t)
{
    return (struct inproc *)t;
}

static int sender_of(const struct xfer *send)
{
    return ((const struct sent *)send)->sender;
}

static void inproc_free(struct inproc *t)
{
    for (struct sent *sent; t && (sent = t->sent) != NULL;) {
        t->sent = sent->next;
        free(sent);
    }
    if (t)
        free(t->failed_ns);
    free(t);
}

static void hub_free(struct hub *hub)
{
    for (struct inproc *t = atomic_load(&hub->left), *next; t; t = next) {
        next = t->next;
        inproc_free(t);
    }
    for (int r = 0; r < hub->n_ranks; r++) {
        pthread_mutex_destroy(&hub->inbox[r].lock);
        free(hub->inbox[r].n_taken);
    }
    free(hub);
}

/* NULL: no memory. */
static struct hub *hub_alloc(int n_ranks)
{
    struct hub *hub = calloc(1, sizeof *hub + (size_t)n_ranks * sizeof hub->inbox[0]);
    bool is_whole = hub != NULL;

    if (!hub)
        return NULL;
    atomic_store(&hub->n_users, n_ranks);
    hub->n_ranks = n_ranks;
    for (int r = 0; r < n_ranks; r++) {
        struct inbox *inbox = &hub->inbox[r];
        pthread_mutex_init(&inbox->lock, NULL);
        xfer_queue_init(&inbox->sends);
        inbox->n_taken = calloc((size_t)n_ranks, sizeof *inbox->n_taken);
        is_whole = is_whole && inbox->n_taken;
    }
    if (!is_whole) {
        hub_free(hub);
        return NULL;
    }
    return hub;
}

/* One more send that can be posted; free. */
static enum rc sent_add(struct inproc *t)
{
    struct sent *sent = malloc(sizeof *sent);

    if (!sent)
        return rc_raise(RC_NOMEM, "transport inproc: no memory for one more send");
    sent->next = t->sent;
    t->sent = sent;
    sent->next_free = t->free;
    t->free = sent;
    return RC_OK;
}

static enum rc inproc_open(struct transport **out, struct world *w)
{
    enum { SENDS_AT_ONCE = 8, MOST_FIRST_SENDS = 512 };
    struct inproc *t = NULL;
    struct hub *hub = NULL, **hubs = NULL;
    enum rc rc = RC_OK;

    if (!(w->ops->module.caps & WORLD_SHARED_MEMORY) || (w->ops->module.caps & WORLD_VIRTUAL_TIME))
        return rc_raise(RC_UNSUPPORTED, "transport inproc: ranks of world %s do not share memory in real time",
                        w->ops->module.name);
    hubs = calloc((size_t)w->n_ranks, sizeof *hubs);
    t = calloc(1, sizeof *t);
    if (t)
        t->failed_ns = calloc((size_t)w->n_ranks, sizeof *t->failed_ns);
    if (w->rank == 0)
        hub = hub_alloc(w->n_ranks);
    if (!hubs || !t || !t->failed_ns)
        FAIL(RC_NOMEM, "transport inproc: no memory for %d ranks", w->n_ranks);
    for (int i = 0; i < w->n_ranks * SENDS_AT_ONCE && i < MOST_FIRST_SENDS; i++) /* to each: later none is allocated */
        TRY(sent_add(t));
    TRY(world_allgather(w, &hub, hubs, sizeof hub));
    if (!hubs[0])
        FAIL(RC_NOMEM, "transport inproc: no memory for %d inboxes", w->n_ranks);
    t->base = (struct transport){ .ops = &transport_inproc, .world = w };
    t->hub = hubs[0];
    t->rank = w->rank;
    xfer_queue_init(&t->recvs);
    *out = &t->base;
    t = NULL;
out:
    free(hubs);
    inproc_free(t);
    return rc;
}

static enum rc inproc_post_send(struct transport *t, struct xfer *x)
{
    struct inbox *to = &self(t)->hub->inbox[x->peer];
    struct sent *sent;
    enum rc rc = RC_OK;

    x->priv = NULL;
    if (!self(t)->free)
        TRY(sent_add(self(t)));
    sent = self(t)->free;
    self(t)->free = sent->next_free;
    sent->x = (struct xfer){ .ptr = x->ptr,
                             .n_bytes = x->n_bytes,
                             .head = x->head,
                             .n_head_bytes = x->n_head_bytes,
                             .peer = x->peer,
                             .tag = x->tag,
                             .priv = t };
    sent->sender = self(t)->rank;
    x->priv = sent;
    atomic_store_explicit(&sent->x.state, STATE_POSTED, memory_order_relaxed);
    pthread_mutex_lock(&to->lock);
    xfer_queue_append(&to->sends, &sent->x);
    pthread_mutex_unlock(&to->lock);
    doorbell_ring(&to->bell);
out:
    return rc;
}

/* What is in a queue for x: x itself, or the send that stands for it. */
static struct xfer *queued(struct xfer *x)
{
    return x->receives ? x : &((struct sent *)x->priv)->x;
}

/* The end of a send. One that a lost rank still holds is not used again. */
static void end_sent(struct inproc *t, struct xfer *x)
{
    struct sent *sent = x->priv;

    if (x->receives)
        return;
    x->priv = NULL;
    if (atomic_load_explicit(&sent->x.state, memory_order_relaxed) == STATE_TAKEN)
        return;
    sent->next_free = t->free;
    t->free = sent;
}

static enum rc inproc_post_recv(struct transport *t, struct xfer *x)
{
    atomic_store_explicit(&x->state, STATE_POSTED, memory_order_relaxed);
    xfer_queue_append(&self(t)->recvs, x);
    return RC_OK;
}

/* The oldest send to this rank that matches; NULL: none. It is then TAKEN: its sender waits for us. */
static struct xfer *take_send(struct inproc *t, int peer, uint32_t tag, bool any)
{
    struct inbox *own = &t->hub->inbox[t->base.world->rank];
    struct xfer *taken = NULL;

    pthread_mutex_lock(&own->lock);
    for (struct xfer **link = &own->sends.first; *link && !taken; link = &(*link)->next) {
        const bool match = any ? ((*link)->tag & TAG_ANY) != 0 : (*link)->tag == tag && sender_of(*link) == peer;
        if (match) {
            taken = xfer_queue_take(&own->sends, link);
            atomic_store_explicit(&taken->state, STATE_TAKEN, memory_order_relaxed);
            atomic_fetch_add(&t->hub->inbox[sender_of(taken)].n_taken[t->base.world->rank], 1);
            break;
        }
    }
    pthread_mutex_unlock(&own->lock);
    return taken;
}

/* Rank `reader` needs it no longer. */
static void end_send(struct hub *hub, int reader, struct xfer *send)
{
    struct inbox *sender = &hub->inbox[sender_of(send)];

    /* After this store the sender may return from complete(): do not touch `send` again. */
    atomic_store_explicit(&send->state, STATE_DONE, memory_order_release);
    atomic_fetch_sub(&sender->n_taken[reader], 1);
    doorbell_ring(&sender->bell);
}

static enum state deliver(struct xfer *recv, const struct xfer *send)
{
    if (xfer_n_bytes(send) > xfer_n_bytes(recv)) {          /* net.T9 */
        recv->priv = (void *)(uintptr_t)xfer_n_bytes(send); /* complete() names both lengths */
        return STATE_TOO_LONG;
    }
    xfer_deliver(recv, send->head, send->n_head_bytes, send->ptr, send->n_bytes);
    return STATE_DONE;
}

/* Whether an older receive of the same sender and tag still waits. */
static bool has_elder(const struct inproc *t, const struct xfer *recv)
{
    for (const struct xfer *x = t->recvs.first; x != recv; x = x->next)
        if (x->peer == recv->peer && x->tag == recv->tag)
            return true;
    return false;
}

/* Serve every posted receive whose message is here, oldest first (net.T4): a message that comes between our looks for
 * an elder and for a younger receive is the elder's. */
static void progress(struct inproc *t)
{
    for (struct xfer **link = &t->recvs.first; *link;) {
        struct xfer *send = has_elder(t, *link) ? NULL : take_send(t, (*link)->peer, (*link)->tag, false);
        if (!send) {
            link = &(*link)->next;
            continue;
        }
        struct xfer *recv = xfer_queue_take(&t->recvs, link);
        const enum state state = deliver(recv, send);
        atomic_store_explicit(&recv->state, world_is_lost(t->base.world, recv->peer) ? STATE_LOST : state,
                              memory_order_relaxed);
        end_send(t->hub, t->base.world->rank, send);
    }
}

/* Does rank r read this rank's memory? Every reader that returns releases it, also after an error; one that hangs or
 * died does not, so it is believed for a limited time after the first transfer with it that ended with an error. Should
 * it go on then, it reads what is there. */
static bool is_read_by(const struct inproc *t, int r)
{
    return atomic_load(&t->hub->inbox[t->rank].n_taken[r]) > 0 && wait_clock_ns() - t->failed_ns[r] <= GIVE_UP_NS;
}

/* From now on rank r has GIVE_UP_NS. */
static void doubt(struct inproc *t, int r)
{
    if (t->failed_ns[r] == 0)
        t->failed_ns[r] = wait_clock_ns();
}

static void doubt_all(struct inproc *t)
{
    for (int r = 0; r < t->hub->n_ranks; r++)
        doubt(t, r);
}

/* Wait until rank r does not read this rank's memory any more; false: it is believed no longer, and holds a send. */
static bool wait_for_reader(struct inproc *t, int r)
{
    struct inbox *own = &t->hub->inbox[t->rank];

    doubt(t, r);
    for (;;) {
        const uint32_t seen = doorbell_seen(&own->bell);
        if (!is_read_by(t, r))
            return atomic_load(&own->n_taken[r]) == 0;
        world_tick(t->base.world);
        doorbell_wait(&own->bell, seen, false, WAIT_SLICE_NS);
    }
}

/* net.T3: remove x from its queue. If the receiver reads x now, wait until it has, or is believed no longer. */
static void withdraw(struct inproc *t, struct xfer *x)
{
    struct inbox *inbox = x->receives ? NULL : &t->hub->inbox[x->peer];
    struct xfer_queue *q = x->receives ? &t->recvs : &inbox->sends;
    struct xfer *in_queue = queued(x);

    if (inbox)
        pthread_mutex_lock(&inbox->lock);
    for (struct xfer **link = &q->first; *link; link = &(*link)->next)
        if (*link == in_queue) {
            xfer_queue_take(q, link);
            atomic_store(&in_queue->state, STATE_ENDED);
            break;
        }
    if (inbox)
        pthread_mutex_unlock(&inbox->lock);
    if (!x->receives)
        (void)wait_for_reader(t, x->peer);
    end_sent(t, x);
}

/* Wait for the next ring, at most until the deadline; RC_PEER, or RC_TIMEOUT raised by the caller. */
static enum rc wait_ring(struct inproc *t, int peer, uint32_t seen, uint64_t started_ns, int timeout_ms, bool *expired)
{
    const uint64_t limit_ns = timeout_ms > 0 ? (uint64_t)timeout_ms * 1000000u : UINT64_MAX;
    const uint64_t waited_ns = wait_clock_ns() - started_ns;
    enum rc rc;

    *expired = timeout_ms == DO_NOT_WAIT || waited_ns >= limit_ns;
    TRY(transport_check(&t->base, peer)); /* net.T10 */
    if (!*expired)
        doorbell_wait(&t->hub->inbox[t->base.world->rank].bell, seen, world_may_spin(t->base.world),
                      limit_ns - waited_ns < WAIT_SLICE_NS ? limit_ns - waited_ns : WAIT_SLICE_NS);
out:
    return rc;
}

static enum rc inproc_complete(struct transport *t, struct xfer *x, int timeout_ms)
{
    struct inbox *own = &self(t)->hub->inbox[t->world->rank];
    uint64_t started_ns = 0;
    bool expired = false;
    enum rc rc = RC_OK;

    if (!x->receives && !x->priv)
        return rc_raise(RC_INVAL, "transport inproc: peer %d, tag %u: waited for, but not posted", x->peer, x->tag);
    for (;;) {
        const uint32_t seen = doorbell_seen(&own->bell);
        progress(self(t));
        const enum state state = atomic_load_explicit(&queued(x)->state, memory_order_acquire);
        if (state == STATE_DONE) {
            end_sent(self(t), x);
            return RC_OK;
        }
        if (state == STATE_LOST)
            return world_raise_loss(t->world, x->peer);
        if (state == STATE_TOO_LONG)
            return rc_raise(RC_MISMATCH, "message from rank %d, tag %u, has %zu bytes, the receiver has room for %zu",
                            x->peer, x->tag, (size_t)(uintptr_t)x->priv, xfer_n_bytes(x));
        if (started_ns == 0)
            started_ns = wait_clock_ns();
        TRY(wait_ring(self(t), x->peer, seen, started_ns, timeout_ms, &expired));
        if (expired)
            FAIL(RC_TIMEOUT, "rank %d, tag %u: %s not done after %d ms", x->peer, x->tag,
                 x->receives ? "receive" : "send", timeout_ms);
    }
out:
    if (rc == RC_PEER && !world_is_lost(t->world, x->peer)) /* the run failed: many readers take no longer than one */
        doubt_all(self(t));
    withdraw(self(t), x);
    return rc;
}

static enum rc inproc_recv_message(struct transport *t, struct message *out, int timeout_ms)
{
    struct inbox *own = &self(t)->hub->inbox[t->world->rank];
    const uint64_t started_ns = timeout_ms == DO_NOT_WAIT ? 0 : wait_clock_ns();
    bool expired = false;
    enum rc rc;

    for (;;) {
        const uint32_t seen = doorbell_seen(&own->bell);
        struct xfer *send = take_send(self(t), 0, 0, true);
        if (send) {
            *out = (struct message){ .ptr = send->ptr,
                                     .n_bytes = send->n_bytes,
                                     .head = send->head,
                                     .n_head_bytes = send->n_head_bytes,
                                     .peer = sender_of(send),
                                     .tag = send->tag,
                                     .priv = send };
            return RC_OK;
        }
        TRY(wait_ring(self(t), -1, seen, started_ns, timeout_ms, &expired));
        if ((expired && timeout_ms == DO_NOT_WAIT) || transport_loss_due(t)) /* net.T12 */
            return RC_OK;
        if (expired)
            FAIL(RC_TIMEOUT, "no message from any rank after %d ms", timeout_ms);
    }
out:
    return rc;
}

static void inproc_release(struct transport *t, struct message *m)
{
    end_send(self(t)->hub, t->world->rank, m->priv);
}

/* Remove this rank's sends from all inboxes and wait for readers, so that no rank reads its memory after close.
 * False: one that hangs may. */
static bool remove_own_sends(struct inproc *t)
{
    bool are_released = true;

    for (int r = 0; r < t->hub->n_ranks; r++) {
        struct inbox *inbox = &t->hub->inbox[r];
        pthread_mutex_lock(&inbox->lock);
        for (struct xfer **link = &inbox->sends.first; *link;)
            if ((*link)->priv == t)
                xfer_queue_take(&inbox->sends, link);
            else
                link = &(*link)->next;
        pthread_mutex_unlock(&inbox->lock);
    }
    doubt_all(t);
    for (int r = 0; r < t->hub->n_ranks; r++)
        are_released = wait_for_reader(t, r) && are_released;
    return are_released;
}

static void inproc_close(struct transport **tp)
{
    struct inproc *t = self(*tp);
    struct hub *hub = t->hub;

    if (remove_own_sends(t)) {
        inproc_free(t);
    } else { /* who holds a send has not closed: the hub lives until after that */
        t->next = atomic_load(&hub->left);
        while (!atomic_compare_exchange_weak(&hub->left, &t->next, t))
            continue;
    }
    *tp = NULL;
    if (atomic_fetch_sub(&hub->n_users, 1) == 1)
        hub_free(hub);
}

const struct transport_ops transport_inproc = {
    .module.name = "inproc",
    .module.caps = TR_ADD,
    .module.needs_world = WORLD_SHARED_MEMORY,
    .module.refuses_world = WORLD_VIRTUAL_TIME,
    .open = inproc_open,
    .post_send = inproc_post_send,
    .post_recv = inproc_post_recv,
    .complete = inproc_complete,
    .recv_message = inproc_recv_message,
    .release = inproc_release,
    .close = inproc_close,
};
