/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_push.c - what a server does with a push, by the rule of the run's consistency (clocks.h).
 *
 *   its gradient   what is done                                        its answer
 *   counts         applied at once, from the buffer of its message     PARAMS, once the worker may read
 *                  (compressed: unpacked before), at the rate of
 *                  consistency.h
 *   is kept        its message is, until the round is full: then all   PARAMS, behind the round
 *                  kept ones are summed in the order of workers, and
 *                  their mean is applied
 *   is late, or    dropped, and counted                                LATE, at once: the newest parameters
 *   repeated (leases.B4)
 *
 * Behind a GIVE the answer is TAKEN, and has no parameters. A PULL is answered as if it were a push that has counted.
 *
 * The order of the sum is that of workers, not of arrival: with sync:0 a run has the same bits whatever its timing.
 *
 * Answers are sent from the memory of the parameters while others push. There are arrays as long as the slice, the
 * parameters' first one and others. Each chunk has its newest version in one of them, at its place in the slice.
 *
 * Invariants
 *   V1  An answer that the transport sends from where it is holds its version until server_end_reply(). An update of a
 *       version that nobody holds is made in place; of one that is held, block by block into one that nobody holds,
 *       which is the newest from then on. So what a worker reads is of one version, and is not copied.
 *   V2  There is always one that nobody holds, with as many versions as workers: a worker holds one of a chunk at most,
 *       for it asks for the chunk again behind its answer (wire.P4), and so ends that; and who has pushed what an
 *       update takes holds none. Where all have pushed that, or there is only one worker, or the transport copies what
 *       is sent, one version is enough; and in a slice that nobody is answered from (replica.R4).
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/world/span.h"
#include "harness/world/world.h"
#include "ps/server_state.h"

/* Of a block that is summed or copied, and updated there: it is in a cache then. */
enum { BLOCK_ELEMS = 16384 };

/* --- checks: does a push or a pull fit what its worker has done before (P3, P4), and the chunks here? --- */

/* Its indices are checked before anything is done with it. */
enum rc server_check_body(const struct ps_server *s, const struct arrival *a, const struct ps_header *h,
                          enum refused *why_refused)
{
    const struct push_body body = ps_push_body(h);
    char why[RC_MESSAGE_BYTES], compression[COMPRESSION_TEXT_BYTES];

    *why_refused = REFUSED_MALFORMED;
    if (!push_body_is_of(&body, &s->env.compression)) {
        compression_text(compression, sizeof compression, &s->env.compression);
        return rc_raise(RC_MISMATCH, "worker %d pushed chunk %u in form %d, which is not of --compression %s",
                        a->worker, h->chunk, (int)h->form, compression);
    }
    if (push_body_check(&body, server_is_hollow(s) ? NULL : a->message.ptr) != RC_OK) {
        (void)snprintf(why, sizeof why, "%s", rc_message());
        return rc_raise(RC_MISMATCH, "worker %d pushed chunk %u: %.400s", a->worker, h->chunk, why);
    }
    return RC_OK;
}

/* Does another request of chunk k of worker w wait? */
static bool waits_for_chunk(const struct ps_server *s, int w, size_t k)
{
    for (int i = server_first_slot(s, k); i < server_end_slot(s, k); i++) {
        const struct request *r = &s->client[w].request[i];
        if (request_waits(r) && r->answer.chunk == k)
            return true;
    }
    return false;
}

/* P4 */
static bool is_slot_of(const struct ps_server *s, const struct arrival *a, size_t k)
{
    return (int)a->slot >= server_first_slot(s, k) && (int)a->slot < server_end_slot(s, k);
}

static enum rc check_order(const struct ps_server *s, const struct arrival *a, const struct ps_header *h,
                           enum refused *why)
{
    const int worker = a->worker;

