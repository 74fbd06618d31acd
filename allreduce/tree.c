/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.c - collectives along a binomial tree: for few bytes, where the number of latencies is all that counts.
 *
 * Ranks are counted from the root: number v = (rank - root + p) mod p; the root is rank 0 in all types but broadcast.
 * The parent of v is v without its lowest bit; its children are v + 2^j for each j below that bit (of the root: for
 * each j), as far as there are such numbers. Numbers v up to v + 2^j - 1 are the subtree of a child of that distance.
 *
 *     type             up to the root                      down from it
 *     allreduce        vectors, each added to the sum      the sum
 *     reduce-scatter   vectors, each added to the sum      the chunks of the receiver's subtree
 *     allgather        the chunks of the sender's subtree  all chunks
 *     broadcast        nothing                             all
 *
 * Up: the nearest child first, as it is done first; down: the farthest child first, as it has most to do. Empty parts
 * are not sent. A rank adds its children's sums to its own vector in the order of their distances, so the sum is that
 * of numbers 0, 1, ... with brackets: ((0 + 1) + (2 + 3)) + ((4 + 5) + ...). All ranks get copies of the root's (A1).
 * In 16 bits a float (A10) who sends a sum up rounds it, and the root does; on the way down the bits that came are sent
 * on.
 *
 * Cost of an allreduce: 2 ceil(log2 p) latencies; the root receives, adds and sends ceil(log2 p) n elements.
 *
 * Sources: Johnsson and Ho, IEEE Transactions on Computers 38(9), 1989; Thakur, Rabenseifner and Gropp, Int. J. High
 * Performance Computing Applications 19(1), 2005.
 */
#include <stdlib.h>

#include "allreduce/part_message.h"
#include "harness/base/arena.h"
#include "harness/world/world.h"

extern const struct collective_ops collective_tree;

/* Runs take turns with so many tags: a message that comes twice is never taken for the next one. */
enum { TAG_UP = 0x5000, TAG_DOWN = 0x6000, N_TAGS = 0x1000, MOST_CHILDREN = 32 };

struct tree {
    struct collective base;
    struct arena arena;
    uint32_t turn;  /* runs so far, modulo N_TAGS */
    float *scratch; /* one vector; NULL: nothing is added here; unused where the transport adds in place (TR_ADD) */
};

struct place { /* in the tree of a call */
    const struct collective_call *call;
    int p, root;
    int v; /* number of a rank */
};

static bool adds(unsigned types)
{
    return (types & (COLL_ALLREDUCE | COLL_REDUCE_SCATTER)) != 0;
}

static int root_of(const struct collective_call *call)
{
    return call->type == COLL_BROADCAST ? call->root : 0;
}

static struct place place_of(const struct collective_call *call, int rank, int p)
{
    return (struct place){ call, p, root_of(call), (rank - root_of(call) + p) % p };
}

static int rank_of(const struct place *at, int v)
{
    return (v + at->root) % at->p;
}

/* The distance that all children of v are below, to each a power of two. */
static int reach_of(int v, int p)
{
    return v > 0 ? v & -v : p;
}

/* The distance of the farthest child; 0: none. */
static int farthest_of(int v, int p)
{
    int farthest = 0;

    for (int d = 1; d < reach_of(v, p) && v + d < p; d <<= 1)
        farthest = d;
    return farthest;
}

static struct range all_of(const struct place *at)
{
    return (struct range){ 0, at->call->n_elems };
}

/* The chunks of number v and those below it; the root is rank 0. */
static struct range subtree_of(const struct place *at, int v)
{
    const int end = v + reach_of(v, at->p) < at->p ? v + reach_of(v, at->p) : at->p;
    const struct range first = range_part(at->call->n_elems, at->p, v);
    const struct range last = range_part(at->call->n_elems, at->p, end - 1);

    return (struct range){ first.offset_elems, last.offset_elems + last.n_elems - first.offset_elems };
}

