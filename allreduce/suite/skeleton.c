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

#include "harness/base/arena.h"
#include "harness/base/opt.h"
#include "harness/compute/compute.h"
#include "harness/exchange/collective.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

extern const struct collective_ops collective_skeleton;

enum { TAG_FORTH = 0x3000, TAG_BACK = 0x4000 };

struct skeleton_opts {
    uint64_t chunk_elems;
};

static const struct opt table[] = {
    OPT_U64_(struct skeleton_opts, chunk_elems, "chunk-elems", "1024", 1, 1 << 30, "elements", "that travel at a time"),
    OPT_END_,
};

struct skeleton {
    struct collective base;
    struct arena arena;
    float *received;    /* one chunk, where the transport does not add in place */
    size_t chunk_elems; /* of a message; the last one of a vector may be shorter */
};

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
    const struct skeleton_opts *o = opts;

    (void)facts;
    return (struct memory_need){ .worker_bytes = o->chunk_elems * sizeof(float) };
}

static enum rc skeleton_open(struct collective **out, const struct collective_env *env)
{
    const struct skeleton_opts *o = env->opts;
    struct skeleton *k = calloc(1, sizeof *k);
    enum rc rc;

    if (!k)
        return rc_raise(RC_NOMEM, "collective skeleton: no memory");
    k->chunk_elems = o->chunk_elems;
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

/* data float[n_elems] of one chunk; data NULL: hollow (A5). */
static void describe(struct xfer *x, float *data, size_t n_elems, int peer, uint32_t tag)
{
    *x = (struct xfer){ .peer = peer, .tag = tag, .ptr = data };
    *(data ? &x->n_bytes : &x->n_hollow_bytes) = n_elems * sizeof(float);
}

static enum rc send_to(struct skeleton *k, float *data, size_t n_elems, int peer, uint32_t tag)
{
    struct transport *t = k->base.env.transport;
    struct xfer x;
    enum rc rc;

    describe(&x, data, n_elems, peer, tag);
    TRY(transport_send(t, &x));
    TRY(transport_wait(t, &x, k->base.env.timeout_ms));
out:
    return rc;
}

/* into float[n_elems]; adds: to what it holds, instead of over it. */
static enum rc receive_from(struct skeleton *k, float *into, size_t n_elems, int peer, uint32_t tag, bool adds)
{
    struct transport *t = k->base.env.transport;
    const bool fused = adds && into && (t->ops->module.caps & TR_ADD);
    struct xfer x;
    enum rc rc;

    describe(&x, into && adds && !fused ? k->received : into, n_elems, peer, tag);
    x.add = fused;
    TRY(transport_recv(t, &x));
    TRY(transport_wait(t, &x, k->base.env.timeout_ms));
    if (x.n_bytes + x.n_hollow_bytes != n_elems * sizeof(float))
        FAIL(RC_MISMATCH, "skeleton: rank %d sent %zu bytes where %zu belong", peer, x.n_bytes + x.n_hollow_bytes,
             n_elems * sizeof(float));
    if (adds && !fused) {
        compute_accumulate(k->base.env.compute, into, k->received, n_elems);
        TRY(compute_sync(k->base.env.compute));
    }
out:
    return rc;
}

static enum rc skeleton_run(struct collective *c, const struct collective_call *call, float *data)
{
    struct skeleton *k = (struct skeleton *)c;
    const size_t n_elems = call->n_elems;
    const struct world *w = c->env.transport->world;
    const bool has_left = w->rank > 0, has_right = w->rank < w->n_ranks - 1;
    enum rc rc = RC_OK;

    for (int phase = 0; phase < 2; phase++) /* 0: forth, adding; 1: back */
        for (size_t first = 0, n = 0; first < n_elems; first += n) {
            const bool back = phase == 1;
            const uint32_t tag = back ? TAG_BACK : TAG_FORTH;
            float *chunk = data ? data + first : NULL;
            n = n_elems - first < k->chunk_elems ? n_elems - first : k->chunk_elems;
            if (back ? has_right : has_left)
                TRY(receive_from(k, chunk, n, back ? w->rank + 1 : w->rank - 1, tag, !back));
            if (back ? has_left : has_right)
                TRY(send_to(k, chunk, n, back ? w->rank - 1 : w->rank + 1, tag));
        }
out:
    return rc;
}

static uint64_t n_chunks(const void *opts, size_t n_elems)
{
    const uint64_t chunk_elems = ((const struct skeleton_opts *)opts)->chunk_elems;

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

/* All chunks cross the first link, one after the other, and the last one the others; so again on the way back. */
static struct collective_cost skeleton_critical_path(const void *opts, const struct collective_call *call,
                                                     const struct collective_group *group)
{
    const size_t n_elems = call->n_elems;
    const uint64_t chunk_elems = ((const struct skeleton_opts *)opts)->chunk_elems;
    const uint64_t n_largest = n_elems < chunk_elems ? n_elems : chunk_elems;
    const uint64_t n_more_links = group->n_ranks > 1 ? (uint64_t)group->n_ranks - 2 : 0;
    const uint64_t n_path = n_elems + n_more_links * n_largest;

    if (group->n_ranks == 1 || n_elems == 0)
        return (struct collective_cost){ 0 };
    return (struct collective_cost){ .msgs = 2 * (n_chunks(opts, n_elems) + n_more_links),
                                     .bytes = 2 * n_path * sizeof(float),
                                     .adds = n_path,
                                     .memory_bytes = n_path * COLL_ADD_BYTES };
}

const struct collective_ops collective_skeleton = {
    .module = { .name = "skeleton",
                .caps = COLL_ALLREDUCE,
                .options = table,
                .opts_bytes = sizeof(struct skeleton_opts),
                .check = skeleton_check,
                .memory = skeleton_memory },
    .open = skeleton_open,
    .run = skeleton_run,
    .predict = skeleton_predict,
    .critical_path = skeleton_critical_path,
    .close = skeleton_close,
};
