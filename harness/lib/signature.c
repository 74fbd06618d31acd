/* SPDX-License-Identifier: Apache-2.0 */
/* signature.c - which collective function a rank calls, with which arguments; see signature.h. */
#include "harness/lib/signature.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/base/bytes.h"
#include "harness/net/xfer_queue.h"
#include "harness/world/world.h"

enum { SIGNATURE_BYTES = 16, TEXT_BYTES = 128, TAG_OF_BEFORE = 1, TAG_OF_ROOT, MOST_RECEIVED = 2 };

struct received {
    struct xfer xfer;
    unsigned char bytes[SIGNATURE_BYTES];
};

struct comparing {
    struct transport base;
    struct transport_ops ops; /* ours, with the caps of the inner one */
    struct transport *inner;
    unsigned char own[SIGNATURE_BYTES];      /* of the call in progress, and so is the rest */
    struct xfer *sent;                       /* [n_sent] of n_ranks */
    struct received received[MOST_RECEIVED]; /* [n_received], of which n_compared are compared */
    int n_sent, n_received, n_compared;
    struct xfer_queue held; /* receives that wait for the comparison (lib.G3), in posting order */
};

static struct comparing *self(struct transport *t)
{
    return (struct comparing *)t;
}

/* --- what a rank calls --- */

static void put(unsigned char out[SIGNATURE_BYTES], const struct signature *s)
{
    bytes_put(out, (uint64_t)s->function, 4);
    bytes_put(out + 4, (uint64_t)s->with, 4);
    bytes_put(out + 8, (uint64_t)s->n, 8);
}

/* What is in a signature, for messages. */
static void say(char text[TEXT_BYTES], const unsigned char in[SIGNATURE_BYTES])
{
    static const struct {
        const char *name, *op;
    } of[] = { [CALL_ALLREDUCE_SUM] = { "gm_allreduce", " (GM_SUM)" },
               [CALL_ALLREDUCE_AVERAGE] = { "gm_allreduce", " (GM_AVERAGE)" },
               [CALL_ALLREDUCE_INTO_SUM] = { "gm_allreduce_into", " (GM_SUM)" },
               [CALL_ALLREDUCE_INTO_AVERAGE] = { "gm_allreduce_into", " (GM_AVERAGE)" },
               [CALL_BROADCAST] = { "gm_broadcast", "" },
               [CALL_ALLGATHER] = { "gm_allgather", "" },
               [CALL_BARRIER] = { "gm_barrier", "" },
               [CALL_SGD_STEP] = { "gm_sgd_step", "" },
               [CALL_PS_OPEN] = { "gm_ps_open", "" },
               [CALL_FINALIZE] = { "gm_finalize", "" } };
    const uint64_t function = bytes_get(in, 4), with = bytes_get(in + 4, 4), n = bytes_get(in + 8, 8);
    char more[48] = "";

    if (function >= N_GM_FUNCTIONS)
        snprintf(text, TEXT_BYTES, "an unknown function");
    else if (function == CALL_BARRIER || function == CALL_FINALIZE)
        snprintf(text, TEXT_BYTES, "%s", of[function].name);
    else {
        if (function == CALL_BROADCAST)
            snprintf(more, sizeof more, " from rank %" PRIu64, with);
        if (function == CALL_PS_OPEN)
            snprintf(more, sizeof more, " with n_servers %" PRIu64, with);
        snprintf(text, TEXT_BYTES, "%s of %" PRIu64 " float%s%s%s", of[function].name, n, n == 1 ? "" : "s",
                 of[function].op, more);
    }
}

static enum rc compare(const struct comparing *c, const struct received *r)
{
    char ours[TEXT_BYTES], theirs[TEXT_BYTES];

    if (r->xfer.n_bytes == SIGNATURE_BYTES && memcmp(c->own, r->bytes, SIGNATURE_BYTES) == 0)
        return RC_OK;
    say(ours, c->own);
    say(theirs, r->bytes);
    return rc_raise(RC_MISMATCH, "this rank called %s, but rank %d called %s: all ranks must call the same", ours,
                    r->xfer.peer, theirs);
}

/* --- receives that wait for the comparison ------------------------------------------------------------------------ */

/* False: x is not held, but posted. */
static bool drop_held(struct comparing *c, const struct xfer *x)
{
    for (struct xfer **link = &c->held.first; *link; link = &(*link)->next)
        if (*link == x) {
            xfer_queue_take(&c->held, link);
            return true;
        }
    return false;
}

static enum rc post_held(struct comparing *c)
{
    enum rc rc = RC_OK;

    while (c->held.first)
        TRY(c->inner->ops->post_recv(c->inner, xfer_queue_take(&c->held, &c->held.first)));
out:
    return rc;
}

/* rc of a wait for a rank: what a time-out means. */
static enum rc ended(const struct comparing *c, int peer, int timeout_ms, enum rc rc)
{
    char ours[TEXT_BYTES];

    if (rc != RC_TIMEOUT)
        return rc;
    say(ours, c->own);
    return rc_raise(rc, "rank %d did not come within %.6g s; this rank called %s", peer, 1e-3 * timeout_ms, ours);
}

/* Compares the signatures that come from neighbours, then posts the receives that were held until then. */
static enum rc compare_all(struct comparing *c, int timeout_ms)
{
    enum rc rc = RC_OK;

    while (c->n_compared < c->n_received) {
        struct received *r = &c->received[c->n_compared++];
        TRY(ended(c, r->xfer.peer, timeout_ms, c->inner->ops->complete(c->inner, &r->xfer, timeout_ms)));
        TRY(compare(c, r));
    }
    TRY(post_held(c));
out:
    return rc;
}

