/* SPDX-License-Identifier: Apache-2.0 */
/* xfer_queue.h - queues of what is linked by a member `next`, oldest first; and one of transfers. Private to
 * transports, and to those that hold transfers back. Cannot fail. */
#ifndef HARNESS_NET_XFER_QUEUE_H
#define HARNESS_NET_XFER_QUEUE_H

#include "harness/net/transport.h"

/* struct NAME, NAME_init(), NAME_append(), and NAME_take(), which takes *link, which is in the queue, out of it. */
#define QUEUE_OF(name, element)                                        \
    struct name {                                                      \
        element *first, **end;                                         \
    };                                                                 \
                                                                       \
    static inline void name##_init(struct name *q)                     \
    {                                                                  \
        q->first = NULL;                                               \
        q->end = &q->first;                                            \
    }                                                                  \
                                                                       \
    static inline void name##_append(struct name *q, element *added)   \
    {                                                                  \
        added->next = NULL;                                            \
        *q->end = added;                                               \
        q->end = &added->next;                                         \
    }                                                                  \
                                                                       \
    static inline element *name##_take(struct name *q, element **link) \
    {                                                                  \
        element *taken = *link;                                        \
                                                                       \
        *link = taken->next;                                           \
        if (q->end == &taken->next)                                    \
            q->end = link;                                             \
        return taken;                                                  \
    }

QUEUE_OF(xfer_queue, struct xfer)

#endif
