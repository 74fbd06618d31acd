/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_ps.c - the worker's side, and the mode's table.
 *
 * One request and one reply buffer per server, header and slice in one message. finish() posts the
 * pushes to all servers, then takes the replies in server order; servers work at the same time.
 */
#include "ps/ps.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/arena.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"
#include "ps/protocol.h"
#include "ps/server.h"
#include "ps/wire.h"

struct link { /* of a worker to one server */
    struct segment slice;
    float *request, *reply; /* header floats, then the slice (reply: room for velocity too, worker 0) */
    uint64_t clock;         /* of the parameters this worker holds of that slice */
    struct xfer tx, rx;
};

struct ps {
    struct sync base;
    struct transport *transport;
    struct ps_server *server; /* server ranks only */
    struct link *link;        /* worker ranks only: [n_servers] */
    struct arena arena;
    float lr;
};

static struct ps *self(struct sync *s)
{
    return (struct ps *)s;
}

static bool real(const struct ps *p)
{
    return p->base.env.compute->ops->touches_memory;
}

struct segment ps_slice(size_t n_params, int n_servers, int s)
{
    const size_t parts = (size_t)n_servers, k = (size_t)s, whole = n_params / parts, rest = n_params % parts;
    const size_t at = whole * k + rest * k / parts, end = whole * (k + 1) + rest * (k + 1) / parts;

    return (struct segment){ at, end - at };
}

static void ps_close(struct sync **s)
{
    struct ps *p = self(*s);

    transport_close(&p->transport); /* first: what is posted lies in the server's and the links' memory */
    ps_server_close(&p->server);
    arena_close(&p->arena);
    free(p->link);
    free(p);
    *s = NULL;
}

static enum rc open_links(struct ps *p)
{
    const struct sync_env *env = &p->base.env;
    const size_t n_copies = env->world->rank == 0 ? 2 : 1;
    size_t n_bytes = 0;
    enum rc rc;

    p->link = calloc((size_t)env->n_servers, sizeof *p->link);
    if (!p->link)
        return rc_raise(RC_NOMEM, "mode ps: no memory for %d servers", env->n_servers);
    for (int s = 0; s < env->n_servers; s++) {
        p->link[s].slice = ps_slice(env->n_params, env->n_servers, s);
        const size_t n_elems = real(p) ? p->link[s].slice.n_elems : 0;
        n_bytes +=
            arena_floats_bytes(PS_HEADER_FLOATS + n_elems) + arena_floats_bytes(PS_HEADER_FLOATS + n_copies * n_elems);
    }
    TRY(arena_open(&p->arena, n_bytes));
    for (int s = 0; s < env->n_servers; s++) {
        const size_t n_elems = real(p) ? p->link[s].slice.n_elems : 0;
        p->link[s].request = arena_floats(&p->arena, PS_HEADER_FLOATS + n_elems);
        p->link[s].reply = arena_floats(&p->arena, PS_HEADER_FLOATS + n_copies * n_elems);
    }
out:
    return rc;
}

static enum rc ps_open(struct sync **out, const struct sync_env *env)
{
    struct ps *p = calloc(1, sizeof *p);
    struct sync *base = &p->base;
    enum rc rc;

    if (!p)
        return rc_raise(RC_NOMEM, "mode ps: no memory");
    p->base = (struct sync){ .ops = &sync_ps, .env = *env };
    TRY(transport_open(&p->transport, env->transport, env->world));
    if (env->world->rank < env->n_workers)
        TRY(open_links(p));
    else
        TRY(ps_server_open(&p->server, env, p->transport));
    *out = base;
    base = NULL;
out:
    if (base)
        ps_close(&base);
    return rc;
}

static enum rc ps_begin(struct sync *s, uint64_t step, float lr)
{
    (void)step;
    self(s)->lr = lr;
    return RC_OK;
}

/* Post the receive of the answer (capacity: n_copies slices) and the request itself. */
static enum rc ask(struct ps *p, int server, const struct ps_header *h, size_t n_copies)
{
    struct link *l = &p->link[server];
    const int peer = p->base.env.n_workers + server;
    const size_t n_sent_bytes = (size_t)h->n_elems * sizeof(float);
    const size_t n_room_bytes = n_copies * l->slice.n_elems * sizeof(float);
    enum rc rc = RC_OK;

    ps_header_encode(l->request, h);
    l->tx = (struct xfer){ .peer = peer,
                           .tag = PS_TAG_REQUEST,
                           .ptr = l->request,
                           .n_bytes = PS_HEADER_BYTES + (real(p) ? n_sent_bytes : 0),
                           .n_hollow_bytes = real(p) ? 0 : n_sent_bytes };
    l->rx = (struct xfer){ .peer = peer,
                           .tag = PS_TAG_REPLY,
                           .ptr = l->reply,
                           .n_bytes = PS_HEADER_BYTES + (real(p) ? n_room_bytes : 0),
                           .n_hollow_bytes = real(p) ? 0 : n_room_bytes };
    if (n_copies > 0)
        TRY(transport_recv(p->transport, &l->rx));
    TRY(transport_send(p->transport, &l->tx));
out:
    return rc;
}

/* End request and answer of one server; the answer must be `op`. */
static enum rc take_answer(struct ps *p, int server, enum ps_op op, int timeout_ms, struct ps_header *out)
{
    struct link *l = &p->link[server];
    enum rc rc;

