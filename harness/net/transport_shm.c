/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport_shm.c - messages between the ranks of one host, threads or processes, through shared memory (shm_line.h).
 *
 * The sender copies a message in, piece by piece, and the receiver copies, or adds, each piece out while the next one
 * is copied in: two copies, each by one rank, out of the first piece to the last one's end at once. A message for any
 * rank, if it is not too long, is lent to its receiver where the sender put it: one copy.
 *
 * A rank sleeps on the bell in its own block, which others ring for a piece and, where it waits for room, for room. A
 * wait takes what has come and writes what there is room for, for whatever transfer: no order of complete() calls can
 * deadlock (net.T2), and nobody waits for a bell of a rank that has gone (net.T10). The memory and its end, after
 * whatever death: world.H7 and H8; shared memory holds bytes and counts, no pointer and no lock.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "harness/net/shm_in.h"
#include "harness/net/shm_out.h"
#include "harness/net/transport.h"
#include "harness/net/xfer.h"
#include "harness/world/child.h"
#include "harness/world/share.h"
#include "harness/world/wait.h"
#include "harness/world/world.h"

extern const struct transport_ops transport_shm;

struct shm {
    struct transport base;
    struct share *share;   /* of base.world, whose ranks all are on one host */
    struct doorbell *bell; /* of this rank */
    struct shm_in *in;
    struct shm_out *out; /* [n_ranks] */
    int rank, n_ranks;
};

static struct shm *self(struct transport *t)
{
    return (struct shm *)t;
}

/* --- open, close --- */

struct place { /* of a rank */
    char host[64];
    int number; /* of its host */
};

/* RC_UNSUPPORTED names the first rank that is not on rank 0's host. */
static enum rc refuse_hosts(struct world *w, int host)
{
    struct place own = { .number = host }, *all = calloc((size_t)w->n_ranks, sizeof *all);
    enum rc rc = RC_OK;

    if (!all)
        FAIL(RC_NOMEM, "transport shm: no memory for %d ranks", w->n_ranks);
    child_host_name(own.host, sizeof own.host);
    TRY(world_allgather(w, &own, all, sizeof own));
    for (int r = 1; r < w->n_ranks; r++)
        if (all[r].number != all[0].number)
            FAIL(RC_UNSUPPORTED,
                 "--transport shm: rank 0 is on host %s, and rank %d on host %s, which have no memory in common; use "
                 "all "
                 "ranks on one host",
                 all[0].host, r, all[r].host);
out:
    free(all);
    return rc;
}

static struct doorbell *bell_of(const struct shm *t, int rank)
{
    return t->share->peer[rank];
}

/* All ranks' bells are set before any is rung: rank 0 of each share is told by a barrier. */
static enum rc open_lines(struct shm *t, const struct shm_geometry *g)
{
    const int own = t->rank;
    enum rc rc = RC_OK;

    t->out = calloc((size_t)t->n_ranks, sizeof *t->out);
    if (!t->out)
        FAIL(RC_NOMEM, "transport shm: no memory for %d ranks", t->n_ranks);
    TRY(shm_in_open(&t->in, own, t->n_ranks));
    for (int r = 0; r < t->n_ranks; r++) {
        if (r == own)
            continue;
        const struct shm_line_parts from = shm_line_at(g, t->share->mine, own, r);
        const struct shm_line_parts to = shm_line_at(g, t->share->peer[r], r, own);
        shm_in_attach(t->in, r, g, &from, bell_of(t, r));
        shm_out_init(&t->out[r], g, &to, bell_of(t, r));
    }
    t->bell = bell_of(t, own);
    t->bell->between_processes = t->share->kind != SHARE_ADDRESS_SPACE;
out:
    return rc;
}

static void shm_close(struct transport **tp)
{
    struct shm *t = self(*tp);

    for (int r = 0; t->out && r < t->n_ranks; r++)
        if (r != t->rank)
            shm_out_close(&t->out[r]);
    free(t->out);
    shm_in_close(&t->in);
    world_share_close(&t->share);
    free(t);
    *tp = NULL;
}

static enum rc shm_open_planned(struct transport **out, struct world *w, const struct transport_plan *plan)
{
    const struct shm_geometry g = shm_geometry_of(w->n_ranks, plan);
    struct transport *base = NULL;
    struct shm *t;
    int host, n_hosts;
    enum rc rc = RC_OK;

    if (w->ops->module.caps & WORLD_VIRTUAL_TIME)
        return rc_raise(RC_UNSUPPORTED,
                        "transport shm: real memory cannot be waited for in the virtual time of world %s",
                        w->ops->module.name);
    t = calloc(1, sizeof *t);
    if (!t)
        return rc_raise(RC_NOMEM, "transport shm: no memory");
    base = &t->base;
    *base = (struct transport){ .ops = &transport_shm, .world = w };
    t->rank = w->rank;
    t->n_ranks = w->n_ranks;
    TRY(world_host_group(w, NULL, &host, &n_hosts)); /* no part: a rank with a communicator opens transports, too */
    if (n_hosts > 1)
        TRY(refuse_hosts(w, host));
    TRY(world_share_open(w, g.block_bytes, &t->share));
    TRY(open_lines(t, &g));
    TRY(world_barrier(w)); /* nobody rings a bell before it is set */
    *out = base;
    base = NULL;
out:
    if (base)
        shm_close(&base);
    return rc;
}

static enum rc shm_open(struct transport **out, struct world *w)
{
    const struct transport_plan any = { .most_message_bytes = 0 };

    return shm_open_planned(out, w, &any);
}

/* --- transfers --- */

static enum rc shm_post_send(struct transport *t, struct xfer *x)
{
    x->priv = NULL;
    shm_out_post(&self(t)->out[x->peer], x);
    return RC_OK;
}