    *why = REFUSED_MALFORMED;
    if (h->chunk >= s->env.buckets->n_chunks)
        return rc_raise(RC_MISMATCH, "worker %d pushed chunk %u, but there are %zu chunks", worker, h->chunk,
                        s->env.buckets->n_chunks);
    const struct chunk_state *p = &s->chunk[h->chunk];
    if (h->n_elems == 0 || h->n_elems != p->part.n_elems)
        return rc_raise(RC_MISMATCH, "worker %d pushed chunk %u with %u elements; this server holds %zu of it", worker,
                        h->chunk, h->n_elems, p->part.n_elems);
    *why = h->step < p->clocks.clock[worker] ? REFUSED_REPLAYED : REFUSED_OUT_OF_ORDER;
    if (h->clock > p->clock)
        return rc_raise(RC_MISMATCH, "worker %d pushed from clock %llu, the server is at %llu", worker,
                        (unsigned long long)h->clock, (unsigned long long)p->clock);
    if (h->step != p->clocks.clock[worker])
        return rc_raise(RC_MISMATCH, "worker %d pushed chunk %u of its step %u where that of step %u belongs", worker,
                        h->chunk, h->step, p->clocks.clock[worker]);
    if (!is_slot_of(s, a, h->chunk))
        return rc_raise(RC_MISMATCH, "worker %d pushed chunk %u in slot %u, of another chunk", worker, h->chunk,
                        a->slot);
    if (waits_for_chunk(s, worker, h->chunk))
        return rc_raise(RC_MISMATCH, "worker %d pushed chunk %u again, before its push was answered", worker, h->chunk);
    return RC_OK;
}

enum rc server_check_push(const struct ps_server *s, const struct arrival *a, const struct ps_header *h,
                          enum refused *why)
{
    enum rc rc;

    TRY(check_order(s, a, h, why));
    TRY(s->ops->check(s, a, h, why));
    TRY(server_check_body(s, a, h, why));
out:
    return rc;
}

enum rc server_check_pull(const struct ps_server *s, const struct arrival *a, const struct ps_header *h,
                          enum refused *why)
{
    const int worker = a->worker;

    *why = REFUSED_MALFORMED;
    if (h->chunk >= s->env.buckets->n_chunks || h->n_elems != 0 || s->chunk[h->chunk].part.n_elems == 0)
        return rc_raise(RC_MISMATCH,
                        "worker %d pulled chunk %u with %u elements, but this server has none of the chunk", worker,
                        h->chunk, h->n_elems);
    *why = REFUSED_OUT_OF_ORDER;
    if (!is_slot_of(s, a, h->chunk))
        return rc_raise(RC_MISMATCH, "worker %d pulled chunk %u in slot %u, of another chunk", worker, h->chunk,
                        a->slot);
    if (waits_for_chunk(s, worker, h->chunk))
        return rc_raise(RC_MISMATCH, "worker %d pulled chunk %u before its push of it was answered", worker, h->chunk);
    return RC_OK;
}

/* --- versions --- */

/* V2 */
static int n_versions(const struct ps_server *s)
{
    size_t n_longest = 0;

    for (size_t k = 0; k < s->env.buckets->n_chunks; k++)
        n_longest = s->chunk[k].part.n_elems > n_longest ? s->chunk[k].part.n_elems : n_longest;
    if (!s->param || consistency_waits_for_all(&s->env.consistency) ||
        !transport_sends_lent(s->env.transport, n_longest * sizeof(float)))
        return 1;
    return sync_most_workers(&s->env);
}

enum rc server_open_versions(struct ps_server *s)
{
    const size_t n_chunks = s->env.buckets->n_chunks, n = (size_t)n_versions(s);
    struct versions *v = &s->versions;
    enum rc rc = RC_OK;

    if (n == 1)
        return RC_OK;
    TRY(arena_open_ticking(&v->arena, (n - 1) * arena_floats_bytes(s->n_elems), s->env.compute->env.tick,
                           s->env.compute->env.arg));
    v->other = calloc(n, sizeof *v->other);
    v->n_readers = calloc(n_chunks * n, sizeof *v->n_readers);
    if (!v->other || !v->n_readers)
        FAIL(RC_NOMEM, "parameter server: no memory for %zu versions of %zu chunks", n, n_chunks);
    for (size_t i = 0; i < n - 1; i++)
        v->other[i] = arena_floats(&v->arena, s->n_elems);
    for (size_t k = 0; k < n_chunks; k++)
        if (transport_sends_lent(s->env.transport, s->chunk[k].part.n_elems * sizeof(float)))
            s->chunk[k].n_readers = v->n_readers + k * n;
    v->n_others = (int)n - 1;
out:
    return rc;
}

void server_close_versions(struct ps_server *s)
{
    arena_close(&s->versions.arena);
    free(s->versions.other);
    free(s->versions.n_readers);
    s->versions = (struct versions){ .n_others = 0 };
}

