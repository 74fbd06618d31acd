/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shm_out.h - what one rank sends to another through shared memory. Private to transport shm. Cannot fail; never waits.
 *
 *   post -> queue -> units, or piece by piece into the ring as there is room -> DONE
 *
 * Invariants
 *   M1  A message is written once, from the caller's memory to the place where the receiver reads it, and ends when it
 *       is all written. So its sender is ahead of its receiver by at most a ring and units (net.T13).
 *   M2  Messages go in the order of their posts (net.T4), including those in units: their heads are in the ring.
 *   M3  A message for any rank goes into units if a run is free, because its receiver may read it there for any time.
 *       Otherwise it goes through the ring, which its receiver empties even if it holds messages. So a receiver that
 *       holds messages and waits for others gets those (net.T2).
 *   M4  The receiver is rung after each piece, and reads it while the next one is copied.
 */
#ifndef HARNESS_NET_SHM_OUT_H
#define HARNESS_NET_SHM_OUT_H

#include <stdbool.h>

#include "harness/net/shm_line.h"
#include "harness/net/xfer_queue.h"

struct doorbell;

enum shm_state { SHM_POSTED = 1, SHM_DONE, SHM_TOO_LONG }; /* of an xfer, either way */

struct shm_out {
    struct byte_ring ring;
    struct unit_runs runs;
    unsigned char *units;
    struct doorbell *bell; /* the receiver's */
    struct xfer_queue queue;
    bool has_begun; /* the head of the queue's first message is in the ring, and n_done of its bytes */
    size_t n_done;
};

void shm_out_init(struct shm_out *o, const struct shm_geometry *g, const struct shm_line_parts *line,
                  struct doorbell *bell);
/* net.T1. Writes as much as possible. */
void shm_out_post(struct shm_out *o, struct xfer *x);
/* Continues to write; true: something was written. */
bool shm_out_push(struct shm_out *o);
/* net.T3: x, which has not ended, will not be read any more. If it had begun, it is cut. */
void shm_out_withdraw(struct shm_out *o, struct xfer *x);
/* Drops all messages. */
void shm_out_close(struct shm_out *o);

#endif
