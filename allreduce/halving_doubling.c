/* SPDX-License-Identifier: Apache-2.0 */
/*
 * halving_doubling.c - the collective "halving-doubling", among all ranks.
 *
 * Cost per rank of an allreduce among 2^k ranks: 2 k messages, 2 n (p - 1) / p elements, half as many additions: the
 * bytes of ring at the latencies of a tree. Of another number of ranks, with k of the power of two below it: 2
 * latencies and n elements more on the slowest path, and what ranks that run ahead take of its links
 * (halving_doubling_path()). It has no broadcast: nothing in one is halved.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "allreduce/eager_steps.h"
#include "allreduce/part_message.h"
#include "harness/base/arena.h"
#include "harness/base/range.h"
#include "harness/base/rc.h"
#include "harness/exchange/collective.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

/*
 * Allreduce, reduce-scatter and allgather among some ranks by recursive halving and
 * doubling: the messages and additions of each member.
 *
 * Let q be the largest power of two among p members, 2^k. Members 0 .. 2 (p - q) - 1 form pairs (2i, 2i + 1); each
 * pair is number i below. A later member is number index - (p - q).
 *
 *   fold      (not in allgather) the two of a pair exchange halves of their vectors and add: the even one the first
 *             half, the odd one the second. In allgather the helper sends the keeper its chunk.
 *   halving   (not in allgather) each number has a block, at first the vector. In each of k steps it cuts its block in
 *             two, sends its partner one half, and receives and adds the other half, which becomes its block.
 *   doubling  (not in reduce-scatter) the same steps backwards: it sends its block, and receives the half beside it.
 *   unfold    the two of a pair exchange the halves that they have; in reduce-scatter the keeper sends the helper its
 *             chunk.
 *
 * The partner in step s differs in one bit of the number; the partner with a 1 in that bit keeps the second half. In
 * an allreduce that is bit s (distance doubling: the longest messages go to neighbours), and the vector is cut into q
 * equal parts. In the other two types it is bit k - 1 - s, so that the block of a number is its members' chunks,
 * which are adjacent.
 *
 * In a pair the keeper has summed the half that its number keeps in step 0; the helper has summed the other half. So
 * in step 0 the helper sends and the keeper receives, and backwards the opposite. Only the keeper takes part in the
 * other steps. (In Rabenseifner's fold, the odd one returns its half before step 0, and gets the whole result at the
 * end. The slowest path then has n more elements and one more latency, and its link is idle in between.)
 *
 * Every sum is a balanced tree: first of a pair, then of numbers that differ in the bit of step 0, of step 1, and so
 * on. Either of two partners may add, and each sum is computed once and copied (A1). So no other algorithm has the
 * same bits. The bits of reduce-scatter, whose steps take bits in another order, differ from those of allreduce.
 * Empty parts are not sent.
 *
 * Sources: Rabenseifner, Optimization of collective reduction operations, ICCS 2004, LNCS 3036; Thakur, Rabenseifner
 * and Gropp, Int. J. High Performance Computing Applications 19(1), 2005.
 */

enum { HALVING_DOUBLING_TYPES = COLL_ALLREDUCE | COLL_REDUCE_SCATTER | COLL_ALLGATHER };

struct halving_doubling_members {        /* the same on every member, except index, data and scratch */
    const struct collective *collective; /* for its env, and its name in errors */
    const int *rank;                     /* [n_members]: in the transport's world; NULL: member i is rank i */
    int n_members, index;                /* this rank is member `index` */
    float *data;                         /* [n_elems], chunk i of n_members is member i's; NULL: no data (A5) */
    const float *input;                  /* exchange.A13, of allreduce: [n_elems]; NULL: in data */
    size_t n_elems;
    float *scratch; /* [halving_doubling_scratch_elems()]; not used by allgather, nor if the transport adds in place
                       (TR_ADD) */
};

/* --- among any list of ranks --- */

/*
 * A run is a list of phases, and move_of() says what a member does in each: run and prediction read the same.
 *
 *     phase          0      1 .. k                 k + 1 .. 2 k                2 k + 1
 *     what           fold   halving, step 0 first  doubling, step k - 1 first  unfold
 */

