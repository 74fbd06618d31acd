/* SPDX-License-Identifier: Apache-2.0 */
/* shm_out.c - what one rank sends to another through shared memory; see shm_out.h. */
#include "harness/net/shm_out.h"

#include <stdatomic.h>
#include <string.h>

#include "harness/net/xfer.h"
#include "harness/world/wait.h"

void shm_out_init(struct shm_out *o, const struct shm_geometry *g, const struct shm_line_parts *line,
                  struct doorbell *bell)
{
    *o = (struct shm_out){ .units = line->units, .bell = bell };
    byte_ring_init(&o->ring, line->ring, g->ring_bytes);
    unit_runs_init(&o->runs, line->runs, g->unit_bytes);
    xfer_queue_init(&o->queue);
}

/* net.M4 */
static void publish(struct shm_out *o)
{
    byte_ring_publish(&o->ring);
    doorbell_ring(o->bell);
}

/* The first of the queue has been written. */
static void end_first(struct shm_out *o)
{
    struct xfer *x = xfer_queue_take(&o->queue, &o->queue.first);

    o->has_begun = false;
    o->n_done = 0;
    atomic_store_explicit(&x->state, SHM_DONE, memory_order_relaxed);
}

/* n_bytes of message x from offset_bytes on, from both its parts (net.T11). */
static void put(struct byte_ring *ring, const struct xfer *x, size_t offset_bytes, size_t n_bytes)
{
    const size_t n_left = offset_bytes < x->n_head_bytes ? x->n_head_bytes - offset_bytes : 0;
    const size_t n_first = n_left < n_bytes ? n_left : n_bytes;

    if (n_first > 0)
        byte_ring_put(ring, (const char *)x->head + offset_bytes, n_first);
    if (n_bytes > n_first)
        byte_ring_put(ring, (const char *)x->ptr + (offset_bytes + n_first - x->n_head_bytes), n_bytes - n_first);
}

static void put_head(struct shm_out *o, const struct xfer *x)
{
    const size_t n_bytes = xfer_n_bytes(x);
    struct shm_head head = { .n_bytes = n_bytes, .tag = x->tag, .unit = -1 };

    if ((x->tag & TAG_ANY) && n_bytes >= SHM_UNITS_LEAST_BYTES) /* net.M3 */
        head.unit = unit_runs_take(&o->runs, n_bytes);
    if (head.unit >= 0)
        xfer_copy_out(o->units + (size_t)head.unit * o->runs.unit_bytes, x);
    byte_ring_put(&o->ring, &head, sizeof head);
    byte_ring_put(&o->ring, NULL, BYTE_RING_LINE - sizeof head);
    o->has_begun = true;
    o->n_done = head.unit >= 0 ? n_bytes : 0;
}

/* Write some of the first message, which is lent meanwhile; false: there is no room. */
static bool push_some(struct shm_out *o)
{
    const struct xfer *x = o->queue.first;
    const size_t n_bytes = xfer_n_bytes(x);
    size_t n;

    if (byte_ring_room(&o->ring) < BYTE_RING_LINE) /* whole lines, always */
        return false;
    if (!o->has_begun)
        put_head(o, x);
    n = byte_ring_room(&o->ring) < SHM_PIECE_BYTES ? byte_ring_room(&o->ring) : SHM_PIECE_BYTES;
    n = n_bytes - o->n_done < n ? n_bytes - o->n_done : n;
    put(&o->ring, x, o->n_done, n);
    byte_ring_put(&o->ring, NULL, shm_padded(n) - n);
    o->n_done += n;
    publish(o);
    if (o->n_done == n_bytes)
        end_first(o);
    return true;
}

bool shm_out_push(struct shm_out *o)
{
    bool is_some = false;

    if (!o->queue.first)
        return false;
    while (o->queue.first && push_some(o))
        is_some = true;
    if (o->queue.first) { /* net.R5: ask, then look again */
        const bool is_new = byte_ring_want_room(&o->ring, true);
        while (o->queue.first && push_some(o))
            is_some = true;
        if (o->queue.first && is_new)
            doorbell_ring(o->bell); /* what the receiver has left in the ring until somebody wants room */
    }
    if (!o->queue.first)
        (void)byte_ring_want_room(&o->ring, false);
    return is_some;
}

void shm_out_post(struct shm_out *o, struct xfer *x)
{
    atomic_store_explicit(&x->state, SHM_POSTED, memory_order_relaxed);
    xfer_queue_append(&o->queue, x);
    (void)shm_out_push(o);
}

void shm_out_withdraw(struct shm_out *o, struct xfer *x)
{
    for (struct xfer **link = &o->queue.first; *link; link = &(*link)->next) {
        if (*link != x)
            continue;
        if (link == &o->queue.first && o->has_begun) { /* and what follows it cannot be sent */
            shm_out_close(o);
            return;
        }
        (void)xfer_queue_take(&o->queue, link);
        return;
    }
}

void shm_out_close(struct shm_out *o)
{
    if (o->has_begun) {
        byte_ring_cut(&o->ring);
        doorbell_ring(o->bell);
    }
    xfer_queue_init(&o->queue);
}