static float *version_at(const struct ps_server *s, size_t k, int v)
{
    float *slice = v == 0 ? s->param : s->versions.other[v - 1];

    return slice ? slice + s->chunk[k].part.offset_elems : NULL;
}

float *server_param(const struct ps_server *s, size_t k)
{
    return version_at(s, k, s->chunk[k].version);
}

void server_gather(const struct ps_server *s, float *out)
{
    for (size_t k = 0; k < s->env.buckets->n_chunks; k++) {
        const struct range part = s->chunk[k].part;
        if (part.n_elems > 0)
            memcpy(out + part.offset_elems, server_param(s, k), part.n_elems * sizeof *out);
    }
}

static int next_version(const struct ps_server *s, size_t k)
{
    const struct chunk_state *p = &s->chunk[k];
    int v = 0;

    if (!p->n_readers || p->n_readers[p->version] == 0)
        return p->version;
    while (v < s->versions.n_others && p->n_readers[v] > 0)
        v++;
    assert(p->n_readers[v] == 0); /* V2 */
    return v;
}

static void hold_version(struct ps_server *s, struct request *r)
{
    struct chunk_state *p = &s->chunk[r->answer.chunk];

    if (!p->n_readers)
        return;
    r->n_readers = &p->n_readers[p->version];
    ++*r->n_readers;
}

static void release_version(struct request *r)
{
    if (r->n_readers)
        --*r->n_readers;
    r->n_readers = NULL;
}

/* --- spans --- */

void server_note_span(const struct ps_server *s, const char *what, uint64_t start_ns, uint64_t end_ns, int32_t k,
                      size_t n_elems)
{
    if (!s->env.ring)
        return;
    const struct span span = { .start_ns = start_ns,
                               .end_ns = end_ns,
                               .what = what,
                               .segment = k < 0 ? -1 : (int32_t)buckets_of_chunk(s->env.buckets, (size_t)k),
                               .chunk = k,
                               .n_bytes = n_elems * sizeof(float),
                               .step = s->rank->served_step };

    span_ring_add(s->env.ring, &span);
}

static void span_update(const struct ps_server *s, uint64_t start_ns, uint64_t end_ns, size_t k)
{
    if (s->env.ring)
        server_note_span(s, server_is_holder(s) ? "apply" : "follow", start_ns, end_ns, (int32_t)k,
                         s->chunk[k].part.n_elems);
}

/* --- updates: by one gradient, or by those that are kept until a round is full --- */

/* What the next update of chunk k, by the sum of n_grads, is made with. */
static void set_optimizer(struct ps_server *s, size_t k, int n_grads, float lr)
{
    s->optimizer.lr = lr;
    s->optimizer.grad_scale = 1.0f / (float)n_grads;
    s->optimizer.n_updates = s->n_updates_before + s->chunk[k].clock;
}

/* Elements [at, at + n) of chunk k, by grad[n], NULL: hollow; into version v, which may be another than the newest. */
static enum rc apply_range(struct ps_server *s, size_t k, int v, size_t at, size_t n, const float *grad)
{
    const size_t first = s->chunk[k].part.offset_elems + at;

    if (server_is_hollow(s))
        return optimizer_step_range(&s->optimizer, first, n, NULL, NULL);
    float *param = version_at(s, k, v) + at;
    if (v != s->chunk[k].version)
        memcpy(param, server_param(s, k) + at, n * sizeof *param);
    return optimizer_step_range(&s->optimizer, first, n, param, grad);
}

static void note_update(struct ps_server *s, size_t k, int v)
{
    s->chunk[k].version = v;
    s->chunk[k].clock++;
}

/* The body at `from`, NULL: hollow, into s->sum, or added to it. */
static void unpack(struct ps_server *s, const struct push_body *b, const void *from, bool add)
{
    push_body_unpack(b, s->env.compute, s->sum, from, add);
    if (b->n_pairs > 0)
        world_charge(s->env.world, 0, PUSH_PAIR_BYTES * (double)b->n_pairs);
}

/* The same as floats. */
static const float *unpacked(struct ps_server *s, const struct push_body *b, const void *from)
{
    if (b->form == PS_FLOATS)
        return from;
    unpack(s, b, from, false);
    return s->sum;
}

/* What is kept of worker w of chunk k; NULL: nothing. */
static struct request *kept_of(struct ps_server *s, int w, size_t k)
{
    for (int i = server_first_slot(s, k); i < server_end_slot(s, k); i++) {
        struct request *r = &s->client[w].request[i];
        if (r->state == REQUEST_KEPT && r->answer.chunk == k)
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
        const struct request *r = kept_of(s, w, k);
        n += is_taken(r);
    }
    return n;
}

