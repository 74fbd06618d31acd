/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shm_line.h - what two ranks have in common in transport shm: for each direction a ring of bytes and units, both in
 * the receiver's block of shared memory. Private to transport shm.
 *
 *   a block    the receiver's bell, then a line of each other rank, in the order of ranks
 *   a line     struct unit_runs_shared, units, struct byte_ring_shared, bytes of the ring
 *   the ring   messages one after the other, each a struct shm_head on a cache line, and then, unless its bytes are in
 *              units, those, filled up to whole cache lines
 */
#ifndef HARNESS_NET_SHM_LINE_H
#define HARNESS_NET_SHM_LINE_H

#include <stddef.h>
#include <stdint.h>

#include "harness/net/byte_ring.h"
#include "harness/net/transport.h"
#include "harness/net/unit_runs.h"

enum {
    SHM_PIECE_BYTES = 32768, /* copied at once, then the other rank may go on with it: half of a first-level cache */
    SHM_UNITS_LEAST_BYTES = 4096 /* a shorter message is copied out of the ring at once */
};

struct shm_head {
    uint64_t n_bytes;
    uint32_t tag;
    int32_t unit; /* the first of those that have the bytes; -1: the bytes follow */
};

struct shm_geometry { /* the same on all ranks */
    int n_ranks;
    size_t ring_bytes, unit_bytes, line_bytes, block_bytes;
};

static inline size_t shm_padded(size_t n_bytes)
{
    return (n_bytes + BYTE_RING_LINE - 1) & ~(size_t)(BYTE_RING_LINE - 1);
}

/* Lines are shorter the more ranks a host has, and no longer than the plan has any use for (T13). Pure. */
struct shm_geometry shm_geometry_of(int n_ranks, const struct transport_plan *plan);

struct shm_line_parts {
    struct unit_runs_shared *runs;
    unsigned char *units;
    void *ring; /* for byte_ring_init() */
};
/* Of what rank `from` sends rank `to`, in whose block it is. */
struct shm_line_parts shm_line_at(const struct shm_geometry *g, void *block, int to, int from);

#endif
