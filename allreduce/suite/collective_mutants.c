/* SPDX-License-Identifier: Apache-2.0 */
/* collective_mutants.c - a right ring, then one thing done wrong. */
#include "allreduce/suite/collective_mutants.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/range.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

extern const struct collective_ops collective_ring;

struct mutant {
    struct collective base;
    struct collective *ring;
    float *brought; /* what data was before the run */
    float last;     /* bug-stale: what the run before left */
    int n_runs;
};

static struct mutant *self(struct collective *c)
{
    return (struct mutant *)c;
}

static void close_ring(struct collective **c)
{
    collective_close(&self(*c)->ring);
    free(self(*c)->brought);
    free(*c);
    *c = NULL;
}

static enum rc open_ring(struct collective **out, const struct collective_env *env)
{
    struct mutant *m = calloc(1, sizeof *m);
    struct collective *base = &m->base;
    enum rc rc;

    if (!m)
        return rc_raise(RC_NOMEM, "no memory for a mutant");
    m->brought = malloc((env->max_elems + 1) * sizeof *m->brought);
    if (!m->brought)
        FAIL(RC_NOMEM, "no memory for a mutant");
    TRY(collective_open(&m->ring, &collective_ring, env));
    *out = base;
    base = NULL;
out:
    if (base)
        close_ring(&base);
    return rc;
}

static const struct world *world_of(const struct collective *c)
{
    return c->env.transport->world;
}

static struct range own_chunk(const struct collective *c, const struct collective_call *call)
{
    return range_part(call->n_elems, world_of(c)->n_ranks, world_of(c)->rank);
}

static enum rc run_right(struct collective *c, const struct collective_call *call, float *data)
{
    struct mutant *m = self(c);

    m->n_runs++;
    if (data && call->n_elems > 0)
        memcpy(m->brought, call->input ? call->input : data, call->n_elems * sizeof *data);
    return collective_run(m->ring, call, data);
}

/* --- what goes wrong after a right run; data is there, and n > 0 --- */

static void reverse(struct collective *c, const struct collective_call *call, float *data)
{
    const size_t n = call->n_elems;

    (void)c;
    for (size_t i = 0; i < n / 2; i++) {
        const float other = data[i];
        data[i] = data[n - 1 - i];
        data[n - 1 - i] = other;
    }
}

static void lose_tail(struct collective *c, const struct collective_call *call, float *data)
{
    data[call->n_elems - 1] = self(c)->brought[call->n_elems - 1];
}

static void overrun(struct collective *c, const struct collective_call *call, float *data)
{
    (void)c;
    data[call->n_elems] = 0;
}

static void leave_stale(struct collective *c, const struct collective_call *call, float *data)
{
    const float fresh = data[0];

    (void)call;
    data[0] = self(c)->last != 0 ? self(c)->last : fresh;
    self(c)->last = fresh;
}

static void average(struct collective *c, const struct collective_call *call, float *data)
{
    for (size_t i = 0; i < call->n_elems; i++)
        data[i] /= (float)world_of(c)->n_ranks;
}

static void flip_last_bit(float *x)
{
    uint32_t bits;

    memcpy(&bits, x, sizeof bits);
    bits ^= 1;
    memcpy(x, &bits, sizeof bits);
}

/* One rank's sum differs in the last bit: only a comparison between ranks shows it. */
static void drift(struct collective *c, const struct collective_call *call, float *data)
{
    if (call->n_elems == 97 && world_of(c)->rank == 1 && data[0] != (float)(int)data[0])
        flip_last_bit(&data[0]);
}

/* The same in 16 bits: as if a rank kept a sum as it was before it was rounded. */
static void narrow_drift(struct collective *c, const struct collective_call *call, float *data)
{
    if (call->wire == WIRE_F16)
        drift(c, call, data);
}

/* Every second run ends in other bits: only a comparison between runs shows it. */
static void scatter_drift(struct collective *c, const struct collective_call *call, float *data)
{
    const struct range own = own_chunk(c, call);
    float *x = data + own.offset_elems;

    if (own.n_elems > 0 && *x != (float)(int)*x && self(c)->n_runs % 2 == 0)
        flip_last_bit(x);
}

/* The sums are in the chunk of the next rank. */
static void scatter_to_next(struct collective *c, const struct collective_call *call, float *data)
{
    const struct range own = own_chunk(c, call);

    memcpy(data + own.offset_elems, self(c)->brought + own.offset_elems, own.n_elems * sizeof *data);
}

