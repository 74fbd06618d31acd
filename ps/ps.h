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

/* --- on a worker, beside exchange_part(): several pieces at once --- */

enum { PS_CREDITS = 8 }; /* transfers of a worker that are posted and not ended, at most (wire.P4) */

/* sync_mode.post. Without a pull param is neither read nor written, without a push grad and lr are not used. */
enum rc ps_post(struct sync *s, const struct piece_work *work) MUST_CHECK;
/* sync_mode.end */
enum rc ps_end(struct sync *s, float *param, struct piece_cost *out) MUST_CHECK;

#endif
