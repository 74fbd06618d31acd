/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.c - the server's loop: receive all requests that have arrived, serve the oldest, reply.
 *
 *   state of a worker   PUSH               FETCH                                    LEAVE     its loss (world.W8)
 *   TRAINING            serve_push         worker 0: -> FETCHING; others: refused   -> LEFT   drop_worker: -> LOST
 *   FETCHING            refused            refused                                  refused   it is rank 0: the run
 * ends LEFT                refused            refused                                  refused   drop_worker: -> LOST
 *   LOST                dropped            dropped                                  dropped   -
 *
 * LOOK, of worker 0 in TRAINING, is answered at once and changes no state; in any other it is refused.
 *
 * FETCHING -> LEFT by answer_fetch(), when all other workers have left or are lost. The loss of another server ends
 * this one, and so the run.
 *
 * Before it serves a request, the server receives all that have arrived, and notes the time: how long a request then
 * waits is the queueing time, which its reply reports (queue_ns). A worker has at most one request outstanding.
 *
 * A gradient is applied from the buffer of its message, without a copy. The transport borrows a reply until the next
 * request of the same worker proves that the reply arrived. The body of a reply is the server's own parameter array,
 * unless the push of another worker could change it before it is sent: with several workers over a transport that does
 * not copy what is posted, each worker has a reply buffer, into which the parameters are copied.
 */
#include "ps/server.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/arena.h"
#include "harness/base/range.h"
#include "harness/compute/optimizer.h"
#include "harness/net/transport.h"
#include "harness/world/span.h"
#include "harness/world/world.h"
#include "ps/protocol.h"
#include "ps/ps.h"
#include "ps/wire.h"

enum worker_state { TRAINING, FETCHING, LEFT, LOST };

struct client { /* a worker, as the server sees it */
    enum worker_state state;
    bool reply_posted;
    struct xfer reply;
    unsigned char reply_header[PS_HEADER_BYTES];
    float *reply_params; /* copy of the slice for the reply; NULL: the transport borrows ps_server.param */
};

struct arrival { /* a request received, not yet served */
    struct message message;
    uint64_t seen_ns; /* when the server received it */
    bool was_awaited; /* the server was idle: the request arrived at seen_ns, not before */
};

struct piece_state {
    struct range part;       /* of all parameters: what of it is in the slice */
    uint64_t clock;          /* pushes of it applied so far (P2) */
    uint64_t min_transit_ns; /* least seen_ns - sent_ns of its pushes so far; UINT64_MAX: no push yet */
};

struct ps_server {
    struct sync_env env;
    struct range slice;
    struct optimizer optimizer;
    struct arena arena;
    float *param;              /* the slice; NULL: hollow */
    float *state;              /* the body of STATE, parameters and then velocity; NULL: hollow */
    struct piece_state *piece; /* [n_pieces] */
    int n_left;                /* workers that have left or are lost: they send nothing more */
    struct client *client;     /* [n_workers] */
    struct arrival *arrival;   /* [n_workers], a ring buffer */
    int first_arrival, n_arrivals;
    int silence_ms; /* how long nobody may send anything, while somebody is to */
};

static bool hollow(const struct ps_server *s)
{
    return s->param == NULL && s->slice.n_elems > 0;
}

/* Could the next push change a posted reply, so that it needs a copy? See the head of this file. */
static bool copies_replies(const struct sync_env *env, const struct transport *transport)
{
    return env->n_workers > 1 && !(transport->ops->module.caps & TR_COPIES);
}

/* Allocate parameters, the body of STATE and the reply buffers. Worker 0's reply buffer is the memory of STATE, which
 * it gets in place of an answer to a push. */
static enum rc open_params(struct ps_server *s)
{
    const struct sync_env *env = &s->env;
    const size_t n_elems = s->slice.n_elems;
    const int n_copies = copies_replies(env, s->env.transport) ? env->n_workers : 0;
    const int n_others = n_copies > 0 ? n_copies - 1 : 0;
    enum rc rc = RC_OK;

