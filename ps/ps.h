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

enum { PS_CREDITS = 8 }; /* maximum outstanding transfers of a worker (wire.P4) */

/* server_mode.post. Without a pull, param is not accessed. Without a push, grad and lr are not used. */
enum rc ps_post(struct sync *s, const struct chunk_work *work) MUST_CHECK;
/* server_mode.complete */
enum rc ps_complete(struct sync *s, float *param, struct chunk_cost *out) MUST_CHECK;

#endif