/* What number v sends to its parent. */
static struct range part_up(const struct place *at, int v)
{
    if (at->call->type == COLL_BROADCAST)
        return (struct range){ 0, 0 };
    return at->call->type == COLL_ALLGATHER ? subtree_of(at, v) : all_of(at);
}

/* What number v gets from it. */
static struct range part_down(const struct place *at, int v)
{
    return at->call->type == COLL_REDUCE_SCATTER ? subtree_of(at, v) : all_of(at);
}

/* What this number rounds before it is sent down (A10); with one rank nothing is sent. */
static struct range part_rounded(const struct place *at, int v)
{
    return v == 0 && at->p > 1 ? all_of(at) : (struct range){ 0, 0 };
}

/* In 16 bits: has number v what it sends down to the child at this distance as it is sent? From its parent, or because
 * it sent the same to one before. */
static bool has_halves(const struct place *at, int v, int distance)
{
    return v > 0 || distance < farthest_of(v, at->p);
}

/* --- */

static void tree_close(struct collective **c)
{
    struct tree *tree = (struct tree *)*c;

    arena_close(&tree->arena);
    free(tree);
    *c = NULL;
}

static struct memory_need tree_memory(const void *opts, const struct job_facts *facts)
{
    (void)opts;
    return (struct memory_need){ .worker_bytes = facts->n_workers > 1 ? facts->n_params * sizeof(float) : 0 };
}

static enum rc tree_open(struct collective **out, const struct collective_env *env)
{
    const struct world *w = env->transport->world;
    struct tree *tree = calloc(1, sizeof *tree);
    enum rc rc = RC_OK;

    if (!tree)
        return rc_raise(RC_NOMEM, "collective tree: no memory");
    if (adds(env->types) && farthest_of(w->rank, w->n_ranks) > 0) {
        TRY(arena_open(&tree->arena, arena_floats_bytes(env->max_elems)));
        tree->scratch = arena_floats(&tree->arena, env->max_elems);
    }
    *out = &tree->base;
    tree = NULL;
out:
    free(tree);
    return rc;
}

/* A message with this part, to or from number v. */
static struct part_message message(struct tree *tree, const struct place *at, float *data, struct range part, int v)
{
    return (struct part_message){ .collective = &tree->base, .data = data, .part = part, .peer = rank_of(at, v) };
}

static enum rc go_up(struct tree *tree, const struct place *at, float *data)
{
    const int n_reach = reach_of(at->v, at->p);
    struct part_message m;
    enum rc rc = RC_OK;

    for (int d = 1; d < n_reach && at->v + d < at->p; d <<= 1) {
        m = message(tree, at, data, part_up(at, at->v + d), at->v + d);
        m.tag = TAG_UP + tree->turn;
        m.add = adds(at->call->type);
        m.from = d == 1 ? at->call->input : NULL; /* exchange.A13: later ones are added to that sum */
        m.beside = tree->scratch;
        TRY(part_transfer(NULL, &m));
    }
    if (at->v == 0)
        return RC_OK;
    m = message(tree, at, data, part_up(at, at->v), at->v - n_reach);
    m.tag = TAG_UP + tree->turn;
    m.from = farthest_of(at->v, at->p) == 0 ? at->call->input : NULL;
    TRY(part_transfer(&m, NULL));
out:
    return rc;
}

static enum rc go_down(struct tree *tree, const struct place *at, float *data)
{
    struct part_message m;
    enum rc rc = RC_OK;

    if (at->v > 0) {
        m = message(tree, at, data, part_down(at, at->v), at->v - reach_of(at->v, at->p));
        m.tag = TAG_DOWN + tree->turn;
        TRY(part_transfer(NULL, &m));
    }
    for (int d = farthest_of(at->v, at->p); d > 0; d >>= 1) {
        m = message(tree, at, data, part_down(at, at->v + d), at->v + d);
        m.tag = TAG_DOWN + tree->turn;
        m.is_narrowed = has_halves(at, at->v, d);
        TRY(part_transfer(&m, NULL));
    }
out:
    return rc;
}