    if (!env->compute->ops->touches_memory || n_elems == 0)
        return RC_OK;
    TRY(arena_open_ticking(&s->arena,
                           (size_t)(1 + n_others) * arena_floats_bytes(n_elems) + arena_floats_bytes(2 * n_elems),
                           env->compute->env.tick, env->compute->env.arg));
    s->param = arena_floats(&s->arena, n_elems);
    memcpy(s->param, env->slice_param, n_elems * sizeof(float));
    s->state = arena_floats(&s->arena, 2 * n_elems);
    for (int w = 0; w < n_copies; w++)
        s->client[w].reply_params = w == 0 ? s->state : arena_floats(&s->arena, n_elems);
out:
    return rc;
}

struct range ps_part(const struct sync_env *env, size_t k, int s)
{
    const struct range piece = env->buckets->piece[k], slice = server_slice(env->buckets->n_params, env->n_servers, s);
    const size_t piece_end = piece.offset_elems + piece.n_elems, slice_end = slice.offset_elems + slice.n_elems;
    const size_t begin = piece.offset_elems > slice.offset_elems ? piece.offset_elems : slice.offset_elems;
    const size_t end = piece_end < slice_end ? piece_end : slice_end;

    return (struct range){ begin, end > begin ? end - begin : 0 };
}

static enum rc open_pieces(struct ps_server *s)
{
    const size_t n_pieces = s->env.buckets->n_pieces;

    s->piece = calloc(n_pieces, sizeof *s->piece);
    if (!s->piece)
        return rc_raise(RC_NOMEM, "parameter server: no memory for %zu pieces", n_pieces);
    for (size_t k = 0; k < n_pieces; k++)
        s->piece[k] = (struct piece_state){ .part = ps_part(&s->env, k, s->env.world->rank - s->env.n_workers),
                                            .min_transit_ns = UINT64_MAX };
    return RC_OK;
}

enum rc ps_server_open(struct ps_server **out, const struct sync_env *env)
{
    struct ps_server *s = calloc(1, sizeof *s);
    enum rc rc;

    if (!s)
        return rc_raise(RC_NOMEM, "parameter server: no memory");
    s->env = *env;
    s->slice = server_slice(env->buckets->n_params, env->n_servers, env->world->rank - env->n_workers);
    s->client = calloc((size_t)env->n_workers, sizeof *s->client);
    s->arrival = calloc((size_t)env->n_workers, sizeof *s->arrival);
    if (!s->client || !s->arrival)
        FAIL(RC_NOMEM, "parameter server: no memory for %d workers", env->n_workers);
    TRY(open_pieces(s));
    TRY(open_params(s));
    TRY(optimizer_init(&s->optimizer, env->compute, s->slice.n_elems, env->momentum, env->weight_decay,
                       env->slice_velocity));
    *out = s;
    s = NULL;
out:
    ps_server_close(&s);
    return rc;
}

void ps_server_close(struct ps_server **sp)
{
    struct ps_server *s = *sp;

    if (!s)
        return;
    optimizer_fini(&s->optimizer);
    arena_close(&s->arena);
    free(s->client);
    free(s->arrival);
    free(s->piece);
    free(s);
    *sp = NULL;
}

/* Complete the send of the last reply to c, which has arrived if c has sent a new request. */
static enum rc end_reply(struct ps_server *s, struct client *c)
{
    if (!c->reply_posted)
        return RC_OK;
    c->reply_posted = false;
    return transport_wait(s->env.transport, &c->reply, s->env.timeout_ms);
}

/* Send h, then body: float[h->n_elems], or twice as many for STATE; lent until end_reply(). NULL: hollow or empty. */
static enum rc post_reply(struct ps_server *s, int worker, const struct ps_header *h, float *body)
{
    struct client *c = &s->client[worker];
    const size_t n_body_bytes = (size_t)h->n_elems * sizeof(float) * (h->op == PS_STATE ? 2 : 1);

