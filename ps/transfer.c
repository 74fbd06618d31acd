/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer.c - a chunk between a worker and its servers.
 *
 * ps_post() posts the pushes of a chunk to all servers that hold a part of it, and ps_complete() takes the replies in
 * server order; servers work at the same time. What a server has of a chunk is one message each way: where it is one
 * range of the parameters it is sent from the gradient's own memory and received into the parameters' own, and nothing
 * is copied here; else it is gathered from its ranges before, and scattered to them behind, in memory of its own. A
 * gradient that is compressed is packed into memory of its own (push_body.h); parameters come back as they are.
 * Everything posted is ended before an error is returned.
 */
#include <assert.h>
#include <stdio.h>

#include "harness/world/world.h"
#include "ps/worker_state.h"

/* Where the n_bytes of a request or an answer are; hollow: as many bytes without content. */
static void set_body(const struct ps *p, struct xfer *x, float *body, size_t n_bytes)
{
    x->ptr = ps_is_real(p) ? body : NULL;
    *(ps_is_real(p) ? &x->n_bytes : &x->n_hollow_bytes) = n_bytes;
}

/* In the slot's tags: whose slice it is, where its holder has several. */
static uint32_t tag_in(const struct ps *p, int server, uint32_t tag, int slot)
{
    const int n = p->base.env.n_servers, n_behind = (p->link[server].holder - server + n) % n;

    if (ps_has_chunk_slots(&p->base.env))
        return (tag & TAG_ANY) | (PS_TAG_CHUNK_SLOT + (uint32_t)slot);
    return tag + PS_TAG_PLACE * (uint32_t)n_behind + (uint32_t)slot;
}

static enum rc post_tx(struct ps *p, int server, int slot)
{
    struct link_slot *l = &p->link[server].slot[slot];
    enum rc rc;

    l->tx.peer = ps_holder(p, server);
    l->tx.tag = tag_in(p, server, PS_TAG_REQUEST, slot);
    TRY(transport_send(p->base.env.transport, &l->tx));
    l->sends = true;
out:
    return rc;
}

static enum rc post_rx(struct ps *p, int server, int slot)
{
    struct link_slot *l = &p->link[server].slot[slot];
    enum rc rc;

    l->rx = (struct xfer){ .peer = ps_holder(p, server),
                           .tag = tag_in(p, server, PS_TAG_REPLY, slot),
                           .head = l->reply,
                           .n_head_bytes = PS_HEADER_BYTES };
    set_body(p, &l->rx, l->answer_body, l->n_answer_elems * sizeof(float));
    TRY(transport_recv(p->base.env.transport, &l->rx));
    l->receives = true;
out:
    return rc;
}

enum rc ps_post_slot(struct ps *p, int server, int slot)
{
    const struct link_slot *l = &p->link[server].slot[slot];
    enum rc rc = RC_OK;

    if (l->is_awaited)
        TRY(post_rx(p, server, slot));
    if (l->is_awaited && l->is_asked)
        TRY(post_tx(p, server, slot));
out:
    return rc;
}

enum rc ps_post_request(struct ps *p, int server, int slot, const struct ps_header *h, float *body)
{
    struct link_slot *l = &p->link[server].slot[slot];
    struct ps_header whole = *h;
    enum rc rc;

    whole.layout = p->link[server].layout;
    ps_header_encode(l->request, &whole);
    l->tx = (struct xfer){ .head = l->request, .n_head_bytes = PS_HEADER_BYTES, .lends = true };
    set_body(p, &l->tx, body, push_body_bytes(&(struct push_body){ h->form, h->n_elems, h->n_pairs }));
    l->is_asked = true;
    rc = post_tx(p, server, slot);
    if (rc == RC_OK)
        return rc;
    return l->is_awaited ? ps_redirect(p, server, rc) : ps_forgive(p, server, rc);
}

enum rc ps_post_answer(struct ps *p, int server, int slot, float *body, size_t n_elems)
{
    struct link_slot *l = &p->link[server].slot[slot];
    enum rc rc;

