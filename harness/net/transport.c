/* SPDX-License-Identifier: Apache-2.0 */
/* transport.c - the list of transports, and wrappers that count (T5) and refuse (T6, T7, T8). */
#include "harness/net/transport.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/net/xfer.h"
#include "harness/world/world.h"

extern const struct transport_ops transport_inproc, transport_zmq, transport_mpi, transport_sim;

static const struct module *transport_at(int i)
{
    static const struct module *const all[] = {
        &transport_inproc.module,
#if GRADMARK_HAVE_MPI
        &transport_mpi.module,
#endif
#if GRADMARK_HAVE_SIMGRID
        &transport_sim.module,
#endif
        &transport_zmq.module,
        NULL,
    };

    return all[i];
}

static const struct module_absent absent[] = {
#if !GRADMARK_HAVE_MPI
    { "mpi", GRADMARK_MPI_WHY_NOT, 0 },
#endif
#if !GRADMARK_HAVE_SIMGRID
    { "sim", GRADMARK_SIMGRID_WHY_NOT, 0 },
#endif
    { NULL, NULL, 0 },
};

const char transport_of_nothing[] = "none";
const struct module_kind transport_kind = { "transport", transport_at, absent, NULL, NULL };

enum rc transport_find(const struct transport_ops **out, const char *name)
{
    const struct module *m;
    enum rc rc;

    TRY(module_find(&m, &transport_kind, name));
    *out = (const struct transport_ops *)m;
out:
    return rc;
}

enum rc transport_open(struct transport **out, const struct transport_ops *ops, struct world *w)
{
    *out = NULL;
    return ops->open(out, w);
}

static enum rc remember(struct transport *t, enum rc rc)
{
    if (rc != RC_OK)
        t->dead = rc; /* T6 */
    return rc;
}

static enum rc refuse(const struct transport *t, const struct xfer *x, bool receives)
{
    if (t->dead != RC_OK)
        return rc_raise(t->dead, "transport %s: used after an error", t->ops->module.name);
    if (x->peer < 0 || x->peer >= t->world->n_ranks || x->peer == t->world->rank)
        return rc_raise(RC_INVAL, "transport %s: rank %d has no peer %d among %d ranks", t->ops->module.name,
                        t->world->rank, x->peer, t->world->n_ranks);
    if (x->n_hollow_bytes > 0 && !(t->ops->module.caps & TR_HOLLOW)) /* T7 */
        return rc_raise(RC_UNSUPPORTED, "transport %s: carries real bytes only, %zu hollow ones were posted",
                        t->ops->module.name, x->n_hollow_bytes);
    if (receives && (x->tag & TAG_ANY)) /* T8 */
        return rc_raise(RC_INVAL, "transport %s: tag %#x is received by recv_message only", t->ops->module.name,
                        x->tag);
    if (x->add && !(t->ops->module.caps & TR_ADD))
        return rc_raise(RC_UNSUPPORTED, "transport %s: cannot add in place", t->ops->module.name);
    return RC_OK;
}

enum rc transport_send(struct transport *t, struct xfer *x)
{
    enum rc rc;

    world_tick(t->world);
    TRY(refuse(t, x, false));
    x->receives = false;
    TRY(remember(t, t->ops->post_send(t, x)));
    t->moved.msgs_sent++; /* T5 */
    t->moved.bytes_sent += xfer_n_bytes(x) + x->n_hollow_bytes;
out:
    return rc;
}

enum rc transport_recv(struct transport *t, struct xfer *x)
{
    enum rc rc;

    world_tick(t->world);
    TRY(refuse(t, x, true));
    x->receives = true;
    TRY(remember(t, t->ops->post_recv(t, x)));
out:
    return rc;
}

enum rc transport_wait(struct transport *t, struct xfer *x, int timeout_ms)
{
    world_tick(t->world);
    const enum rc rc = remember(t, t->ops->complete(t, x, timeout_ms)); /* T3: also when dead */

    if (rc == RC_OK && x->receives) {
        t->moved.msgs_recv++;
        t->moved.bytes_recv += xfer_n_bytes(x) + x->n_hollow_bytes;
    }
    return rc;
}

enum rc transport_exchange(struct transport *t, struct xfer *tx, struct xfer *rx, int timeout_ms)
{
    char first_message[RC_MESSAGE_BYTES];
    enum rc rc = transport_recv(t, rx);

    if (rc != RC_OK)
        return rc;
    const bool sent = (rc = transport_send(t, tx)) == RC_OK;
    if (rc == RC_OK)
        rc = transport_wait(t, rx, timeout_ms);
    if (rc == RC_OK)
        return transport_wait(t, tx, timeout_ms);
    /* Both are ended whatever happened (T3); the first error is reported. */
    snprintf(first_message, sizeof first_message, "%s", rc_message());
    (void)!transport_wait(t, sent ? tx : rx, DO_NOT_WAIT);
    return rc_raise(rc, "%s", first_message);
}

/* Move the border between head and ptr to n_head_bytes, or to the end of a shorter message (T11). */
static enum rc divide(struct message *m, size_t n_head_bytes)
{
    const size_t n_bytes = m->n_head_bytes + m->n_bytes;
    const size_t n_first = n_head_bytes < n_bytes ? n_head_bytes : n_bytes;

    if (m->n_head_bytes != n_first) {
        const unsigned char *whole = m->n_head_bytes == 0 ? m->ptr : m->head;
        if (m->n_head_bytes > 0 && m->n_bytes > 0) { /* in two places, neither of which has what is wanted */
            m->copy = malloc(n_bytes);
            if (!m->copy)
                return rc_raise(RC_NOMEM, "no memory for a message of %zu bytes from rank %d", n_bytes, m->peer);
            memcpy(m->copy, m->head, m->n_head_bytes);
            memcpy((char *)m->copy + m->n_head_bytes, m->ptr, m->n_bytes);
            whole = m->copy;
        }
        m->head = whole;
        m->ptr = whole + n_first;
    }
    m->n_head_bytes = n_first;
    m->n_bytes = n_bytes - n_first;
    return RC_OK;
}

enum rc transport_recv_divided(struct transport *t, struct message *out, size_t n_head_bytes, int timeout_ms)
{
    enum rc rc;

    *out = (struct message){ .peer = -1 };
    world_tick(t->world);
    if (t->dead != RC_OK)
        return rc_raise(t->dead, "transport %s: used after an error", t->ops->module.name);
    TRY(remember(t, t->ops->recv_message(t, out, timeout_ms)));
    if (out->peer >= 0) {
        rc = remember(t, divide(out, n_head_bytes));
        if (rc != RC_OK) {
            transport_release(t, out);
            goto out;
        }
        t->moved.msgs_recv++;
        t->moved.bytes_recv += out->n_head_bytes + out->n_bytes + out->n_hollow_bytes;
    }
out:
    return rc;
}

enum rc transport_recv_message(struct transport *t, struct message *out, int timeout_ms)
{
    return transport_recv_divided(t, out, 0, timeout_ms);
}

void transport_release(struct transport *t, struct message *m)
{
    free(m->copy);
    if (m->peer >= 0)
        t->ops->release(t, m);
    *m = (struct message){ .peer = -1 };
}

void transport_close(struct transport **t)
{
    if (t && *t)
        (*t)->ops->close(t);
}
