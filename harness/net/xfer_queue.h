/* SPDX-License-Identifier: Apache-2.0 */
/* xfer_queue.h - a queue of transfers, linked by xfer.next, oldest first. Private to transports. Cannot fail. */
#ifndef HARNESS_NET_XFER_QUEUE_H
#define HARNESS_NET_XFER_QUEUE_H

#include "harness/net/transport.h"

struct xfer_queue {
    struct xfer *first, **end;
};

static inline void xfer_queue_init(struct xfer_queue *q)
{
    q->first = NULL;
    q->end = &q->first;
}

static inline void xfer_queue_append(struct xfer_queue *q, struct xfer *x)
{
    x->next = NULL;
    *q->end = x;
    q->end = &x->next;
}

/* Takes *link, which is in q, out of it. */
static inline struct xfer *xfer_queue_take(struct xfer_queue *q, struct xfer **link)
{
    struct xfer *x = *link;

    *link = x->next;
    if (q->end == &x->next)
        q->end = link;
    return x;
}

#endif
