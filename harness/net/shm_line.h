/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shm_line.h - the memory that two ranks share in transport shm: for each direction a ring of bytes and units, both in
 * the receiver's block of shared memory. Private to transport shm.
 *
 *   a block    the receiver's bell, then a line of each other rank, in the order of ranks
 *   a line     struct unit_runs_shared, units, struct byte_ring_shared, bytes of the ring
 *   the ring   messages in sequence, each a struct shm_head on a cache line, followed, unless its bytes are in units,
 *              by its bytes, padded to whole cache lines
 */
#ifndef HARNESS_NET_SHM_LINE_H
#define HARNESS_NET_SHM_LINE_H

#include <stddef.h>
#include <stdint.h>

#include "harness/net/byte_ring.h"
#include "harness/net/transport.h"
#include "harness/net/unit_runs.h"

enum {
    SHM_PIECE_BYTES = 32768, /* copied at once, then ready for the other rank: half the size of a first-level cache */
    SHM_UNITS_LEAST_BYTES = 4096 /* a shorter message is copied out of the ring at once */
};

struct shm_head {
    uint64_t n_bytes;
    uint32_t tag;
    int32_t unit; /* the first unit with the bytes; -1: the bytes follow */
};

struct shm_geometry { /* the same on all ranks */
    int n_ranks;
    size_t ring_bytes, unit_bytes, line_bytes, block_bytes;
};

static inline size_t shm_padded(size_t n_bytes)
{
    return (n_bytes + BYTE_RING_LINE - 1) & ~(size_t)(BYTE_RING_LINE - 1);
}

/* Lines are shorter the more ranks a host has, and no longer than the plan can use (net.T13). Pure. */
struct shm_geometry shm_geometry_of(int n_ranks, const struct transport_plan *plan);

struct shm_line_parts {
    struct unit_runs_shared *runs;
    unsigned char *units;
    void *ring; /* for byte_ring_init() */
};
/* The line from rank `from` to rank `to`, in the block of `to`. */
struct shm_line_parts shm_line_at(const struct shm_geometry *g, void *block, int to, int from);

#endif
