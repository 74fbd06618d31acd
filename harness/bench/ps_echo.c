/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ps_echo.c - the bound for a parameter server: messages of the same lengths, and as many in transit, are returned
 * unchanged; the servers' work is omitted; see ps_echo.h.
 *
 * Memory: a worker's block has what it sends, and, of each server, how many of its frames came back; a server's block
 * what it sends back, of each worker a part, and, of each worker, how many frames it has sent. Frame f, counted on and
 * on, is of place f modulo those that there are, so that both sides know where. Two-copy: what is sent is copied into a
 * block before and out of it behind, from and to private memory, whose places are more: a place of a block is used
 * again when the frame that it had has been answered.
 */
#include "harness/bench/ps_echo.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/arena.h"
#include "harness/base/bytes.h"
#include "harness/net/transport.h"
#include "harness/net/zmq_echo.h"
#include "harness/world/share.h"
#include "harness/world/task.h"
#include "harness/world/world.h"

enum { HEAD_BYTES = 128, LINE_BYTES = 64, MOST_RANKS = 1024, TAG_ECHO = 0x7100, TAG_CALL = (int)(TAG_ANY | 0x7100u) };
#define IDLE_NS UINT64_C(1000000000)
#define ENDED UINT32_C(0x80000000) /* of a count of sent frames: there are no more */

struct ps_echo {
    struct ps_echo_env env;
    enum ps_echo_kind kind;
    struct world *host;
    struct share *share;
    struct arena arena; /* what comes back, or what goes out */
    char *own;
    size_t stride_bytes, n_places, n_shared_places; /* of private memory, and of a block */
    struct bare_echo *zmq;
    struct transport *transport;
    struct xfer *answer;  /* a server's, [n_workers * n_in_flight]: what is on its way back ... */
    struct message *lent; /* ... out of these */
    struct xfer *tx, *rx; /* a worker's, [n_in_flight * n_servers] */
    struct task *task;
    uint64_t n_sent, n_taken; /* frames to or from every server */
};

static bool is_server(const struct ps_echo *e)
{
    return e->env.world->rank >= e->env.n_workers;
}

enum ps_echo_kind ps_echo_kind_of(const struct transport_ops *transport, const struct world *w)
{
    const bool is_inside = w->ops->module.caps & WORLD_SHARED_MEMORY && !(w->ops->module.caps & WORLD_VIRTUAL_TIME);

    if (bare_echo_is_bound(transport, w))
        return PS_ECHO_ZEROMQ;
    if (transport->module.caps & TR_MAPPED)
        return PS_ECHO_TWO_COPY;
    return is_inside ? PS_ECHO_MEMORY : PS_ECHO_TRANSPORT;
}

const char *ps_echo_kind_text(enum ps_echo_kind kind)
{
    static const char *const text[] = { "zeromq", "memory", "two-copy", "transport" };

    return text[kind];
}

/* --- memory --- */

static _Atomic uint32_t *counts_of(const struct ps_echo *e, int rank)
{
    return (_Atomic uint32_t *)e->share->peer[rank];
}

/* Of a worker's frame on its way to server s; of a server's, back to worker w. */
static char *frame_at(const struct ps_echo *e, int rank, int other, uint64_t frame)
{
    const size_t n_sets = (size_t)(rank < e->env.n_workers ? e->env.n_servers : e->env.n_workers);
    char *base = (char *)e->share->peer[rank] + MOST_RANKS * sizeof(uint32_t);

    return base + ((size_t)(frame % e->n_shared_places) * n_sets + (size_t)other) * e->stride_bytes;
}

/* Likewise in memory that is this rank's alone; second: what a worker sends, behind all that comes back. */
static char *private_at(const struct ps_echo *e, int other, uint64_t frame, bool second)
{
    const size_t n_sets = (size_t)(is_server(e) ? e->env.n_workers : e->env.n_servers);
    const size_t place = (size_t)(frame % e->n_places) + (second ? e->n_places : 0);

    return e->own + (place * n_sets + (size_t)other) * e->stride_bytes;
}

static size_t frame_bytes(const struct ps_echo *e)
{
    return e->env.n_part_bytes + HEAD_BYTES;
}

static void raise_count(struct ps_echo *e, int rank, int other, uint32_t count)
{
    atomic_store_explicit(&counts_of(e, rank)[other], count, memory_order_release);
    share_ring(e->share, rank);
}

