/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_lane.c - a lane of the comparison: an algorithm, the bare transport, a barrier, or a ceiling; and one call of
 * it, the part that is timed; see comm_lane.h.
 */
#include "harness/bench/comm_lane.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allreduce/barrier.h"
#include "allreduce/collective_list.h"
#include "harness/base/range.h"
#include "harness/bench/comm_ceiling.h"
#include "harness/compute/compute.h"
#include "harness/exchange/collective.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

enum { TAG_EXCHANGE = 0x7000 };

static bool sums_on_device(const struct comm_lane_state *s)
{
    return s->env->device && s->lane->ops->module.caps & COLL_DEVICE;
}

static enum rc open_collective(struct comm_lane_state *s)
{
    const struct comm_lane_env *env = s->env;
    const struct collective_env collective = { .kind = &collective_kind,
                                               .transport = s->transport,
                                               .compute = sums_on_device(s) ? env->device : env->compute,
                                               .timeout_ms = env->timeout_ms,
                                               .opts = s->lane->opts,
                                               .types = comm_collective_type(env->type),
                                               .max_elems = env->max_elems,
                                               .n_groups = 1,
                                               .share = env->share,
                                               .n_shares = 2 };

    return collective_open(&s->collective, s->lane->ops, &collective);
}

enum rc comm_lane_open(struct comm_lane_state *out, const struct comm_lane *lane, const struct comm_lane_env *env)
{
    enum rc rc = RC_OK;

    *out = (struct comm_lane_state){ .lane = lane, .env = env };
    if (lane->kind == COMM_LANE_ONE_PASS)
        return RC_OK;
    TRY(transport_open(&out->transport, env->transport, env->world));
    out->transport->fails_together = true;
    if (lane->kind == COMM_LANE_REDUCER)
        TRY(open_collective(out));
out:
    return rc;
}

struct refusal { /* of a rank */
    enum rc rc;  /* RC_OK: it does not refuse */
    char why[COMM_REASON_BYTES];
};

/* *of := that of the first rank that refuses. Collective. */
static enum rc first_refusal(struct refusal *of, struct world *w)
{
    struct refusal *all = calloc((size_t)w->n_ranks, sizeof *all);
    enum rc rc = RC_OK;

    if (!all)
        FAIL(RC_NOMEM, "no memory for the reasons of %d ranks", w->n_ranks);
    TRY(world_allgather(w, of, all, sizeof *of));
    for (int r = w->n_ranks - 1; r >= 0; r--)
        if (all[r].rc != RC_OK)
            *of = all[r];
out:
    free(all);
    return rc;
}

enum rc comm_lane_try(struct comm_lane_state *out, const struct comm_lane *lane, const struct comm_lane_env *env,
                      char why[COMM_REASON_BYTES])
{
    struct refusal refusal = { .rc = comm_lane_open(out, lane, env) };
    enum rc rc = RC_OK;

    if (refusal.rc != RC_OK && refusal.rc != RC_UNSUPPORTED && refusal.rc != RC_INVAL)
        TRY(refusal.rc);
    if (refusal.rc != RC_OK)
        snprintf(refusal.why, sizeof refusal.why, "%s", rc_message());
    TRY(first_refusal(&refusal, env->world));
    memcpy(why, refusal.why, COMM_REASON_BYTES);
    if (refusal.rc != RC_OK)
        comm_lane_close(out);
out:
    return rc;
}

void comm_lane_close(struct comm_lane_state *s)
{
    collective_close(&s->collective);
    transport_close(&s->transport);
}

/* What this rank brings (comm_values_own_part() of a type that is reduced or spread). */
static struct range brought(const struct comm_lane_env *env, size_t n_elems)
{
    const struct world *w = env->world;

    if (env->type == COMM_ALLGATHER)
        return range_part(n_elems, w->n_ranks, w->rank);
    return (struct range){ 0, env->type == COMM_BROADCAST && w->rank != env->root ? 0 : n_elems };
}

static void copy_in(const struct comm_lane_state *s, const struct comm_data *data)
{
    const struct range part = brought(s->env, data->n_elems);
    const size_t n_bytes = part.n_elems * sizeof(float);

    if (data->result && n_bytes > 0)
        memcpy(data->result + part.offset_elems, data->input + part.offset_elems, n_bytes);
    if (s->env->is_virtual)
        world_charge(s->env->world, 0, 2.0 * (double)n_bytes);
}

