/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_ps.c - the mode's table, and how a worker begins and ends; between, chunks are exchanged: transfer.c.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/exchange/sync_mode.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"
#include "ps/layout.h"
#include "ps/ps.h"
#include "ps/recovery/attach.h"
#include "ps/server.h"
#include "ps/wire.h"
#include "ps/wire_plan.h"
#include "ps/worker_state.h"

/* --- limits of workers and servers --- */

/* RC_INVAL: a slice is too large. A slice is sent whole, and a message counts its elements in 32 bits. */
static enum rc ps_check_slices(const struct sync_env *env)
{
    const size_t n_elems = placement_most_elems(env->placement);

    if (n_elems > UINT32_MAX)
        return rc_raise(RC_INVAL,
                        "mode ps: a server would hold %zu parameters; at most %u are possible: use more "
                        "servers than %d",
                        n_elems, UINT32_MAX, env->n_servers);
    return RC_OK;
}

/* The memory that a rank needs. A worker: its pushes and their replies, as messages of the transport, and the arrays
 * they are gathered in. A server: parameters and the optimiser's arrays; pushes and replies of each worker, as long as
 * the slice, because outstanding ones belong to different chunks; the state for worker 0. With replicas it needs the
 * same again for the slice that it follows. Slices that servers take over or follow after a loss are counted per host
 * (train/job_memory.c). */
static struct memory_need ps_memory(const void *opts, const struct job_facts *facts)
{
    const size_t n_even = facts->n_params / (size_t)facts->n_servers + 1;
    const size_t n_slice = facts->n_server_params > n_even ? facts->n_server_params : n_even;

    (void)opts;
    return (struct memory_need){
        .worker_bytes = 2 * (facts->n_params + facts->n_scattered_params) * sizeof(float),
        .server_bytes = recovery_bytes(facts) + (1 + (size_t)facts->n_replicas) * n_slice * sizeof(float) *
                                                    (1 + 2 * (size_t)facts->n_workers + 2 * (size_t)facts->n_moments)
    };
}

static struct ps *self(struct sync *s)
{
    return (struct ps *)s;
}

static void ps_close(struct sync **s)
{
    struct ps *p = self(*s);

    ps_server_close(&p->server);
    free(p->link);
    free(p->slot);
    free(p->work);
    free(p->chunk);
    free(p->pushed);
    free(p->pulled);
    free(p->packed);
    free(p);
    *s = NULL;
}

static void open_link_chunk(struct link_chunk *chunk, const struct sync_env *env, int server, size_t k)
{
    chunk->part = placement_part(env->placement, server, env->buckets->chunk[k]);
    if (chunk->part.n_elems > 0)
        chunk->is_scattered = !placement_is_range(env->placement, server, chunk->part, &chunk->first);
}

/* The slots of all links (wire.P4). */
static enum rc open_slots(struct ps *p)
{
    const struct sync_env *env = &p->base.env;
    size_t n_slots = 0;

    for (int s = 0; s < env->n_servers; s++) {
        struct link *l = &p->link[s];
        l->n_slots = ps_has_chunk_slots(env) ? 1 : PS_CREDITS; /* the first also has what belongs to no chunk */
        for (size_t k = 0, n = 0; ps_has_chunk_slots(env) && k < env->buckets->n_chunks; k++)
            if (l->chunk[k].part.n_elems > 0) {
                l->chunk[k].slot = (int)n++;
                l->n_slots = (int)n;
            }
        n_slots += (size_t)l->n_slots;
    }
    p->n_work = ps_has_chunk_slots(env) ? env->n_in_flight : PS_CREDITS;
    p->work = calloc((size_t)p->n_work, sizeof *p->work);
    p->slot = calloc(n_slots, sizeof *p->slot);
    if (!p->work || !p->slot)
        return rc_raise(RC_NOMEM, "mode ps: no memory for %zu messages under way", n_slots);
    for (int s = 0; s < env->n_servers; s++)
        p->link[s].slot = s > 0 ? p->link[s - 1].slot + p->link[s - 1].n_slots : p->slot;
    return RC_OK;
}

/* float[n_params], zeros: the pages are there before the first step (S5). */
static enum rc open_floats(const struct ps *p, float **out)
{
    const size_t n_params = p->base.env.buckets->n_params;

    *out = malloc(n_params * sizeof **out);
    if (!*out)
        return rc_raise(RC_NOMEM, "mode ps: no memory for the messages of %zu parameters", n_params);
    memset(*out, 0, n_params * sizeof **out);
    return RC_OK;
}

