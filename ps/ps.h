/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ps.h - the asynchronous parameter server as a sync mode: each worker pushes its own mean gradient
 * and pulls what the servers then hold; nobody waits for anybody.
 *
 * Which parameters a server holds says placement.h; of them all it has one array, its slice.
 * Ranks 0 .. n_workers-1 are workers, the rest servers.
 */
#ifndef PS_PS_H
#define PS_PS_H

#include "harness/exchange/sync_mode.h"

/* env.transport is required. */
extern const struct sync_mode sync_ps;

#endif