/* The n_grads kept gradients of chunk k that count, as one array: one as it is, or unpacked; of several the sum, in the
 * order of workers. NULL: hollow. It is for rounds with compressed gradients, whose pairs no block can be cut out of:
 * where all are floats, apply() sums them block by block. */
static const float *whole_sum(struct ps_server *s, size_t k, int n_grads)
{
    int n_summed = 0;

    for (int w = 0; w < s->env.n_workers; w++) {
        const struct request *r = kept_of(s, w, k);
        if (!is_taken(r))
            continue;
        if (n_grads == 1)
            return unpacked(s, &r->body, r->kept.ptr);
        unpack(s, &r->body, r->kept.ptr, n_summed++ > 0);
    }
    return s->sum;
}

/* Are there several gradients of chunk k, all as floats? */
static bool are_floats(struct ps_server *s, size_t k, int n_grads)
{
    bool all = n_grads > 1 && !server_is_hollow(s);

    for (int w = 0; all && w < s->env.n_workers; w++) {
        const struct request *r = kept_of(s, w, k);
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
        const struct request *r = kept_of(s, w, k);
        if (is_taken(r))
            push_body_unpack(&block, s->env.compute, s->sum, (const float *)r->kept.ptr + at, n_summed++ > 0);
    }
}

/* What chunk k is updated by: the sum of n_grads. */
struct update {
    const float *grad; /* [n_elems]; NULL: hollow, or is_kept */
    bool is_kept;      /* the sum of what is kept, all as floats, which is made block by block */
    int n_grads;
    float lr;
};

/* In blocks or as a whole: the same bits. */
static enum rc apply(struct ps_server *s, size_t k, const struct update *u)
{
    const size_t n_elems = s->chunk[k].part.n_elems;
    const int v = next_version(s, k);
    const size_t n_most = u->is_kept || v != s->chunk[k].version ? BLOCK_ELEMS : n_elems;
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

/* One update of chunk k by grad, the sum of n_grads; NULL: hollow. */
static enum rc apply_grad(struct ps_server *s, size_t k, const float *grad, int n_grads, float lr)
{
    return apply(s, k, &(struct update){ .grad = grad, .n_grads = n_grads, .lr = lr });
}

/* One update of chunk k by all that is kept of it. */
static enum rc apply_round(struct ps_server *s, size_t k, int n_grads, float lr)
{
    if (!are_floats(s, k, n_grads))
        return apply_grad(s, k, whole_sum(s, k, n_grads), n_grads, lr);
    return apply(s, k, &(struct update){ .is_kept = true, .n_grads = n_grads, .lr = lr });
}

static void release_kept(struct ps_server *s, int w, struct request *r)
{
    if (r->state != REQUEST_KEPT)
        return;
    s->ops->released(s, w, r);
    transport_release(s->env.transport, &r->kept);
    r->state = REQUEST_WAITS;
}

/* The round of chunk k is full: the update of its step. */
static enum rc end_round(struct ps_server *s, size_t k)
{
    struct chunk_state *p = &s->chunk[k];
    const int n_grads = n_taken(s, k);
    const uint64_t start_ns = world_now_ns(s->env.world);
    float lr = 0;
    enum rc rc = RC_OK;