static enum rc tree_run(struct collective *c, const struct collective_call *call, float *data)
{
    struct tree *tree = (struct tree *)c;
    const struct place at = place_of(call, c->env.transport->world->rank, c->env.transport->world->n_ranks);
    enum rc rc;

    tree->turn = (tree->turn + 1) % N_TAGS;
    if (call->type != COLL_BROADCAST)
        TRY(go_up(tree, &at, data));
    TRY(part_round(c, data, part_rounded(&at, at.v)));
    TRY(go_down(tree, &at, data));
out:
    return rc;
}

/* --- costs --- */

/* Of who sends this part; of who receives it. */
static struct collective_cost sent_cost(const struct place *at, struct range part, bool is_narrowed)
{
    struct collective_cost cost = collective_send_cost(part.n_elems, at->call->wire);

    cost.msgs = part.n_elems > 0;
    cost.memory_bytes = is_narrowed ? 0 : cost.memory_bytes;
    return cost;
}

static struct collective_cost received_cost(const struct place *at, struct range part, bool is_added)
{
    return collective_receive_cost(part.n_elems, at->call->wire, is_added);
}

/* What number v sends to its children, rounded first. */
static struct collective_cost sent_down_cost(const struct place *at, int v)
{
    struct collective_cost cost = collective_round_cost(part_rounded(at, v).n_elems, at->call->wire);

    for (int d = farthest_of(v, at->p); d > 0; d >>= 1)
        cost = collective_cost_sum(cost, sent_cost(at, part_down(at, v + d), has_halves(at, v, d)));
    return cost;
}

static struct collective_cost tree_predict(const void *opts, const struct collective_call *call, int rank,
                                           const struct collective_group *group)
{
    const struct place at = place_of(call, rank, group->n_ranks);
    struct collective_cost cost = sent_down_cost(&at, at.v);

    (void)opts;
    for (int d = farthest_of(at.v, at.p); d > 0; d >>= 1)
        cost = collective_cost_sum(cost, received_cost(&at, part_up(&at, at.v + d), adds(call->type)));
    if (at.v > 0) {
        cost = collective_cost_sum(cost, sent_cost(&at, part_up(&at, at.v), false));
        cost = collective_cost_sum(cost, received_cost(&at, part_down(&at, at.v), false));
    }
    return cost;
}

/* From number v to the root. */
static uint64_t n_messages_up(const struct place *at, int v)
{
    uint64_t n = 0;

    for (; v > 0; v -= reach_of(v, at->p))
        n += part_up(at, v).n_elems > 0;
    return n;
}

/* Children of one distance send at the same time, those of the next one when they have received: the longest part of
 * each. Latencies are those from the deepest number: what has come from others meanwhile waits for the link alone. */
static struct collective_cost path_up(const struct place *at)
{
    struct collective_cost path = { 0 };

    for (int d = 1; d < at->p; d <<= 1) {
        struct collective_cost longest = { 0 };
        for (int v = d; v < at->p; v += 2 * d) {
            const struct range part = part_up(at, v);
            const struct collective_cost received = received_cost(at, part, adds(at->call->type));
            longest = collective_cost_most(longest, collective_cost_sum(sent_cost(at, part, false), received));
        }
        path = collective_cost_sum(path, longest);
    }
    path.msgs = 0;
    for (int v = 1; v < at->p; v++)
        path.msgs = n_messages_up(at, v) > path.msgs ? n_messages_up(at, v) : path.msgs;
    return path;
}

static bool is_longer(const struct collective_cost *a, const struct collective_cost *b)
{
    return a->bytes > b->bytes || (a->bytes == b->bytes && a->msgs > b->msgs);
}

