/* SPDX-License-Identifier: Apache-2.0 */
/* part_message.c - describe, post, wait, check, add: in this order, whoever calls. */
#include "allreduce/part_message.h"

#include <stdio.h>

#include "harness/compute/compute.h"
#include "harness/world/world.h"

enum { SUM_BYTES = 3 * sizeof(float) }; /* of memory, for an element: two are read, one is written */

static struct transport *transport_of(const struct part_message *m)
{
    return m->collective->env.transport;
}

static float *place_of(const struct part_message *m)
{
    return m->data ? m->data + m->part.offset_elems : NULL;
}

/* exchange.A13 */
static const float *input_of(const struct part_message *m)
{
    return m->data && m->from ? m->from + m->part.offset_elems : NULL;
}

static bool is_narrow(const struct part_message *m)
{
    return m->collective->wire != WIRE_F32;
}

/* Of a narrow one; hollow: NULL. */
static uint16_t *halves_of(const struct part_message *m)
{
    return m->data ? m->collective->halves + m->part.offset_elems : NULL;
}

static size_t n_bytes_of(const struct part_message *m)
{
    return m->part.n_elems * wire_elem_bytes(m->collective->wire);
}

static bool is_message(const struct part_message *m)
{
    return m && m->part.n_elems > 0;
}

static void describe(struct part_message *m)
{
    m->xfer = (struct xfer){ .peer = m->peer,
                             .tag = m->tag,
                             .ptr = is_narrow(m) ? (void *)halves_of(m) : (void *)place_of(m),
                             .n_bytes = m->data ? n_bytes_of(m) : 0,
                             .n_hollow_bytes = m->data ? 0 : n_bytes_of(m) };
}

static enum rc describe_sent(struct part_message *m)
{
    struct compute *compute = m->collective->env.compute;
    enum rc rc = RC_OK;

    describe(m);
    if (input_of(m))
        m->xfer.ptr = (void *)input_of(m); /* only read: xfer has one pointer for both ways */
    if (is_narrow(m) && !m->is_narrowed) {
        compute_narrow(compute, halves_of(m), place_of(m), m->part.n_elems, m->collective->wire);
        TRY(compute_sync(compute));
    }
out:
    return rc;
}

static void describe_received(struct part_message *m)
{
    describe(m);
    if (is_narrow(m))
        return;
    m->xfer.add = m->data && m->add && (transport_of(m)->ops->module.caps & TR_ADD);
    m->xfer.addend = m->add ? input_of(m) : NULL;
    if (m->data && m->add && !m->xfer.add && !m->xfer.addend)
        m->xfer.ptr = m->beside;
}

/* In the order of an addition in place: what this rank has, then what came. */
static void add_part(const struct part_message *m)
{
    const struct sum_arrays sum = { (const float *[]){ m->xfer.addend, m->xfer.ptr }, (float *[]){ m->xfer.ptr }, 2, 1,
                                    m->part.n_elems };

    if (m->xfer.addend)
        compute_sum_arrays(m->collective->env.compute, &sum);
    else
        compute_accumulate(m->collective->env.compute, place_of(m), m->xfer.ptr, m->part.n_elems);
}

/* sim: how much longer the sum takes than at the rate of this rank's memory, if software sums elsewhere. */
static void pass_rest_of_sum(const struct part_message *m)
{
    const struct world *w = transport_of(m)->world;
    const double n_bytes = SUM_BYTES * (double)m->part.n_elems, rate = w->collective.sum_bytes_per_s;
    const double rest_s = rate > 0 ? n_bytes / rate - n_bytes / w->memory_bytes_per_s : 0;

    if (m->add && rest_s > 0)
        world_pause(transport_of(m)->world, (uint64_t)(1e9 * rest_s));
}

/* Is all of the part here? Adds it where the transport has not. */
static enum rc accept_part(const struct part_message *m)
{
    struct compute *compute = m->collective->env.compute;
    const size_t n_bytes = m->xfer.n_bytes + m->xfer.n_hollow_bytes;
    enum rc rc = RC_OK;

    if (n_bytes != n_bytes_of(m))
        FAIL(RC_MISMATCH, "%s: rank %d sent %zu bytes where %zu belong", m->collective->ops->module.name, m->peer,
             n_bytes, n_bytes_of(m));
    if (is_narrow(m)) {
        compute_widen(compute, place_of(m), halves_of(m), m->part.n_elems, m->collective->wire, m->add);
        TRY(compute_sync(compute));
    } else if (m->add && !m->xfer.add) {
        add_part(m);
        TRY(compute_sync(compute));
    }
    pass_rest_of_sum(m);
out:
    return rc;
}

enum rc part_send(struct part_message *m)
{
    enum rc rc = RC_OK;

    if (!is_message(m))
        return RC_OK;
    TRY(describe_sent(m));
    TRY(transport_send(transport_of(m), &m->xfer));
    m->is_posted = true;
out:
    return rc;
}

enum rc part_receive(struct part_message *m)
{
    enum rc rc = RC_OK;

    if (!is_message(m))
        return RC_OK;
    describe_received(m);
    TRY(transport_recv(transport_of(m), &m->xfer));
    m->is_posted = true;
out:
    return rc;
}

enum rc part_end(struct part_message *m)
{
    enum rc rc = RC_OK;

    if (!m->is_posted)
        return RC_OK;
    m->is_posted = false;
    TRY(transport_wait(transport_of(m), &m->xfer, m->collective->env.timeout_ms));
    if (m->xfer.receives)
        TRY(accept_part(m));
out:
    return rc;
}

enum rc part_transfer(struct part_message *sent, struct part_message *received)
{
    enum rc rc = RC_OK;

    if (is_message(sent) && is_message(received)) {
        TRY(describe_sent(sent));
        describe_received(received);
        TRY(transport_exchange(transport_of(sent), &sent->xfer, &received->xfer, sent->collective->env.timeout_ms));
        TRY(accept_part(received)); /* not before both are ended: a peer may wait for what is sent */
    } else if (is_message(sent)) {
        TRY(part_send(sent));
        TRY(part_end(sent));
    } else if (is_message(received)) {
        TRY(part_receive(received));
        TRY(part_end(received));
    }
out:
    return rc;
}

enum rc part_round(const struct collective *c, float *data, struct range part)
{
    struct compute *compute = c->env.compute;
    enum rc rc = RC_OK;

    if (c->wire == WIRE_F32 || part.n_elems == 0)
        return RC_OK;
    compute_round(compute, data ? data + part.offset_elems : NULL, NULL, part.n_elems, c->wire, false);
    TRY(compute_sync(compute));
out:
    return rc;
}

enum rc part_give_up(struct part_message *m, size_t n_messages, enum rc why)
{
    char message[RC_MESSAGE_BYTES];

    snprintf(message, sizeof message, "%s", rc_message());
    for (size_t i = 0; i < n_messages; i++) {
        if (m[i].is_posted)
            (void)!transport_wait(transport_of(&m[i]), &m[i].xfer, DO_NOT_WAIT);
        m[i].is_posted = false;
    }
    return rc_raise(why, "%s", message);
}
