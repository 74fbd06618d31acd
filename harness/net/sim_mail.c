/* SPDX-License-Identifier: Apache-2.0 */
/* sim_mail.c - messages, channels, ports and fabrics of the sim transport. */
#include "harness/net/sim_mail.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "harness/world/sim/world_sim.h"

enum { FIRST_BUCKETS = 16 };

void sim_queue_put(struct sim_queue *q, struct sim_message *m)
{
    m->next = NULL;
    if (q->last)
        q->last->next = m;
    else
        q->first = m;
    q->last = m;
}

struct sim_message *sim_queue_take(struct sim_queue *q)
{
    struct sim_message *m = q->first;

    if (m && !(q->first = m->next))
        q->last = NULL;
    return m;
}

void sim_queue_take_out(struct sim_queue *q, const struct sim_message *m)
{
    struct sim_message *before = NULL;

    for (struct sim_message *i = q->first; i != m; i = i->next)
        before = i;
    *(before ? &before->next : &q->first) = m->next;
    if (q->last == m)
        q->last = before;
}

void sim_queue_drop(struct sim_queue *q)
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

/* The channel of (source, tag), made when there is none. */
enum rc port_channel(struct channel **out, struct port *p, int source, uint32_t tag)
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

/* Free c when nothing is in it: tags may be used once and never again. */
void port_trim(struct port *p, struct channel *c)
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

enum rc receipt_open(struct sim_message *m, const struct port *p)
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

void receipt_give_up(struct fabric *f, struct receipt *r)
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

void port_match(struct port *p, struct xfer *x, struct sim_message *m)
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

void sim_message_arrived(struct sim_transfer *transfer)
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

struct fabric *fabric_alloc(struct world *w)
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

void port_close(struct port *p)
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