/* A server: copy what worker w has sent beyond *n_done. True: something was there. */
static bool echo_copies(struct ps_echo *e, int w, uint32_t *n_done, bool *is_ended)
{
    const int own = e->env.world->rank, s = own - e->env.n_workers;
    const uint32_t n_sent = atomic_load_explicit(&counts_of(e, own)[w], memory_order_acquire);
    const bool is_some = *n_done != (n_sent & ~ENDED);

    for (; *n_done != (n_sent & ~ENDED); *n_done = (*n_done + 1) & ~ENDED) {
        const char *sent = frame_at(e, w, s, *n_done);
        if (e->kind == PS_ECHO_TWO_COPY)
            sent = memcpy(private_at(e, w, *n_done, false), sent, frame_bytes(e));
        memcpy(frame_at(e, own, w, *n_done), sent, frame_bytes(e));
        raise_count(e, w, s, (*n_done + 1) & ~ENDED);
    }
    *is_ended = *is_ended || n_sent & ENDED;
    return is_some;
}

static enum rc serve_memory(struct ps_echo *e)
{
    uint32_t *n_done = calloc((size_t)e->env.n_workers, sizeof *n_done);
    bool *is_ended = calloc((size_t)e->env.n_workers, sizeof *is_ended);
    int n_left = e->env.n_workers;
    enum rc rc = RC_OK;

    if (!n_done || !is_ended)
        FAIL(RC_NOMEM, "echo: no memory for %d workers", e->env.n_workers);
    while (n_left > 0) {
        const uint32_t seen = share_seen(e->share);
        bool is_some = false;
        n_left = e->env.n_workers;
        for (int w = 0; w < e->env.n_workers; w++) {
            is_some = echo_copies(e, w, &n_done[w], &is_ended[w]) || is_some;
            n_left -= is_ended[w];
        }
        if (is_some || n_left == 0)
            continue;
        const enum rc waited = share_wait(e->share, seen, IDLE_NS);
        TRY(waited == RC_TIMEOUT ? RC_OK : waited);
    }
out:
    free(n_done);
    free(is_ended);
    return rc;
}

static enum rc send_memory(struct ps_echo *e)
{
    const uint64_t frame = e->n_sent++;
    const uint32_t n_sent = (uint32_t)e->n_sent & ~ENDED;

    for (int s = 0; s < e->env.n_servers; s++) {
        if (e->kind == PS_ECHO_TWO_COPY)
            memcpy(frame_at(e, e->env.world->rank, s, frame), private_at(e, s, frame, true), frame_bytes(e));
        raise_count(e, e->env.n_workers + s, e->env.world->rank, n_sent);
    }
    return RC_OK;
}

static enum rc take_memory(struct ps_echo *e)
{
    const int own = e->env.world->rank;
    const uint64_t frame = e->n_taken++;
    enum rc rc;

    TRY(share_wait_counts(e->share, counts_of(e, own), e->env.n_servers, (uint32_t)e->n_taken & ~ENDED,
                          (uint64_t)e->env.timeout_ms * 1000000u));
    for (int s = 0; s < e->env.n_servers; s++)
        memcpy(private_at(e, s, frame, false), frame_at(e, e->env.n_workers + s, own, frame), frame_bytes(e));
out:
    return rc;
}

static enum rc end_memory(struct ps_echo *e)
{
    for (int s = 0; s < e->env.n_servers; s++)
        raise_count(e, e->env.n_workers + s, e->env.world->rank, (uint32_t)e->n_sent | ENDED);
    return RC_OK;
}

/* --- ZeroMQ --- */

static enum rc send_zmq(struct ps_echo *e)
{
    enum rc rc = RC_OK;

    for (int s = 0; s < e->env.n_servers; s++) {
        char *frame =
            e->own + ((size_t)(e->n_sent % e->n_places) * (size_t)e->env.n_servers + (size_t)s) * e->stride_bytes;
        bytes_put((unsigned char *)frame, (uint64_t)e->env.world->rank, 4);
        TRY(bare_echo_send(e->zmq, s, frame, frame_bytes(e)));
    }
    e->n_sent++;
out:
    return rc;
}

static enum rc take_zmq(struct ps_echo *e)
{
    enum rc rc = RC_OK;

    for (int s = 0; s < e->env.n_servers; s++)
        TRY(bare_echo_take(e->zmq, frame_bytes(e), e->env.timeout_ms));
    e->n_taken++;
out:
    return rc;
}

static enum rc serve_zmq(struct ps_echo *e)
{
    return bare_echo_serve(e->zmq);
}

static enum rc end_zmq(struct ps_echo *e)
{
    return bare_echo_end(e->zmq);
}

/* --- the transport --- */

/* The answer before n_slots others is there, and what it was sent from is not needed any more. */
static enum rc end_answer(struct ps_echo *e, uint64_t slot)
{
    enum rc rc;

    TRY(transport_wait(e->transport, &e->answer[slot], e->env.timeout_ms));
    transport_release(e->transport, &e->lent[slot]);
out:
    return rc;
}