    ps_header_encode(c->reply_header, h);
    c->reply = (struct xfer){ .peer = worker,
                              .tag = PS_TAG_REPLY,
                              .head = c->reply_header,
                              .n_head_bytes = PS_HEADER_BYTES,
                              .ptr = body,
                              .n_bytes = hollow(s) ? 0 : n_body_bytes,
                              .n_hollow_bytes = hollow(s) ? n_body_bytes : 0 };
    const enum rc rc = transport_send(s->env.transport, &c->reply);
    c->reply_posted = rc == RC_OK;
    return rc;
}

/* When push a of piece p arrived: by the transport if it knows; seen_ns if the server was idle; else, as a busy server
 * sees a push late, sent_ns plus the shortest transit time seen so far, at most seen_ns. */
static uint64_t arrival_ns(struct piece_state *p, const struct arrival *a, const struct ps_header *h)
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

/* Into the timeline: what was done with piece k, or for -1 with none. */
static void note_span(const struct ps_server *s, const char *what, uint64_t start_ns, uint64_t end_ns, int32_t k,
                      size_t n_elems)
{
    if (!s->env.ring)
        return;
    const struct span span = { .start_ns = start_ns,
                               .end_ns = end_ns,
                               .what = what,
                               .segment = k < 0 ? -1 : (int32_t)buckets_of_piece(s->env.buckets, (size_t)k),
                               .piece = k,
                               .n_bytes = n_elems * sizeof(float) };

    span_ring_add(s->env.ring, &span);
}

/* Apply the gradient of push a to its part of the slice, and reply with the parameters of that part. */
static enum rc serve_push(struct ps_server *s, const struct arrival *a, const struct ps_header *h)
{
    struct client *c = &s->client[a->message.peer];
    struct piece_state *p = &s->piece[h->piece];
    const size_t first = p->part.offset_elems - s->slice.offset_elems;
    float *param = hollow(s) ? NULL : s->param + first, *body = param;
    const uint64_t served_ns = world_now_ns(s->env.world);
    struct ps_header reply = {
        .op = PS_PARAMS, .n_elems = h->n_elems, .piece = h->piece, .queue_ns = served_ns - arrival_ns(p, a, h)
    };
    enum rc rc;

    if (h->clock > p->clock)
        return rc_raise(RC_MISMATCH, "worker %d pushed from clock %llu, the server is at %llu", a->message.peer,
                        (unsigned long long)h->clock, (unsigned long long)p->clock);
    TRY(end_reply(s, c));
    reply.staleness = p->clock - h->clock; /* P2 */
    s->optimizer.rule.lr = h->lr;
    TRY(optimizer_step_range(&s->optimizer, first, p->part.n_elems, param, hollow(s) ? NULL : a->message.ptr));
    reply.clock = ++p->clock;
    reply.apply_ns = world_now_ns(s->env.world) - served_ns;
    const uint64_t applied_ns = served_ns + reply.apply_ns;
    note_span(s, "apply", served_ns, applied_ns, (int32_t)h->piece, p->part.n_elems);
    if (c->reply_params)
        body = memcpy(c->reply_params, param, p->part.n_elems * sizeof(float));
    /* Simulated cost of the copy of the reply, made above or by the transport: each float is read and written. */
    world_charge(s->env.world, 0, 2.0 * (double)p->part.n_elems * sizeof(float));
    TRY(post_reply(s, a->message.peer, &reply, body));
    if (s->env.ring) /* else the clock need not be read */
        note_span(s, "reply", applied_ns, world_now_ns(s->env.world), (int32_t)h->piece, p->part.n_elems);
out:
    return rc;
}

/* Reply STATE, as it is now, to worker 0. */
static enum rc post_state(struct ps_server *s)
{
    const size_t n_elems = s->slice.n_elems;
    const struct ps_header h = { .op = PS_STATE, .n_elems = (uint32_t)n_elems };
    enum rc rc;

    TRY(end_reply(s, &s->client[0]));
    if (s->param) {
        memcpy(s->state, s->param, n_elems * sizeof(float));
        optimizer_velocity(&s->optimizer, s->state + n_elems);
    }
    TRY(post_reply(s, 0, &h, s->state));
out:
    return rc;
}

