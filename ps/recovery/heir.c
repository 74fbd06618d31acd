/* SPDX-License-Identifier: Apache-2.0 */
/* heir.c - see heir.h. */
#include "ps/recovery/heir.h"

#include <stdio.h>

#include "harness/world/world.h"

int ps_living(const struct sync_env *env, int from)
{
    for (int i = 0; i < env->n_servers; i++) {
        const int server = (from + i) % env->n_servers;
        if (!world_is_lost(env->world, env->n_workers + server))
            return server;
    }
    return -1;
}

enum rc ps_forgive_loss(struct world *w, int rank, enum rc rc)
{
    char message[RC_MESSAGE_BYTES];

    if (rc != RC_PEER || !world_is_lost(w, rank))
        return rc;
    (void)snprintf(message, sizeof message, "%s", rc_message());
    if (world_check(w) != RC_OK)
        return rc_raise(rc, "%s", message);
    return RC_OK;
}
