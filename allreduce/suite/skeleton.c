/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skeleton.c - a whole collective algorithm in one file, to copy from: an option, a check, a memory need, exact costs.
 *
 * It adds along a chain: rank 0 sends its vector to rank 1, which adds its own and sends on; the last rank has the sum,
 * which goes back the same way. In chunks of --skeleton.chunk-elems, so that ranks work on neighbouring chunks at the
 * same time. Simple, and far from the fastest: every element crosses every link twice. Of the types of collective.h it
 * has allreduce alone, as its caps say; a call of another one is refused before run().
 *
 * Adds in the order of ranks 0, 1, ..., so every rank gets the bits of "root".
 *
 * In the program it would be allreduce/skeleton.c and one line, ENTRY(skeleton), in allreduce/collective_list.c.
 */
#include <stdlib.h>

#include "allreduce/part_message.h"
#include "harness/base/arena.h"
#include "harness/base/opt.h"
#include "harness/exchange/collective.h"
#include "harness/world/world.h"

extern const struct collective_ops collective_skeleton;

/* Chunks take turns with N_TAGS tags: a message that comes twice is never taken for the next one. */
enum { TAG_FORTH = 0x3000, TAG_BACK = 0x4000, N_TAGS = 0x1000 };

#define CHUNK_TEXT "1024"
enum { CHUNK_ELEMS = 1024 };

struct skeleton_opts {
    uint64_t chunk_elems;
};

static const struct opt table[] = {
    OPT_U64_(struct skeleton_opts, chunk_elems, "chunk-elems", CHUNK_TEXT, 1, 1 << 30, "",
             "elements that travel at a time"),
    OPT_END_,
};

struct skeleton {
    struct collective base;
    struct arena arena;
    float *received;    /* one chunk, where the transport does not add in place */
    size_t chunk_elems; /* of a message; the last one of a vector may be shorter */
    uint32_t n_passed;  /* chunks so far, both ways: alike on all ranks */
};

/* opts NULL: defaults, as "auto" and other modules open it. */
static size_t chunk_elems_of(const void *opts)
{
    const struct skeleton_opts *o = opts;

    return o ? (size_t)o->chunk_elems : CHUNK_ELEMS;
}

static enum rc skeleton_check(const void *opts, const struct job_facts *facts)
{
    const struct skeleton_opts *o = opts;

    if (facts->n_params > 0 && o->chunk_elems > facts->n_params)
        return rc_raise(RC_INVAL, "--skeleton.chunk-elems %llu: the model has only %zu parameters",
                        (unsigned long long)o->chunk_elems, facts->n_params);
    return RC_OK;
}

static struct memory_need skeleton_memory(const void *opts, const struct job_facts *facts)
{
    (void)facts;
    return (struct memory_need){ .worker_bytes = chunk_elems_of(opts) * sizeof(float) };
}

static enum rc skeleton_open(struct collective **out, const struct collective_env *env)
{
    struct skeleton *k = calloc(1, sizeof *k);
    enum rc rc;

    if (!k)
        return rc_raise(RC_NOMEM, "collective skeleton: no memory");
    k->chunk_elems = chunk_elems_of(env->opts);
    TRY(arena_open(&k->arena, arena_floats_bytes(k->chunk_elems)));
    k->received = arena_floats(&k->arena, k->chunk_elems);
    *out = &k->base;
    k = NULL;
out:
    free(k);
    return rc;
}

static void skeleton_close(struct collective **c)
{
    struct skeleton *k = (struct skeleton *)*c;

    arena_close(&k->arena);
    free(k);
    *c = NULL;
}

/* One chunk, through this rank. phase 0: forth, where each adds its own; 1: back. */
static enum rc pass_on(struct skeleton *k, float *data, const float *input, struct range chunk, int phase)
{
    const int rank = k->base.env.transport->world->rank, last = k->base.env.transport->world->n_ranks - 1;
    const int from = phase == 0 ? rank - 1 : rank + 1, to = phase == 0 ? rank + 1 : rank - 1;
    struct part_message m = { .collective = &k->base, .data = data, .part = chunk, .beside = k->received };
    enum rc rc = RC_OK;