    l->answer_body = body;
    l->n_answer_elems = n_elems;
    l->is_awaited = true;
    l->is_asked = false;
    rc = post_rx(p, server, slot);
    return rc == RC_OK ? rc : ps_redirect(p, server, rc);
}

enum rc ps_end_request(struct ps *p, int server, int slot)
{
    struct link_slot *l = &p->link[server].slot[slot];
    enum rc rc = RC_OK;

    while (l->sends) {
        l->sends = false;
        rc = transport_wait(p->base.env.transport, &l->tx, p->base.env.timeout_ms);
        if (rc != RC_OK)
            TRY(l->is_awaited ? ps_redirect(p, server, rc) : ps_forgive(p, server, rc));
    }
out:
    return rc;
}

static bool may_be_late(const struct ps *p)
{
    const struct sync_env *env = &p->base.env;

    return consistency_n_dropped(&env->consistency) > 0 || env->n_batches > 0;
}

enum rc ps_end_answer(struct ps *p, int server, int slot, const struct ps_header *want, int timeout_ms,
                      struct ps_header *out)
{
    struct link_slot *l = &p->link[server].slot[slot];
    enum refused why;
    enum rc rc = RC_OK;

    while (l->receives) {
        l->receives = false;
        rc = transport_wait(p->base.env.transport, &l->rx, timeout_ms);
        if (rc != RC_OK)
            TRY(ps_redirect(p, server, rc));
    }
    l->is_awaited = false;
    TRY(ps_header_decode(out, l->reply, l->rx.n_head_bytes, l->rx.n_bytes + l->rx.n_hollow_bytes, &why));
    if (out->op == PS_REFUSED && out->why != REFUSED_NOT_FINITE)
        FAIL(RC_MISMATCH, "server %d refused a message of this worker (%s): its own line says why", server,
             refused_word(out->why));
    if (!ps_answers(want, out, may_be_late(p)))
        FAIL(RC_MISMATCH,
             "server %d answered op %d with %u elements of chunk %u where op %d with %u of chunk %u belongs, or with "
             "another optimiser's state",
             server, (int)out->op, out->n_elems, out->chunk, (int)want->op, want->n_elems, want->chunk);
out:
    return rc;
}

void ps_end_posted(struct ps *p, struct link_slot *l)
{
    if (l->sends)
        (void)!transport_wait(p->base.env.transport, &l->tx, DO_NOT_WAIT);
    if (l->receives)
        (void)!transport_wait(p->base.env.transport, &l->rx, DO_NOT_WAIT);
    l->sends = l->receives = false;
}

enum rc ps_abandon(struct ps *p, enum rc rc)
{
    char first_message[RC_MESSAGE_BYTES];

    if (rc == RC_OK)
        return rc;
    snprintf(first_message, sizeof first_message, "%s", rc_message());
    for (int i = 0; i < p->base.env.n_servers; i++)
        for (int slot = 0; slot < p->link[i].n_slots; slot++) {
            ps_end_posted(p, &p->link[i].slot[slot]);
            p->link[i].slot[slot].is_awaited = false;
        }
    p->n_ended = p->n_posted;
    return rc_raise(rc, "%s", first_message);
}

/* lead: steps ahead of the slowest worker. */
static void note_cost(struct chunk_cost *cost, const struct ps_header *h, uint32_t lead)
{
    const uint64_t server_ns = h->queue_ns + h->apply_ns + h->held_ns;
    if (server_ns >= cost->server_ns + cost->apply_ns + cost->held_ns) { /* the slowest server */
        cost->server_ns = h->queue_ns;
        cost->apply_ns = h->apply_ns;
        cost->held_ns = h->held_ns;
    }
    cost->late_count += h->op == PS_LATE;
    cost->is_last = cost->is_last || h->is_last;
    cost->lead_count = lead > cost->lead_count ? lead : cost->lead_count;
    const uint32_t staleness = h->staleness < UINT32_MAX ? (uint32_t)h->staleness : UINT32_MAX;
    if (staleness > cost->staleness_count)
        cost->staleness_count = staleness;
}