/* MOST_CHAINED: members whose chains of messages are followed, on the stack. */
enum { TAG_HALVING_DOUBLING = 0x4000, N_TAGS = 0x1000, MOST_CHAINED = 8192 };

struct shape { /* of one call */
    enum collective_type type;
    size_t n_elems;
    int n_members, n_numbers, n_pairs; /* p, q, p - q */
    int n_steps;                       /* k */
};

struct move { /* of a member in a phase; nothing is sent or received where the part is empty */
    int to, from;
    struct range sent, received;
    bool add;
};

static struct shape shape_of(enum collective_type type, size_t n_elems, int n_members)
{
    int n_steps = 0;

    while (n_members >> (n_steps + 1) > 0)
        n_steps++;
    return (struct shape){ type, n_elems, n_members, 1 << n_steps, n_members - (1 << n_steps), n_steps };
}

static int n_phases_of(const struct shape *s)
{
    return 2 * s->n_steps + 2;
}

static bool adds(const struct shape *s)
{
    return s->type != COLL_ALLGATHER;
}

/* --- blocks --- */

static size_t offset_of(const struct shape *s, int number)
{
    const bool has_equal_parts = s->type == COLL_ALLREDUCE;
    const int n_parts = has_equal_parts ? s->n_numbers : s->n_members;
    const int first_member = number < s->n_pairs ? 2 * number : number + s->n_pairs;
    const int part = has_equal_parts ? number : first_member;

    return part == n_parts ? s->n_elems : range_part(s->n_elems, n_parts, part).offset_elems;
}

static struct range block_of(const struct shape *s, int first_number, int n_numbers)
{
    const size_t offset_elems = offset_of(s, first_number);

    return (struct range){ offset_elems, offset_of(s, first_number + n_numbers) - offset_elems };
}

static int bit_of(const struct shape *s, int step)
{
    return s->type == COLL_ALLREDUCE ? 1 << step : s->n_numbers >> (step + 1);
}

static bool keeps_second(const struct shape *s, int number, int step)
{
    return number & bit_of(s, step);
}

/* Of the number's block before this step: half 0 or 1. */
static struct range half_of(const struct shape *s, int number, int step, int half)
{
    int first = 0, n_half = s->n_numbers / 2;

    for (int before = 0; before < step; before++, n_half /= 2)
        first += keeps_second(s, number, before) ? n_half : 0;
    return block_of(s, first + half * n_half, n_half);
}

static struct range kept_of(const struct shape *s, int number, int step)
{
    return half_of(s, number, step, keeps_second(s, number, step));
}

static struct range other_of(const struct shape *s, int number, int step)
{
    return half_of(s, number, step, !keeps_second(s, number, step));
}

/* --- members --- */

static bool is_in_pair(const struct shape *s, int index)
{
    return index < 2 * s->n_pairs;
}

static int number_of(const struct shape *s, int index)
{
    return is_in_pair(s, index) ? index / 2 : index - s->n_pairs;
}

static int keeper_of(const struct shape *s, int number)
{
    return number < s->n_pairs ? 2 * number + keeps_second(s, number, 0) : number + s->n_pairs;
}

/* A number that is no pair is its own. */
static int helper_of(const struct shape *s, int number)
{
    return number < s->n_pairs ? 2 * number + !keeps_second(s, number, 0) : number + s->n_pairs;
}

/* The member that sends the half that the number does not keep, and gets it back. */
static int other_side_of(const struct shape *s, int number, int step)
{
    return step == 0 ? helper_of(s, number) : keeper_of(s, number);
}

static struct move fold_of(const struct shape *s, int index)
{
    const int is_odd = index % 2, number = number_of(s, index);
    struct move move = { .to = index ^ 1, .from = index ^ 1, .add = adds(s) };

    if (!is_in_pair(s, index))
        return move;
    if (adds(s)) {
        move.sent = half_of(s, number, 0, !is_odd);
        move.received = half_of(s, number, 0, is_odd);
        return move;
    }
    *(index == helper_of(s, number) ? &move.sent : &move.received) =
        range_part(s->n_elems, s->n_members, helper_of(s, number));
    return move;
}

