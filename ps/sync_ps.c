/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_ps.c - the worker's side, and the mode's table.
 *
 * exchange() posts the pushes of a piece to all servers that hold a part of it, then takes the replies in server order;
 * servers work at the same time. What a server has of a piece is one message each way: where it is one range of the
 * parameters it is sent from the gradient's own memory and received into the parameters' own, and nothing is copied
 * here; else it is gathered from its ranges before, and scattered to them behind, in memory of its own. A gradient that
 * is compressed is packed into memory of its own (push_body.h); parameters come back as they are.
 * Everything posted is ended before exchange() returns, also on an error.
 */
#include "ps/ps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/net/transport.h"
#include "harness/world/world.h"
#include "ps/limits.h"
#include "ps/protocol.h"
#include "ps/server.h"
#include "ps/wire.h"
#include "ps/wire_plan.h"

struct link_piece {    /* of one piece at one server */
    struct range part; /* of the server's slice; its n_elems may be 0 */
    bool is_scattered; /* it is several ranges of the parameters; else one: */
    size_t first;      /* ... which begins here */
    uint64_t clock;    /* of those that this worker holds */
    uint32_t step;     /* pushes so far */
};

struct link {          /* of a worker to one server */
    size_t first_elem; /* of its slice, if all slices are one behind the other */
    size_t n_elems;    /* of its slice */
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
    float *pushed, *pulled;   /* a worker's, float[n_params], all slices one behind the other: what is scattered, on its
                                 way; NULL: nothing is, or hollow */
    float *packed;            /* a worker's, likewise: bodies of pushes; NULL: nothing is compressed, or hollow */
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
    free(p->pushed);
    free(p->pulled);
    free(p->packed);
    free(p);
    *s = NULL;
}

static void open_link_piece(struct link_piece *piece, const struct sync_env *env, int server, size_t k)
{
    piece->part = placement_part(env->placement, server, env->buckets->piece[k]);
    if (piece->part.n_elems > 0)
        piece->is_scattered = !placement_is_range(env->placement, server, piece->part, &piece->first);
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

    if (real(p) && is_scattered)
        TRY(open_floats(p, &p->pushed));
    if (real(p) && is_scattered)
        TRY(open_floats(p, &p->pulled));
    if (real(p) && env->compression.kind != COMPRESSION_NONE)
        TRY(open_floats(p, &p->packed));
out:
    return rc;
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
        struct link *l = &p->link[s];
        l->n_elems = env->placement->n_elems[s];
        l->first_elem = s > 0 ? l[-1].first_elem + l[-1].n_elems : 0;
        l->piece = p->piece + (size_t)s * n_pieces;
        for (size_t k = 0; k < n_pieces; k++)
            open_link_piece(&l->piece[k], env, s, k);
    }
    return open_staging(p);
}

static enum rc ps_open(struct sync **out, const struct sync_env *env)
{
    struct ps *p = calloc(1, sizeof *p);
    struct sync *base = &p->base;
    enum rc rc = RC_OK;

    if (!p)
        return rc_raise(RC_NOMEM, "mode ps: no memory");
    TRY(ps_check_slices(env));
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

/* Where the n_bytes of a request or an answer are; hollow: as many bytes without content. */
static void set_body(const struct ps *p, struct xfer *x, float *body, size_t n_bytes)
{
    x->ptr = real(p) ? body : NULL;
    *(real(p) ? &x->n_bytes : &x->n_hollow_bytes) = n_bytes;
}

/* Post the request h with the body that it says. Lent until end_request(). */
static enum rc post_request(struct ps *p, int server, const struct ps_header *h, float *body)
{
    struct link *l = &p->link[server];
    enum rc rc;

    ps_header_encode(l->request, h);
    l->tx = (struct xfer){ .peer = p->base.env.n_workers + server,
                           .tag = PS_TAG_REQUEST,
                           .head = l->request,
                           .n_head_bytes = PS_HEADER_BYTES };
    set_body(p, &l->tx, body, push_body_bytes(&(struct push_body){ h->form, h->n_elems, h->n_pairs }));
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
    set_body(p, &l->rx, body, n_elems * sizeof(float));
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

static bool may_be_late(const struct ps *p)
{
    return p->base.env.consistency.kind == CONSISTENCY_SYNC && p->base.env.consistency.bound_count > 0;
}

/* The answer of one server, which must be what `want` says: its op, n_elems and piece. */
static enum rc end_answer(struct ps *p, int server, const struct ps_header *want, int timeout_ms, struct ps_header *out)
{
    struct link *l = &p->link[server];
    enum rc rc;