static enum rc open_staging(struct ps *p)
{
    const struct sync_env *env = &p->base.env;
    const bool is_scattered = placement_is_scattered(env->placement);
    enum rc rc = RC_OK;

    if (ps_is_real(p) && is_scattered)
        TRY(open_floats(p, &p->pushed));
    if (ps_is_real(p) && is_scattered)
        TRY(open_floats(p, &p->pulled));
    if (ps_is_real(p) && env->compression.kind != COMPRESSION_NONE)
        TRY(open_floats(p, &p->packed));
out:
    return rc;
}

static enum rc open_links(struct ps *p)
{
    const struct sync_env *env = &p->base.env;
    const size_t n_chunks = env->buckets->n_chunks;
    enum rc rc;

    p->link = calloc((size_t)env->n_servers, sizeof *p->link);
    p->chunk = calloc((size_t)env->n_servers * n_chunks, sizeof *p->chunk);
    if (!p->link || !p->chunk)
        return rc_raise(RC_NOMEM, "mode ps: no memory for %d servers", env->n_servers);
    for (int s = 0; s < env->n_servers; s++) {
        struct link *l = &p->link[s];
        l->n_elems = env->placement->n_elems[s];
        l->holder = s;
        l->layout = ps_layout_digest(env, s);
        l->first_elem = s > 0 ? l[-1].first_elem + l[-1].n_elems : 0;
        l->chunk = p->chunk + (size_t)s * n_chunks;
        for (size_t k = 0; k < n_chunks; k++)
            open_link_chunk(&l->chunk[k], env, s, k);
    }
    TRY(open_slots(p));
    TRY(open_staging(p));
out:
    return rc;
}

static enum rc ps_open(struct sync **out, const struct sync_env *env)
{
    struct ps *p = calloc(1, sizeof *p);
    struct sync *base = &p->base;
    enum rc rc = RC_OK;

    if (!p)
        return rc_raise(RC_NOMEM, "mode ps: no memory");
    TRY(ps_check_slices(env));
    assert(!ps_has_chunk_slots(env) || (env->n_replicas == 0 && env->n_batches == 0));
    p->base = (struct sync){ .ops = &sync_ps, .env = *env };
    p->has_not_joined = sync_worker_of(env, env->world->rank) >= env->n_workers;
    if (sync_worker_of(env, env->world->rank) >= 0)
        TRY(open_links(p));
    else
        TRY(ps_server_open(&p->server, env));
    *out = base;
    base = NULL;
out:
    if (base)
        ps_close(&base);
    return rc;
}

static bool is_elastic(const struct ps *p)
{
    return p->base.env.n_batches > 0;
}

static enum rc leave(struct ps *p)
{
    const int n = p->base.env.n_servers;
    enum rc rc = RC_OK;

    for (int i = 0; i < n; i++) {
        const struct ps_header h = { .op = PS_LEAVE };
        if (p->link[i].holder != i) /* whoever took its place gets one of its own */
            continue;
        TRY(ps_post_request(p, i, 0, &h, NULL));
        TRY(ps_end_request(p, i, 0));
    }
out:
    return ps_abandon(p, rc);
}

/* Elements of the state of a server with n_elems parameters: these, then the optimiser's arrays. */
static size_t state_elems(const struct ps *p, size_t n_elems)
{
    return n_elems * (1 + (size_t)optimizer_n_moments(&p->base.env.optimizer));
}

/* Take the state of one server, which is at `state`. */
static enum rc take_state(struct ps *p, int server, enum ps_op asked, const float *state, float *param,
                          struct optimizer_state *out)
{
    const struct range slice = { 0, p->link[server].n_elems };
    const struct placement *placement = p->base.env.placement;
    const size_t n_moments = (size_t)optimizer_n_moments(&p->base.env.optimizer);
    const struct ps_header want = { .op = PS_STATE,
                                    .n_elems = (uint32_t)slice.n_elems,
                                    .n_moments = (uint32_t)n_moments };
    struct ps_header answer;
    enum rc rc;

