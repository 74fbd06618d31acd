/* SPDX-License-Identifier: Apache-2.0 */
/* transport_fault.c - one planted fault; the contract is in transport_fault.h. */
#include "harness/net/suite/transport_fault.h"

#include <stdlib.h>

#include "harness/net/transport.h"
#include "harness/net/xfer.h"
#include "harness/world/world.h"

struct faulty {
    struct transport base;
    struct transport_ops ops; /* ours, with the caps of the inner one */
    struct transport *inner;
    struct fault fault;
    uint64_t n_sends;
    struct xfer *dropped; /* posted, never to be sent */
    struct xfer *cut;     /* posted one byte short */
    size_t *cut_part;     /* the length in it that is too small */
    struct xfer second;   /* FAULT_DUPLICATE: the other one, with memory of its own until close */
};

static struct faulty *self(struct transport *t)
{
    return (struct faulty *)t;
}

static enum rc inner_send(struct faulty *f, struct xfer *x)
{
    return f->inner->ops->post_send(f->inner, x);
}

static enum rc send_twice(struct faulty *f, struct xfer *x)
{
    enum rc rc;

    f->second = *x;
    f->second.n_bytes = xfer_n_bytes(x);
    f->second.head = NULL;
    f->second.n_head_bytes = 0;
    f->second.ptr = malloc(f->second.n_bytes > 0 ? f->second.n_bytes : 1);
    if (!f->second.ptr)
        return rc_raise(RC_NOMEM, "no memory for a duplicate");
    xfer_copy_out(f->second.ptr, x);
    TRY(inner_send(f, x));
    TRY(inner_send(f, &f->second));
out:
    return rc;
}

static bool fault_sends_lent(const struct transport *t, size_t n_body_bytes)
{
    return transport_sends_lent(((const struct faulty *)t)->inner, n_body_bytes);
}

static enum rc fault_post_send(struct transport *t, struct xfer *x)
{
    struct faulty *f = self(t);
    const bool hit = f->fault.rank == t->world->rank && f->n_sends == f->fault.nth;

    f->n_sends++;
    if (f->dropped == x)
        f->dropped = NULL;
    if (!hit)
        return inner_send(f, x);
    switch (f->fault.kind) {
    case FAULT_DROP:
        f->dropped = x;
        return RC_OK;
    case FAULT_DELAY:
        world_pause(t->world, f->fault.delay_ns);
        break;
    case FAULT_TRUNCATE:
        if (xfer_n_bytes(x) > 0) {
            f->cut = x;
            f->cut_part = x->n_bytes > 0 ? &x->n_bytes : &x->n_head_bytes;
            --*f->cut_part;
        }
        break;
    case FAULT_DUPLICATE:
        return send_twice(f, x);
    case FAULT_NONE:
        break;
    }
    return inner_send(f, x);
}

static enum rc fault_post_recv(struct transport *t, struct xfer *x)
{
    return self(t)->inner->ops->post_recv(self(t)->inner, x);
}

static enum rc fault_complete(struct transport *t, struct xfer *x, int timeout_ms)
{
    struct faulty *f = self(t);

    if (f->dropped == x) {
        f->dropped = NULL;
        return RC_OK;
    }
    transport_follow(f->inner, t);
    const enum rc rc = f->inner->ops->complete(f->inner, x, timeout_ms);
    if (f->cut == x) {
        ++*f->cut_part; /* as its owner knows it */
        f->cut = NULL;
    }
    return rc;
}

static enum rc fault_recv_message(struct transport *t, struct message *out, int timeout_ms)
{
    transport_follow(self(t)->inner, t);
    return self(t)->inner->ops->recv_message(self(t)->inner, out, timeout_ms);
}

static void fault_release(struct transport *t, struct message *m)
{
    self(t)->inner->ops->release(self(t)->inner, m);
}

static void fault_close(struct transport **tp)
{
    struct faulty *f = self(*tp);

    transport_close(&f->inner);
    free(f->second.ptr);
    free(f);
    *tp = NULL;
}

enum rc transport_fault_open(struct transport **out, const struct transport_ops *inner, struct world *w,
                             const struct fault *fault)
{
    struct faulty *f = calloc(1, sizeof *f);
    enum rc rc;

    *out = NULL;
    if (!f)
        return rc_raise(RC_NOMEM, "no memory for a faulty transport");
    f->ops = (struct transport_ops){
        .module.name = "fault",
        .module.caps = inner->module.caps,
        .post_send = fault_post_send,
        .sends_lent = fault_sends_lent,
        .post_recv = fault_post_recv,
        .complete = fault_complete,
        .recv_message = fault_recv_message,
        .release = fault_release,
        .close = fault_close,
    };
    f->base = (struct transport){ .ops = &f->ops, .world = w };
    f->fault = *fault;
    TRY(transport_open(&f->inner, inner, w));
    *out = &f->base;
    f = NULL;
out:
    free(f);
    return rc;
}

uint64_t transport_fault_n_sends(const struct transport *t)
{
    return ((const struct faulty *)t)->n_sends;
}
