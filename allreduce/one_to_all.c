/* SPDX-License-Identifier: Apache-2.0 */
/* one_to_all.c - all messages are posted before the first is waited for. */
#include "allreduce/one_to_all.h"

#include <stdio.h>

#include "harness/base/range.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

/* What `rank`, which is not the sender, gets. */
static struct range part_of(const struct one_to_all *o, int rank, int n_ranks)
{
    switch (o->parts) {
    case PART_CHUNK:
        return range_part(o->n_elems, n_ranks, rank);
    case PART_CHUNK_OF_OTHERS:
        return range_part(o->n_elems, n_ranks - 1, (rank - o->sender + n_ranks) % n_ranks - 1);
    case PART_ALL:
        break;
    }
    return (struct range){ 0, o->n_elems };
}

static struct xfer message(const struct one_to_all *o, struct range part, int peer)
{
    const size_t n_bytes = part.n_elems * sizeof(float);

    return (struct xfer){ .peer = peer,
                          .tag = o->tag,
                          .ptr = o->data ? o->data + part.offset_elems : NULL,
                          .n_bytes = o->data ? n_bytes : 0,
                          .n_hollow_bytes = o->data ? 0 : n_bytes };
}

static enum rc send_all(const struct collective *c, const struct one_to_all *o)
{
    struct transport *t = c->env.transport;
    char first_message[RC_MESSAGE_BYTES];
    int n_posted = 0;
    enum rc rc = RC_OK;

    for (int r = 0; rc == RC_OK && r < t->world->n_ranks; r++) {
        const struct range part = r == o->sender ? (struct range){ 0, 0 } : part_of(o, r, t->world->n_ranks);
        if (part.n_elems == 0)
            continue;
        o->xfer[n_posted] = message(o, part, r);
        rc = transport_send(t, &o->xfer[n_posted]);
        if (rc == RC_OK)
            n_posted++;
        else
            snprintf(first_message, sizeof first_message, "%s", rc_message());
    }
    for (int i = 0; i < n_posted; i++) { /* all are ended (T3), the first error is reported */
        const enum rc ended = transport_wait(t, &o->xfer[i], rc == RC_OK ? c->env.timeout_ms : DO_NOT_WAIT);
        if (rc == RC_OK && ended != RC_OK) {
            rc = ended;
            snprintf(first_message, sizeof first_message, "%s", rc_message());
        }
    }
    return rc == RC_OK ? rc : rc_raise(rc, "%s", first_message);
}

static enum rc receive_one(const struct collective *c, const struct one_to_all *o)
{
    struct transport *t = c->env.transport;
    const struct range part = part_of(o, t->world->rank, t->world->n_ranks);
    struct xfer rx = message(o, part, o->sender);
    enum rc rc = RC_OK;

    if (part.n_elems == 0)
        return RC_OK;
    TRY(transport_recv(t, &rx));
    TRY(transport_wait(t, &rx, c->env.timeout_ms));
    if (rx.n_bytes + rx.n_hollow_bytes != part.n_elems * sizeof(float))
        FAIL(RC_MISMATCH, "%s: rank %d sent %zu bytes where %zu belong", c->ops->module.name, o->sender,
             rx.n_bytes + rx.n_hollow_bytes, part.n_elems * sizeof(float));
out:
    return rc;
}

enum rc one_to_all(const struct collective *c, const struct one_to_all *o)
{
    return c->env.transport->world->rank == o->sender ? send_all(c, o) : receive_one(c, o);
}

struct collective_cost one_to_all_cost(const struct one_to_all *o, int rank, int n_ranks)
{
    struct collective_cost cost = { 0 };

    for (int r = 0; rank == o->sender && r < n_ranks; r++) {
        const size_t n_part = r == o->sender ? 0 : part_of(o, r, n_ranks).n_elems;
        cost.msgs += n_part > 0;
        cost.bytes += n_part * sizeof(float);
    }
    return cost;
}
