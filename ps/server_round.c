/* SPDX-License-Identifier: Apache-2.0 */
/* server_round.c - updates of a piece: by one gradient, or by those that are kept until a round is full. */
#include <string.h>

#include "harness/world/world.h"
#include "ps/server_state.h"

/* Of a block that is summed or copied, and updated there: it is in a cache then. */
enum { BLOCK_ELEMS = 16384 };

/* What the next update of piece k, by the sum of n_grads, is made with. */
static void set_optimizer(struct ps_server *s, size_t k, int n_grads, float lr)
{
    s->optimizer.lr = lr;
    s->optimizer.grad_scale = 1.0f / (float)n_grads;
    s->optimizer.n_updates = s->n_updates_before + s->piece[k].clock;
}

/* Elements [at, at + n) of piece k, by grad[n], NULL: hollow; into version v, which may be another than the newest. */
static enum rc apply_range(struct ps_server *s, size_t k, int v, size_t at, size_t n, const float *grad)
{
    const size_t first = s->piece[k].part.offset_elems + at;

    if (server_is_hollow(s))
        return optimizer_step_range(&s->optimizer, first, n, NULL, NULL);
    float *param = server_version(s, k, v) + at;
    if (v != s->piece[k].version)
        memcpy(param, server_param(s, k) + at, n * sizeof *param);
    return optimizer_step_range(&s->optimizer, first, n, param, grad);
}

static void note_update(struct ps_server *s, size_t k, int v)
{
    s->piece[k].version = v;
    s->piece[k].clock++;
}

/* The body at `from`, NULL: hollow, into s->sum, or added to it. */
static void unpack(struct ps_server *s, const struct push_body *b, const void *from, bool add)
{
    push_body_unpack(b, s->env.compute, s->sum, from, add);
    if (b->n_pairs > 0)
        world_charge(s->env.world, 0, PUSH_PAIR_BYTES * (double)b->n_pairs);
}

/* The same as floats. */
const float *server_unpacked(struct ps_server *s, const struct push_body *b, const void *from)
{
    if (b->form == PS_FLOATS)
        return from;
    unpack(s, b, from, false);
    return s->sum;
}

/* What is kept of worker w of piece k; NULL: nothing. */
struct request *server_kept_of(struct ps_server *s, int w, size_t k)
{
    for (int i = 0; i < PS_CREDITS; i++) {
        struct request *r = &s->client[w].request[i];
        if (r->state == REQUEST_KEPT && r->answer.piece == k)
            return r;
    }
    return NULL;
}

/* Does the gradient of r count (P6)? */
static bool is_taken(const struct request *r)
{
    return r && r->answer.op != PS_REFUSED;
}

/* Gradients of the round that count: not those of P6. */
static int n_taken(struct ps_server *s, size_t k)
{
    int n = 0;

    for (int w = 0; w < s->env.n_workers; w++) {
        const struct request *r = server_kept_of(s, w, k);
        n += is_taken(r);
    }
    return n;
}

/* What is kept of piece k where it is not summed block by block: one gradient, where it is or unpacked; or
 * the sum, in the order of workers, of several of which some are compressed (pairs are in no order that blocks have).
 * NULL: hollow. */
static const float *whole_sum(struct ps_server *s, size_t k, int n_kept)
{
    int n_summed = 0;

    for (int w = 0; w < s->env.n_workers; w++) {
        const struct request *r = server_kept_of(s, w, k);
        if (!is_taken(r))
            continue;
        if (n_kept == 1)
            return server_unpacked(s, &r->body, r->kept.ptr);
        unpack(s, &r->body, r->kept.ptr, n_summed++ > 0);
    }
    return s->sum;
}

/* Are there several gradients of piece k, all as floats? */
static bool are_floats(struct ps_server *s, size_t k, int n_kept)
{
    bool all = n_kept > 1 && !server_is_hollow(s);

    for (int w = 0; all && w < s->env.n_workers; w++) {
        const struct request *r = server_kept_of(s, w, k);
        all = !is_taken(r) || r->body.form == PS_FLOATS;
    }
    return all;
}

