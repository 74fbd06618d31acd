/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shm_out.h - what one rank sends another through shared memory. Private to transport shm. Cannot fail; never waits.
 *
 *   post -> queue -> units, or piece by piece into the ring as there is room -> DONE
 *
 * Invariants
 *   O1  A message is written once, from the caller's memory to where the receiver reads it, and ends when all of it is.
 *       So its sender is ahead of its receiver by a ring and units, and no more (T13).
 *   O2  Messages go in the order of their posts (T4), those in units too: their heads are in the ring.
 *   O3  A message for any rank goes into units where a run is free, for its receiver may read it there as long as it
 *       likes; where none is, it goes through the ring, which its receiver empties whatever it holds. So a receiver
 *       that holds messages and waits for others gets those (T2).
 *   O4  The receiver is rung after each piece, and goes on while the next one is copied.
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
    bool has_begun; /* the first of the queue: its head is in the ring, and n_done of its bytes */
    size_t n_done;
};

void shm_out_init(struct shm_out *o, const struct shm_geometry *g, const struct shm_line_parts *line,
                  struct doorbell *bell);
/* T1. Writes what can be written. */
void shm_out_post(struct shm_out *o, struct xfer *x);
/* Go on; true: something was written. */
bool shm_out_push(struct shm_out *o);
/* T3: x, which has not ended, is not read any more. What it had begun is cut. */
void shm_out_withdraw(struct shm_out *o, struct xfer *x);
/* Drop all. */
void shm_out_close(struct shm_out *o);

#endif