    TRY(ps_end_request(p, server, 0));
    /* The final one comes when the slowest worker has left: that may take any time, and is no silence of the server. */
    TRY(ps_end_answer(p, server, 0, &want, asked == PS_FETCH ? WAIT_FOREVER : p->base.env.timeout_ms, &answer));
    if (slice.n_elems > 0 && answer.clock < out->n_updates)
        out->n_updates = answer.clock;
    if (!ps_is_real(p))
        return RC_OK;
    placement_scatter(placement, server, slice, state, param);
    for (size_t k = 0; k < n_moments && out->moments; k++)
        placement_scatter(placement, server, slice, state + (k + 1) * slice.n_elems,
                          out->moments + k * p->base.env.buckets->n_params);
out:
    return rc;
}

/* Ask all servers for their state, by FETCH or LOOK. */
static enum rc fetch(struct ps *p, enum ps_op op, float *param, struct optimizer_state *out)
{
    const size_t n_params = p->base.env.buckets->n_params;
    const int n_servers = p->base.env.n_servers, n_before = op == PS_FETCH && p->base.env.n_guests > 0 ? 1 : 0;
    const bool ends = is_elastic(p) && op == PS_FETCH;
    struct optimizer_state unwanted = { .moments = NULL };
    float *state = NULL; /* of server i, behind those of the servers before */
    enum rc rc = RC_OK;

    out = out ? out : &unwanted;
    out->n_updates = UINT64_MAX;
    if (ps_is_real(p) && !(state = malloc((n_params > 0 ? state_elems(p, n_params) : 1) * sizeof(float))))
        FAIL(RC_NOMEM, "mode ps: no memory for the state of %zu parameters", n_params);
    for (int i = 0; i < n_servers; i++) {
        const struct link *l = &p->link[i];
        const struct ps_header h = { .op = op, .clock = ends ? p->batch : 0 };
        TRY(ps_post_answer(p, i, 0, ps_is_real(p) ? state + state_elems(p, l->first_elem) : NULL,
                           state_elems(p, l->n_elems)));
        TRY(ps_post_request(p, i, 0, &h, NULL));
        if (i < n_before) /* leases.B9 */
            TRY(take_state(p, i, op, ps_is_real(p) ? state : NULL, param, out));
    }
    for (int i = n_before; i < n_servers; i++)
        TRY(take_state(p, i, op, ps_is_real(p) ? state + state_elems(p, p->link[i].first_elem) : NULL, param, out));
out:
    rc = ps_abandon(p, rc);
    free(state);
    return rc;
}

static enum rc ps_final(struct sync *s, float *param, struct optimizer_state *state)
{
    const bool is_first = s->env.world->rank == 0;
    enum rc rc = RC_OK;

    if (self(s)->has_not_joined)
        return RC_OK;
    if (is_first)
        TRY(fetch(self(s), PS_FETCH, param, state));
    else if (is_elastic(self(s)))
        TRY(ps_leave_each(self(s)));
    if (s->env.n_replicas > 0 || (!is_first && !is_elastic(self(s)))) /* replica.R8 */
        TRY(leave(self(s)));
out:
    return rc;
}

static enum rc ps_snapshot(struct sync *s, float *param, struct optimizer_state *state)
{
    return fetch(self(s), PS_LOOK, param, state);
}

static enum rc ps_serve(struct sync *s, uint64_t step_ns)
{
    return ps_server_run(self(s)->server, step_ns);
}

static void ps_served(const struct sync *s, struct server_facts *out)
{
    ps_server_facts(((const struct ps *)s)->server, out);
}

static uint64_t ps_full_bytes_of(const struct sync *s)
{
    return ps_full_bytes(&s->env);
}

static struct wire_plan ps_wire_plan_of(const struct sync *s)
{
    return ps_wire_plan(&s->env);
}

static const struct server_mode server_mode = {
    .most_in_flight = PS_MOST_CREDITS,
    .usual_in_flight = PS_CREDITS,
    .usual_partition_bytes = PS_PARTITION_BYTES,
    .post = ps_post,
    .complete = ps_complete,
    .next_batch = ps_next_batch,
    .join = ps_join,
    .snapshot = ps_snapshot,
    .final = ps_final,
    .serve = ps_serve,
    .served = ps_served,
};

const struct sync_mode sync_ps = {
    .module.name = "ps",
    .module.caps = MODE_SERVERS | MODE_SHARED_PARAMS | MODE_EXCHANGES,
    .module.memory = ps_memory,
    .exchange_name = "push and pull",
    .servers = &server_mode,
    .open = ps_open,
    .wire_plan = ps_wire_plan_of,
    .full_bytes = ps_full_bytes_of,
    .close = ps_close,
};
