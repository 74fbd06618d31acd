/* SPDX-License-Identifier: Apache-2.0 */
/* exchange_encryption.c - who can read what an exchange sends. */
#include "harness/exchange/collective.h"
#include "harness/exchange/exchange.h"
#include "harness/exchange/exchange_state.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

const char *exchange_encryption(const struct exchange *x)
{
    const struct world *w = x->env.world;
    const struct collective_ops *collective = x->env.collective;

    if (!x->transport || w->n_ranks == 1 || w->ops->module.caps & WORLD_VIRTUAL_TIME)
        return "";
    if (collective && collective->module.caps & COLL_OPAQUE)
        return w->n_host_ranks < w->n_ranks ? "clear" : "local";
    return transport_encryption(x->transport);
}
