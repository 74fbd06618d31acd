/* SPDX-License-Identifier: Apache-2.0 */
/* share_inner.h - code that the implementations of share.h share. Private to harness/world. */
#ifndef HARNESS_WORLD_SHARE_INNER_H
#define HARNESS_WORLD_SHARE_INNER_H

#include <pthread.h>
#include <stdint.h>

#include "harness/world/share.h"

/* Collective: RC_OK if `own` is RC_OK on all ranks. Else all ranks get the code and message of the first rank that
 * failed. The messages are those of rc_message(). RC_PEER, RC_NOMEM. */
enum rc share_agree(struct world *group, enum rc own) MUST_CHECK;

/* Checks the losses that end waits in s: world.H6. */
enum rc share_check_losses(const struct share *s) MUST_CHECK;

/* --- ranks with one address space -------------------------------------------------------------------------------- */

struct share_region; /* the blocks and bells of one share */

struct share_run { /* the regions of a run that are not freed yet */
    pthread_mutex_t lock;
    struct share_region *first;
};

void share_run_init(struct share_run *run);
/* Frees what dead ranks have left. All ranks have ended. */
void share_run_fini(struct share_run *run);

/* In worlds with w->shares: open and close of struct share_ops. */
enum rc share_local_open(struct share **out, struct world *group, size_t n_bytes) MUST_CHECK;
void share_local_close(struct share *s);

/* --- worlds in real time ----------------------------------------------------------------------------------------- */

void share_bell_ring(struct share *s, int peer);
enum rc share_bell_wait(struct share *s, uint32_t seen, uint64_t limit_ns) MUST_CHECK;

extern const struct share_ops thread_share_ops;

#endif
