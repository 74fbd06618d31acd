/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_memory.h - memory for what is measured, in blocks that are used in turn, and what drives it out of the caches.
 *
 * Invariants
 *   Y1  Block i of a size lies at the same place on every rank, starts on 64 bytes and overlaps no other.
 *   Y2  Blocks are used one after the other, round and round: with rotated bytes R a block of n bytes comes back after
 *       R / n others, COMM_MOST_BLOCKS at most.
 *   Y3  A walk reads R bytes of other memory: what was written to the blocks before, as they were filled, is no longer
 *       in caches that hold less than R (the ranks of a host share R between them).
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

/* Y2. rotated_bytes: of this rank; 0: one block, which stays in the caches. Pure. */
struct comm_rotation comm_rotation_of(size_t n_bytes, size_t rotated_bytes);
size_t comm_rotation_bytes(struct comm_rotation r);

struct comm_memory {
    struct arena arena;
    struct share *share;    /* NULL: in the arena, or of a device */
    struct compute *device; /* whose memory it is, or for whose copies; NULL: no device's */
    bool is_its_own;        /* the device's, which the host cannot reach */
    char *base;             /* NULL: none is open */
    size_t n_bytes;
};

/* host: those that share it; NULL: private. Pages are touched, huge where the system grants them. Collective over
 * host. RC_NOMEM, RC_UNSUPPORTED, RC_PEER: it can be closed. */
enum rc comm_memory_open(struct comm_memory *m, struct world *host, size_t n_bytes) MUST_CHECK;
/* In the memory of a device, or of the host for copies from and to it. Not walked, nor filled. RC_NOMEM, RC_DEVICE: it
 * can be closed. */
enum rc comm_memory_open_device(struct comm_memory *m, struct compute *device, bool is_its_own,
                                size_t n_bytes) MUST_CHECK;
void comm_memory_close(struct comm_memory *m); /* of a zeroed one, too */
/* Y1. Block i of the rotation, i counted on and on; NULL of memory that is not open. */
float *comm_memory_block(const struct comm_memory *m, struct comm_rotation r, size_t i);
/* Y3. Reads all of m. Cannot fail. */
void comm_memory_walk(const struct comm_memory *m);

#endif
