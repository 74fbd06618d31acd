/* SPDX-License-Identifier: Apache-2.0 */
/* exchange_memory.c - arrays from the compute, or blocks of shares. */
#include "harness/exchange/exchange_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/exchange/collective.h"
#include "harness/exchange/exchange.h"
#include "harness/exchange/placement.h"
#include "harness/world/share.h"
#include "harness/world/world.h"

bool exchange_memory_is_staged(const struct sync_mode *mode, const struct collective_ops *collective,
                               const struct compute_backend *compute)
{
    const bool is_queued = collective && collective->module.caps & COLL_DEVICE;

    return mode_exchanges(&mode->module) && compute_has_own_memory(compute) && !is_queued;
}

size_t exchange_staging_bytes(const struct sync_mode *mode, const struct collective_ops *collective,
                              const struct compute_backend *compute, size_t n_params)
{
    const size_t n_copies = mode->module.caps & MODE_SERVERS ? 2 : 1;

    return exchange_memory_is_staged(mode, collective, compute) ? n_copies * n_params * sizeof(float) : 0;
}

static size_t array_bytes(const struct exchange_memory *m)
{
    return m->env.n_params * sizeof(float);
}

/* --- memory of the compute --- */

static enum rc open_own(struct exchange_memory *m, float **out, const char *what)
{
    void *memory = NULL;
    enum rc rc;

    TRY(compute_memory_open(m->env.compute, &memory, array_bytes(m), what));
    *out = memory;
out:
    return rc;
}

static void close_own(struct exchange_memory *m, float **floats)
{
    void *memory = *floats;

    if (memory)
        compute_memory_close(m->env.compute, &memory);
    *floats = NULL;
}

enum rc exchange_memory_open_copy(struct exchange_memory *m, float **out, const char *what)
{
    void *memory = NULL;
    enum rc rc;

    TRY(compute_host_open(m->env.compute, &memory, array_bytes(m), what));
    *out = memory;
out:
    return rc;
}

void exchange_memory_close_copy(struct exchange_memory *m, float **floats)
{
    void *memory = *floats;

    if (memory)
        compute_host_close(m->env.compute, &memory);
    *floats = NULL;
}

static enum rc open_private(struct exchange_memory *m)
{
    enum rc rc;

    m->kind = m->env.compute->ops->host_memory ? MEMORY_PRIVATE : MEMORY_DEVICE;
    TRY(open_own(m, &m->param, "parameters"));
    if (!m->env.forward_only)
        TRY(open_own(m, &m->grad, "gradients"));
out:
    return rc;
}

/* --- shares --- */

static enum rc open_block(struct exchange_memory *m, struct share **share, float **out, const char *what)
{
    char why[RC_MESSAGE_BYTES];
    enum rc rc = world_share_open(m->host, array_bytes(m), share);

    if (rc == RC_OK) {
        *out = (*share)->mine;
        return RC_OK;
    }
    (void)snprintf(why, sizeof why, "%s", rc_message());
    return rc_raise(rc, "%s, shared by the workers of a host: %.360s; --reducer ring shares none", what, why);
}

static enum rc open_blocks(struct exchange_memory *m)
{
    enum rc rc;

    m->kind = MEMORY_SHARED;
    TRY(open_block(m, &m->shared_param, &m->param, "parameters"));
    if (!m->env.forward_only)
        TRY(open_block(m, &m->shared_grad, &m->grad, "gradients"));
out:
    return rc;
}

/* Collective over the world: who shares a host, and who takes for all of a host what comes from others. */
static enum rc split_hosts(struct exchange_memory *m, bool is_worker)
{
    struct world *w = m->env.world;
    int host, n_hosts;
    enum rc rc;

    TRY(world_split(w, is_worker ? 0 : -1, w->rank, &m->workers));
    if (is_worker)
        TRY(world_host_group(m->workers, &m->host, &host, &n_hosts));
    TRY(world_split(w, !is_worker || m->host->rank == 0 ? 0 : -1, w->rank, &m->leaders));
out:
    return rc;
}

/* --- all --- */

static enum rc open_arrays(struct exchange_memory *m)
{
    const struct compute_backend *compute = m->env.compute->ops;
    enum rc rc = RC_OK;

    if (!compute->touches_memory)
        return RC_OK;
    TRY(m->env.wants_shared ? open_blocks(m) : open_private(m));
    m->host_param = compute->host_memory ? m->param : NULL;
    m->host_grad = compute->host_memory ? m->grad : NULL;
    if (m->env.forward_only || !exchange_memory_is_staged(m->env.mode, m->env.collective, compute))
        return RC_OK;
    TRY(exchange_memory_open_copy(m, &m->host_grad, "the host's copy of the gradients"));
    if (m->env.mode->module.caps & MODE_SERVERS)
        TRY(exchange_memory_open_copy(m, &m->host_param, "the host's copy of the parameters"));
out:
    return rc;
}

