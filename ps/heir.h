/* SPDX-License-Identifier: Apache-2.0 */
/* heir.h - who takes the place of a server that is lost: the next one that is not, the first behind the last. */
#ifndef PS_HEIR_H
#define PS_HEIR_H

#include "harness/exchange/sync_mode.h"

struct world;

/* Of the slice of server s. */
static inline int ps_heir(int s, int n_servers)
{
    return (s + 1) % n_servers;
}

/* Whose slice server s is the heir of. */
static inline int ps_home(int s, int n_servers)
{
    return (s + n_servers - 1) % n_servers;
}

/* The first server at `from` or behind it that is not lost, around the ring; -1: all are. So with replicas the holder
 * of slice s is ps_living(env, s), and its heir the next one, as far as this rank knows. */
int ps_living(const struct sync_env *env, int from);

/* Are there any heirs? By a replica (replica.h), or by a snapshot (snapshot.h). */
static inline bool ps_has_heirs(const struct sync_env *env)
{
    return env->n_replicas > 0 || env->snapshots;
}

/* rc, of a transfer with `rank`; RC_OK where that is RC_PEER, the rank is lost, and the run goes on without it. */
enum rc ps_forgive_loss(struct world *w, int rank, enum rc rc) MUST_CHECK;

#endif