/* Worker 0's FETCH; all other workers have left. */
static enum rc answer_fetch(struct ps_server *s)
{
    enum rc rc;

    TRY(post_state(s));
    s->client[0].state = LEFT;
    s->n_left++;
out:
    return rc;
}

static enum rc check_push(const struct ps_server *s, int worker, const struct ps_header *h)
{
    if (h->piece >= s->env.buckets->n_pieces)
        return rc_raise(RC_MISMATCH, "worker %d pushed piece %u, of which there are %zu", worker, h->piece,
                        s->env.buckets->n_pieces);
    if (h->n_elems == 0 || h->n_elems != s->piece[h->piece].part.n_elems)
        return rc_raise(RC_MISMATCH, "worker %d pushed piece %u with %u elements; this server holds %zu of it", worker,
                        h->piece, h->n_elems, s->piece[h->piece].part.n_elems);
    return RC_OK;
}

/* Handle one request as the state table above says; anything else is RC_MISMATCH. */
static enum rc serve_request(struct ps_server *s, const struct arrival *a)
{
    const int worker = a->message.peer;
    struct ps_header h;
    enum rc rc;

    if (worker >= s->env.n_workers)
        return rc_raise(RC_MISMATCH, "rank %d is a server, not a worker", worker);
    TRY(ps_header_decode(&h, a->message.head, a->message.n_head_bytes, a->message.n_bytes + a->message.n_hollow_bytes));
    if (s->client[worker].state != TRAINING)
        FAIL(RC_MISMATCH, "worker %d sent op %d after FETCH or LEAVE", worker, (int)h.op);
    if (h.op == PS_PUSH)
        TRY(check_push(s, worker, &h));
    if (h.op == PS_PUSH)
        TRY(serve_push(s, a, &h));
    else if (h.op == PS_FETCH && worker == 0)
        s->client[0].state = FETCHING;
    else if (h.op == PS_LOOK && worker == 0)
        TRY(post_state(s));
    else if (h.op == PS_LEAVE) {
        s->client[worker].state = LEFT;
        s->n_left++;
    } else
        FAIL(RC_MISMATCH, "worker %d sent op %d, which is not for this server", worker, (int)h.op);
out:
    return rc;
}

/* Worker w is lost: what it has sent and not got an answer to is dropped, and it counts as one that has left. */
static void drop_worker(struct ps_server *s, int w)
{
    struct client *c = &s->client[w];
    int n_kept = 0;

    (void)!end_reply(s, c); /* transport.T6: an error, for it alone */
    for (int i = 0; i < s->n_arrivals; i++) {
        struct arrival *a = &s->arrival[(s->first_arrival + i) % s->env.n_workers];
        if (a->message.peer == w)
            transport_release(s->env.transport, &a->message);
        else
            s->arrival[(s->first_arrival + n_kept++) % s->env.n_workers] = *a;
    }
    s->n_arrivals = n_kept;
    if (c->state != LEFT)
        s->n_left++;
    c->state = LOST;
}

/* Drop the workers that are lost now. RC_PEER: a server is. Cheap where none is. */
static enum rc drop_lost(struct ps_server *s)
{
    const struct world *w = s->env.world;

    if (world_lost_rank(w) < 0)
        return RC_OK;
    for (int r = 0; r < s->env.n_workers; r++)
        if (s->client[r].state != LOST && world_is_lost(w, r))
            drop_worker(s, r);
    for (int r = s->env.n_workers; r < w->n_ranks; r++)
        if (world_is_lost(w, r))
            return world_raise_loss(w, r);
    return RC_OK;
}

/* The next message, or out->peer -1: there is none by now (DO_NOT_WAIT), or a rank was lost (transport.T12). */
static enum rc receive(struct ps_server *s, struct message *out, int timeout_ms)
{
    enum rc rc;

    TRY(transport_recv_divided(s->env.transport, out, PS_HEADER_BYTES, timeout_ms));
    if (out->peer < 0)
        TRY(drop_lost(s));
out:
    return rc;
}