enum rc exchange_memory_open(struct exchange_memory *out, const struct exchange_memory_env *env)
{
    const bool is_worker = env->world->rank < env->n_workers || world_is_guest(env->world);
    const struct compute_backend *compute = env->compute->ops;
    enum rc rc = RC_OK;

    *out = (struct exchange_memory){ .env = *env };
    if (env->wants_shared && !(compute->touches_memory && compute->host_memory))
        FAIL(RC_UNSUPPORTED, "compute %s: has no memory that the workers of a host could share", compute->module.name);
    if (env->wants_shared)
        TRY(split_hosts(out, is_worker));
    if (is_worker)
        TRY(open_arrays(out));
out:
    return rc;
}

void exchange_memory_close_gradients(struct exchange_memory *m)
{
    if (m->host_grad != m->grad)
        exchange_memory_close_copy(m, &m->host_grad);
    m->host_grad = NULL;
    if (m->kind == MEMORY_SHARED)
        m->grad = NULL;
    else
        close_own(m, &m->grad);
    world_share_close(&m->shared_grad);
}

void exchange_memory_close(struct exchange_memory *m)
{
    exchange_memory_close_gradients(m);
    if (m->host_param != m->param)
        exchange_memory_close_copy(m, &m->host_param);
    if (m->kind != MEMORY_SHARED)
        close_own(m, &m->param);
    world_share_close(&m->shared_param);
    world_split_close(&m->leaders);
    world_split_close(&m->host);
    world_split_close(&m->workers);
    *m = (struct exchange_memory){ 0 };
}

void exchange_memory_facts(struct exchange_memory_facts *out, const struct exchange_memory *m)
{
    const struct share *s = m->shared_param;

    *out = (struct exchange_memory_facts){ .kind = m->kind };
    out->has_pages = m->kind == MEMORY_PRIVATE || m->kind == MEMORY_SHARED;
    if (out->has_pages)
        out->pages = pages_of(m->param, array_bytes(m));
    if (s)
        (void)snprintf(out->way, sizeof out->way, "%s", share_kind_text(s->kind));
    if (s && s->reason)
        (void)snprintf(out->reason, sizeof out->reason, "%s", s->reason);
}

const char *memory_kind_text(enum memory_kind kind)
{
    static const char *const text[] = { NULL, "private", "shared", "device" };

    return text[kind];
}

/* A broadcast through a buffer, chunk by chunk. */

enum { CHUNK_ELEMS = 1 << 20 };

/* The part of chunk[n_elems], whose first element is number `first` of the array, that is in the slice. */
static void keep_slice(const struct initial_array *a, const struct initial_slice *slice, const float *chunk,
                       size_t first, size_t n_elems)
{
    const struct range kept = placement_part(a->placement, slice->server, (struct range){ first, n_elems });

    placement_gather(a->placement, slice->server, kept, slice->to + kept.offset_elems, chunk, first);
}

static enum rc broadcast_chunk(struct world *w, const struct initial_array *a, float *chunk, size_t first,
                               size_t n_elems)
{
    const size_t n_bytes = n_elems * sizeof *chunk;
    enum rc rc;

    if (w->rank == 0 && a->from_host)
        memcpy(chunk, a->from_host + first, n_bytes);
    else if (w->rank == 0)
        TRY(compute_fetch(a->compute, chunk, a->memory + first, n_bytes));
    TRY(world_broadcast(w, chunk, n_bytes));
    if (a->memory && (w->rank > 0 || a->from_host))
        compute_put(a->compute, a->memory + first, chunk, n_bytes);
    for (int i = 0; i < 2; i++)
        if (a->slice[i].to)
            keep_slice(a, &a->slice[i], chunk, first, n_elems);
out:
    return rc;
}

enum rc initial_broadcast(struct world *w, const struct initial_array *a)
{
    const size_t n_chunk = a->n_elems < CHUNK_ELEMS ? a->n_elems : CHUNK_ELEMS;
    float *chunk = malloc((n_chunk > 0 ? n_chunk : 1) * sizeof *chunk);
    enum rc rc = RC_OK;

    if (!chunk)
        FAIL(RC_NOMEM, "no memory for %zu initial values", n_chunk);
    for (size_t first = 0; first < a->n_elems; first += n_chunk) {
        const size_t n_left = a->n_elems - first;
        TRY(broadcast_chunk(w, a, chunk, first, n_left < n_chunk ? n_left : n_chunk));
    }
out:
    free(chunk);
    return rc;
}

enum rc initial_broadcast_shared(const struct exchange_memory *m, const struct initial_array *a)
{
    enum rc rc = RC_OK;

    if (m->leaders && m->leaders->n_ranks > 1)
        TRY(initial_broadcast(m->leaders, a));
    if (!m->host)
        return RC_OK;
    TRY(world_barrier(m->host)); /* the first worker has it ... */
    if (m->host->rank > 0)
        compute_put(a->compute, a->memory, m->shared_param->peer[0], a->n_elems * sizeof(float));
    TRY(world_barrier(m->host)); /* ... and may change it only when all have copied it */
out:
    return rc;
}