/* --- the transport ------------------------------------------------------------------------------------------------ */

static enum rc comparing_post_send(struct transport *t, struct xfer *x)
{
    return self(t)->inner->ops->post_send(self(t)->inner, x);
}

static enum rc comparing_post_recv(struct transport *t, struct xfer *x)
{
    struct comparing *c = self(t);

    if (c->n_compared == c->n_received)
        return c->inner->ops->post_recv(c->inner, x);
    xfer_queue_append(&c->held, x);
    return RC_OK;
}

static bool is_signature(const struct comparing *c, const struct xfer *x)
{
    return x == &c->received[0].xfer || x == &c->received[1].xfer;
}

/* T3, after an error or without waiting. */
static enum rc give_up(struct comparing *c, struct xfer *x)
{
    if (drop_held(c, x))
        return rc_raise(RC_TIMEOUT, "rank %d, tag %u: receive not done", x->peer, x->tag);
    return c->inner->ops->complete(c->inner, x, DO_NOT_WAIT);
}

static enum rc comparing_complete(struct transport *t, struct xfer *x, int timeout_ms)
{
    struct comparing *c = self(t);
    char message[RC_MESSAGE_BYTES];

    transport_follow(c->inner, t);
    if (timeout_ms == DO_NOT_WAIT)
        return give_up(c, x);
    const enum rc rc = compare_all(c, timeout_ms);
    if (is_signature(c, x))
        return rc;
    if (rc == RC_OK)
        return c->inner->ops->complete(c->inner, x, timeout_ms);
    snprintf(message, sizeof message, "%s", rc_message());
    (void)!give_up(c, x);
    return rc_raise(rc, "%s", message);
}

static bool comparing_sends_lent(const struct transport *t, size_t n_body_bytes)
{
    return transport_sends_lent(((const struct comparing *)t)->inner, n_body_bytes);
}

static void comparing_close(struct transport **t)
{
    struct comparing *c = self(*t);

    transport_close(&c->inner);
    free(c->sent);
    free(c);
    *t = NULL;
}

enum rc signature_transport_open(struct transport **out, const struct transport_ops *inner, struct world *w)
{
    struct comparing *c = calloc(1, sizeof *c);
    enum rc rc = RC_OK;

    *out = NULL;
    if (!c)
        return rc_raise(RC_NOMEM, "no memory for a transport");
    c->ops = (struct transport_ops){
        .module.name = inner->module.name,
        .module.caps = inner->module.caps,
        .post_send = comparing_post_send,
        .sends_lent = comparing_sends_lent,
        .post_recv = comparing_post_recv,
        .complete = comparing_complete,
        .close = comparing_close,
    };
    c->base = (struct transport){ .ops = &c->ops, .world = w };
    xfer_queue_init(&c->held);
    c->sent = calloc((size_t)w->n_ranks, sizeof *c->sent);
    if (!c->sent)
        FAIL(RC_NOMEM, "no memory for %d ranks", w->n_ranks);
    TRY(transport_open(&c->inner, inner, w));
    *out = &c->base;
    c = NULL;
out:
    if (c)
        free(c->sent);
    free(c);
    return rc;
}

/* --- the calls of a rank ------------------------------------------------------------------------------------------ */

static enum rc receive_from(struct comparing *c, int peer, uint32_t tag)
{
    struct received *r = &c->received[c->n_received];
    enum rc rc;

    r->xfer = (struct xfer){ .ptr = r->bytes, .n_bytes = SIGNATURE_BYTES, .peer = peer, .tag = tag, .receives = true };
    TRY(c->inner->ops->post_recv(c->inner, &r->xfer));
    c->n_received++;
out:
    return rc;
}

static enum rc send_to(struct comparing *c, int peer, uint32_t tag)
{
    struct xfer *x = &c->sent[c->n_sent];
    enum rc rc;

    *x = (struct xfer){ .ptr = c->own, .n_bytes = SIGNATURE_BYTES, .peer = peer, .tag = tag };
    TRY(transport_send(&c->base, x));
    c->n_sent++;
out:
    return rc;
}

enum rc signature_begin(struct transport *t, const struct signature *s)
{
    const int p = t->world->n_ranks, rank = t->world->rank, before = (rank + p - 1) % p, next = (rank + 1) % p;
    const bool has_root = s->function == CALL_BROADCAST;
    struct comparing *c = self(t);
    enum rc rc = RC_OK;

    if (p == 1)
        return RC_OK;
    put(c->own, s);
    c->n_sent = c->n_received = c->n_compared = 0;
    TRY(receive_from(c, before, TAG_OF_BEFORE));
    if (has_root && rank != s->with && before != s->with)
        TRY(receive_from(c, s->with, TAG_OF_ROOT));
    TRY(send_to(c, next, TAG_OF_BEFORE));
    for (int r = 0; has_root && rank == s->with && r < p; r++)
        if (r != rank && r != next)
            TRY(send_to(c, r, TAG_OF_ROOT));
out:
    return rc;
}

enum rc signature_end(struct transport *t, int timeout_ms)
{
    struct comparing *c = self(t);
    enum rc rc = RC_OK;

    if (c->n_compared < c->n_received)
        TRY(transport_wait(t, &c->received[0].xfer, timeout_ms));
    for (int i = 0; i < c->n_sent; i++)
        TRY(ended(c, c->sent[i].peer, timeout_ms, transport_wait(t, &c->sent[i], timeout_ms)));
    c->n_sent = 0;
out:
    return rc;
}
