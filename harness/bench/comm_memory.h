/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_memory.h - memory for measurements, in rotating blocks; and a walk that evicts it from the caches.
 *
 * Invariants
 *   Y1  Block i of a size has the same offset on every rank, starts on 64 bytes and overlaps no other block.
 *   Y2  Blocks are used in turn, cyclically. With rotated bytes R, a block of n bytes is used again after R / n other
 *       blocks, at most COMM_MOST_BLOCKS.
 *   Y3  A walk reads R bytes of other memory. Values written before, when the blocks were filled, are then no longer in
 *       caches smaller than R (the ranks of a host share R).
 */
#ifndef HARNESS_BENCH_COMM_MEMORY_H
#define HARNESS_BENCH_COMM_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/arena.h"
#include "harness/base/rc.h"

struct compute;
struct share;
struct world;

enum { COMM_MOST_BLOCKS = 1024 };

struct comm_rotation { /* of one size */
    size_t stride_bytes;
    int n_blocks;
};

/* bench.Y2. rotated_bytes: for this rank; 0: one block, which stays in the caches. Pure. */
struct comm_rotation comm_rotation_of(size_t n_bytes, size_t rotated_bytes);
size_t comm_rotation_bytes(struct comm_rotation r);

struct comm_memory {
    struct arena arena;
    struct share *share;    /* NULL: in the arena, or on a device */
    struct compute *device; /* device of the memory, or of its copies; NULL: no device */
    bool is_its_own;        /* device memory, which the host cannot access */
    char *base;             /* NULL: not open */
    size_t n_bytes;
};

/* host: the ranks that share it; NULL: private. Pages are touched; huge pages if the system grants them. Collective
 * over host. RC_NOMEM, RC_UNSUPPORTED, RC_PEER: it can then be closed. */
enum rc comm_memory_open(struct comm_memory *m, struct world *host, size_t n_bytes) MUST_CHECK;
/* Open memory of a device, or of the host for copies from and to it. It is not walked or filled. RC_NOMEM, RC_DEVICE:
 * it can then be closed. */
enum rc comm_memory_open_device(struct comm_memory *m, struct compute *device, bool is_its_own,
                                size_t n_bytes) MUST_CHECK;
void comm_memory_close(struct comm_memory *m); /* of a zeroed one, too */
/* bench.Y1. Block i of the rotation; i grows without limit. NULL if the memory is not open. */
float *comm_memory_block(const struct comm_memory *m, struct comm_rotation r, size_t i);
/* bench.Y3. Reads all of m. Cannot fail. */
void comm_memory_walk(const struct comm_memory *m);

#endif
