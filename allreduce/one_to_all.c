/* SPDX-License-Identifier: Apache-2.0 */
/* one_to_all.c - all messages are posted before the first is waited for; what all get is narrowed once. */
#include "allreduce/one_to_all.h"

#include "allreduce/part_message.h"
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

/* To or from peer, with what it or this rank gets. */
static struct part_message message(const struct collective *c, const struct one_to_all *o, int receiver, int peer)
{
    return (struct part_message){ .collective = c,
                                  .data = o->data,
                                  .part = part_of(o, receiver, c->env.transport->world->n_ranks),
                                  .peer = peer,
                                  .tag = o->tag };
}

static enum rc send_all(const struct collective *c, const struct one_to_all *o)
{
    const int n_ranks = c->env.transport->world->n_ranks;
    const int first = o->sender == 0 ? 1 : 0; /* to whom something is sent */
    enum rc rc = RC_OK;

    for (int r = 0; r < n_ranks; r++)
        if (r == o->sender)
            o->flight[r] = (struct part_message){ 0 };
        else
            o->flight[r] = message(c, o, r, r);
    for (int r = 0; r < n_ranks; r++) {
        o->flight[r].is_narrowed = o->parts == PART_ALL && r > first;
        TRY(part_send(&o->flight[r]));
    }
    for (int r = 0; r < n_ranks; r++)
        TRY(part_end(&o->flight[r]));
out:
    return rc == RC_OK ? rc : part_give_up(o->flight, (size_t)n_ranks, rc);
}

static enum rc receive_one(const struct collective *c, const struct one_to_all *o)
{
    struct part_message m = message(c, o, c->env.transport->world->rank, o->sender);

    return part_transfer(NULL, &m);
}

enum rc one_to_all(const struct collective *c, const struct one_to_all *o)
{
    return c->env.transport->world->rank == o->sender ? send_all(c, o) : receive_one(c, o);
}

struct collective_cost one_to_all_cost(const struct one_to_all *o, int rank, int n_ranks)
{
    struct collective_cost cost = { 0 };

    if (rank != o->sender)
        return collective_receive_cost(part_of(o, rank, n_ranks).n_elems, o->wire, false);
    for (int r = 0; r < n_ranks; r++) {
        const size_t n_part = r == o->sender ? 0 : part_of(o, r, n_ranks).n_elems;
        struct collective_cost sent = collective_send_cost(n_part, o->wire);
        sent.msgs = n_part > 0;
        if (o->parts == PART_ALL && cost.msgs > 0)
            sent.memory_bytes = 0;
        cost = collective_cost_sum(cost, sent);
    }
    return cost;
}
