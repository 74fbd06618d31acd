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

/* --- on a worker, beside exchange(): halves of it, and several pieces at once --- */

enum { PS_CREDITS = 8 }; /* transfers of a worker that are posted and not ended, at most (wire.P4) */

enum ps_move {
    PS_MOVE_BOTH, /* push and pull, as exchange() does */
    PS_MOVE_UP,   /* push: grad is applied; param is neither read nor written */
    PS_MOVE_DOWN, /* pull: param := what the servers hold; grad and lr are not used */
};

/* Begin to move piece k; does not wait for a server. param, grad: as of exchange(), lent until it is ended. At most
 * PS_CREDITS are posted and not ended, of different pieces. Errors: those of exchange(); nothing is posted any more. */
enum rc ps_post(struct sync *s, enum ps_move move, size_t k, float lr, float *param, float *grad) MUST_CHECK;
/* End the one that was posted first. *out was zeroed. Errors: likewise. */
enum rc ps_end(struct sync *s, float *param, struct piece_cost *out) MUST_CHECK;

#endif
