/* SPDX-License-Identifier: Apache-2.0 */
/* zmq_context.c - a ZeroMQ context and its users; the contract is in zmq_context.h. */
#include "harness/net/zmq_context.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <zmq.h>

#include "harness/net/zmq_files.h"
#include "harness/net/zmq_gate.h"
#include "harness/world/world.h"

enum { OF_A_PEER = 3, LEAST_SOCKETS = 64, MANY_RANKS = 255 }; /* sockets: PUSH, and both ends of its monitor */

struct zmq_context { /* by the ranks of one process */
    void *context;
    atomic_int n_users;
};

/* Every rank may connect to every other. */
static struct zmq_context *create(int n_users, int n_ranks)
{
    struct zmq_context *c = calloc(1, sizeof *c);
    int n_sockets = n_ranks < MANY_RANKS ? n_users * (OF_A_PEER * n_ranks + 1 + GATE_SOCKETS) : INT32_MAX;

    if (!c)
        return NULL;
    c->context = zmq_ctx_new();
    if (!c->context) {
        free(c);
        return NULL;
    }
    const int limit = zmq_ctx_get(c->context, ZMQ_SOCKET_LIMIT);
    if (n_sockets > limit)
        n_sockets = limit;
    (void)zmq_ctx_set(c->context, ZMQ_IO_THREADS, 1);
    (void)zmq_ctx_set(c->context, ZMQ_MAX_SOCKETS, n_sockets < LEAST_SOCKETS ? LEAST_SOCKETS : n_sockets);
    atomic_init(&c->n_users, n_users);
    return c;
}

enum rc zmq_context_open(struct zmq_context **out, struct world *w, bool shares)
{
    struct zmq_context *own = NULL, **all = NULL;
    const bool one_process = shares && (w->ops->module.caps & WORLD_SHARED_MEMORY) != 0;
    const int n_users = one_process ? w->n_ranks : 1;
    enum rc rc = RC_OK;

    if ((!one_process || w->rank == 0) && zmq_files_check_context(n_users) == RC_OK)
        own = create(n_users, world_n_peers(w));
    all = calloc((size_t)w->n_ranks, sizeof *all);
    if (one_process && all)
        TRY(world_allgather(w, &own, all, sizeof own));
    *out = one_process && all ? all[0] : own;
    if (!*out && all)
        TRY(zmq_files_check_context(n_users)); /* of all ranks of this process, as rank 0 found */
    if (!*out || !all)
        FAIL(RC_NOMEM, "transport zmq: no ZeroMQ context");
out:
    free(all);
    return rc;
}

void *zmq_context_ptr(const struct zmq_context *c)
{
    return c->context;
}

bool zmq_may_poll(const struct world *w)
{
    return world_may_spin(w) && 2 * w->n_busy_host_ranks <= w->n_host_cores;
}

void zmq_context_close(struct zmq_context **cp)
{
    struct zmq_context *c = cp ? *cp : NULL;

    if (!c)
        return;
    *cp = NULL;
    if (atomic_fetch_sub(&c->n_users, 1) != 1)
        return;
    while (zmq_ctx_term(c->context) != 0 && errno == EINTR)
        ;
    free(c);
}
