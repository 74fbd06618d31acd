/* SPDX-License-Identifier: Apache-2.0 */
/* message_pool.c - memory of messages, used again; the contract is in message_pool.h. */
#include "harness/net/message_pool.h"

#include <stdlib.h>

#include "harness/base/arena.h"

enum { MAX_FREE = 64 };

static size_t class_bytes(int power)
{
    return (size_t)4096 << power;
}

struct pooled *pooled_take(struct message_pool *pool, size_t n_bytes)
{
    struct pooled *p;
    int power = 0;

    while (power < POOL_N_CLASSES - 1 && class_bytes(power) < n_bytes)
        power++;
    p = pool->free[power];
    if (p) {
        pool->free[power] = p->next;
        pool->n_free--;
        return p;
    }
    p = huge_alloc(sizeof *p + class_bytes(power));
    if (p)
        p->power = power;
    return p;
}

void pooled_give(struct message_pool *pool, struct pooled *p)
{
    if (pool->n_free >= MAX_FREE) {
        free(p);
        return;
    }
    p->next = pool->free[p->power];
    pool->free[p->power] = p;
    pool->n_free++;
}

void message_pool_fini(struct message_pool *pool)
{
    for (int i = 0; i < POOL_N_CLASSES; i++)
        for (struct pooled *p; (p = pool->free[i]) != NULL;) {
            pool->free[i] = p->next;
            free(p);
        }
}
