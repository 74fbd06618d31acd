/* SPDX-License-Identifier: Apache-2.0 */
/* heir.h - the server that replaces a lost one: the next server that is not lost, around the ring. It is the standby
 * ("heir" in names). */
#ifndef PS_RECOVERY_HEIR_H
#define PS_RECOVERY_HEIR_H

#include "harness/exchange/sync_mode.h"

/* The standby of server s's slice. */
static inline int ps_heir(int s, int n_servers)
{
    return (s + 1) % n_servers;
}

/* The server whose slice server s is the standby of. */
static inline int ps_home(int s, int n_servers)
{
    return (s + n_servers - 1) % n_servers;
}

/* The first server from `from` on, around the ring, that is not lost; -1 if every server is lost. So with replicas the
 * holder of slice s is ps_living(env, s), and its standby is the next one, as far as this rank knows. */
int ps_living(const struct sync_env *env, int from);

/* Does a server replace a lost one? It uses a replica (replica.h). */
static inline bool ps_has_heirs(const struct sync_env *env)
{
    return env->n_replicas > 0;
}

#endif
