/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_ps.c - the worker's side, and the mode's table.
 *
 * exchange() posts the pushes of a piece to all servers that hold a part of it, then takes the replies in server order;
 * servers work at the same time. A push is sent from the gradient's own memory and its reply received into the
 * parameters' own; nothing is copied here, and everything posted is ended before exchange() returns, also on an error.
 */
#include "ps/ps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/range.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"
#include "ps/protocol.h"
#include "ps/server.h"
#include "ps/wire.h"

struct link_piece {    /* of one piece at one server */
    struct range part; /* of all parameters */
    uint64_t clock;    /* of those that this worker holds */
};

struct link { /* of a worker to one server */
    struct range slice;
    unsigned char request[PS_HEADER_BYTES], reply[PS_HEADER_BYTES]; /* headers */
    struct link_piece *piece;                                       /* [n_pieces] */
    bool sends, receives;                                           /* tx is posted; rx is */
    struct xfer tx, rx;
};

struct ps {
    struct sync base;
    struct ps_server *server; /* server ranks only */
    struct link *link;        /* worker ranks only: [n_servers] */
    struct link_piece *piece; /* of all links */
};

static struct ps *self(struct sync *s)
{
    return (struct ps *)s;
}

static bool real(const struct ps *p)
{
    return p->base.env.compute->ops->touches_memory;
}

static void ps_close(struct sync **s)
{
    struct ps *p = self(*s);

    ps_server_close(&p->server);
    free(p->link);
    free(p->piece);
    free(p);
    *s = NULL;
}

static enum rc open_links(struct ps *p)
{
    const struct sync_env *env = &p->base.env;
    const size_t n_pieces = env->buckets->n_pieces;

    p->link = calloc((size_t)env->n_servers, sizeof *p->link);
    p->piece = calloc((size_t)env->n_servers * n_pieces, sizeof *p->piece);
    if (!p->link || !p->piece)
        return rc_raise(RC_NOMEM, "mode ps: no memory for %d servers", env->n_servers);
    for (int s = 0; s < env->n_servers; s++) {
        p->link[s].slice = server_slice(env->buckets->n_params, env->n_servers, s);
        p->link[s].piece = p->piece + (size_t)s * n_pieces;
        for (size_t k = 0; k < n_pieces; k++)
            p->link[s].piece[k].part = ps_part(env, k, s);
    }
    return RC_OK;
}

/* A message counts its elements in 32 bits: slices are sent whole, and the first is the largest. */
static enum rc check_slices(const struct sync_env *env)
{
    const size_t n_elems = server_slice(env->buckets->n_params, env->n_servers, 0).n_elems;

    if (n_elems > UINT32_MAX)
        return rc_raise(RC_INVAL,
                        "mode ps: a server would hold %zu parameters; at most %u are possible: use more "
                        "servers than %d",
                        n_elems, UINT32_MAX, env->n_servers);
    return RC_OK;
}

static enum rc ps_open(struct sync **out, const struct sync_env *env)
{
    struct ps *p = calloc(1, sizeof *p);
    struct sync *base = &p->base;
    enum rc rc = RC_OK;

    if (!p)
        return rc_raise(RC_NOMEM, "mode ps: no memory");
    TRY(check_slices(env));
    p->base = (struct sync){ .ops = &sync_ps, .env = *env };
    if (env->world->rank < env->n_workers)
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

/* Where the n_elems floats of a request or an answer are; hollow: as many bytes without content. */
static void set_body(const struct ps *p, struct xfer *x, float *body, size_t n_elems)
{
    x->ptr = real(p) ? body : NULL;
    *(real(p) ? &x->n_bytes : &x->n_hollow_bytes) = n_elems * sizeof(float);
}

/* Post the request h with its h->n_elems of body. Lent until end_request(). */
static enum rc post_request(struct ps *p, int server, const struct ps_header *h, float *body)
{
    struct link *l = &p->link[server];
    enum rc rc;

    ps_header_encode(l->request, h);
    l->tx = (struct xfer){ .peer = p->base.env.n_workers + server,
                           .tag = PS_TAG_REQUEST,
                           .head = l->request,
                           .n_head_bytes = PS_HEADER_BYTES };
    set_body(p, &l->tx, body, h->n_elems);
    TRY(transport_send(p->base.env.transport, &l->tx));
    l->sends = true;
out:
    return rc;
}

/* Post the receive of an answer with room for n_elems at body. Lent until end_answer(). */
static enum rc post_answer(struct ps *p, int server, float *body, size_t n_elems)
{
    struct link *l = &p->link[server];
    enum rc rc;