    TRY(transport_wait(p->transport, &l->tx, p->base.env.timeout_ms));
    TRY(transport_wait(p->transport, &l->rx, timeout_ms));
    TRY(ps_header_decode(out, l->reply, l->rx.n_bytes, l->rx.n_hollow_bytes));
    if (out->op != op || out->n_elems != l->slice.n_elems)
        FAIL(RC_MISMATCH, "server %d answered op %d with %u elements where op %d with %zu belongs", server,
             (int)out->op, out->n_elems, (int)op, l->slice.n_elems);
out:
    return rc;
}

static void note_cost(struct step_cost *cost, const struct ps_header *h)
{
    if (h->queue_ns + h->apply_ns >= cost->server_ns + cost->apply_ns) { /* the slowest server */
        cost->server_ns = h->queue_ns;
        cost->apply_ns = h->apply_ns;
    }
    const uint32_t staleness = h->staleness < UINT32_MAX ? (uint32_t)h->staleness : UINT32_MAX;
    if (staleness > cost->staleness_count)
        cost->staleness_count = staleness;
}

static enum rc ps_finish(struct sync *s, float *param, float *grad, struct step_cost *out)
{
    struct ps *p = self(s);
    const int n_servers = s->env.n_servers;
    enum rc rc = RC_OK;

    *out = (struct step_cost){ 0 };
    if (real(p))
        for (int i = 0; i < n_servers; i++)
            memcpy(p->link[i].request + PS_HEADER_FLOATS, grad + p->link[i].slice.at,
                   p->link[i].slice.n_elems * sizeof(float));
    world_charge(s->env.world, 0, 2.0 * (double)s->env.n_params * sizeof(float));
    for (int i = 0; i < n_servers; i++) {
        const struct ps_header push = { .op = PS_PUSH,
                                        .n_elems = (uint32_t)p->link[i].slice.n_elems,
                                        .lr = p->lr,
                                        .sent_ns = world_now_ns(s->env.world),
                                        .clock = p->link[i].clock };
        TRY(ask(p, i, &push, 1));
    }
    for (int i = 0; i < n_servers; i++) {
        struct ps_header answer;
        TRY(take_answer(p, i, PS_PARAMS, s->env.timeout_ms, &answer));
        p->link[i].clock = answer.clock;
        note_cost(out, &answer);
        if (real(p))
            memcpy(param + p->link[i].slice.at, p->link[i].reply + PS_HEADER_FLOATS,
                   p->link[i].slice.n_elems * sizeof(float));
    }
    world_charge(s->env.world, 0, 2.0 * (double)s->env.n_params * sizeof(float));
out:
    return rc;
}

static enum rc leave(struct ps *p)
{
    const struct ps_header h = { .op = PS_LEAVE };
    enum rc rc = RC_OK;

    for (int i = 0; i < p->base.env.n_servers; i++) {
        TRY(ask(p, i, &h, 0));
        TRY(transport_wait(p->transport, &p->link[i].tx, p->base.env.timeout_ms));
    }
out:
    return rc;
}

static enum rc ps_final(struct sync *s, float *param, float *velocity)
{
    struct ps *p = self(s);
    const struct ps_header fetch = { .op = PS_FETCH };
    enum rc rc = RC_OK;

    if (s->env.world->rank != 0)
        return leave(p);
    for (int i = 0; i < s->env.n_servers; i++)
        TRY(ask(p, i, &fetch, 2));
    for (int i = 0; i < s->env.n_servers; i++) {
        const struct link *l = &p->link[i];
        struct ps_header answer;
        /* It comes when the slowest worker has left: that may take any time, and is no silence of the server. */
        TRY(take_answer(p, i, PS_STATE, WAIT_FOREVER, &answer));
        if (!real(p))
            continue;
        memcpy(param + l->slice.at, l->reply + PS_HEADER_FLOATS, l->slice.n_elems * sizeof(float));
        if (velocity)
            memcpy(velocity + l->slice.at, l->reply + PS_HEADER_FLOATS + l->slice.n_elems,
                   l->slice.n_elems * sizeof(float));
    }
out:
    return rc;
}

static enum rc ps_serve(struct sync *s)
{
    return ps_server_run(self(s)->server);
}

/* Push and reply of one slice. One way, a server's link carries those of all workers, a worker's those of all servers
 * and, of a reply, at least one after the last push. */
static struct wire_plan ps_wire_plan(const struct sync *s)
{
    const size_t n_slice = s->env.n_params / (size_t)s->env.n_servers;
    const int n_busiest = s->env.n_workers > s->env.n_servers + 1 ? s->env.n_workers : s->env.n_servers + 1;

    return (struct wire_plan){ PS_HEADER_BYTES + n_slice * sizeof(float), 2, n_busiest };
}

/* A worker: a request and a reply for each server. A server: parameters, momentum, a copy of the parameters on its way
 * to each worker, and one push from each. */
static struct memory_need ps_memory(const void *opts, const struct job_facts *facts)
{
    const size_t n_slice = facts->n_params / (size_t)facts->n_servers + 1;

    (void)opts;
    return (struct memory_need){ .worker_bytes = 2 * facts->n_params * sizeof(float),
                                 .server_bytes = n_slice * sizeof(float) * (2 + 2 * (size_t)facts->n_workers) };
}

const struct sync_mode sync_ps = {
    .module.name = "ps",
    .module.caps = MODE_SERVERS | MODE_SHARED_PARAMS,
    .module.memory = ps_memory,
    .open = ps_open,
    .begin = ps_begin,
    .finish = ps_finish,
    .final = ps_final,
    .serve = ps_serve,
    .wire_plan = ps_wire_plan,
    .close = ps_close,
};
