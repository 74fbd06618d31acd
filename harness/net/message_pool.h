/* SPDX-License-Identifier: Apache-2.0 */
/* message_pool.h - memory for whole messages, reused for messages of about the same length. Private to transports. */
#ifndef HARNESS_NET_MESSAGE_POOL_H
#define HARNESS_NET_MESSAGE_POOL_H

#include <stddef.h>

enum { POOL_N_CLASSES = 40 };

struct pooled { /* memory of one message, of malloc() */
    int power;
    struct pooled *next;
    _Alignas(64) char bytes[];
};

struct message_pool {                    /* zeroed: empty */
    struct pooled *free[POOL_N_CLASSES]; /* by capacity: 4 KiB times a power of two */
    int n_free;
};

/* Room for n_bytes or more; NULL: no memory. */
struct pooled *pooled_take(struct message_pool *pool, size_t n_bytes);
void pooled_give(struct message_pool *pool, struct pooled *p);
void message_pool_fini(struct message_pool *pool); /* the taker must free memory that was not given back */

#endif