static struct move halving_of(const struct shape *s, int index, int step)
{
    const int number = number_of(s, index), partner = number ^ bit_of(s, step);
    struct move move = { .to = keeper_of(s, partner), .from = other_side_of(s, partner, step), .add = true };

    if (index == other_side_of(s, number, step))
        move.sent = other_of(s, number, step);
    if (index == keeper_of(s, number))
        move.received = kept_of(s, number, step);
    return move;
}

static struct move doubling_of(const struct shape *s, int index, int step)
{
    const int number = number_of(s, index), partner = number ^ bit_of(s, step);
    struct move move = { .to = other_side_of(s, partner, step), .from = keeper_of(s, partner) };

    if (index == keeper_of(s, number))
        move.sent = kept_of(s, number, step);
    if (index == other_side_of(s, number, step))
        move.received = other_of(s, number, step);
    return move;
}

static struct move unfold_of(const struct shape *s, int index)
{
    const int number = number_of(s, index), helper = helper_of(s, number);
    struct move move = { .to = index ^ 1, .from = index ^ 1 };

    if (!is_in_pair(s, index))
        return move;
    if (s->type == COLL_REDUCE_SCATTER) {
        *(index == helper ? &move.received : &move.sent) = range_part(s->n_elems, s->n_members, helper);
        return move;
    }
    move.sent = index == helper ? other_of(s, number, 0) : kept_of(s, number, 0);
    move.received = index == helper ? kept_of(s, number, 0) : other_of(s, number, 0);
    return move;
}

static struct move move_of(const struct shape *s, int index, int phase)
{
    const bool halves = phase <= s->n_steps;

    if (phase == 0)
        return fold_of(s, index);
    if (phase == n_phases_of(s) - 1)
        return unfold_of(s, index);
    if (s->type == (halves ? COLL_ALLGATHER : COLL_REDUCE_SCATTER))
        return (struct move){ 0 };
    return halves ? halving_of(s, index, phase - 1) : doubling_of(s, index, 2 * s->n_steps - phase);
}

/* --- */

static struct part_message message(const struct halving_doubling_members *m, int member, struct range part,
                                   uint32_t n_before)
{
    const bool is_none = part.n_elems == 0; /* then the member may be none */

    return (struct part_message){ .collective = m->collective,
                                  .data = m->data,
                                  .part = part,
                                  .peer = m->rank && !is_none ? m->rank[member] : member,
                                  .tag = TAG_HALVING_DOUBLING + n_before % N_TAGS,
                                  .beside = m->scratch };
}

/* exchange.A13: the phase in which a member sends a part of its input, and adds the other part to what it receives.
 * Later phases have parts of that sum. */
static int first_phase_of(const struct shape *s, int index)
{
    return is_in_pair(s, index) ? 0 : 1;
}

/* What the member has the sum of behind the last halving, of an allreduce. */
static struct range summed_by(const struct shape *s, int index)
{
    const int number = number_of(s, index);

    if (s->type != COLL_ALLREDUCE || s->n_steps == 0 || index != keeper_of(s, number))
        return (struct range){ 0, 0 };
    return kept_of(s, number, s->n_steps - 1);
}

/* Call on every member. type: of HALVING_DOUBLING_TYPES. *n_steps: steps of all runs so far, 0 at first and the same on
 * every member. Tags depend on it, so that a duplicate of a message does not match a later receive. Errors: those of
 * the transport; RC_MISMATCH: a message of another length. */
