/* SPDX-License-Identifier: Apache-2.0 */
/*
 * root.c - the naive reference: one rank sends to all others, after it has received from all of them.
 *
 *     type             rank 0 receives                     and sends to rank r
 *     allreduce        vectors, added in rank order        the sum
 *     reduce-scatter   vectors, added in rank order        chunk r of the sum
 *     allgather        chunk r of rank r                   all chunks
 *     broadcast        nothing                             all (the rank that sends is call.root)
 *
 * Empty chunks are not sent. Cost of an allreduce: rank 0 moves 2 (p - 1) n elements through one link and makes every
 * addition; that is what the ring is compared with. Every rank gets the same bits (A1).
 */
#include <stdlib.h>

#include "allreduce/one_to_all.h"
#include "allreduce/part_message.h"
#include "harness/base/arena.h"
#include "harness/base/range.h"
#include "harness/exchange/collective.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

extern const struct collective_ops collective_root;

/* Runs take turns with so many tags: a message that comes twice is never taken for the next one. */
enum { TAG_GATHER = 0x2000, TAG_SPREAD = 0x3000, N_TAGS = 0x1000 };

struct root {
    struct collective base;
    struct arena arena;
    uint32_t turn;               /* runs so far, modulo N_TAGS */
    float *scratch;              /* rank 0: one vector; unused where the transport adds in place */
    struct part_message *spread; /* [n_ranks] of a rank that sends to all: what is on its way to each */
};

static bool adds(unsigned types)
{
    return (types & (COLL_ALLREDUCE | COLL_REDUCE_SCATTER)) != 0;
}

static void root_close(struct collective **c)
{
    struct root *root = (struct root *)*c;

    arena_close(&root->arena);
    free(root->spread);
    free(root);
    *c = NULL;
}

static struct memory_need root_memory(const void *opts, const struct job_facts *facts)
{
    (void)opts;
    return (struct memory_need){ .rank_0_bytes = facts->n_workers > 1 ? facts->n_params * sizeof(float) : 0 };
}

static enum rc root_open(struct collective **out, const struct collective_env *env)
{
    const struct world *w = env->transport->world;
    struct root *root = calloc(1, sizeof *root);
    struct collective *base = &root->base;
    enum rc rc = RC_OK;

    if (!root)
        return rc_raise(RC_NOMEM, "collective root: no memory");
    if (w->rank == 0 && adds(env->types)) {
        TRY(arena_open(&root->arena, arena_floats_bytes(env->max_elems)));
        root->scratch = arena_floats(&root->arena, env->max_elems);
    }
    if (w->rank == 0 || (env->types & COLL_BROADCAST)) {
        root->spread = calloc((size_t)w->n_ranks, sizeof *root->spread);
        if (!root->spread)
            FAIL(RC_NOMEM, "collective root: no memory for %d ranks", w->n_ranks);
    }
    *out = base;
    base = NULL;
out:
    if (base)
        root_close(&base);
    return rc;
}

/* What rank r brings to rank 0, in types other than broadcast. */
static struct range part_from(const struct collective_call *call, int r, int p)
{
    return call->type == COLL_ALLGATHER ? range_part(call->n_elems, p, r) : (struct range){ 0, call->n_elems };
}

/* Of types other than broadcast: every rank's part to rank 0. */
static enum rc gather(struct root *root, const struct collective_call *call, float *data)
{
    const struct world *w = root->base.env.transport->world;
    struct part_message m = { .collective = &root->base, .data = data, .tag = TAG_GATHER + root->turn };
    enum rc rc = RC_OK;

    m.add = adds(call->type);
    m.beside = root->scratch;
    for (m.peer = 1; w->rank == 0 && m.peer < w->n_ranks; m.peer++) {
        m.part = part_from(call, m.peer, w->n_ranks);
        m.from = m.peer == 1 ? call->input : NULL; /* exchange.A13: later ones are added to that sum */
        TRY(part_transfer(NULL, &m));
    }
    if (w->rank == 0)
        return RC_OK;
    m.peer = 0;
    m.part = part_from(call, w->rank, w->n_ranks);
    m.from = call->input;
    TRY(part_transfer(&m, NULL));
out:
    return rc;
}