static enum rc serve_transport(struct ps_echo *e)
{
    const uint64_t n_slots = (uint64_t)e->env.n_workers * (uint64_t)e->env.n_in_flight;
    uint64_t n_served = 0;
    enum rc rc = RC_OK;

    for (int n_left = e->env.n_workers; n_left > 0;) {
        const uint64_t slot = n_served % n_slots;
        struct message m;
        TRY(transport_recv_message(e->transport, &m, WAIT_FOREVER));
        if (m.n_bytes + m.n_hollow_bytes == 0) { /* the end of a worker */
            transport_release(e->transport, &m);
            n_left--;
            continue;
        }
        if (n_served >= n_slots)
            TRY(end_answer(e, slot));
        e->lent[slot] = m;
        e->answer[slot] = (struct xfer){ .ptr = (void *)m.ptr, /* only read: xfer has one pointer for both ways */
                                         .n_bytes = m.n_bytes,
                                         .n_hollow_bytes = m.n_hollow_bytes,
                                         .peer = m.peer,
                                         .tag = TAG_ECHO };
        TRY(transport_send(e->transport, &e->answer[slot]));
        n_served++;
    }
    for (uint64_t slot = 0; slot < n_slots && slot < n_served; slot++)
        TRY(end_answer(e, slot));
out:
    return rc;
}

static struct xfer *slot_of(const struct ps_echo *e, struct xfer *all, uint64_t frame, int server)
{
    return &all[frame % (uint64_t)e->env.n_in_flight * (uint64_t)e->env.n_servers + (uint64_t)server];
}

static enum rc send_transport(struct ps_echo *e)
{
    enum rc rc = RC_OK;

    for (int s = 0; s < e->env.n_servers; s++) {
        struct xfer *tx = slot_of(e, e->tx, e->n_sent, s), *rx = slot_of(e, e->rx, e->n_sent, s);
        const size_t place = (size_t)(e->n_sent % e->n_places) * (size_t)e->env.n_servers + (size_t)s;
        char *at = e->own ? e->own + place * e->stride_bytes : NULL;
        *tx = (struct xfer){ .ptr = at, .peer = e->env.n_workers + s, .tag = TAG_CALL };
        *rx = (struct xfer){ .ptr = at ? at + e->arena.n_bytes / 2 : NULL, .peer = tx->peer, .tag = TAG_ECHO };
        *(at ? &tx->n_bytes : &tx->n_hollow_bytes) = frame_bytes(e);
        *(at ? &rx->n_bytes : &rx->n_hollow_bytes) = frame_bytes(e);
        TRY(transport_recv(e->transport, rx));
        TRY(transport_send(e->transport, tx));
    }
    e->n_sent++;
out:
    return rc;
}

static enum rc take_transport(struct ps_echo *e)
{
    enum rc rc = RC_OK;

    for (int s = 0; s < e->env.n_servers; s++) {
        TRY(transport_wait(e->transport, slot_of(e, e->tx, e->n_taken, s), e->env.timeout_ms));
        TRY(transport_wait(e->transport, slot_of(e, e->rx, e->n_taken, s), e->env.timeout_ms));
    }
    e->n_taken++;
out:
    return rc;
}

static enum rc end_transport(struct ps_echo *e)
{
    enum rc rc = RC_OK;

    for (int s = 0; s < e->env.n_servers; s++) {
        struct xfer tx = { .peer = e->env.n_workers + s, .tag = TAG_CALL };
        TRY(transport_send(e->transport, &tx));
        TRY(transport_wait(e->transport, &tx, e->env.timeout_ms));
    }
out:
    return rc;
}

/* --- each kind --- */

static const struct {
    enum rc (*serve)(struct ps_echo *e);
    enum rc (*send)(struct ps_echo *e);
    enum rc (*take)(struct ps_echo *e);
    enum rc (*end)(struct ps_echo *e);
} ops[] = { [PS_ECHO_ZEROMQ] = { serve_zmq, send_zmq, take_zmq, end_zmq },
            [PS_ECHO_MEMORY] = { serve_memory, send_memory, take_memory, end_memory },
            [PS_ECHO_TWO_COPY] = { serve_memory, send_memory, take_memory, end_memory },
            [PS_ECHO_TRANSPORT] = { serve_transport, send_transport, take_transport, end_transport } };

static enum rc serve(struct world *w, void *arg)
{
    struct ps_echo *e = arg;

    (void)w;
    return ops[e->kind].serve(e);
}

/* All pages are touched; of a hollow run there are none. */
static enum rc open_memory(struct ps_echo *e)
{
    const size_t n_sets = (size_t)(is_server(e) ? e->env.n_workers : e->env.n_servers);
    const size_t n_bytes = e->n_places * n_sets * e->stride_bytes;
    int host, n_hosts;
    enum rc rc = RC_OK;