static enum rc halving_doubling_run(const struct halving_doubling_members *m, enum collective_type type,
                                    uint32_t *n_steps)
{
    const struct shape s = shape_of(type, m->n_elems, m->n_members);
    enum rc rc = RC_OK;

    for (int phase = 0; phase < n_phases_of(&s); phase++) {
        const struct move move = move_of(&s, m->index, phase);
        struct part_message sent = message(m, move.to, move.sent, *n_steps);
        struct part_message received = message(m, move.from, move.received, *n_steps);
        received.add = move.add;
        if (phase == first_phase_of(&s, m->index))
            sent.from = received.from = m->input;
        ++*n_steps;
        TRY(part_transfer(&sent, &received));
        if (phase == s.n_steps)
            TRY(part_round(m->collective, m->data, summed_by(&s, m->index)));
    }
out:
    return rc;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* For runs of these types (bits) with at most n_elems. Pure, as are the following functions. */
static size_t halving_doubling_scratch_elems(unsigned types, size_t n_elems, int n_members)
{
    size_t n_most = 0;

    for (unsigned type = 1; type < COLL_TYPES_END && n_members > 1; type <<= 1) {
        const struct shape s = shape_of((enum collective_type)type, n_elems, n_members);
        for (int half = 0; half < 2 && (types & type) && adds(&s); half++)
            n_most = larger(n_most, half_of(&s, 0, 0, half).n_elems); /* those of later steps are parts of these */
    }
    return n_most;
}

static struct collective_cost cost_of(const struct shape *s, int index, int phase, enum wire_format wire)
{
    const struct move move = move_of(s, index, phase);
    struct collective_cost cost = collective_send_cost(move.sent.n_elems, wire);

    cost.msgs = move.sent.n_elems > 0;
    cost = collective_cost_sum(cost, collective_receive_cost(move.received.n_elems, wire, move.add));
    if (phase == s->n_steps)
        cost = collective_cost_sum(cost, collective_round_cost(summed_by(s, index).n_elems, wire));
    return cost;
}

/* What member `index` sends and adds. */
static struct collective_cost halving_doubling_cost(const struct collective_call *call, int n_members, int index)
{
    const struct shape s = shape_of(call->type, call->n_elems, n_members);
    struct collective_cost cost = { 0 };

    for (int phase = 0; phase < n_phases_of(&s); phase++)
        cost = collective_cost_sum(cost, cost_of(&s, index, phase, call->wire));
    return cost;
}

struct eager_call {
    const struct shape *shape;
    enum wire_format wire;
};

static struct eager_send send_of(const void *arg, int index, int phase)
{
    const struct eager_call *call = arg;
    const struct move move = move_of(call->shape, index, phase);

    return (struct eager_send){ move.to, collective_send_cost(move.sent.n_elems, call->wire).bytes };
}

/* Where no member runs ahead: 0. waits: a sender waits until its message has arrived. */
static uint64_t eager_bytes(const struct shape *s, enum wire_format wire, bool waits)
{
    const struct eager_call call = { s, wire };
    const struct eager_steps steps = { s->n_members, n_phases_of(s), waits, send_of, &call };

    return s->n_pairs > 0 && s->n_members <= EAGER_MOST_RANKS ? eager_steps_bytes(&steps) : 0;
}

/* before[i]: messages of the longest chain that ends at member i, before this phase. A message makes the chain of its
 * sender one longer, and the receiver keeps that one if it is longer than its own; so does a sender that waits. */
static void lengthen_chains(uint8_t *after, const uint8_t *before, const struct shape *s, int phase, bool waits)
{
    memcpy(after, before, (size_t)s->n_members);
    for (int index = 0; index < s->n_members; index++) {
        const struct move move = move_of(s, index, phase);
        const uint8_t n_msgs = (uint8_t)(before[index] + 1);
        if (move.sent.n_elems > 0 && n_msgs > after[move.to])
            after[move.to] = n_msgs;
        if (move.sent.n_elems > 0 && waits && n_msgs > after[index])
            after[index] = n_msgs;
    }
}

static uint64_t longest_chain_msgs(const struct shape *s, bool waits)
{
    uint8_t n_msgs[2][MOST_CHAINED] = { 0 };
    uint8_t longest = 0;

    for (int phase = 0; phase < n_phases_of(s); phase++)
        lengthen_chains(n_msgs[(phase + 1) % 2], n_msgs[phase % 2], s, phase, waits);
    for (int index = 0; index < s->n_members; index++)
        if (n_msgs[n_phases_of(s) % 2][index] > longest)
            longest = n_msgs[n_phases_of(s) % 2][index];
    return longest;
}

/* From first send to last receive. Messages are those of the longest chain of members: each message of a chain waits
 * for the one before it. Additions and memory count as if no member began a step (or fold, or unfold) before all had
 * ended the one before. With 2^k members that is exact. With other numbers, members without a partner in fold are
 * ahead, and their messages share links with those that are due. Then the bytes are those of eager_steps.h, up to twice
 * as many. They depend on whether a sender waits until its message has arrived: one that waits for the longest ones
 * counts as waiting for all. With more than EAGER_MOST_RANKS members the bytes, and with more than 8192 the messages,
 * count as if no member were ahead. So they do if it is not known who waits. */
/* Of each phase the longest message of any member, and the most additions. Not the number of phases for the messages:
 * there may be no chain that has one in every phase. */
static struct collective_cost halving_doubling_path(const struct collective_call *call,
                                                    const struct collective_group *group)
{
    const int n_members = group->n_ranks;
    const struct shape s = shape_of(call->type, call->n_elems, n_members);
    uint64_t longest_bytes = 0;
    struct collective_cost path = { 0 };

    for (int phase = 0; phase < n_phases_of(&s); phase++) {
        struct collective_cost longest = { 0 };
        for (int index = 0; index < n_members; index++)
            longest = collective_cost_most(longest, cost_of(&s, index, phase, call->wire));
        longest_bytes = larger(longest_bytes, longest.bytes);
        path = collective_cost_sum(path, longest);
    }
    const bool waits = collective_may_wait(group, longest_bytes);
    if (n_members <= MOST_CHAINED)
        path.msgs = longest_chain_msgs(&s, waits && !group->may_wait);
    if (!group->may_wait)
        path.bytes = larger(path.bytes, eager_bytes(&s, call->wire, waits));
    return path;
}

extern const struct collective_ops collective_halving_doubling;

struct halving_doubling {
    struct collective base;
    struct arena arena;
    float *scratch;
    uint32_t n_steps;
};

static struct memory_need halving_doubling_memory(const void *opts, const struct job_facts *facts)
{
    (void)opts;
    return (struct memory_need){ .worker_bytes =
                                     halving_doubling_scratch_elems(COLL_ALLREDUCE, facts->n_params, facts->n_workers) *
                                     sizeof(float) };
}

static enum rc halving_doubling_open(struct collective **out, const struct collective_env *env)
{
    const size_t n_elems = halving_doubling_scratch_elems(env->types, env->max_elems, env->transport->world->n_ranks);
    struct halving_doubling *hd = calloc(1, sizeof *hd);
    enum rc rc;

    if (!hd)
        return rc_raise(RC_NOMEM, "collective halving-doubling: no memory");
    TRY(arena_open(&hd->arena, arena_floats_bytes(n_elems)));
    hd->scratch = arena_floats(&hd->arena, n_elems);
    *out = &hd->base;
    hd = NULL;
out:
    free(hd);
    return rc;
}

static void halving_doubling_close(struct collective **c)
{
    struct halving_doubling *hd = (struct halving_doubling *)*c;

    arena_close(&hd->arena);
    free(hd);
    *c = NULL;
}

static enum rc run_among_all(struct collective *c, const struct collective_call *call, float *data)
{
    struct halving_doubling *hd = (struct halving_doubling *)c;
    const struct world *w = c->env.transport->world;
    const struct halving_doubling_members all = { .collective = c,
                                                  .n_members = w->n_ranks,
                                                  .index = w->rank,
                                                  .data = data,
                                                  .input = call->input,
                                                  .n_elems = call->n_elems,
                                                  .scratch = hd->scratch };

    return halving_doubling_run(&all, call->type, &hd->n_steps);
}

static struct collective_cost halving_doubling_predict(const void *opts, const struct collective_call *call, int rank,
                                                       const struct collective_group *group)
{
    (void)opts;
    return halving_doubling_cost(call, group->n_ranks, rank);
}

static struct collective_cost halving_doubling_critical_path(const void *opts, const struct collective_call *call,
                                                             const struct collective_group *group)
{
    (void)opts;
    return halving_doubling_path(call, group);
}

const struct collective_ops collective_halving_doubling = {
    .module.name = "halving-doubling",
    .module.caps = HALVING_DOUBLING_TYPES | COLL_NARROW | COLL_PAIRS,
    .module.memory = halving_doubling_memory,
    .open = halving_doubling_open,
    .run = run_among_all,
    .predict = halving_doubling_predict,
    .critical_path = halving_doubling_critical_path,
    .close = halving_doubling_close,
};