    l->receives = false;
    TRY(transport_wait(p->base.env.transport, &l->rx, timeout_ms));
    TRY(ps_header_decode(out, l->reply, l->rx.n_head_bytes, l->rx.n_bytes + l->rx.n_hollow_bytes));
    const bool is_late = out->op == PS_LATE && want->op == PS_PARAMS && may_be_late(p);
    if ((out->op != want->op && !is_late) || out->n_elems != want->n_elems || out->piece != want->piece ||
        out->n_moments != want->n_moments)
        FAIL(RC_MISMATCH,
             "server %d answered op %d with %u elements of piece %u where op %d with %u of piece %u belongs, or with "
             "another optimiser's state",
             server, (int)out->op, out->n_elems, out->piece, (int)want->op, want->n_elems, want->piece);
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

/* lead: steps ahead of the slowest worker. */
static void note_cost(struct piece_cost *cost, const struct ps_header *h, uint32_t lead)
{
    const uint64_t server_ns = h->queue_ns + h->apply_ns + h->held_ns;
    if (server_ns >= cost->server_ns + cost->apply_ns + cost->held_ns) { /* the slowest server */
        cost->server_ns = h->queue_ns;
        cost->apply_ns = h->apply_ns;
        cost->held_ns = h->held_ns;
    }
    cost->late_count += h->op == PS_LATE;
    cost->lead_count = lead > cost->lead_count ? lead : cost->lead_count;
    const uint32_t staleness = h->staleness < UINT32_MAX ? (uint32_t)h->staleness : UINT32_MAX;
    if (staleness > cost->staleness_count)
        cost->staleness_count = staleness;
}

/* Where the body of a message with this piece is: in `staged` (pushed, pulled), or where it belongs, in `all`. */
static float *body_at(const struct ps *p, int server, const struct link_piece *piece, float *staged, float *all)
{
    if (!real(p))
        return NULL;
    return piece->is_scattered ? staged + p->link[server].first_elem + piece->part.offset_elems : all + piece->first;
}

/* Simulated cost of a copy of a scattered piece: each float is read and written. */
static void charge_copy(struct ps *p, const struct link_piece *piece)
{
    world_charge(p->base.env.world, 0, 2.0 * (double)piece->part.n_elems * sizeof(float));
}

/* The body of a push, whose floats are at *at; if it is compressed, *at becomes where it is packed. */
static enum rc pack(struct ps *p, int server, struct range part, float **at, struct push_body *out)
{
    const struct compression *c = &p->base.env.compression;
    float *packed = p->packed ? p->packed + p->link[server].first_elem + part.offset_elems : NULL;
    const enum rc rc = push_body_pack(out, packed, c, p->base.env.compute, *at, (uint32_t)part.n_elems);

    if (c->kind == COMPRESSION_TOPK)
        world_charge(p->base.env.world, 0, PUSH_FIND_BYTES * (double)part.n_elems);
    if (out->form != PS_FLOATS)
        *at = packed;
    return rc;
}

static enum rc push(struct ps *p, int server, size_t k, float lr, float *param, float *grad)
{
    const struct link_piece *piece = &p->link[server].piece[k];
    const struct range part = piece->part;
    float *at = body_at(p, server, piece, p->pushed, grad);
    struct push_body body;
    enum rc rc = RC_OK;

