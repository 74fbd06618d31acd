/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skeleton.c - a whole reducer in one file, to copy from: an option, a check, a memory need, exact costs.
 *
 * It adds along a chain: rank 0 sends its vector to rank 1, which adds its own and sends on; the last rank has the sum,
 * which goes back the same way. In chunks of --skeleton.chunk-elems, so that ranks work on neighbouring chunks at the
 * same time. Simple, and far from the fastest: every element crosses every link twice.
 *
 * Adds in the order of ranks 0, 1, ..., so every rank gets the bits of "root".
 *
 * In the program it would be allreduce/skeleton.c and one line, ENTRY(skeleton), in allreduce/reducer_list.c.
 */
#include <stdlib.h>

#include "allreduce/reducer.h"
#include "harness/base/arena.h"
#include "harness/base/opt.h"
#include "harness/compute/compute.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

extern const struct reducer reducer_skeleton;

enum { TAG_FORTH = 0x3000, TAG_BACK = 0x4000 };

struct skeleton_opts {
    uint64_t chunk_elems;
};

static const struct opt table[] = {
    OPT_U64_(struct skeleton_opts, chunk_elems, "chunk-elems", "1024", 1, 1 << 30, "elements", "that travel at a time"),
    OPT_END_,
};

struct skeleton {
    struct reduction base;
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

static enum rc skeleton_open(struct reduction **out, const struct reduce_env *env, size_t max_elems)
{
    const struct skeleton_opts *o = env->opts;
    struct skeleton *k = calloc(1, sizeof *k);
    enum rc rc;

    (void)max_elems;
    if (!k)
        return rc_raise(RC_NOMEM, "reducer skeleton: no memory");
    k->chunk_elems = o->chunk_elems;
    TRY(arena_open(&k->arena, arena_floats_bytes(k->chunk_elems)));
    k->received = arena_floats(&k->arena, k->chunk_elems);
    *out = &k->base;
    k = NULL;
out:
    free(k);
    return rc;
}

static void skeleton_close(struct reduction **r)
{
    struct skeleton *k = (struct skeleton *)*r;

    arena_close(&k->arena);
    free(k);
    *r = NULL;
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

static enum rc skeleton_run(struct reduction *red, float *data, size_t n_elems)
{
    struct skeleton *k = (struct skeleton *)red;
    const struct world *w = red->env.transport->world;
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
static struct cost skeleton_predict(const void *opts, int rank, int n_ranks, size_t n_elems)
{
    const uint64_t n_ways = (uint64_t)(rank < n_ranks - 1) + (uint64_t)(rank > 0);

    return (struct cost){ .msgs = n_ways * n_chunks(opts, n_elems),
                          .bytes = n_ways * n_elems * sizeof(float),
                          .adds = rank > 0 ? n_elems : 0 };
}

/* The last chunk waits for those before it on the first link, then crosses the others; so again on the way back. */
static struct cost skeleton_critical_path(const void *opts, int n_ranks, size_t n_elems)
{
    const uint64_t n = n_chunks(opts, n_elems);
    const uint64_t n_hops = n_ranks > 1 && n > 0 ? (uint64_t)n_ranks - 1 + n - 1 : 0;
    const uint64_t chunk_elems = n > 0 ? (n_elems + n - 1) / n : 0;

    return (struct cost){ .msgs = 2 * n_hops,
                          .bytes = 2 * n_hops * chunk_elems * sizeof(float),
                          .adds = n_hops * chunk_elems };
}

const struct reducer reducer_skeleton = {
    .module = { .name = "skeleton",
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