    for (int w = s->env.n_workers; w-- > 0;) { /* the first one's; of one step all have the same */
        const struct request *r = kept_of(s, w, k);
        lr = r ? r->lr : lr;
    }
    if (n_grads > 0)
        TRY(apply_round(s, k, n_grads, lr));
    const uint64_t end_ns = world_now_ns(s->env.world);
    span_update(s, start_ns, end_ns, k);
    for (int w = 0; w < s->env.n_workers; w++) {
        struct request *r = kept_of(s, w, k);
        if (!r)
            continue;
        release_kept(s, w, r);
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

/* --- messages --- */

enum rc server_post(struct ps_server *s, struct posted *p)
{
    const enum rc rc = transport_send(s->env.transport, &p->xfer);

    p->is_posted = rc == RC_OK;
    return rc;
}

enum rc server_end_posted(struct ps_server *s, struct posted *p, int timeout_ms)
{
    if (!p->is_posted)
        return RC_OK;
    p->is_posted = false;
    return transport_wait(s->env.transport, &p->xfer, timeout_ms); /* over, either way: transport.T3 */
}

enum rc server_end_reply(struct ps_server *s, struct request *r, int timeout_ms)
{
    const enum rc rc = server_end_posted(s, &r->reply, timeout_ms);

    release_version(r);
    return rc;
}

enum rc server_begin_request(struct ps_server *s, int worker, int slot)
{
    const enum rc rc = server_end_reply(s, &s->client[worker].request[slot], s->env.timeout_ms);

    return world_forgive_loss(s->env.world, sync_rank_of(&s->env, worker), rc);
}

/* Of chunk k: end what the worker has had in the slot, and (V2) what it has had of the chunk. */
static enum rc begin_of_chunk(struct ps_server *s, int worker, int slot, size_t k)
{
    const int rank = sync_rank_of(&s->env, worker);
    enum rc rc;

    TRY(server_begin_request(s, worker, slot));
    for (int i = server_first_slot(s, k); i < server_end_slot(s, k); i++) {
        struct request *r = &s->client[worker].request[i];
        if (r->n_readers && r->answer.chunk == k)
            TRY(world_forgive_loss(s->env.world, rank, server_end_reply(s, r, s->env.timeout_ms)));
    }
out:
    return rc;
}

/* Of the replies of its slice here. */
static uint32_t reply_tag(const struct ps_server *s, int slot)
{
    const int own = s->env.world->rank - s->env.n_workers, n = s->env.n_servers;

    if (ps_has_chunk_slots(&s->env))
        return PS_TAG_CHUNK_SLOT + (uint32_t)slot;
    return PS_TAG_REPLY + PS_TAG_PLACE * (uint32_t)((own - s->slice + n) % n) + (uint32_t)slot;
}

static enum rc post(struct ps_server *s, struct posted *p, int worker, int slot, const struct ps_header *h, float *body)
{
    const size_t n_body_bytes = (size_t)h->n_elems * sizeof(float) * (1 + h->n_moments);

    ps_header_encode(p->header, h);
    p->xfer = (struct xfer){ .peer = sync_rank_of(&s->env, worker),
                             .tag = reply_tag(s, slot),
                             .head = p->header,
                             .n_head_bytes = PS_HEADER_BYTES,
                             .ptr = body,
                             .lends = h->op != PS_STATE,
                             .n_bytes = server_is_hollow(s) ? 0 : n_body_bytes,
                             .n_hollow_bytes = server_is_hollow(s) ? n_body_bytes : 0 };
    return server_post(s, p);
}

enum rc server_post_reply(struct ps_server *s, int worker, int slot, const struct ps_header *h, float *body)
{
    return post(s, &s->client[worker].request[slot].reply, worker, slot, h, body);
}

enum rc server_post_refusal(struct ps_server *s, int worker, int slot, const struct ps_header *h)
{
    return post(s, &s->client[worker].refusal, worker, slot, h, NULL);
}

/* When push a of chunk p arrived: by the transport if it knows; seen_ns if the server was idle; else, as a busy server
 * sees a push late, sent_ns plus the shortest transit time seen so far, at most seen_ns. */
static uint64_t arrival_ns(struct chunk_state *p, const struct arrival *a, const struct ps_header *h)
{
    if (a->message.arrived_ns > 0)
        return a->message.arrived_ns;
    const uint64_t transit_ns = a->seen_ns > h->sent_ns ? a->seen_ns - h->sent_ns : 0;
    if (transit_ns < p->min_transit_ns)
        p->min_transit_ns = transit_ns;
    if (a->was_awaited)
        return a->seen_ns;
    return h->sent_ns + p->min_transit_ns < a->seen_ns ? h->sent_ns + p->min_transit_ns : a->seen_ns;
}

/* --- one gradient --- */

static struct request *request_of(struct ps_server *s, const struct arrival *a)
{
    return &s->client[a->worker].request[a->slot];
}

/* The gradient of the push counts: its update, at once. */
static enum rc apply_push(struct ps_server *s, const struct arrival *a, const struct ps_header *h, uint64_t served_ns)
{
    const struct chunk_state *p = &s->chunk[h->chunk];
    const struct push_body body = ps_push_body(h);
    struct ps_header *answer = &request_of(s, a)->answer;
    enum rc rc;

    answer->staleness = p->clock > h->clock ? p->clock - h->clock : 0; /* P2 */
    s->facts.pushes_count[staleness_bin(answer->staleness)]++;
    TRY(apply_grad(s, h->chunk, unpacked(s, &body, a->message.ptr), 1,
                   lr_of_stale(s->env.lr_staleness, h->lr, answer->staleness)));
    answer->apply_ns = world_now_ns(s->env.world) - served_ns;
    span_update(s, served_ns, served_ns + answer->apply_ns, h->chunk);
out:
    return rc;
}

/* --- answers --- */

enum rc server_answer(struct ps_server *s, int w, int slot)
{
    struct request *r = &s->client[w].request[slot];
    const struct chunk_state *p = &s->chunk[r->answer.chunk];
    const bool has_waited = request_waits(r),
               is_timed = has_waited || s->env.ring; /* else the clock need not be read */
    const uint64_t start_ns = is_timed ? world_now_ns(s->env.world) : 0;
    const uint32_t lead = p->clocks.clock[w] - p->clocks.slowest;
    enum rc rc;

    if (has_waited)
        r->answer.held_ns += start_ns - r->waits_since_ns;
    r->state = REQUEST_ANSWERED;
    r->answer.clock = p->clock;
    r->answer.step = p->clocks.slowest;
    s->facts.lead_max_count = lead > s->facts.lead_max_count ? lead : s->facts.lead_max_count;
    if (r->is_silent)
        return RC_OK;
    /* Simulated cost of handing it over, a copy made by the transport, or of what it is lent by the system: each float
     * is read and written. */
    world_charge(s->env.world, 0, 2.0 * (double)(r->answer.n_elems * sizeof(float)));
    TRY(server_post_reply(s, w, slot, &r->answer, server_param(s, r->answer.chunk)));
    if (r->answer.n_elems > 0)
        hold_version(s, r);
    if (s->env.ring)
        server_note_span(s, "reply", start_ns, world_now_ns(s->env.world), (int32_t)r->answer.chunk, r->answer.n_elems);
out:
    return rc;
}

/* Chunk k has changed: end its round if it is full, and answer all who may read. */
static enum rc settle(struct ps_server *s, size_t k)
{
    const struct clocks *clocks = &s->chunk[k].clocks;
    enum rc rc = RC_OK;

    if (clocks_round_is_full(clocks))
        TRY(end_round(s, k));
    for (int w = 0; w < sync_most_workers(&s->env); w++)
        for (int slot = server_first_slot(s, k); slot < server_end_slot(s, k); slot++) {
            const struct request *r = &s->client[w].request[slot];
            if (!request_waits(r) || r->answer.chunk != k || !clocks_may_read(clocks, w))
                continue;
            const enum rc answered = server_answer(s, w, slot);
            TRY(answered == RC_PEER ? server_forgive_lost(s, w) : answered);
        }
out:
    return rc;
}

enum rc server_settle_all(struct ps_server *s)
{
    enum rc rc = RC_OK;

    while (s->has_new_left) { /* an answer may find one more that is lost */
        s->has_new_left = false;
        for (size_t k = 0; k < s->env.buckets->n_chunks; k++)
            TRY(settle(s, k));
    }
out:
    return rc;
}

void server_forget(struct ps_server *s, int w, bool is_loss)
{
    for (size_t k = 0; k < s->env.buckets->n_chunks; k++)
        clocks_leave(&s->chunk[k].clocks, w, kept_of(s, w, k) != NULL);
    for (int i = 0; i < s->n_slots; i++) {
        release_kept(s, w, &s->client[w].request[i]);
        s->client[w].request[i].state = REQUEST_ANSWERED;
    }
    s->ops->left(s, w, is_loss);
    s->has_new_left = consistency_may_wait(&s->env.consistency); /* else nobody waits */
}

/* --- a push --- */

/* P6 */
static bool is_finite(struct ps_server *s, const struct arrival *a, const struct ps_header *h)
{
    const struct push_body body = ps_push_body(h);
    char text[RC_MESSAGE_BYTES];

    if (push_body_is_finite(&body, server_is_hollow(s) ? NULL : a->message.ptr))
        return true;
    (void)snprintf(text, sizeof text, "worker %d pushed a gradient of chunk %u that is not finite, in its step %u",
                   a->worker, h->chunk, h->step);
    server_count_refused(s, REFUSED_NOT_FINITE, text);
    return false;
}

/* By the rule of the run; what is kept is taken from *a. */
static enum rc count_push(struct ps_server *s, struct arrival *a, const struct ps_header *h, uint64_t served_ns)
{
    struct request *r = request_of(s, a);
    const bool counts = s->ops->applied(s, a->worker, h, &r->answer), is_refused = counts && !is_finite(s, a, h);
    enum rc rc = RC_OK;

    if (is_refused) {
        r->answer.op = PS_REFUSED;
        r->answer.why = REFUSED_NOT_FINITE;
    }
    switch (clocks_push(&s->chunk[h->chunk].clocks, a->worker)) {
    case PUSH_COUNTS:
        if (!counts)
            r->answer.op = PS_LATE;
        else if (!is_refused)
            TRY(apply_push(s, a, h, served_ns));
        break;
    case PUSH_IS_KEPT:
        r->kept = a->message;
        r->body = ps_push_body(h);
        r->state = REQUEST_KEPT;
        r->lr = h->lr;
        a->message = (struct message){ .peer = -1 };
        break;
    case PUSH_IS_LATE:
        if (!is_refused)
            r->answer.op = PS_LATE;
        s->facts.late_count += !is_refused;
        break;
    }
out:
    return rc;
}

/* Answer it as soon as its worker may read. */
static enum rc settle_request(struct ps_server *s, int w, int slot)
{
    struct request *r = &s->client[w].request[slot];

    if (!consistency_may_wait(&s->env.consistency))
        return server_answer(s, w, slot);
    if (!request_waits(r))
        r->state = REQUEST_WAITS;
    r->waits_since_ns = world_now_ns(s->env.world);
    return settle(s, r->answer.chunk);
}

/* --- where the training ends (exchange.E11) --- */

void server_open_stop(struct ps_server *s)
{
    struct stop_rule *stop = &s->stop;
    const bool is_first = s->slice == 0;

    stop->counted_chunk = s->env.buckets->n_chunks;
    for (size_t k = stop->counted_chunk; k-- > 0 && is_first && s->env.stop_at > 0;)
        if (s->chunk[k].part.n_elems > 0)
            stop->counted_chunk = k;
    stop->n_granted = (uint64_t)s->env.n_workers;
    for (int w = 0; w < sync_most_workers(&s->env); w++)
        s->client[w].may_push = true;
}

/* With the push of chunk k that c has just pushed: may it push another one? */
static bool grant(struct ps_server *s, struct client *c, size_t k)
{
    if (k != s->stop.counted_chunk)
        return true;
    c->may_push = s->stop.n_granted < s->env.stop_at;
    s->stop.n_granted += c->may_push;
    return c->may_push;
}

/* What is answered to push h, if it is taken: all but figures. */
static struct ps_header answer_to(const struct ps_header *h)
{
    if (h->op == PS_GIVE)
        return (struct ps_header){ .op = PS_TAKEN, .chunk = h->chunk };
    return (struct ps_header){ .op = PS_PARAMS, .n_elems = h->n_elems, .chunk = h->chunk };
}

enum rc server_push(struct ps_server *s, struct arrival *a, const struct ps_header *h)
{
    const int worker = a->worker, slot = (int)a->slot; /* what is kept takes the message from *a */
    struct request *r = request_of(s, a);
    enum rc rc;

    const uint64_t served_ns = world_now_ns(s->env.world);
    s->rank->served_step = h->step;
    TRY(begin_of_chunk(s, worker, slot, h->chunk));
    r->answer = answer_to(h);
    r->answer.is_last = !grant(s, &s->client[worker], h->chunk);
    r->answer.queue_ns = served_ns - arrival_ns(&s->chunk[h->chunk], a, h);
    TRY(count_push(s, a, h, served_ns));
    TRY(settle_request(s, worker, slot));
out:
    return rc;
}

enum rc server_pull(struct ps_server *s, struct arrival *a, const struct ps_header *h)
{
    const int worker = a->worker;
    struct request *r = request_of(s, a);
    enum rc rc;

    TRY(begin_of_chunk(s, worker, (int)a->slot, h->chunk));
    r->answer = (struct ps_header){ .op = PS_PARAMS,
                                    .n_elems = (uint32_t)s->chunk[h->chunk].part.n_elems,
                                    .chunk = h->chunk,
                                    .queue_ns = world_now_ns(s->env.world) - a->seen_ns };
    TRY(settle_request(s, worker, (int)a->slot));
out:
    return rc;
}