static void scatter_twice(struct collective *c, const struct collective_call *call, float *data)
{
    const struct range own = own_chunk(c, call);

    for (size_t i = own.offset_elems; i < own.offset_elems + own.n_elems; i++)
        data[i] += self(c)->brought[i];
}

static void scatter_tail(struct collective *c, const struct collective_call *call, float *data)
{
    const struct range own = own_chunk(c, call);

    if (own.n_elems > 1)
        data[own.offset_elems + own.n_elems - 1] = self(c)->brought[own.offset_elems + own.n_elems - 1];
}

static void gather_last(struct collective *c, const struct collective_call *call, float *data)
{
    const int p = world_of(c)->n_ranks;
    const struct range last = range_part(call->n_elems, p, p - 1);

    memcpy(data + last.offset_elems, self(c)->brought + last.offset_elems, last.n_elems * sizeof *data);
}

static void gather_swapped(struct collective *c, const struct collective_call *call, float *data)
{
    const struct range first = range_part(call->n_elems, world_of(c)->n_ranks, 0);
    const float moved = data[0];

    data[0] = data[first.n_elems];
    data[first.n_elems] = moved;
}

/* Added to zeros: -0 becomes 0. */
static void gather_added(struct collective *c, const struct collective_call *call, float *data)
{
    (void)c;
    for (size_t i = 0; i < call->n_elems; i++)
        if (data[i] == 0)
            data[i] = 0;
}

static void broadcast_tail(struct collective *c, const struct collective_call *call, float *data)
{
    const size_t n_arrives = 32768; /* only a long vector shows it */

    if (call->n_elems > n_arrives)
        memcpy(data + n_arrives, self(c)->brought + n_arrives, (call->n_elems - n_arrives) * sizeof *data);
}

static void broadcast_clears_source(struct collective *c, const struct collective_call *call, float *data)
{
    if (world_of(c)->rank == call->root)
        data[call->n_elems - 1] = 0;
}

/* What others want is there, but so are traces in what this rank lent. */
static void spoil_input(struct collective *c, const struct collective_call *call, float *data)
{
    (void)c;
    if (call->input)
        ((float *)call->input)[call->n_elems / 2] = data[call->n_elems / 2];
}

#define RUN_THEN(harm)                                                                               \
    static enum rc run_##harm(struct collective *c, const struct collective_call *call, float *data) \
    {                                                                                                \
        const enum rc rc = run_right(c, call, data);                                                 \
        if (rc == RC_OK && data && call->n_elems > 0 && call->type == mutant_of(c)->type)            \
            harm(c, call, data);                                                                     \
        return rc;                                                                                   \
    }
static const struct collective_mutant *mutant_of(const struct collective *c);
RUN_THEN(reverse)
RUN_THEN(lose_tail)
RUN_THEN(overrun)
RUN_THEN(leave_stale)
RUN_THEN(average)
RUN_THEN(drift)
RUN_THEN(narrow_drift)
RUN_THEN(spoil_input)
RUN_THEN(scatter_drift)
RUN_THEN(scatter_to_next)
RUN_THEN(scatter_twice)
RUN_THEN(scatter_tail)
RUN_THEN(gather_last)
RUN_THEN(gather_swapped)
RUN_THEN(gather_added)
RUN_THEN(broadcast_tail)
RUN_THEN(broadcast_clears_source)

/* --- runs that go wrong --- */

static enum rc run_chatty(struct collective *c, const struct collective_call *call, float *data)
{
    struct transport *t = c->env.transport;
    const int p = t->world->n_ranks, rank = t->world->rank;
    char out = 1, in = 0;
    struct xfer tx = { .peer = (rank + 1) % p, .tag = 1, .ptr = &out, .n_bytes = 1 };
    struct xfer rx = { .peer = (rank + p - 1) % p, .tag = 1, .ptr = &in, .n_bytes = 1 };
    enum rc rc;

    TRY(run_right(c, call, data));
    if (p > 1 && call->type == mutant_of(c)->type)
        TRY(transport_exchange(t, &tx, &rx, c->env.timeout_ms));
out:
    return rc;
}

/* As if it knew no other format. */
static enum rc run_in_32_bits(struct collective *c, const struct collective_call *call, float *data)
{
    struct collective_call wide = *call;

    wide.wire = WIRE_F32;
    return run_right(c, &wide, data);
}

/* As if what a rank brings were always in data. */
static enum rc run_in_place(struct collective *c, const struct collective_call *call, float *data)
{
    struct collective_call in_place = *call;

    in_place.input = NULL;
    return run_right(c, &in_place, data);
}