    m.tag = (phase == 0 ? TAG_FORTH : TAG_BACK) + k->n_passed++ % N_TAGS;
    m.add = phase == 0;
    m.from = phase == 0 ? input : NULL; /* exchange.A13 */
    m.peer = from;
    if (from >= 0 && from <= last)
        TRY(part_transfer(NULL, &m));
    m.peer = to;
    m.from = phase == 0 && rank == 0 ? input : NULL; /* others send sums */
    if (to >= 0 && to <= last)
        TRY(part_transfer(&m, NULL));
out:
    return rc;
}

static enum rc skeleton_run(struct collective *c, const struct collective_call *call, float *data)
{
    struct skeleton *k = (struct skeleton *)c;
    const size_t n_elems = call->n_elems;
    enum rc rc = RC_OK;

    for (int phase = 0; phase < 2; phase++)
        for (size_t first = 0, n = 0; first < n_elems; first += n) {
            n = n_elems - first < k->chunk_elems ? n_elems - first : k->chunk_elems;
            TRY(pass_on(k, data, call->input, (struct range){ first, n }, phase));
        }
out:
    return rc;
}

static uint64_t n_chunks(const void *opts, size_t n_elems)
{
    const uint64_t chunk_elems = chunk_elems_of(opts);

    return (n_elems + chunk_elems - 1) / chunk_elems;
}

/* Every rank but the last sends the vector forth, every one but the first sends it back. */
static struct collective_cost skeleton_predict(const void *opts, const struct collective_call *call, int rank,
                                               const struct collective_group *group)
{
    const size_t n_elems = call->n_elems;
    const uint64_t n_ways = (uint64_t)(rank < group->n_ranks - 1) + (uint64_t)(rank > 0);
    const uint64_t n_adds = rank > 0 ? n_elems : 0;

    return (struct collective_cost){ .msgs = n_ways * n_chunks(opts, n_elems),
                                     .bytes = n_ways * n_elems * sizeof(float),
                                     .adds = n_adds,
                                     .memory_bytes = n_adds * COLL_ADD_BYTES };
}

/* All chunks cross the first link, and the last one the others; so again on the way back. A chunk is sent before the
 * one ahead of it has arrived, so each link has its latency once. */
static struct collective_cost skeleton_critical_path(const void *opts, const struct collective_call *call,
                                                     const struct collective_group *group)
{
    const size_t n_elems = call->n_elems;
    const uint64_t chunk_elems = chunk_elems_of(opts);
    const uint64_t n_largest = n_elems < chunk_elems ? n_elems : chunk_elems;
    const uint64_t n_more_links = group->n_ranks > 1 ? (uint64_t)group->n_ranks - 2 : 0;
    const uint64_t n_path = n_elems + n_more_links * n_largest;

    if (group->n_ranks == 1 || n_elems == 0)
        return (struct collective_cost){ 0 };
    return (struct collective_cost){ .msgs = 2 * (1 + n_more_links),
                                     .bytes = 2 * n_path * sizeof(float),
                                     .adds = n_path,
                                     .memory_bytes = n_path * COLL_ADD_BYTES };
}

const struct collective_ops collective_skeleton = {
    .module.name = "skeleton",
    .module.caps = COLL_ALLREDUCE, /* CMakeLists.txt reads this text */
    .module.options = table,
    .module.opts_bytes = sizeof(struct skeleton_opts),
    .module.check = skeleton_check,
    .module.memory = skeleton_memory,
    .open = skeleton_open,
    .run = skeleton_run,
    .predict = skeleton_predict,
    .critical_path = skeleton_critical_path,
    .close = skeleton_close,
};