/* Where the body of a message with this chunk is: in `staged` (pushed, pulled), or where it belongs, in `all`. */
static float *body_at(const struct ps *p, int server, const struct link_chunk *chunk, float *staged, float *all)
{
    if (!ps_is_real(p))
        return NULL;
    return chunk->is_scattered ? staged + p->link[server].first_elem + chunk->part.offset_elems : all + chunk->first;
}

/* Simulated cost of a copy of a scattered chunk: each float is read and written. */
static void charge_copy(struct ps *p, const struct link_chunk *chunk)
{
    world_charge(p->base.env.world, 0, 2.0 * (double)chunk->part.n_elems * sizeof(float));
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

/* What a push says and carries of its gradient; *at: where its body is. */
static enum rc pack_push(struct ps *p, int server, const struct link_chunk *chunk, float *grad, struct ps_header *h,
                         float **at)
{
    const struct range part = chunk->part;
    struct push_body body;
    enum rc rc;

    *at = body_at(p, server, chunk, p->pushed, grad);
    if (chunk->is_scattered && *at)
        placement_gather(p->base.env.placement, server, part, *at, grad, 0);
    if (chunk->is_scattered)
        charge_copy(p, chunk);
    TRY(pack(p, server, part, at, &body));
    h->n_elems = (uint32_t)part.n_elems;
    h->sent_ns = world_now_ns(p->base.env.world);
    h->clock = chunk->since;
    h->step = chunk->step;
    h->form = body.form;
    h->n_pairs = body.n_pairs;
out:
    return rc;
}

/* Of the answer. */
static size_t n_answered(const struct link_chunk *chunk, unsigned push_pull)
{
    return push_pull & EXCHANGE_PULL ? chunk->part.n_elems : 0;
}

/* The slot of work number `nth` (ps.work). */
static int slot_of(const struct ps *p, int server, int nth)
{
    return ps_has_chunk_slots(&p->base.env) ? p->link[server].chunk[p->work[nth].k].slot : nth;
}

/* The request for what `server` has of the chunk, and the receive of its answer. */
static enum rc post_with(struct ps *p, int server, int slot, const struct chunk_work *t)
{
    static const enum ps_op op[] = {
        [EXCHANGE_PUSH | EXCHANGE_PULL] = PS_PUSH, [EXCHANGE_PUSH] = PS_GIVE, [EXCHANGE_PULL] = PS_PULL
    };
    const struct link_chunk *chunk = &p->link[server].chunk[t->k];
    struct ps_header h = { .op = op[t->push_pull], .chunk = (uint32_t)t->k };
    float *at = NULL;
    enum rc rc = RC_OK;

    if (chunk->part.n_elems == 0)
        return RC_OK;
    if (t->push_pull & EXCHANGE_PUSH)
        TRY(pack_push(p, server, chunk, t->grad, &h, &at));
    h.lr = t->push_pull & EXCHANGE_PUSH ? t->lr : 0;
    h.batch = t->push_pull & EXCHANGE_PUSH ? p->batch : 0;
    TRY(ps_post_answer(p, server, slot, body_at(p, server, chunk, p->pulled, t->param),
                       n_answered(chunk, t->push_pull)));
    TRY(ps_post_request(p, server, slot, &h, at));
out:
    return rc;
}

/* clocks.Q1, as the worker sees it, which has pushed n_steps. */
static enum rc check_lead(const struct ps *p, int server, uint32_t n_steps, const struct ps_header *h)
{
    const struct consistency *rule = &p->base.env.consistency;
    char text[CONSISTENCY_TEXT_BYTES];

    if (h->step > n_steps)
        return rc_raise(RC_MISMATCH,
                        "server %d says of chunk %u that the slowest worker has done %u steps; this one did %u", server,
                        h->chunk, h->step, n_steps);
    if (!consistency_bounds_lead(rule) || n_steps - h->step <= rule->bound_count)
        return RC_OK;
    consistency_text(text, sizeof text, rule);
    return rc_raise(RC_MISMATCH,
                    "server %d answered step %u of chunk %u when the slowest worker had done %u: not by "
                    "--consistency %s",
                    server, n_steps, h->chunk, h->step, text);
}

static enum rc end_with(struct ps *p, int server, int slot, const struct chunk_work *t, float *param,
                        struct chunk_cost *cost)
{
    struct link_chunk *chunk = &p->link[server].chunk[t->k];
    const bool pulls = t->push_pull & EXCHANGE_PULL, pushes = t->push_pull & EXCHANGE_PUSH;
    const struct ps_header want = { .op = pulls ? PS_PARAMS : PS_TAKEN,
                                    .n_elems = (uint32_t)n_answered(chunk, t->push_pull),
                                    .chunk = (uint32_t)t->k };
    struct ps_header answer;
    enum rc rc = RC_OK;

    if (chunk->part.n_elems == 0)
        return RC_OK;
    TRY(ps_end_answer(p, server, slot, &want, p->base.env.timeout_ms, &answer)); /* behind it the request has arrived */
    TRY(ps_end_request(p, server, slot));
    chunk->step = p->is_joining ? answer.step : chunk->step + pushes; /* P3 */
    TRY(check_lead(p, server, chunk->step, &answer));
    note_cost(cost, &answer, chunk->step - answer.step);
    p->next = answer.next > 0 ? answer.next : p->next;
    cost->applied_count += pushes && (answer.op == PS_PARAMS || answer.op == PS_TAKEN);
    cost->refused_count += answer.op == PS_REFUSED;
    chunk->clock = pulls ? answer.clock : chunk->clock + (answer.op == PS_TAKEN);
    if (pushes || p->is_joining)
        chunk->since = chunk->clock;
    if (!pulls)
        return RC_OK;
    if (chunk->is_scattered && ps_is_real(p))
        placement_scatter(p->base.env.placement, server, chunk->part, body_at(p, server, chunk, p->pulled, param),
                          param);
    if (chunk->is_scattered)
        charge_copy(p, chunk);
out:
    return rc;
}

/* The copy of a chunk into messages, or out of them: the transport's. */
static void charge_message(struct ps *p, size_t k)
{
    world_charge(p->base.env.world, 0, 2.0 * (double)p->base.env.buckets->chunk[k].n_elems * sizeof(float));
}

enum rc ps_post(struct sync *s, const struct chunk_work *work)
{
    struct ps *p = (struct ps *)s;
    if (p->n_posted == p->n_ended) /* one at a time: always the first slot, so that the server holds one answer */
        p->n_posted = p->n_ended = 0;
    const int nth = (int)(p->n_posted % (uint64_t)p->n_work);
    enum rc rc = RC_OK;

    assert(work->push_pull != 0 && p->n_posted - p->n_ended < (uint64_t)p->n_work);
    p->work[nth] = *work;
    p->n_posted++;
    if (work->push_pull & EXCHANGE_PUSH)
        charge_message(p, work->k);
    for (int i = 0; i < s->env.n_servers; i++)
        TRY(post_with(p, i, slot_of(p, i, nth), work));
out:
    return ps_abandon(p, rc);
}

enum rc ps_complete(struct sync *s, float *param, struct chunk_cost *out)
{
    struct ps *p = (struct ps *)s;
    const int nth = (int)(p->n_ended % (uint64_t)p->n_work);
    const struct chunk_work *t = &p->work[nth];
    enum rc rc = RC_OK;

    assert(p->n_ended < p->n_posted);
    for (int i = 0; i < s->env.n_servers; i++)
        TRY(end_with(p, i, slot_of(p, i, nth), t, param, out));
    if (t->push_pull & EXCHANGE_PULL)
        charge_message(p, t->k);
    p->n_ended++;
out:
    return ps_abandon(p, rc);
}