static enum rc shm_post_recv(struct transport *t, struct xfer *x)
{
    shm_in_post(self(t)->in, x);
    return RC_OK;
}

/* Take what has come, write what there is room for; for_any: shm_in_take()'s; *is_some: there was something. */
static enum rc progress(struct shm *t, bool for_any, bool *is_some)
{
    enum rc rc;

    *is_some = false;
    TRY(shm_in_take(t->in, for_any, is_some));
    for (int r = 0; r < t->n_ranks; r++)
        if (r != t->rank && shm_out_push(&t->out[r]))
            *is_some = true;
out:
    return rc;
}

struct pause { /* of a wait */
    int peer;  /* for it; -1: for any rank */
    uint64_t started_ns;
    int timeout_ms;
    bool is_expired;
};

/* Until the next ring of the bell behind `seen`, at most to the limit; without sleep where there is more to do.
 * RC_PEER: net.T10. */
static enum rc wait_ring(struct shm *t, struct pause *p, uint32_t seen, bool is_more)
{
    const uint64_t limit_ns = p->timeout_ms > 0 ? (uint64_t)p->timeout_ms * 1000000u : UINT64_MAX;
    enum rc rc;

    TRY(transport_check(&t->base, p->peer)); /* net.T10 */
    if (p->started_ns == 0)
        p->started_ns = wait_clock_ns();
    const uint64_t waited_ns = wait_clock_ns() - p->started_ns;
    p->is_expired = p->timeout_ms == DO_NOT_WAIT || waited_ns >= limit_ns;
    if (!p->is_expired && !is_more)
        (void)doorbell_wait(t->bell, seen, world_may_spin(t->base.world),
                            limit_ns - waited_ns < WAIT_SLICE_NS ? limit_ns - waited_ns : WAIT_SLICE_NS);
out:
    return rc;
}

static enum rc raise_cut(int peer)
{
    return rc_raise(RC_PEER, "rank %d has given up a message that it had begun to send", peer);
}

static enum rc shm_complete(struct transport *base, struct xfer *x, int timeout_ms)
{
    struct shm *t = self(base);
    struct pause pause = { .peer = x->peer, .timeout_ms = timeout_ms };
    enum rc rc = RC_OK;

    for (;;) {
        const uint32_t seen = doorbell_seen(t->bell);
        bool is_some;
        TRY(progress(t, false, &is_some));
        const uint32_t state = atomic_load_explicit(&x->state, memory_order_relaxed);
        if (state == SHM_DONE)
            return RC_OK;
        if (state == SHM_TOO_LONG)
            return rc_raise(RC_MISMATCH, "message from rank %d, tag %u, has %zu bytes, the receiver has room for %zu",
                            x->peer, x->tag, (size_t)(uintptr_t)x->priv, xfer_n_bytes(x));
        if (x->receives && shm_in_is_cut(t->in, x->peer))
            TRY(raise_cut(x->peer));
        TRY(wait_ring(t, &pause, seen, is_some));
        if (pause.is_expired)
            FAIL(RC_TIMEOUT, "rank %d, tag %u: %s not done after %d ms", x->peer, x->tag,
                 x->receives ? "receive" : "send", timeout_ms);
    }
out:
    if (x->receives)
        shm_in_withdraw(t->in, x);
    else
        shm_out_withdraw(&t->out[x->peer], x);
    return rc;
}

static void lend(struct message *out, struct shm_arrival *a)
{
    *out = (struct message){ .ptr = a->bytes, .n_bytes = a->n_bytes, .peer = a->peer, .tag = a->tag, .priv = a };
}

static enum rc shm_recv_message(struct transport *base, struct message *out, int timeout_ms)
{
    struct shm *t = self(base);
    struct pause pause = { .peer = -1, .timeout_ms = timeout_ms };
    enum rc rc;

    for (;;) {
        const uint32_t seen = doorbell_seen(t->bell);
        bool is_some;
        TRY(progress(t, !shm_in_has_any(t->in), &is_some)); /* answers go on, too, while messages come */
        struct shm_arrival *a = shm_in_take_any(t->in);
        if (a) {
            lend(out, a);
            return RC_OK;
        }
        out->peer = shm_in_next_cut(t->in);
        if (out->peer >= 0)
            TRY(raise_cut(out->peer));
        TRY(wait_ring(t, &pause, seen, is_some));
        if ((pause.is_expired && timeout_ms == DO_NOT_WAIT) || transport_loss_due(base)) /* net.T12 */
            return RC_OK;
        if (pause.is_expired)
            FAIL(RC_TIMEOUT, "no message from any rank after %d ms", timeout_ms);
    }
out:
    return rc;
}

static void shm_release(struct transport *t, struct message *m)
{
    shm_in_give(self(t)->in, m->priv);
}

static struct memory_need shm_memory(const void *opts, const struct job_facts *facts)
{
    const struct transport_plan any = { .most_message_bytes = 0 };
    const size_t n_bytes = shm_geometry_of(facts->n_workers + facts->n_servers, &any).block_bytes;

    (void)opts;
    return (struct memory_need){ .worker_bytes = n_bytes, .server_bytes = n_bytes };
}

const struct transport_ops transport_shm = {
    .module.name = "shm",
    .module.caps = TR_ADD | TR_MAPPED | TR_CUTS,
    .module.refuses_world = WORLD_VIRTUAL_TIME,
    .module.memory = shm_memory,
    .open = shm_open,
    .open_planned = shm_open_planned,
    .post_send = shm_post_send,
    .post_recv = shm_post_recv,
    .complete = shm_complete,
    .recv_message = shm_recv_message,
    .release = shm_release,
    .close = shm_close,
};
