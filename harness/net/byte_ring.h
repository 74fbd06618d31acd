/* SPDX-License-Identifier: Apache-2.0 */
/*
 * byte_ring.h - bytes from one rank to another through memory that both map. Private to transport shm. Cannot fail.
 *
 * Invariants
 *   R1  One end puts, one end takes, each used by one thread. Neither waits here or holds anything that the other
 *       needs: an end that dies at any moment leaves the other what it had published, and room that it had freed.
 *   R2  Positions count bytes from the beginning: freed <= taken <= written <= freed + n_bytes.
 *   R3  What was put is taken in that order, after byte_ring_publish() and not before.
 *   R4  What was taken is the writer's again after byte_ring_free() and not before.
 *   R5  No ring of a bell is lost: a writer that asked for room and then found too little is reported by the next
 *       byte_ring_free() that makes some.
 */
#ifndef HARNESS_NET_BYTE_RING_H
#define HARNESS_NET_BYTE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BYTE_RING_LINE = 64 }; /* bytes of a cache line; what each end writes is on lines of its own */

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
    uint64_t n_own, n_other; /* put or taken here; freed or written there, when last seen */
};

/* What shared memory holds of a ring of n_bytes. */
size_t byte_ring_shared_bytes(size_t n_bytes);
/* n_bytes: a multiple of BYTE_RING_LINE. Both ends begin before either is used. */
void byte_ring_init(struct byte_ring *r, void *shared, size_t n_bytes);

/* --- the end that puts --- */

/* Bytes that may be put now. */
size_t byte_ring_room(struct byte_ring *r);
/* from[n_bytes], at most byte_ring_room(); from NULL: bytes of any value. */
void byte_ring_put(struct byte_ring *r, const void *from, size_t n_bytes);
void byte_ring_publish(struct byte_ring *r);
/* R5: from now on, or no more. Ask before the look at the room. True: it was otherwise until now. */
bool byte_ring_want_room(struct byte_ring *r, bool wants);
void byte_ring_cut(struct byte_ring *r);

/* --- the end that takes --- */

/* What is there, as far as it lies in one place; *n_bytes 0: nothing. Lent until byte_ring_free() after its
 * byte_ring_take(). */
const unsigned char *byte_ring_next(struct byte_ring *r, size_t *n_bytes);
void byte_ring_take(struct byte_ring *r, size_t n_bytes);
/* R4. True: the writer wants room, and there is some now (R5). */
bool byte_ring_free(struct byte_ring *r);
/* Does the writer want room? */
bool byte_ring_is_wanted(struct byte_ring *r);
/* Was the message cut whose bytes have all been taken? */
bool byte_ring_is_cut(struct byte_ring *r);

#endif