static enum rc run_from_rank_0(struct collective *c, const struct collective_call *call, float *data)
{
    struct collective_call from_0 = *call;

    from_0.root = 0;
    return run_right(c, &from_0, data);
}

static enum rc run_allocating(struct collective *c, const struct collective_call *call, float *data)
{
    void *volatile memory = call->type == mutant_of(c)->type ? malloc(call->n_elems + 1) : NULL;
    const enum rc rc = run_right(c, call, data);

    free(memory);
    return rc;
}

static enum rc run_hollow_silently(struct collective *c, const struct collective_call *call, float *data)
{
    return !data && call->type == mutant_of(c)->type ? RC_OK : run_right(c, call, data);
}

/* --- costs --- */

static struct collective_cost cost_of_ring(const void *opts, const struct collective_call *call, int rank,
                                           const struct collective_group *group)
{
    return collective_ring.predict(opts, call, rank, group);
}

static struct collective_cost path_of_ring(const void *opts, const struct collective_call *call,
                                           const struct collective_group *group)
{
    return collective_ring.critical_path(opts, call, group);
}

/* Says that it sends a quarter, as "n_elems for n_bytes" mistakes do. */
static struct collective_cost allreduce_in_elems(const void *opts, const struct collective_call *call, int rank,
                                                 const struct collective_group *group)
{
    struct collective_cost cost = cost_of_ring(opts, call, rank, group);

    if (call->type == COLL_ALLREDUCE)
        cost.bytes /= sizeof(float);
    return cost;
}

/* Of messages of 32 bits. */
static struct collective_cost narrow_as_wide(const void *opts, const struct collective_call *call, int rank,
                                             const struct collective_group *group)
{
    struct collective_cost cost = cost_of_ring(opts, call, rank, group);

    if (call->wire != WIRE_F32)
        cost.bytes *= 2;
    return cost;
}

/* Of both halves. */
static struct collective_cost scatter_as_allreduce(const void *opts, const struct collective_call *call, int rank,
                                                   const struct collective_group *group)
{
    struct collective_cost cost = cost_of_ring(opts, call, rank, group);

    if (call->type == COLL_REDUCE_SCATTER) {
        cost.msgs *= 2;
        cost.bytes *= 2;
    }
    return cost;
}

/* Rank 0 adds one element more, rank 1 one less: the sum over ranks is right. */
static struct collective_cost scatter_adds(const void *opts, const struct collective_call *call, int rank,
                                           const struct collective_group *group)
{
    struct collective_cost cost = cost_of_ring(opts, call, rank, group);

    if (call->type == COLL_REDUCE_SCATTER && call->n_elems > 1000)
        cost.adds = cost.adds + (rank == 0) - (rank == 1);
    return cost;
}

/* The chunk that stays here is the next rank's. */
static struct collective_cost gather_of_next(const void *opts, const struct collective_call *call, int rank,
                                             const struct collective_group *group)
{
    return cost_of_ring(opts, call, call->type == COLL_ALLGATHER ? (rank + 1) % group->n_ranks : rank, group);
}

/* Every rank sends chunks, as the root does. */
static struct collective_cost broadcast_by_all(const void *opts, const struct collective_call *call, int rank,
                                               const struct collective_group *group)
{
    return cost_of_ring(opts, call, call->type == COLL_BROADCAST ? call->root : rank, group);
}

/* Of a broadcast from rank 0: of the rank that is as far behind the root as this one behind rank 0. */
static struct collective_cost broadcast_of_rank_0(const void *opts, const struct collective_call *call, int rank,
                                                  const struct collective_group *group)
{
    return cost_of_ring(opts, call, call->type == COLL_BROADCAST ? (rank + call->root) % group->n_ranks : rank, group);
}

static struct collective_cost gather_path_half(const void *opts, const struct collective_call *call,
                                               const struct collective_group *group)
{
    struct collective_cost cost = path_of_ring(opts, call, group);

    if (call->type == COLL_ALLGATHER)
        cost.bytes /= 2;
    return cost;
}

/* From rank to rank, the whole vector each time, and back to the root. */
static struct collective_cost broadcast_path_of_all(const void *opts, const struct collective_call *call,
                                                    const struct collective_group *group)
{
    struct collective_cost cost = path_of_ring(opts, call, group);

    if (call->type == COLL_BROADCAST)
        cost.bytes = (uint64_t)group->n_ranks * call->n_elems * sizeof(float);
    return cost;
}

/* --- */