/* Elements [at, at + n) of the sum, in the order of workers, into s->sum. */
static void sum_block(struct ps_server *s, size_t k, size_t at, size_t n)
{
    const struct push_body block = { .form = PS_FLOATS, .n_elems = (uint32_t)n };
    int n_summed = 0;

    for (int w = 0; w < s->env.n_workers; w++) {
        const struct request *r = server_kept_of(s, w, k);
        if (is_taken(r))
            push_body_unpack(&block, s->env.compute, s->sum, (const float *)r->kept.ptr + at, n_summed++ > 0);
    }
}

/* What piece k is updated by: the sum of n_grads. */
struct update {
    const float *grad; /* [n_elems]; NULL: hollow, or is_kept */
    bool is_kept;      /* the sum of what is kept, all as floats, which is made block by block */
    int n_grads;
    float lr;
};

/* In blocks or as a whole: the same bits. */
static enum rc apply(struct ps_server *s, size_t k, const struct update *u)
{
    const size_t n_elems = s->piece[k].part.n_elems;
    const int v = server_next_version(s, k);
    const size_t n_most = u->is_kept || v != s->piece[k].version ? BLOCK_ELEMS : n_elems;
    enum rc rc = RC_OK;

    set_optimizer(s, k, u->n_grads, u->lr);
    for (size_t at = 0; at < n_elems; at += n_most) {
        const size_t n = n_elems - at < n_most ? n_elems - at : n_most;
        if (u->is_kept)
            sum_block(s, k, at, n);
        TRY(apply_range(s, k, v, at, n, u->is_kept ? s->sum : u->grad ? u->grad + at : NULL));
    }
    note_update(s, k, v);
out:
    return rc;
}

/* One update of piece k by grad, the sum of n_grads; NULL: hollow. */
enum rc server_apply(struct ps_server *s, size_t k, const float *grad, int n_grads, float lr)
{
    return apply(s, k, &(struct update){ .grad = grad, .n_grads = n_grads, .lr = lr });
}

/* One update of piece k by all that is kept of it. */
static enum rc apply_round(struct ps_server *s, size_t k, int n_kept, float lr)
{
    if (!are_floats(s, k, n_kept))
        return server_apply(s, k, whole_sum(s, k, n_kept), n_kept, lr);
    return apply(s, k, &(struct update){ .is_kept = true, .n_grads = n_kept, .lr = lr });
}

void server_release_kept(struct ps_server *s, int w, struct request *r)
{
    if (r->state != REQUEST_KEPT)
        return;
    s->ops->released(s, w, r);
    transport_release(s->env.transport, &r->kept);
    r->state = REQUEST_WAITS;
}

/* The round of piece k is full: the update of its step. */
enum rc server_end_round(struct ps_server *s, size_t k)
{
    struct piece_state *p = &s->piece[k];
    const int n_kept = n_taken(s, k);
    const uint64_t start_ns = world_now_ns(s->env.world);
    float lr = 0;
    enum rc rc = RC_OK;

    for (int w = s->env.n_workers; w-- > 0;) { /* the first one's; of one step all have the same */
        const struct request *r = server_kept_of(s, w, k);
        lr = r ? r->lr : lr;
    }
    if (n_kept > 0)
        TRY(apply_round(s, k, n_kept, lr));
    const uint64_t end_ns = world_now_ns(s->env.world);
    server_note_update(s, start_ns, end_ns, k);
    for (int w = 0; w < s->env.n_workers; w++) {
        struct request *r = server_kept_of(s, w, k);
        if (!r)
            continue;
        server_release_kept(s, w, r);
        if (is_taken(r))
            s->facts.pushes_count[staleness_bin(r->answer.staleness)]++;
        r->answer.held_ns += start_ns - r->waits_since_ns;
        r->answer.apply_ns = end_ns - start_ns;
        r->waits_since_ns = end_ns;
    }
    clocks_end_round(&p->clocks);
out:
    return rc;
}