    l->rx = (struct xfer){
        .peer = p->base.env.n_workers + server, .tag = PS_TAG_REPLY, .head = l->reply, .n_head_bytes = PS_HEADER_BYTES
    };
    set_body(p, &l->rx, body, n_elems);
    TRY(transport_recv(p->base.env.transport, &l->rx));
    l->receives = true;
out:
    return rc;
}

static enum rc end_request(struct ps *p, int server)
{
    p->link[server].sends = false;
    return transport_wait(p->base.env.transport, &p->link[server].tx, p->base.env.timeout_ms);
}

/* The answer of one server, which must be what `want` says: its op, n_elems and piece. */
static enum rc end_answer(struct ps *p, int server, const struct ps_header *want, int timeout_ms, struct ps_header *out)
{
    struct link *l = &p->link[server];
    enum rc rc;

    l->receives = false;
    TRY(transport_wait(p->base.env.transport, &l->rx, timeout_ms));
    TRY(ps_header_decode(out, l->reply, l->rx.n_head_bytes, l->rx.n_bytes + l->rx.n_hollow_bytes));
    if (out->op != want->op || out->n_elems != want->n_elems || out->piece != want->piece)
        FAIL(RC_MISMATCH,
             "server %d answered op %d with %u elements of piece %u where op %d with %u of piece %u belongs", server,
             (int)out->op, out->n_elems, out->piece, (int)want->op, want->n_elems, want->piece);
out:
    return rc;
}

/* End what is still posted in the caller's memory, when something failed; the first error is the one to report. */
static enum rc abandon(struct ps *p, enum rc rc)
{
    char first_message[RC_MESSAGE_BYTES];

    if (rc == RC_OK)
        return rc;
    snprintf(first_message, sizeof first_message, "%s", rc_message());
    for (int i = 0; i < p->base.env.n_servers; i++) {
        struct link *l = &p->link[i];
        if (l->sends)
            (void)!transport_wait(p->base.env.transport, &l->tx, DO_NOT_WAIT);
        if (l->receives)
            (void)!transport_wait(p->base.env.transport, &l->rx, DO_NOT_WAIT);
        l->sends = l->receives = false;
    }
    return rc_raise(rc, "%s", first_message);
}

static void note_cost(struct piece_cost *cost, const struct ps_header *h)
{
    if (h->queue_ns + h->apply_ns >= cost->server_ns + cost->apply_ns) { /* the slowest server */
        cost->server_ns = h->queue_ns;
        cost->apply_ns = h->apply_ns;
    }
    const uint32_t staleness = h->staleness < UINT32_MAX ? (uint32_t)h->staleness : UINT32_MAX;
    if (staleness > cost->staleness_count)
        cost->staleness_count = staleness;
}

static enum rc push(struct ps *p, int server, size_t k, float lr, float *param, float *grad)
{
    const struct range part = p->link[server].piece[k].part;
    enum rc rc = RC_OK;

    if (part.n_elems == 0)
        return RC_OK;
    const struct ps_header h = { .op = PS_PUSH,
                                 .n_elems = (uint32_t)part.n_elems,
                                 .piece = (uint32_t)k,
                                 .lr = lr,
                                 .sent_ns = world_now_ns(p->base.env.world),
                                 .clock = p->link[server].piece[k].clock };
    TRY(post_answer(p, server, real(p) ? param + part.offset_elems : NULL, part.n_elems));
    TRY(post_request(p, server, &h, real(p) ? grad + part.offset_elems : NULL));
out:
    return rc;
}

static enum rc take_params(struct ps *p, int server, size_t k, struct piece_cost *cost)
{
    struct link_piece *piece = &p->link[server].piece[k];
    const struct ps_header want = { .op = PS_PARAMS, .n_elems = (uint32_t)piece->part.n_elems, .piece = (uint32_t)k };
    struct ps_header answer;
    enum rc rc = RC_OK;

    if (want.n_elems == 0)
        return RC_OK;
    TRY(end_request(p, server));
    TRY(end_answer(p, server, &want, p->base.env.timeout_ms, &answer));
    piece->clock = answer.clock;
    note_cost(cost, &answer);
out:
    return rc;
}

static enum rc ps_exchange(struct sync *s, size_t k, float lr, float *param, float *grad, struct piece_cost *out)
{
    const double n_copied_bytes = 2.0 * (double)s->env.buckets->piece[k].n_elems * sizeof(float);
    struct ps *p = self(s);
    enum rc rc = RC_OK;

    /* The copy of the gradient into messages, and below that of the parameters out of them: the transport's. */
    world_charge(s->env.world, 0, n_copied_bytes);
    for (int i = 0; i < s->env.n_servers; i++)
        TRY(push(p, i, k, lr, param, grad));
    for (int i = 0; i < s->env.n_servers; i++)
        TRY(take_params(p, i, k, out));
    world_charge(s->env.world, 0, n_copied_bytes);
out:
    return abandon(p, rc);
}

static enum rc leave(struct ps *p)
{
    const struct ps_header h = { .op = PS_LEAVE };
    enum rc rc = RC_OK;