/* Will some worker send something more, unless it is lost? */
static bool is_awaiting(const struct ps_server *s)
{
    const int n_fetching = s->client[0].state == FETCHING;

    return s->n_left + n_fetching < s->env.n_workers;
}

/* Receive all requests that have arrived; wait for one only if none is left to serve. */
static enum rc take_arrivals(struct ps_server *s)
{
    enum rc rc = RC_OK;

    while (s->n_arrivals < s->env.n_workers) {
        struct arrival a = { .message = { .peer = -1 } };
        TRY(receive(s, &a.message, DO_NOT_WAIT));
        a.was_awaited = a.message.peer < 0 && s->n_arrivals == 0 && is_awaiting(s);
        const uint64_t idle_ns = s->env.ring ? world_now_ns(s->env.world) : 0;
        if (a.was_awaited)
            TRY(receive(s, &a.message, s->silence_ms));
        if (a.message.peer < 0)
            break;
        a.seen_ns = world_now_ns(s->env.world);
        if (a.was_awaited)
            note_span(s, "wait", idle_ns > 0 ? idle_ns : a.seen_ns, a.seen_ns, -1, 0);
        s->arrival[(s->first_arrival + s->n_arrivals++) % s->env.n_workers] = a;
    }
out:
    return rc;
}

/* After RC_PEER of a transfer with the worker: RC_OK if it is lost, and dropped now; else the same error. */
static enum rc forgive_lost(struct ps_server *s, int worker)
{
    char message[RC_MESSAGE_BYTES];
    enum rc rc;

    (void)snprintf(message, sizeof message, "%s", rc_message());
    TRY(world_check(s->env.world)); /* the run has failed */
    TRY(drop_lost(s));
    if (s->client[worker].state != LOST)
        FAIL(RC_PEER, "%s", message);
out:
    return rc;
}

static enum rc end_all_replies(struct ps_server *s)
{
    enum rc rc = RC_OK;

    for (int w = 0; w < s->env.n_workers; w++) {
        const enum rc ended = end_reply(s, &s->client[w]);
        TRY(ended == RC_PEER ? forgive_lost(s, w) : ended);
    }
out:
    return rc;
}

/* Serve the oldest request. A worker that was lost meanwhile is dropped: what it then fails with is not the server's.
 */
static enum rc serve_next(struct ps_server *s)
{
    struct arrival a = s->arrival[s->first_arrival];

    s->first_arrival = (s->first_arrival + 1) % s->env.n_workers;
    s->n_arrivals--;
    const enum rc served = serve_request(s, &a);
    const int worker = a.message.peer;
    transport_release(s->env.transport, &a.message);
    return served == RC_PEER ? forgive_lost(s, worker) : served;
}

int ps_server_silence_ms(int timeout_ms, uint64_t step_ns)
{
    const uint64_t most_ms = INT_MAX, steps_ms = step_ns / 1000000 * PS_SILENT_STEPS;

    if (timeout_ms == WAIT_FOREVER || steps_ms <= (uint64_t)timeout_ms)
        return timeout_ms;
    return (int)(steps_ms < most_ms ? steps_ms : most_ms);
}

enum rc ps_server_run(struct ps_server *s, uint64_t step_ns)
{
    enum rc rc = RC_OK;

    s->silence_ms = ps_server_silence_ms(s->env.timeout_ms, step_ns);

    while (s->n_left < s->env.n_workers) {
        TRY(take_arrivals(s));
        if (s->n_arrivals > 0)
            TRY(serve_next(s));
        if (s->client[0].state == FETCHING && s->n_left == s->env.n_workers - 1)
            TRY(answer_fetch(s));
    }
    TRY(end_all_replies(s));
out:
    for (; s->n_arrivals > 0; s->n_arrivals--) { /* after an error: requests received and not served */
        transport_release(s->env.transport, &s->arrival[s->first_arrival].message);
        s->first_arrival = (s->first_arrival + 1) % s->env.n_workers;
    }
    return rc;
}
