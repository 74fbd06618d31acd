/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shm_in.h - what one rank receives from other ranks through shared memory: posted receives, and messages that came
 * before their receive or are for any rank. Private to transport shm. One thread.
 *
 *   a message      in the ring goes to                                     in units
 *   of a tag       the oldest receive of that sender and tag, piece by     -
 *                  piece as it comes; none: stays, or our memory (N1)
 *   for any rank   our memory, until it is whole                           is lent there
 *
 * Invariants
 *   N1  A message that no receive takes yet stays in the ring, unless a later message could be awaited, or its sender
 *       wants room: then it is moved to our memory. So what a sender may send, and what a receiver may wait
 *       for, does not depend on the posted receives (net.T2). The usual message is copied once here.
 *   N2  A message in the ring that is received by tag is copied once here, or added (TR_ADD), and its room is free
 *       again piece by piece.
 *   -   Our memory holds no more than senders have ended (net.M1, T13).
 */
#ifndef HARNESS_NET_SHM_IN_H
#define HARNESS_NET_SHM_IN_H

#include <stdbool.h>

#include "harness/base/rc.h"
#include "harness/net/shm_line.h"

struct doorbell;
struct shm_in;
struct xfer;

struct shm_arrival { /* a message that no receive takes yet */
    struct shm_arrival *next;
    const unsigned char *bytes;
    size_t n_bytes;
    int peer;
    uint32_t tag;
    int unit;              /* its first unit; -1: it is in `pooled` */
    struct pooled *pooled; /* NULL: no bytes */
    bool is_whole;
    struct xfer *x; /* takes it once it is whole; NULL: none yet */
};

enum rc shm_in_open(struct shm_in **out, int rank, int n_ranks) MUST_CHECK;
/* For each other rank, before the first take. sender: its bell, rung if it waits for room. */
void shm_in_attach(struct shm_in *in, int peer, const struct shm_geometry *g, const struct shm_line_parts *line,
                   struct doorbell *sender);
/* x->state: SHM_POSTED, then SHM_DONE, or SHM_TOO_LONG with the length at x->priv (net.T9). */
void shm_in_post(struct shm_in *in, struct xfer *x);
/* net.N1; for_any: a message for any rank is awaited; *is_some: something was taken. RC_NOMEM. */
enum rc shm_in_take(struct shm_in *in, bool for_any, bool *is_some) MUST_CHECK;
bool shm_in_has_any(const struct shm_in *in);
/* The oldest message for any rank; NULL: none. It belongs to the caller until it is given back. */
struct shm_arrival *shm_in_take_any(struct shm_in *in);
void shm_in_give(struct shm_in *in, struct shm_arrival *a);
/* net.T3: x, which has not ended, will not be written any more. */
void shm_in_withdraw(struct shm_in *in, struct xfer *x);
/* Has this peer given up a message that it had begun, and is everything before it taken? */
bool shm_in_is_cut(struct shm_in *in, int peer);
/* A peer with such a cut, each once; -1: none. */
int shm_in_next_cut(struct shm_in *in);
void shm_in_close(struct shm_in **in); /* NULL-safe, nulls; ends what was lent */

#endif