    for (int i = 0; i < p->base.env.n_servers; i++) {
        TRY(post_request(p, i, &h, NULL));
        TRY(end_request(p, i));
    }
out:
    return abandon(p, rc);
}

/* Take the state of one server: its parameters and then its velocity, at state. */
static enum rc take_state(struct ps *p, int server, enum ps_op asked, const float *state, float *param, float *velocity)
{
    const struct range slice = p->link[server].slice;
    const struct ps_header want = { .op = PS_STATE, .n_elems = (uint32_t)slice.n_elems };
    struct ps_header answer;
    enum rc rc;

    TRY(end_request(p, server));
    /* The final one comes when the slowest worker has left: that may take any time, and is no silence of the server. */
    TRY(end_answer(p, server, &want, asked == PS_FETCH ? WAIT_FOREVER : p->base.env.timeout_ms, &answer));
    if (!real(p))
        return RC_OK;
    memcpy(param + slice.offset_elems, state, slice.n_elems * sizeof(float));
    if (velocity)
        memcpy(velocity + slice.offset_elems, state + slice.n_elems, slice.n_elems * sizeof(float));
out:
    return rc;
}

/* Ask all servers for their state, by FETCH or LOOK. */
static enum rc fetch(struct ps *p, enum ps_op op, float *param, float *velocity)
{
    const size_t n_params = p->base.env.buckets->n_params;
    const int n_servers = p->base.env.n_servers;
    const struct ps_header h = { .op = op };
    float *state = NULL; /* of server i, of n elements from a on: 2 n from 2 a on */
    enum rc rc = RC_OK;

    if (real(p) && !(state = malloc((n_params > 0 ? 2 * n_params : 1) * sizeof(float))))
        FAIL(RC_NOMEM, "mode ps: no memory for the state of %zu parameters", n_params);
    for (int i = 0; i < n_servers; i++) {
        const struct range slice = p->link[i].slice;
        TRY(post_answer(p, i, real(p) ? state + 2 * slice.offset_elems : NULL, 2 * slice.n_elems));
        TRY(post_request(p, i, &h, NULL));
    }
    for (int i = 0; i < n_servers; i++)
        TRY(take_state(p, i, op, real(p) ? state + 2 * p->link[i].slice.offset_elems : NULL, param, velocity));
out:
    rc = abandon(p, rc);
    free(state);
    return rc;
}

static enum rc ps_final(struct sync *s, float *param, float *velocity)
{
    return s->env.world->rank == 0 ? fetch(self(s), PS_FETCH, param, velocity) : leave(self(s));
}

static enum rc ps_snapshot(struct sync *s, float *param, float *velocity)
{
    return fetch(self(s), PS_LOOK, param, velocity);
}

static enum rc ps_serve(struct sync *s, uint64_t step_ns)
{
    return ps_server_run(self(s)->server, step_ns);
}

/* Push and reply of each part of a piece. One way, a server's link carries those of all workers, a worker's those of
 * all servers and, of a reply, at least one after the last push. */
static struct wire_plan ps_wire_plan(const struct sync *s)
{
    const size_t n_pieces = s->env.buckets->n_pieces;
    size_t n_messages = 0, n_most = 0; /* of a worker one way: to all servers, to the one with most */

    for (int i = 0; i < s->env.n_servers; i++) {
        size_t n_own = 0;
        for (size_t k = 0; k < n_pieces; k++)
            n_own += ps_part(&s->env, k, i).n_elems > 0;
        n_messages += n_own;
        n_most = n_own > n_most ? n_own : n_most;
    }
    if (n_messages == 0) /* no parameters */
        return (struct wire_plan){ 0 };
    const size_t n_elems = s->env.buckets->n_params / n_messages, n_at_server = n_most * (size_t)s->env.n_workers;
    const size_t n_busiest = n_at_server > n_messages + 1 ? n_at_server : n_messages + 1;
    return (struct wire_plan){ PS_HEADER_BYTES + n_elems * sizeof(float), 2 * (double)n_pieces, (double)n_busiest };
}

/* A worker: its pushes and their replies, as messages of the transport. A server: parameters, momentum, and of each
 * worker one push and one reply. */
static struct memory_need ps_memory(const void *opts, const struct job_facts *facts)
{
    const size_t n_slice = facts->n_params / (size_t)facts->n_servers + 1;

    (void)opts;
    return (struct memory_need){ .worker_bytes = 2 * facts->n_params * sizeof(float),
                                 .server_bytes = n_slice * sizeof(float) * (2 + 2 * (size_t)facts->n_workers) };
}

const struct sync_mode sync_ps = {
    .module.name = "ps",
    .module.caps = MODE_SERVERS | MODE_SHARED_PARAMS | MODE_EXCHANGES,
    .module.memory = ps_memory,
    .exchange_name = "push and pull",
    .open = ps_open,
    .exchange = ps_exchange,
    .final = ps_final,
    .snapshot = ps_snapshot,
    .serve = ps_serve,
    .wire_plan = ps_wire_plan,
    .close = ps_close,
};