/* What the rank that has the result sends. */
static struct one_to_all spread_of(const struct collective_call *call)
{
    return (struct one_to_all){ .n_elems = call->n_elems,
                                .parts = call->type == COLL_REDUCE_SCATTER ? PART_CHUNK : PART_ALL,
                                .wire = call->wire,
                                .sender = call->type == COLL_BROADCAST ? call->root : 0 };
}

static enum rc root_run(struct collective *c, const struct collective_call *call, float *data)
{
    struct root *root = (struct root *)c;
    struct one_to_all spread = spread_of(call);
    enum rc rc = RC_OK;

    if (call->n_elems == 0)
        return RC_OK;
    root->turn = (root->turn + 1) % N_TAGS;
    if (call->type != COLL_BROADCAST)
        TRY(gather(root, call, data));
    if (c->env.transport->world->rank == 0 && c->env.transport->world->n_ranks > 1)
        TRY(part_round(c, data, (struct range){ 0, call->n_elems }));
    spread.data = data;
    spread.tag = TAG_SPREAD + root->turn;
    spread.flight = root->spread;
    TRY(one_to_all(c, &spread));
out:
    return rc;
}

/* What a rank other than 0 sends to it, and rank 0 takes, in types other than broadcast. */
static struct collective_cost sent_cost(const struct collective_call *call, int rank, int n_ranks)
{
    const size_t n_sent = part_from(call, rank, n_ranks).n_elems;
    struct collective_cost cost = collective_send_cost(n_sent, call->wire);

    cost.msgs = n_sent > 0;
    return cost;
}

static struct collective_cost taken_cost(const struct collective_call *call, int n_ranks)
{
    struct collective_cost cost = { 0 };

    for (int r = 1; r < n_ranks; r++)
        cost = collective_cost_sum(
            cost, collective_receive_cost(part_from(call, r, n_ranks).n_elems, call->wire, adds(call->type)));
    return n_ranks > 1 ? collective_cost_sum(cost, collective_round_cost(call->n_elems, call->wire)) : cost;
}

static struct collective_cost root_predict(const void *opts, const struct collective_call *call, int rank,
                                           const struct collective_group *group)
{
    const int n_ranks = group->n_ranks;
    const struct one_to_all spread = spread_of(call);
    const struct collective_cost cost = one_to_all_cost(&spread, rank, n_ranks);

    (void)opts;
    if (call->type == COLL_BROADCAST)
        return cost;
    return collective_cost_sum(cost, rank > 0 ? sent_cost(call, rank, n_ranks) : taken_cost(call, n_ranks));
}

/* What all others send travels at once and shares the link of rank 0, and so does what they get: a latency each. They
 * narrow it before, and widen it after. */
static struct collective_cost root_critical_path(const void *opts, const struct collective_call *call,
                                                 const struct collective_group *group)
{
    const int last = group->n_ranks - 1;
    struct collective_cost path = root_predict(opts, call, spread_of(call).sender, group);
    uint64_t in_bytes = 0;

    path.msgs = path.msgs > 0;
    if (call->type == COLL_BROADCAST || last == 0)
        return path;
    for (int r = 1; r <= last; r++)
        in_bytes += sent_cost(call, r, group->n_ranks).bytes;
    path.msgs += in_bytes > 0;
    path.bytes += in_bytes;
    path.memory_bytes += root_predict(opts, call, last, group).memory_bytes;
    return path;
}

const struct collective_ops collective_root = {
    .module.name = "root",
    .module.caps =
        COLL_ALLREDUCE | COLL_REDUCE_SCATTER | COLL_ALLGATHER | COLL_BROADCAST | COLL_REFERENCE | COLL_NARROW,
    .module.memory = root_memory,
    .open = root_open,
    .run = root_run,
    .predict = root_predict,
    .critical_path = root_critical_path,
    .close = root_close,
};