/* What number v sends to its children before this one, and to it. Where a send ends before it has arrived, all travel
 * at once and share its link: a latency, and the bytes of all. Where it waits, one message follows the other: a child
 * that gets its own sends on while the next one gets its own. */
static struct collective_cost sent_down_to(const struct place *at, const struct collective_group *group, int v, int d)
{
    struct collective_cost all = sent_down_cost(at, v);
    struct collective_cost sent = collective_round_cost(part_rounded(at, v).n_elems, at->call->wire);

    all.msgs = all.msgs > 0;
    if (!collective_may_wait(group, sent_cost(at, part_down(at, v + d), has_halves(at, v, d)).bytes))
        return all;
    for (int e = farthest_of(v, at->p); e >= d; e >>= 1)
        sent = collective_cost_sum(sent, sent_cost(at, part_down(at, v + e), has_halves(at, v, e)));
    sent.msgs = group->may_wait ? all.msgs : sent.msgs; /* the least of both */
    return sent;
}

/* Below number v. */
static struct collective_cost path_down(const struct place *at, const struct collective_group *group, int v)
{
    struct collective_cost longest = { 0 };

    for (int d = farthest_of(v, at->p); d > 0; d >>= 1) {
        const struct range part = part_down(at, v + d);
        const struct collective_cost below =
            collective_cost_sum(received_cost(at, part, false), path_down(at, group, v + d));
        const struct collective_cost path = collective_cost_sum(sent_down_to(at, group, v, d), below);
        if (part.n_elems > 0 && is_longer(&path, &longest))
            longest = path;
    }
    return longest;
}

/* Of calls one behind the other, from the sum of number v to what it has received of the next call: who has the sum
 * sends what it has of that call, while others get theirs. has: until v has the sum. What its children send shares its
 * link: so many behind the time at which the first of them can be sent. */
static struct collective_cost circle_of(const struct place *at, const struct collective_group *group, int v,
                                        struct collective_cost has)
{
    struct collective_cost ready[MOST_CHILDREN], longest = has, up = { 0 };
    int n = 0;

    for (int d = farthest_of(v, at->p); d > 0; d >>= 1, n++) {
        const struct collective_cost there = collective_cost_sum(
            has, collective_cost_sum(sent_down_to(at, group, v, d), received_cost(at, part_down(at, v + d), false)));
        int i = n;
        ready[n] = circle_of(at, group, v + d, there);
        for (; i > 0 && is_longer(&ready[i], &ready[i - 1]); i--) { /* the last one first */
            const struct collective_cost earlier = ready[i - 1];
            ready[i - 1] = ready[i];
            ready[i] = earlier;
        }
    }
    for (int i = 0; i < n; i++) {
        const struct range part = part_up(at, v + 1); /* the shortest of all that come */
        const struct collective_cost one =
            collective_cost_sum(sent_cost(at, part, false), received_cost(at, part, adds(at->call->type)));
        up = collective_cost_sum(up, one);
        up.msgs = 1;
        const struct collective_cost path = collective_cost_sum(ready[i], up);
        if (is_longer(&path, &longest))
            longest = path;
    }
    return longest;
}

static struct collective_cost tree_critical_path(const void *opts, const struct collective_call *call,
                                                 const struct collective_group *group)
{
    const struct collective_cost nothing = { 0 };
    const struct place at = place_of(call, root_of(call), group->n_ranks);

    (void)opts;
    return group->is_least ? circle_of(&at, group, 0, nothing)
                           : collective_cost_sum(path_up(&at), path_down(&at, group, 0));
}

const struct collective_ops collective_tree = {
    .module.name = "tree",
    .module.caps = COLL_ALLREDUCE | COLL_REDUCE_SCATTER | COLL_ALLGATHER | COLL_BROADCAST | COLL_NARROW,
    .module.memory = tree_memory,
    .open = tree_open,
    .run = tree_run,
    .predict = tree_predict,
    .critical_path = tree_critical_path,
    .close = tree_close,
};