    if (part.n_elems == 0)
        return RC_OK;
    if (piece->is_scattered && at)
        placement_gather(p->base.env.placement, server, part, at, grad, 0);
    if (piece->is_scattered)
        charge_copy(p, piece);
    TRY(pack(p, server, part, &at, &body));
    const struct ps_header h = { .op = PS_PUSH,
                                 .n_elems = (uint32_t)part.n_elems,
                                 .piece = (uint32_t)k,
                                 .lr = lr,
                                 .sent_ns = world_now_ns(p->base.env.world),
                                 .clock = piece->clock,
                                 .step = piece->step,
                                 .form = body.form,
                                 .n_pairs = body.n_pairs };
    TRY(post_answer(p, server, body_at(p, server, piece, p->pulled, param), part.n_elems));
    TRY(post_request(p, server, &h, at));
out:
    return rc;
}

/* clocks.Q1, as the worker sees it, which has pushed n_steps. */
static enum rc check_lead(const struct ps *p, int server, uint32_t n_steps, const struct ps_header *h)
{
    const struct consistency *rule = &p->base.env.consistency;

    if (h->step > n_steps)
        return rc_raise(RC_MISMATCH,
                        "server %d says of piece %u that the slowest worker has done %u steps; this one did %u", server,
                        h->piece, h->step, n_steps);
    if (rule->kind == CONSISTENCY_SSP && n_steps - h->step > rule->bound_count)
        return rc_raise(RC_MISMATCH,
                        "server %d answered step %u of piece %u when the slowest worker had done %u: not by "
                        "--consistency ssp:%u",
                        server, n_steps, h->piece, h->step, rule->bound_count);
    return RC_OK;
}

static enum rc take_params(struct ps *p, int server, size_t k, float *param, struct piece_cost *cost)
{
    struct link_piece *piece = &p->link[server].piece[k];
    const struct ps_header want = { .op = PS_PARAMS, .n_elems = (uint32_t)piece->part.n_elems, .piece = (uint32_t)k };
    struct ps_header answer;
    enum rc rc = RC_OK;

    if (want.n_elems == 0)
        return RC_OK;
    TRY(end_request(p, server));
    TRY(end_answer(p, server, &want, p->base.env.timeout_ms, &answer));
    TRY(check_lead(p, server, ++piece->step, &answer));
    piece->clock = answer.clock;
    note_cost(cost, &answer, piece->step - answer.step);
    if (piece->is_scattered && real(p))
        placement_scatter(p->base.env.placement, server, piece->part, body_at(p, server, piece, p->pulled, param),
                          param);
    if (piece->is_scattered)
        charge_copy(p, piece);
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
        TRY(take_params(p, i, k, param, out));
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

    TRY(end_request(p, server));
    /* The final one comes when the slowest worker has left: that may take any time, and is no silence of the server. */
    TRY(end_answer(p, server, &want, asked == PS_FETCH ? WAIT_FOREVER : p->base.env.timeout_ms, &answer));
    if (slice.n_elems > 0 && answer.clock < out->n_updates)
        out->n_updates = answer.clock;
    if (!real(p))
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
    const int n_servers = p->base.env.n_servers;
    const struct ps_header h = { .op = op };
    struct optimizer_state unwanted = { .moments = NULL };
    float *state = NULL; /* of server i, behind those of the servers before */
    enum rc rc = RC_OK;

    out = out ? out : &unwanted;
    out->n_updates = UINT64_MAX;
    if (real(p) && !(state = malloc((n_params > 0 ? state_elems(p, n_params) : 1) * sizeof(float))))
        FAIL(RC_NOMEM, "mode ps: no memory for the state of %zu parameters", n_params);
    for (int i = 0; i < n_servers; i++) {
        const struct link *l = &p->link[i];
        TRY(post_answer(p, i, real(p) ? state + state_elems(p, l->first_elem) : NULL, state_elems(p, l->n_elems)));
        TRY(post_request(p, i, &h, NULL));
    }
    for (int i = 0; i < n_servers; i++)
        TRY(take_state(p, i, op, real(p) ? state + state_elems(p, p->link[i].first_elem) : NULL, param, out));
out:
    rc = abandon(p, rc);
    free(state);
    return rc;
}

static enum rc ps_final(struct sync *s, float *param, struct optimizer_state *state)
{
    return s->env.world->rank == 0 ? fetch(self(s), PS_FETCH, param, state) : leave(self(s));
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
    .served = ps_served,
    .wire_plan = ps_wire_plan_of,
    .full_bytes = ps_full_bytes_of,
    .close = ps_close,
};
