/* SPDX-License-Identifier: Apache-2.0 */
/* zmq_address.c - from where the ranks are to where they listen; the contract is in zmq_address.h. */
#include "harness/net/zmq_address.h"

#include <stdio.h>

#include "harness/world/host_address.h"
#include "harness/world/world.h"

static enum rc outside_address(char *out, size_t n_bytes, const struct world *w)
{
    char address[HOST_ADDRESS_BYTES];
    enum rc rc;

    TRY(host_address(address, w->interface));
    (void)snprintf(out, n_bytes, "tcp://%s:*", address);
out:
    return rc;
}

enum rc zmq_address(char *out, size_t n_bytes, const struct world *w)
{
    if (w->n_host_ranks < w->n_ranks && !(w->ops->module.caps & WORLD_SHARED_MEMORY))
        return outside_address(out, n_bytes, w);
    if (w->ops->module.caps & WORLD_SHARED_MEMORY)
        (void)snprintf(out, n_bytes, "inproc://rank-%d", w->rank);
    else
        (void)snprintf(out, n_bytes, "tcp://127.0.0.1:*");
    return RC_OK;
}
