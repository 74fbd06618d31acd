/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beat_frame.h - heartbeats, the messages between hosts about their ranks, as bytes: a header and some seats. A seat is
 * the state of one rank (peers.h). Private to harness/world.
 *
 * A frame comes from outside: any program that reaches the port may send one. It is accepted or refused as a whole.
 *
 *   offset_bytes  n_bytes
 *        0           4    "GMHB"
 *        4           4    BEAT_VERSION
 *        8          16    token of the run
 *       24           4    ranks of the run
 *       28           4    the sender: the first rank of its cell (below)
 *       32           4    n_seats
 *       36          48    n_seats times, by growing rank: rank 4, state 1, phase 1, has_failed 1, stop_signal 1,
 *                         silent_ms 4, bucket 4, n_ticks 8, step 8, n_begun 8, n_last 8
 *
 * Whole numbers are little-endian. A cell is a set of ranks whose seats are in one memory: those of a host.
 */
#ifndef HARNESS_WORLD_PROCESS_BEAT_FRAME_H
#define HARNESS_WORLD_PROCESS_BEAT_FRAME_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/rc.h"
#include "harness/world/peers.h"

enum { BEAT_VERSION = 2, BEAT_TOKEN_BYTES = 16, BEAT_HEADER_BYTES = 36, BEAT_SEAT_BYTES = 48 };

struct beat_run { /* known to all processes of a run */
    unsigned char token[BEAT_TOKEN_BYTES];
    int n_ranks;
    const int *cell; /* [n_ranks]: the first rank of each rank's cell; borrowed */
};

struct beat_frame {
    int from; /* first rank of a cell */
    int n_seats;
    const unsigned char *seats; /* in the bytes it was read from */
};

static inline size_t beat_frame_bytes(int n_seats)
{
    return BEAT_HEADER_BYTES + (size_t)n_seats * BEAT_SEAT_BYTES;
}

/* out[BEAT_HEADER_BYTES], and one seat at out[BEAT_SEAT_BYTES]. Cannot fail. */
void beat_put_header(unsigned char *out, const struct beat_run *run, int from, int n_seats);
void beat_put_seat(unsigned char *out, int rank, const struct peer_view *v);

/* The frame bytes[n_bytes]. from_hub: a frame of rank 0, about any ranks; else of another cell, only about its own
 * ranks. RC_MISMATCH: no frame of this run. */
enum rc beat_read(struct beat_frame *out, const struct beat_run *run, bool from_hub, const unsigned char *bytes,
                  size_t n_bytes) MUST_CHECK;
/* Seat i of a frame that was read; returns its rank. Cannot fail. */
int beat_seat(const struct beat_frame *f, int i, struct peer_view *out);

#endif