static struct collective_call call_of(const struct comm_lane_state *s, size_t n_elems)
{
    return (struct collective_call){ .type = (enum collective_type)comm_collective_type(s->env->type),
                                     .root = s->env->root,
                                     .n_elems = n_elems };
}

/* The sum is there when the host sees it: what a group of its own takes. */
static enum rc reduce_there(struct comm_lane_state *s, const struct comm_data *data)
{
    const struct collective_call call = call_of(s, data->n_elems);
    enum rc rc;

    TRY(collective_begin(s->collective));
    TRY(collective_run(s->collective, &call, data->on_device));
    TRY(collective_end(s->collective, 0));
    TRY(collective_wait(s->collective, 0));
out:
    return rc;
}

/* As gradients of a GPU go through the memory of the host. */
static enum rc reduce_copies(struct comm_lane_state *s, const struct comm_data *data)
{
    const struct collective_call call = call_of(s, data->n_elems);
    const size_t n_bytes = data->n_elems * sizeof(float);
    enum rc rc;

    TRY(compute_fetch(s->env->device, data->result, data->on_device, n_bytes));
    TRY(collective_run(s->collective, &call, data->result));
    TRY(compute_sync(s->env->compute));
    compute_put(s->env->device, data->on_device, data->result, n_bytes);
out:
    return rc;
}

static enum rc reduce(struct comm_lane_state *s, const struct comm_data *data)
{
    struct collective_call call = call_of(s, data->n_elems);

    if (data->on_device)
        return sums_on_device(s) ? reduce_there(s, data) : reduce_copies(s, data);
    if (data->is_out_of_place && call.type == COLL_ALLREDUCE)
        call.input = data->input;
    else if (data->is_out_of_place)
        copy_in(s, data);
    return collective_run(s->collective, &call, data->result);
}

static enum rc exchange(struct comm_lane_state *s, const struct comm_data *data)
{
    const struct world *w = s->env->world;
    const size_t n_bytes = data->n_elems * sizeof(float);
    struct xfer tx = { .peer = (w->rank + 1) % w->n_ranks, .tag = TAG_EXCHANGE };
    struct xfer rx = { .peer = (w->rank + w->n_ranks - 1) % w->n_ranks, .tag = TAG_EXCHANGE };
    enum rc rc;

    tx.ptr = (void *)data->input; /* only read: xfer has one pointer for both ways */
    rx.ptr = data->result;
    *(data->result ? &tx.n_bytes : &tx.n_hollow_bytes) = n_bytes;
    *(data->result ? &rx.n_bytes : &rx.n_hollow_bytes) = n_bytes;
    TRY(transport_exchange(s->transport, &tx, &rx, s->env->timeout_ms));
    if (rx.n_bytes + rx.n_hollow_bytes != n_bytes)
        FAIL(RC_MISMATCH, "sendrecv: rank %d sent %zu bytes where %zu belong", rx.peer, rx.n_bytes + rx.n_hollow_bytes,
             n_bytes);
out:
    return rc;
}

static void pass_once(struct comm_lane_state *s, const struct comm_data *data)
{
    const struct comm_lane_env *env = s->env;
    const struct comm_one_pass pass = { env->type,    env->world->n_ranks, env->compute,
                                        data->result, data->input,         data->n_elems };

    comm_one_pass(&pass);
    if (env->is_virtual)
        world_charge(env->world, 0, (double)comm_one_pass_bytes(env->type, env->world->n_ranks, data->n_elems));
}

enum rc comm_lane_call(struct comm_lane_state *s, const struct comm_data *data)
{
    switch (s->lane->kind) {
    case COMM_LANE_REDUCER:
        return reduce(s, data);
    case COMM_LANE_EXCHANGE:
        return exchange(s, data);
    case COMM_LANE_BARRIER:
        return barrier_run(s->transport, s->env->timeout_ms);
    case COMM_LANE_ONE_PASS:
        pass_once(s, data);
        return RC_OK;
    }
    return rc_raise(RC_BUG, "comm: a lane of no kind");
}

void comm_lane_explain(const struct comm_lane_state *s, size_t n_bytes, char text[COMM_EXPLAIN_BYTES])
{
    const struct collective_call call = call_of(s, n_bytes / sizeof(float));

    text[0] = '\0';
    if (s->collective)
        collective_explain(s->collective, &call, text, COMM_EXPLAIN_BYTES);
}

enum rc comm_lane_end(struct comm_lane_state *s)
{
    enum rc rc;

    TRY(compute_sync(s->env->compute));
    if (s->env->device)
        TRY(compute_sync(s->env->device));
out:
    return rc;
}