    if (e->kind == PS_ECHO_MEMORY || e->kind == PS_ECHO_TWO_COPY) {
        const int n_most = e->env.n_servers > e->env.n_workers ? e->env.n_servers : e->env.n_workers;
        if (e->env.world->n_ranks > MOST_RANKS)
            FAIL(RC_UNSUPPORTED, "echo: %d ranks; at most %d are possible", e->env.world->n_ranks, MOST_RANKS);
        TRY(world_host_group(e->env.world, &e->host, &host, &n_hosts));
        TRY(world_share_open(
            e->host, MOST_RANKS * sizeof(uint32_t) + e->n_shared_places * (size_t)n_most * e->stride_bytes, &e->share));
    }
    if ((is_server(e) && e->kind != PS_ECHO_TWO_COPY) || e->env.is_hollow)
        goto out;
    TRY(arena_open(&e->arena, (is_server(e) ? 1 : 2) * n_bytes)); /* what comes back, and what goes out */
    e->own = e->arena.base;
out:
    return rc;
}

static enum rc open_line(struct ps_echo *e)
{
    const size_t n_slots = (size_t)e->env.n_in_flight * (size_t)(is_server(e) ? e->env.n_workers : e->env.n_servers);
    enum rc rc = RC_OK;

    if (e->kind == PS_ECHO_ZEROMQ)
        TRY(bare_echo_open(&e->zmq, e->env.world, e->env.transport, e->env.n_workers));
    if (e->kind != PS_ECHO_TRANSPORT)
        goto out;
    TRY(transport_open(&e->transport, e->env.transport, e->env.world));
    e->answer = calloc(n_slots, sizeof *e->answer);
    e->lent = calloc(n_slots, sizeof *e->lent);
    e->tx = calloc(n_slots, sizeof *e->tx);
    e->rx = calloc(n_slots, sizeof *e->rx);
    if (!e->answer || !e->lent || !e->tx || !e->rx)
        FAIL(RC_NOMEM, "echo: no memory for %zu messages", n_slots);
out:
    return rc;
}

enum rc ps_echo_open(struct ps_echo **out, const struct ps_echo_env *env)
{
    const struct task_opts task = { .name = "echo", .core = TASK_ON_OWN_CORES, .fn = serve };
    struct ps_echo *e = calloc(1, sizeof *e);
    enum rc rc;

    if (!e)
        return rc_raise(RC_NOMEM, "echo: no memory");
    e->env = *env;
    e->kind = ps_echo_kind_of(env->transport, env->world);
    e->stride_bytes = (frame_bytes(e) + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
    e->n_places = e->n_shared_places = env->n_frames * env->n_blocks;
    if (e->kind == PS_ECHO_TWO_COPY)
        e->n_shared_places = env->n_frames < (size_t)env->n_in_flight ? env->n_frames : (size_t)env->n_in_flight;
    TRY(open_memory(e));
    TRY(open_line(e));
    if (is_server(e)) {
        struct task_opts own = task;
        own.arg = e;
        TRY(world_spawn(&e->task, env->world, &own));
    }
    *out = e;
    e = NULL;
out:
    ps_echo_close(&e);
    return rc;
}

enum rc ps_echo_call(struct ps_echo *e)
{
    const size_t n = e->env.n_frames, n_most = (size_t)e->env.n_in_flight;
    enum rc rc = RC_OK;

    for (size_t n_sent = 0, n_taken = 0; n_taken < n; n_taken++) {
        for (; n_sent < n && n_sent - n_taken < n_most; n_sent++)
            TRY(ops[e->kind].send(e));
        TRY(ops[e->kind].take(e));
    }
out:
    return rc;
}

enum rc ps_echo_end(struct ps_echo *e)
{
    return is_server(e) ? world_join(&e->task) : ops[e->kind].end(e);
}

void ps_echo_close(struct ps_echo **ep)
{
    struct ps_echo *e = ep ? *ep : NULL;

    if (!e)
        return;
    *ep = NULL;
    if (e->task) { /* after an error, whose message stays */
        char message[RC_MESSAGE_BYTES];
        snprintf(message, sizeof message, "%s", rc_message());
        world_stop_tasks(e->env.world, "the server has ended");
        (void)!world_join(&e->task);
        (void)!rc_raise(RC_PEER, "%s", message);
    }
    bare_echo_close(&e->zmq);
    transport_close(&e->transport);
    world_share_close(&e->share);
    world_split_close(&e->host);
    arena_close(&e->arena);
    free(e->answer);
    free(e->lent);
    free(e->tx);
    free(e->rx);
    free(e);
}
