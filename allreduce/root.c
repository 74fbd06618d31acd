/* SPDX-License-Identifier: Apache-2.0 */
/*
 * root.c - the naive reference: rank 0 receives every vector, adds them in rank order, sends the sum back.
 *
 * Cost: rank 0 moves 2 (p - 1) n elements through one link and makes every addition; that is what the
 * ring is compared with. Every rank gets the same bits (A1).
 */
#include <stdlib.h>

#include "allreduce/reducer.h"
#include "harness/base/arena.h"
#include "harness/compute/compute.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

extern const struct reducer reducer_root;

/* Runs take turns with so many tags: a message that comes twice is never taken for the next one. */
enum { TAG_GATHER = 0x2000, TAG_SPREAD = 0x3000, N_TAGS = 0x1000 };

struct root {
    struct reduction base;
    struct arena arena;
    uint32_t turn;       /* runs so far, modulo N_TAGS */
    float *scratch;      /* rank 0: one vector; unused where the transport adds in place */
    struct xfer *spread; /* rank 0: the sum on its way to each other rank */
};

static void root_close(struct reduction **r)
{
    struct root *root = (struct root *)*r;

    arena_close(&root->arena);
    free(root->spread);
    free(root);
    *r = NULL;
}

static struct memory_need root_memory(const void *opts, const struct job_facts *facts)
{
    (void)opts;
    return (struct memory_need){ .rank_0_bytes = facts->n_workers > 1 ? facts->n_params * sizeof(float) : 0 };
}

static enum rc root_open(struct reduction **out, const struct reduce_env *env, size_t max_elems)
{
    const struct world *w = env->transport->world;
    struct root *root = calloc(1, sizeof *root);
    struct reduction *base = &root->base;
    enum rc rc = RC_OK;

    if (!root)
        return rc_raise(RC_NOMEM, "reducer root: no memory");
    if (w->rank == 0) {
        TRY(arena_open(&root->arena, arena_floats_bytes(max_elems)));
        root->scratch = arena_floats(&root->arena, max_elems);
        root->spread = calloc((size_t)w->n_ranks, sizeof *root->spread);
        if (!root->spread)
            FAIL(RC_NOMEM, "reducer root: no memory for %d ranks", w->n_ranks);
    }
    *out = base;
    base = NULL;
out:
    if (base)
        root_close(&base);
    return rc;
}

/* One message of n_elems at x->ptr, real or hollow, as data is. */
static void describe(struct xfer *x, const float *data, int peer, uint32_t tag, float *ptr, size_t n_elems)
{
    *x = (struct xfer){ .peer = peer, .tag = tag, .ptr = data ? ptr : NULL };
    *(data ? &x->n_bytes : &x->n_hollow_bytes) = n_elems * sizeof(float);
}

static enum rc gather_at_root(struct root *root, float *data, size_t n_elems)
{
    struct transport *t = root->base.env.transport;
    const bool fused = (t->ops->module.caps & TR_ADD) && data;
    enum rc rc = RC_OK;

    for (int r = 1; r < t->world->n_ranks; r++) {
        struct xfer rx;
        describe(&rx, data, r, TAG_GATHER + root->turn, fused ? data : root->scratch, n_elems);
        rx.add = fused;
        TRY(transport_recv(t, &rx));
        TRY(transport_wait(t, &rx, root->base.env.timeout_ms));
        if (rx.n_bytes + rx.n_hollow_bytes != n_elems * sizeof(float))
            FAIL(RC_MISMATCH, "root: rank %d sent %zu bytes where %zu belong", r, rx.n_bytes + rx.n_hollow_bytes,
                 n_elems * sizeof(float));
        if (!fused) {
            compute_accumulate(root->base.env.compute, data, data ? root->scratch : NULL, n_elems);
            TRY(compute_sync(root->base.env.compute));
        }
    }
out:
    return rc;
}

static enum rc spread_from_root(struct root *root, float *data, size_t n_elems)
{
    struct transport *t = root->base.env.transport;
    char first_message[RC_MESSAGE_BYTES];
    int n_posted = 1;
    enum rc rc = RC_OK;

    for (; rc == RC_OK && n_posted < t->world->n_ranks; n_posted++) {
        describe(&root->spread[n_posted], data, n_posted, TAG_SPREAD + root->turn, data, n_elems);
        rc = transport_send(t, &root->spread[n_posted]);
        if (rc != RC_OK) {
            snprintf(first_message, sizeof first_message, "%s", rc_message());
            break;
        }
    }
    for (int r = 1; r < n_posted; r++) { /* all are ended (T3), the first error is reported */
        const enum rc ended =
            transport_wait(t, &root->spread[r], rc == RC_OK ? root->base.env.timeout_ms : DO_NOT_WAIT);
        if (rc == RC_OK && ended != RC_OK) {
            rc = ended;
            snprintf(first_message, sizeof first_message, "%s", rc_message());
        }
    }
    return rc == RC_OK ? rc : rc_raise(rc, "%s", first_message);
}

static enum rc exchange_with_root(struct root *root, float *data, size_t n_elems)
{
    struct transport *t = root->base.env.transport;
    const int timeout_ms = root->base.env.timeout_ms;
    struct xfer tx, rx;
    enum rc rc;

    describe(&tx, data, 0, TAG_GATHER + root->turn, data, n_elems);
    TRY(transport_send(t, &tx));
    TRY(transport_wait(t, &tx, timeout_ms));
    describe(&rx, data, 0, TAG_SPREAD + root->turn, data, n_elems);
    TRY(transport_recv(t, &rx));
    TRY(transport_wait(t, &rx, timeout_ms));
    if (rx.n_bytes + rx.n_hollow_bytes != n_elems * sizeof(float))
        FAIL(RC_MISMATCH, "root: rank 0 sent %zu bytes where %zu belong", rx.n_bytes + rx.n_hollow_bytes,
             n_elems * sizeof(float));
out:
    return rc;
}

static enum rc root_run(struct reduction *red, float *data, size_t n_elems)
{
    struct root *root = (struct root *)red;
    enum rc rc = RC_OK;

    if (n_elems == 0)
        return RC_OK;
    root->turn = (root->turn + 1) % N_TAGS;
    if (red->env.transport->world->rank != 0)
        return exchange_with_root(root, data, n_elems);
    TRY(gather_at_root(root, data, n_elems));
    TRY(spread_from_root(root, data, n_elems));
out:
    return rc;
}

static struct cost root_predict(const void *opts, int rank, int n_ranks, size_t n_elems)
{
    const uint64_t n_msgs = n_elems == 0 || n_ranks == 1 ? 0 : rank == 0 ? (uint64_t)n_ranks - 1 : 1;

    (void)opts;
    return (struct cost){ .msgs = n_msgs,
                          .bytes = n_msgs * n_elems * sizeof(float),
                          .adds = rank == 0 ? n_msgs * n_elems : 0 };
}

/* All vectors travel at once and share the root's link: two latencies, 2 (p - 1) n elements. */
static struct cost root_critical_path(const void *opts, int n_ranks, size_t n_elems)
{
    const uint64_t n_others = n_elems > 0 ? (uint64_t)n_ranks - 1 : 0;

    (void)opts;
    return (struct cost){ .msgs = n_others > 0 ? 2 : 0,
                          .bytes = 2 * n_others * n_elems * sizeof(float),
                          .adds = n_others * n_elems };
}

const struct reducer reducer_root = {
    .module.name = "root",
    .module.memory = root_memory,
    .open = root_open,
    .run = root_run,
    .predict = root_predict,
    .critical_path = root_critical_path,
    .close = root_close,
};
