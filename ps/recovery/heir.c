/* SPDX-License-Identifier: Apache-2.0 */
/* heir.c - see heir.h. */
#include "ps/recovery/heir.h"

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
