/* SPDX-License-Identifier: Apache-2.0 */
/*
 * byte_ring.h - bytes from one rank to another through memory that both map. Private to transport shm. Cannot fail.
 *
 * Invariants
 *   -   One end puts, one end takes, each used by one thread. Neither waits here or holds anything that the other
 *       needs: if an end dies at any moment, the other keeps what was published, and room that was freed.
 *   R2  Positions count bytes from the beginning: freed <= taken <= written <= freed + n_bytes.
 *   R3  Bytes are taken in the order in which they were put, after byte_ring_publish() and not before.
 *   R4  After byte_ring_free(), and not before, taken bytes are the writer's again.
 *   R5  No ring of a bell is lost: if a writer asked for room and then found too little, the next byte_ring_free() that
 *       makes some reports it.
 */
#ifndef HARNESS_NET_BYTE_RING_H
#define HARNESS_NET_BYTE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BYTE_RING_LINE = 64 }; /* bytes of a cache line; each end writes to separate lines */

struct byte_ring_shared { /* zeroed: empty; at a multiple of BYTE_RING_LINE; the bytes follow */
    _Alignas(64) _Atomic uint64_t n_written;
    _Atomic uint32_t wants_room;
    _Atomic uint32_t is_cut; /* the writer will not put the rest of a message that it had begun */
    _Alignas(64) _Atomic uint64_t n_freed;
};

struct byte_ring { /* one end */
    struct byte_ring_shared *shared;
    unsigned char *bytes;
    size_t n_bytes;
    uint64_t n_own, n_other; /* put or taken here; freed or written at the other end, when last seen */
};

/* Bytes in shared memory for a ring of n_bytes. */
size_t byte_ring_shared_bytes(size_t n_bytes);
/* n_bytes: a multiple of BYTE_RING_LINE. Both ends are initialised before either is used. */
void byte_ring_init(struct byte_ring *r, void *shared, size_t n_bytes);

/* --- the end that puts --- */

/* Bytes that may be put now. */
size_t byte_ring_room(struct byte_ring *r);
/* from[n_bytes], at most byte_ring_room(); from NULL: bytes of any value. */
void byte_ring_put(struct byte_ring *r, const void *from, size_t n_bytes);
void byte_ring_publish(struct byte_ring *r);
/* net.R5: sets whether the writer wants room. Call before reading the room. True: it was different until now. */
bool byte_ring_want_room(struct byte_ring *r, bool wants);
void byte_ring_cut(struct byte_ring *r);

/* --- the end that takes --- */

/* The next bytes that are contiguous; *n_bytes 0: none. Lent until byte_ring_free() after their byte_ring_take(). */
const unsigned char *byte_ring_next(struct byte_ring *r, size_t *n_bytes);
void byte_ring_take(struct byte_ring *r, size_t n_bytes);
/* net.R4. True: the writer wants room, and there is some now (net.R5). */
bool byte_ring_free(struct byte_ring *r);
/* Does the writer want room? */
bool byte_ring_is_wanted(struct byte_ring *r);
/* Was a message cut, and have all of its bytes been taken? */
bool byte_ring_is_cut(struct byte_ring *r);

#endif