#define MUTANT(name_, type_, found_as_, run_, predict_, path_)                                                \
    {                                                                                                         \
        .ops = { .module = { .name = "bug-" name_,                                                            \
                             .caps = COLL_ALLREDUCE | COLL_REDUCE_SCATTER | COLL_ALLGATHER | COLL_BROADCAST | \
                                     COLL_NARROW },                                                           \
                 .open = open_ring,                                                                           \
                 .run = run_,                                                                                 \
                 .predict = predict_,                                                                         \
                 .critical_path = path_,                                                                      \
                 .close = close_ring },                                                                       \
        .type = type_, .found_as = found_as_,                                                                 \
    }
#define RUNS(name, type, found_as, run) MUTANT(name, type, found_as, run, cost_of_ring, path_of_ring)
#define COSTS(name, type, predict) MUTANT(name, type, "A3", run_right, predict, path_of_ring)
#define PATH(name, type, path) MUTANT(name, type, "A3", run_right, cost_of_ring, path)

static const struct collective_mutant all_mutants[] = {
    RUNS("reverse", COLL_ALLREDUCE, "A1", run_reverse),
    RUNS("losetail", COLL_ALLREDUCE, "A1", run_lose_tail),
    RUNS("chatty", COLL_ALLREDUCE, "A3", run_chatty),
    RUNS("overrun", COLL_ALLREDUCE, "A2", run_overrun),
    RUNS("stale", COLL_ALLREDUCE, "A1", run_leave_stale),
    RUNS("average", COLL_ALLREDUCE, "A1", run_average),
    RUNS("drift", COLL_ALLREDUCE, "A1: ranks", run_drift),
    COSTS("predict", COLL_ALLREDUCE, allreduce_in_elems),
    RUNS("in-place", COLL_ALLREDUCE, "A13", run_in_place),
    RUNS("input", COLL_ALLREDUCE, "A13", run_spoil_input),
    RUNS("narrow-drift", COLL_ALLREDUCE, "A1: ranks", run_narrow_drift),
    RUNS("narrow-wide", COLL_ALLREDUCE, "A3", run_in_32_bits),
    COSTS("narrow-predict", COLL_ALLREDUCE, narrow_as_wide),
    RUNS("scatter-to-next", COLL_REDUCE_SCATTER, "A1", run_scatter_to_next),
    RUNS("scatter-twice", COLL_REDUCE_SCATTER, "A1", run_scatter_twice),
    RUNS("scatter-losetail", COLL_REDUCE_SCATTER, "A1", run_scatter_tail),
    RUNS("scatter-drift", COLL_REDUCE_SCATTER, "A1: another run", run_scatter_drift),
    RUNS("scatter-overrun", COLL_REDUCE_SCATTER, "A2", run_overrun),
    COSTS("scatter-predict", COLL_REDUCE_SCATTER, scatter_as_allreduce),
    COSTS("scatter-adds", COLL_REDUCE_SCATTER, scatter_adds),
    RUNS("gather-last", COLL_ALLGATHER, "A1", run_gather_last),
    RUNS("gather-swapped", COLL_ALLGATHER, "A1", run_gather_swapped),
    RUNS("gather-added", COLL_ALLGATHER, "A1", run_gather_added),
    RUNS("gather-chatty", COLL_ALLGATHER, "A3", run_chatty),
    RUNS("gather-allocates", COLL_ALLGATHER, "A4", run_allocating),
    COSTS("gather-predict", COLL_ALLGATHER, gather_of_next),
    PATH("gather-path", COLL_ALLGATHER, gather_path_half),
    MUTANT("broadcast-root", COLL_BROADCAST, "A1", run_from_rank_0, broadcast_of_rank_0, path_of_ring),
    RUNS("broadcast-tail", COLL_BROADCAST, "A1", run_broadcast_tail),
    RUNS("broadcast-source", COLL_BROADCAST, "A1", run_broadcast_clears_source),
    RUNS("broadcast-hollow", COLL_BROADCAST, "A5", run_hollow_silently),
    COSTS("broadcast-predict", COLL_BROADCAST, broadcast_by_all),
    PATH("broadcast-path", COLL_BROADCAST, broadcast_path_of_all),
};

const struct collective_mutant *collective_mutant_find(const char *name)
{
    for (size_t i = 0; i < sizeof all_mutants / sizeof *all_mutants; i++)
        if (strcmp(all_mutants[i].ops.module.name, name) == 0)
            return &all_mutants[i];
    return NULL;
}

static const struct collective_mutant *mutant_of(const struct collective *c)
{
    return (const struct collective_mutant *)c->ops; /* its first member */
}
