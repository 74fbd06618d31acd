/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ps.h - the asynchronous parameter server as a sync mode: each worker pushes its own mean gradient
 * and pulls what the servers then hold; nobody waits for anybody.
 *
 * Parameters are split by bytes over the servers: server s of S holds elements [n s / S, n (s + 1) / S).
 * Ranks 0 .. n_workers-1 are workers, the rest servers.
 */
#ifndef PS_PS_H
#define PS_PS_H

#include "harness/exchange/sync_mode.h"

/* env.transport is required. */
extern const struct sync_mode sync_ps;

/* The elements of server s (0-based) of n_servers. */
struct segment ps_slice(size_t n_params, int n_servers, int s);

#endif
