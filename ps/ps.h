/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ps.h - the asynchronous parameter server as a sync mode: each worker pushes its own mean gradient
 * and pulls the servers' current parameters; no worker waits for another one.
 *
 * placement.h says which parameters a server holds. They form one array, its slice.
 * Ranks 0 .. n_workers-1 are workers, the rest servers.
 */
#ifndef PS_PS_H
#define PS_PS_H

#include "harness/exchange/sync_mode.h"

/* env.transport is required. */
extern const struct sync_mode sync_ps;

/* --- on a worker --- */

/* Outstanding chunks of a worker, unless it is told otherwise, and at most (wire.P4). */
enum { PS_CREDITS = 8, PS_MOST_CREDITS = 1 << 16 };

/* The largest chunk, unless another size is chosen. Its gradient and parameters stay in the cache of a core (1 MiB and
 * more) while a server checks, applies and answers. Shorter chunks cost more system calls, longer ones leave less to do
 * at the same time. */
enum { PS_PARTITION_BYTES = 1 << 18 };

/* Does each chunk have a separate slot at each server (wire.P4)? Not with the parts of ps/recovery. */
static inline bool ps_has_chunk_slots(const struct sync_env *env)
{
    return env->n_in_flight > PS_CREDITS;
}

/* server_mode.post. Without a pull, param is not accessed. Without a push, grad and lr are not used. */
enum rc ps_post(struct sync *s, const struct chunk_work *work) MUST_CHECK;
/* server_mode.complete */
enum rc ps_complete(struct sync *s, float *param, struct chunk_cost *out) MUST_CHECK;

#endif
