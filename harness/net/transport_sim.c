/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport_sim.c - messages between ranks of the sim world, in virtual time.
 *
 * A send is eager: its payload is copied and starts to travel when it is posted, so complete() of a
 * send ends at once (the memory is the sender's again) and never waits for the link. Where the description of the
 * cluster says that senders wait for long messages, it ends when the message has arrived, received or not. A wait
 * without limit that nothing can end is RC_TIMEOUT (world.E3). Polling with DO_NOT_WAIT takes no virtual time:
 * a loop that polls must pause in between.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "harness/net/transport.h"
#include "harness/net/xfer.h"
#include "harness/world/sim/sim_engine.h"
#include "harness/world/sim/world_sim.h"

/*
 * The bookkeeping of messages: their delivery and order. sim_engine.h defines the cost of a message (G2).
 *
 *   sim_message  a message with a copy of its payload
 *   channel      one for each (source, tag) of a receiving rank, while there is anything in it
 *   port         each rank has one: its channels, and the queue of TAG_ANY messages by arrival
 *   receipt      of a message whose sender waits until it has arrived; lives as long as either of them
 *   fabric       the ports of one open()
 *
 * State of a receive:  POSTED -> MATCHED (priv: its sim_message), by sim_message_arrived() or when posted
 *                      -> ENDED, in complete(), which copies and frees
 * State of a send:     SENT, or AWAITED (priv: its receipt), which complete() waits for -> ENDED
 *
 * Invariants
 *   S1  A port belongs to its rank's transport; its memory is the fabric's, so a rank that dies
 *       leaks nothing.
 *   S2  Other ranks run only inside sim_wait, which is the last step of a change.
 *   S3  A message to a rank that closed, ended or died, or after a failure, is dropped.
 */

enum mail_state { MAIL_ENDED, MAIL_POSTED, MAIL_MATCHED, MAIL_SENT, MAIL_AWAITED }; /* xfer.state */

struct receipt {
    struct receipt *previous, *next; /* of the fabric's */
    struct sim_rank *sender;
    bool arrived;
    bool is_unwanted; /* the sender has ended its wait: the arrival frees it */
};

struct sim_message { /* a message with its payload */
    struct sim_transfer transfer;
    struct sim_message *next;
    struct port *to;
    struct channel *channel; /* while flying */
    struct receipt *receipt; /* NULL: no wait for its arrival */
    int source;
    uint32_t tag;
    bool arrived;
    uint64_t arrived_ns;
    size_t n_bytes, n_hollow_bytes;
    _Alignas(max_align_t) unsigned char payload[];
};

struct sim_queue { /* a queue */
    struct sim_message *first, *last;
};

struct channel {
    struct channel *next; /* in its bucket */
    int source;
    uint32_t tag;
    struct sim_queue flying;                 /* in transit, in posting order; one that overtook waits here (net.T4) */
    struct sim_queue here;                   /* arrived, not yet requested */
    struct xfer *posted_first, *posted_last; /* waiting receives */
};

struct port {
    struct transport base;
    struct fabric *fabric;
    struct sim_rank *rank;
    bool open;
    struct channel **bucket;
    size_t n_buckets, n_channels;
    struct sim_queue any;  /* arrived with TAG_ANY */
    struct sim_queue lent; /* matched or lent, and not yet freed (net.S1) */
};

struct fabric {
    struct sim_owned owned;
    int n_ports, n_open;
    size_t n_flying;
    struct receipt *receipts;
    struct port port[];
};

/* --- delivery and order of messages --- */

enum { FIRST_BUCKETS = 16 };

/* Append; take the first (NULL: none); take out m, which is in q; free all. Cannot fail. */
static void sim_queue_put(struct sim_queue *q, struct sim_message *m)
{
    m->next = NULL;
    if (q->last)
        q->last->next = m;
    else
        q->first = m;
    q->last = m;
}

static struct sim_message *sim_queue_take(struct sim_queue *q)
{
    struct sim_message *m = q->first;

    if (m && !(q->first = m->next))
        q->last = NULL;
    return m;
}

static void sim_queue_take_out(struct sim_queue *q, const struct sim_message *m)
{
    struct sim_message *before = NULL;

    for (struct sim_message *i = q->first; i != m; i = i->next)
        before = i;
    *(before ? &before->next : &q->first) = m->next;
    if (q->last == m)
        q->last = before;
}

static void sim_queue_drop(struct sim_queue *q)
{
    for (struct sim_message *m; (m = sim_queue_take(q)) != NULL;)
        free(m);
}

static struct channel **slot_of(struct channel **bucket, size_t n_buckets, int source, uint32_t tag)
{
    const uint32_t hash = ((uint32_t)source * 2654435761u) ^ (tag * 2246822519u);

    return &bucket[(hash ^ hash >> 15) & (n_buckets - 1)];
}

static enum rc grow(struct port *p)
{
    const size_t n_buckets = p->n_buckets ? 4 * p->n_buckets : FIRST_BUCKETS;
    struct channel **bucket = calloc(n_buckets, sizeof(struct channel *));

    if (!bucket)
        return rc_raise(RC_NOMEM, "transport sim: no memory for %zu channels", n_buckets);
    for (size_t i = 0; i < p->n_buckets; i++)
        for (struct channel *c = p->bucket[i], *next; c; c = next) {
            struct channel **slot = slot_of(bucket, n_buckets, c->source, c->tag);
            next = c->next;
            c->next = *slot;
            *slot = c;
        }
    free(p->bucket);
    p->bucket = bucket;
    p->n_buckets = n_buckets;
    return RC_OK;
}

/* The channel of (source, tag); made if needed. RC_NOMEM. */
static enum rc port_channel(struct channel **out, struct port *p, int source, uint32_t tag)
{
    struct channel *c;
    enum rc rc = RC_OK;

    if (p->n_channels >= p->n_buckets)
        TRY(grow(p));
    struct channel **slot = slot_of(p->bucket, p->n_buckets, source, tag);
    for (c = *slot; c; c = c->next)
        if (c->source == source && c->tag == tag)
            break;
    if (!c) {
        c = calloc(1, sizeof *c);
        if (!c)
            FAIL(RC_NOMEM, "transport sim: no memory for a channel");
        c->source = source;
        c->tag = tag;
        c->next = *slot;
        *slot = c;
        p->n_channels++;
    }
    *out = c;
out:
    return rc;
}

/* Frees c if it is empty: tags may be used once and never again. */
static void port_trim(struct port *p, struct channel *c)
{
    if (c->flying.first || c->here.first || c->posted_first)
        return;
    for (struct channel **link = slot_of(p->bucket, p->n_buckets, c->source, c->tag);; link = &(*link)->next)
        if (*link == c) {
            *link = c->next;
            break;
        }
    p->n_channels--;
    free(c);
}

/* Opens a receipt for m, whose sender is the rank of p. RC_NOMEM. */
static enum rc receipt_open(struct sim_message *m, const struct port *p)
{
    struct receipt *r = malloc(sizeof *r);

    if (!r)
        return rc_raise(RC_NOMEM, "transport sim: no memory for a receipt");
    *r = (struct receipt){ .next = p->fabric->receipts, .sender = p->rank };
    if (r->next)
        r->next->previous = r;
    p->fabric->receipts = r;
    m->receipt = r;
    return RC_OK;
}

static void receipt_free(struct fabric *f, struct receipt *r)
{
    if (r->next)
        r->next->previous = r->previous;
    *(r->previous ? &r->previous->next : &f->receipts) = r->next;
    free(r);
}

/* The sender no longer waits for it. */
static void receipt_give_up(struct fabric *f, struct receipt *r)
{
    r->is_unwanted = true;
    if (r->arrived)
        receipt_free(f, r);
}

static void receipt_arrived(struct fabric *f, struct receipt *r)
{
    r->arrived = true;
    if (r->is_unwanted)
        receipt_free(f, r);
    else
        sim_wake(r->sender, r);
}

static void fabric_free(struct fabric *f)
{
    while (f->receipts) /* of senders that died */
        receipt_free(f, f->receipts);
    for (int r = 0; r < f->n_ports; r++) {
        struct port *p = &f->port[r];
        for (size_t i = 0; i < p->n_buckets; i++)
            for (struct channel *c = p->bucket[i], *next; c; c = next) {
                next = c->next;
                sim_queue_drop(&c->flying);
                sim_queue_drop(&c->here);
                free(c);
            }
        free(p->bucket);
        sim_queue_drop(&p->any);
        sim_queue_drop(&p->lent);
    }
    free(f);
}

/* At the end of the run: what is flying now never arrives. */
static void fabric_destroy(struct sim_owned *o)
{
    fabric_free((struct fabric *)o);
}

static void free_if_unused(struct fabric *f)
{
    if (f->n_open > 0 || f->n_flying > 0)
        return;
    sim_disown(f->port[0].rank, &f->owned);
    fabric_free(f);
}

static struct xfer *take_posted(struct channel *c)
{
    struct xfer *x = c->posted_first;

    if (x && !(c->posted_first = x->next))
        c->posted_last = NULL;
    return x;
}

/* x gets m in its complete(). Cannot fail. */
static void port_match(struct port *p, struct xfer *x, struct sim_message *m)
{
    sim_queue_put(&p->lent, m);
    x->priv = m;
    atomic_store_explicit(&x->state, MAIL_MATCHED, memory_order_relaxed);
}

/* Give m, next in its channel's order, to its rank. */
static void hand_over(struct port *p, struct channel *c, struct sim_message *m)
{
    struct xfer *x;

    if (!p->open || sim_gone(p->rank) || sim_failed(p->rank)) { /* net.S3 */
        free(m);
        return;
    }
    if (m->tag & TAG_ANY) { /* net.T8 */
        sim_queue_put(&p->any, m);
        sim_wake(p->rank, &p->any);
        return;
    }
    x = take_posted(c);
    if (x) {
        port_match(p, x, m);
        sim_wake(p->rank, x);
    } else
        sim_queue_put(&c->here, m);
}

/* For sim_message.transfer. */
static void sim_message_arrived(struct sim_transfer *transfer)
{
    struct sim_message *m = (struct sim_message *)transfer;
    struct channel *c = m->channel;
    struct port *p = m->to;

    if (m->receipt)
        receipt_arrived(p->fabric, m->receipt);
    m->receipt = NULL;
    m->arrived = true;
    m->arrived_ns = sim_now_ns(p->rank);
    while (c->flying.first && c->flying.first->arrived) { /* net.T4: not before its predecessors */
        p->fabric->n_flying--;
        hand_over(p, c, sim_queue_take(&c->flying));
    }
    port_trim(p, c);
    free_if_unused(p->fabric);
}

/* One port for each rank of w, all closed at first; owned by the run until the last port closes. NULL: no memory. */
static struct fabric *fabric_alloc(struct world *w)
{
    struct fabric *f = calloc(1, sizeof *f + (size_t)w->n_ranks * sizeof f->port[0]);

    if (!f)
        return NULL;
    f->owned.destroy = fabric_destroy;
    f->n_ports = f->n_open = w->n_ranks;
    for (int r = 0; r < w->n_ranks; r++) {
        f->port[r].fabric = f;
        f->port[r].rank = world_sim_rank(w, r);
    }
    sim_own(f->port[0].rank, &f->owned);
    return f;
}

/* Drops what p's rank has not received. Receives still posted are not touched, because their frames may be gone. The
 * last port to close, and the last message to arrive, free the fabric. */
static void port_close(struct port *p)
{
    p->open = false;
    sim_queue_drop(&p->any);
    sim_queue_drop(&p->lent);
    for (size_t i = 0; i < p->n_buckets; i++)
        for (struct channel *c = p->bucket[i], *next; c; c = next) {
            next = c->next;
            c->posted_first = c->posted_last = NULL;
            sim_queue_drop(&c->here);
            port_trim(p, c);
        }
    p->fabric->n_open--;
    free_if_unused(p->fabric);
}

extern const struct transport_ops transport_sim;

#define MESSAGE_BYTES_MAX (UINT64_C(1) << 53) /* bytes are counted in a double */

static struct port *self(struct transport *t)
{
    return (struct port *)t;
}

static enum rc sim_open(struct transport **out, struct world *w)
{
    struct fabric *fabric = NULL, **mine = &fabric;
    struct fabric ***everyones = NULL;
    enum rc rc;

    if (w->ops != &world_sim)
        return rc_raise(RC_UNSUPPORTED, "transport sim: runs in world sim, not in world %s", w->ops->module.name);
    if (w->rank == 0)
        everyones = calloc((size_t)w->n_ranks, sizeof *everyones);
    if (w->rank == 0 && !everyones)
        FAIL(RC_NOMEM, "transport sim: no memory for %d ranks", w->n_ranks);
    /* One address space: rank 0 learns where each rank wants the pointer, and puts it there. */
    TRY(world_gather(w, &mine, everyones, sizeof mine));
    TRY(world_check(w)); /* whole: so all are still in here, and their pointers are valid */
    if (w->rank == 0) {
        fabric = fabric_alloc(w);
        for (int r = 0; r < w->n_ranks; r++)
            *everyones[r] = fabric;
    }
    TRY(world_barrier(w));
    if (!fabric)
        FAIL(RC_NOMEM, "transport sim: no memory for %d ports", w->n_ranks);
    struct port *p = &fabric->port[w->rank];
    p->base = (struct transport){ .ops = &transport_sim, .world = w };
    p->open = true;
    TRY(world_barrier(w)); /* nobody sends to a port that is not open */
    *out = &p->base;
out:
    free(everyones);
    return rc;
}

static enum rc sim_post_send(struct transport *t, struct xfer *x)
{
    struct port *p = self(t), *to = &p->fabric->port[x->peer];
    const size_t n_bytes = xfer_n_bytes(x);
    struct sim_message *m = NULL;
    enum rc rc;

    TRY(sim_check(p->rank));
    if (x->peer == t->world->rank)
        FAIL(RC_INVAL, "transport sim: rank %d sends to itself", x->peer);
    if (n_bytes > MESSAGE_BYTES_MAX || x->n_hollow_bytes > MESSAGE_BYTES_MAX)
        FAIL(RC_INVAL, "transport sim: a message of %zu bytes and %zu hollow ones is too long", n_bytes,
             x->n_hollow_bytes);
    m = malloc(sizeof *m + n_bytes);
    if (!m)
        FAIL(RC_NOMEM, "transport sim: no memory for a message of %zu bytes", n_bytes);
    *m = (struct sim_message){ .transfer = { .arrived = sim_message_arrived },
                               .to = to,
                               .source = t->world->rank,
                               .tag = x->tag,
                               .n_bytes = n_bytes,
                               .n_hollow_bytes = x->n_hollow_bytes };
    xfer_copy_out(m->payload, x);
    if (sim_sender_waits(p->rank, to->rank, (uint64_t)n_bytes + m->n_hollow_bytes))
        TRY(receipt_open(m, p));
    TRY(port_channel(&m->channel, to, m->source, m->tag));
    sim_queue_put(&m->channel->flying, m);
    p->fabric->n_flying++;
    world_sim_sent(t->world, x->peer, (uint64_t)n_bytes + x->n_hollow_bytes);
    x->priv = m->receipt;
    atomic_store_explicit(&x->state, m->receipt ? MAIL_AWAITED : MAIL_SENT, memory_order_relaxed);
    rc = sim_send(p->rank, to->rank, (uint64_t)m->n_bytes + m->n_hollow_bytes, &m->transfer);
    if (rc == RC_OK)
        return RC_OK; /* net.S2 */
    p->fabric->n_flying--;
    sim_queue_take_out(&m->channel->flying, m);
    port_trim(to, m->channel);
out:
    if (m && m->receipt) {
        m->receipt->arrived = true; /* it never will */
        receipt_give_up(p->fabric, m->receipt);
    }
    free(m);
    return rc;
}

static enum rc sim_post_recv(struct transport *t, struct xfer *x)
{
    struct channel *c = NULL;
    struct sim_message *m;
    enum rc rc;

    TRY(port_channel(&c, self(t), x->peer, x->tag));
    x->next = NULL;
    m = sim_queue_take(&c->here);
    if (m) {
        port_match(self(t), x, m);
        port_trim(self(t), c);
        return RC_OK;
    }
    atomic_store_explicit(&x->state, MAIL_POSTED, memory_order_relaxed);
    x->priv = c;
    if (c->posted_last)
        c->posted_last->next = x;
    else
        c->posted_first = x;
    c->posted_last = x;
out:
    return rc;
}

/* Copy x's message out, and free it. */
static enum rc unpack(struct port *p, struct xfer *x)
{
    struct sim_message *m = x->priv;
    const size_t n_room_bytes = xfer_n_bytes(x);
    enum rc rc = RC_OK;

    if (m->n_bytes > n_room_bytes) /* net.T9 */
        rc = rc_raise(RC_MISMATCH, "message from rank %d, tag %u, has %zu bytes; the receiver has room for %zu",
                      m->source, m->tag, m->n_bytes, n_room_bytes);
    else
        xfer_deliver(x, NULL, 0, m->payload, m->n_bytes);
    x->n_hollow_bytes = m->n_hollow_bytes;
    sim_queue_take_out(&p->lent, m);
    free(m);
    return rc;
}

/* Take a receive back that no message came for (net.T3). */
static void withdraw(struct port *p, struct xfer *x)
{
    struct channel *c = x->priv;
    struct xfer *before = NULL;

    for (struct xfer *i = c->posted_first; i != x; i = i->next)
        before = i;
    if (before)
        before->next = x->next;
    else
        c->posted_first = x->next;
    if (c->posted_last == x)
        c->posted_last = before;
    port_trim(p, c);
}

static uint64_t deadline_ns(struct port *p, int timeout_ms)
{
    return timeout_ms > 0 ? sim_now_ns(p->rank) + (uint64_t)timeout_ms * 1000000u : SIM_NEVER;
}

/* Sleep until `what` may have come. *expired: it did not, in time. RC_PEER (net.T10). */
static enum rc wait_for(struct port *p, int peer, const void *what, int timeout_ms, uint64_t limit_ns, bool *expired)
{
    enum rc rc;

    *expired = timeout_ms == DO_NOT_WAIT;
    TRY(transport_check(&p->base, peer));
    if (*expired)
        return RC_OK;
    *expired = !sim_wait(p->rank, what, limit_ns);
out:
    return rc;
}

static enum mail_state state_of(const struct xfer *x)
{
    return (enum mail_state)atomic_load_explicit(&x->state, memory_order_relaxed);
}

/* A receive whose message has not come, or a send whose message has not arrived and is to. */
static bool is_under_way(const struct xfer *x)
{
    const enum mail_state state = state_of(x);

    return state == MAIL_POSTED || (state == MAIL_AWAITED && !((struct receipt *)x->priv)->arrived);
}

static enum rc sim_complete(struct transport *t, struct xfer *x, int timeout_ms)
{
    const uint64_t limit_ns = deadline_ns(self(t), timeout_ms);
    bool expired = false;
    enum rc rc = RC_OK;

    while (is_under_way(x)) {
        if (expired)
            FAIL(RC_TIMEOUT, "rank %d, tag %u: %s after %d ms", x->peer, x->tag,
                 x->receives ? "no message" : "a message has not arrived", timeout_ms == DO_NOT_WAIT ? 0 : timeout_ms);
        TRY(wait_for(self(t), x->peer, x->receives ? (void *)x : x->priv, timeout_ms, limit_ns, &expired));
    }
    if (state_of(x) == MAIL_MATCHED)
        rc = unpack(self(t), x);
out:
    if (state_of(x) == MAIL_POSTED)
        withdraw(self(t), x);
    if (state_of(x) == MAIL_AWAITED)
        receipt_give_up(self(t)->fabric, x->priv);
    x->priv = NULL;
    atomic_store_explicit(&x->state, MAIL_ENDED, memory_order_relaxed);
    return rc;
}

static enum rc sim_recv_message(struct transport *t, struct message *out, int timeout_ms)
{
    struct port *p = self(t);
    const uint64_t limit_ns = deadline_ns(self(t), timeout_ms);
    bool expired = false;
    struct sim_message *m;
    enum rc rc = RC_OK;

    while ((m = sim_queue_take(&p->any)) == NULL) {
        if ((expired && timeout_ms == DO_NOT_WAIT) || transport_loss_due(t)) /* net.T12 */
            return RC_OK;
        if (expired)
            FAIL(RC_TIMEOUT, "no message from any rank after %d ms", timeout_ms);
        TRY(wait_for(p, -1, &p->any, timeout_ms, limit_ns, &expired));
    }
    sim_queue_put(&p->lent, m);
    *out = (struct message){ .ptr = m->payload,
                             .n_bytes = m->n_bytes,
                             .n_hollow_bytes = m->n_hollow_bytes,
                             .peer = m->source,
                             .tag = m->tag,
                             .arrived_ns = m->arrived_ns,
                             .priv = m };
out:
    return rc;
}

static void sim_release(struct transport *t, struct message *m)
{
    struct sim_message *message = m->priv;

    sim_queue_take_out(&self(t)->lent, message);
    free(message);
    *m = (struct message){ .peer = -1 };
}

static void sim_close(struct transport **t)
{
    struct port *p = self(*t);

    *t = NULL;
    port_close(p);
}

const struct transport_ops transport_sim = {
    .module.name = "sim",
    .module.caps = TR_HOLLOW | TR_ASYNC | TR_COPIES,
    .module.needs_world = WORLD_VIRTUAL_TIME,
    .open = sim_open,
    .post_send = sim_post_send,
    .post_recv = sim_post_recv,
    .complete = sim_complete,
    .recv_message = sim_recv_message,
    .release = sim_release,
    .close = sim_close,
};
