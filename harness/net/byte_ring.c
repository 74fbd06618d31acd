/* SPDX-License-Identifier: Apache-2.0 */
/* byte_ring.c - bytes from one rank to another through memory that both map; see byte_ring.h. */
#include "harness/net/byte_ring.h"

#include <assert.h>
#include <string.h>

size_t byte_ring_shared_bytes(size_t n_bytes)
{
    return sizeof(struct byte_ring_shared) + n_bytes;
}

void byte_ring_init(struct byte_ring *r, void *shared, size_t n_bytes)
{
    assert(n_bytes > 0 && n_bytes % BYTE_RING_LINE == 0);
    *r = (struct byte_ring){ .shared = shared,
                             .bytes = (unsigned char *)shared + sizeof(struct byte_ring_shared),
                             .n_bytes = n_bytes };
}

size_t byte_ring_room(struct byte_ring *r)
{
    if (r->n_own - r->n_other == r->n_bytes) /* full, as last seen: else the other's line is left alone */
        r->n_other = atomic_load(&r->shared->n_freed);
    return r->n_bytes - (size_t)(r->n_own - r->n_other);
}

void byte_ring_put(struct byte_ring *r, const void *from, size_t n_bytes)
{
    const size_t offset = (size_t)(r->n_own % r->n_bytes), n_end = r->n_bytes - offset;
    const size_t n_first = n_bytes < n_end ? n_bytes : n_end;

    assert(n_bytes <= r->n_bytes - (size_t)(r->n_own - r->n_other)); /* net.R2 */
    if (from && n_first > 0)
        memcpy(r->bytes + offset, from, n_first);
    if (from && n_bytes > n_first)
        memcpy(r->bytes, (const unsigned char *)from + n_first, n_bytes - n_first);
    r->n_own += n_bytes;
}

void byte_ring_publish(struct byte_ring *r)
{
    atomic_store_explicit(&r->shared->n_written, r->n_own, memory_order_release); /* net.R3 */
}

bool byte_ring_want_room(struct byte_ring *r, bool wants)
{
    if (atomic_load_explicit(&r->shared->wants_room, memory_order_relaxed) == (uint32_t)wants)
        return false;
    atomic_store(&r->shared->wants_room, wants); /* net.R5: sequentially consistent with byte_ring_free() */
    return true;
}

bool byte_ring_is_wanted(struct byte_ring *r)
{
    return atomic_load_explicit(&r->shared->wants_room, memory_order_acquire) != 0;
}

void byte_ring_cut(struct byte_ring *r)
{
    atomic_store_explicit(&r->shared->is_cut, 1, memory_order_release);
}

const unsigned char *byte_ring_next(struct byte_ring *r, size_t *n_bytes)
{
    const size_t offset = (size_t)(r->n_own % r->n_bytes), n_end = r->n_bytes - offset;

    if (r->n_other == r->n_own)
        r->n_other = atomic_load_explicit(&r->shared->n_written, memory_order_acquire);
    const size_t n = (size_t)(r->n_other - r->n_own);
    *n_bytes = n < n_end ? n : n_end;
    return r->bytes + offset;
}

void byte_ring_take(struct byte_ring *r, size_t n_bytes)
{
    assert(n_bytes <= (size_t)(r->n_other - r->n_own)); /* net.R2 */
    r->n_own += n_bytes;
}

bool byte_ring_free(struct byte_ring *r)
{
    atomic_store(&r->shared->n_freed, r->n_own); /* net.R4, and R5: before the look at wants_room */
    return atomic_load(&r->shared->wants_room) != 0;
}

bool byte_ring_is_cut(struct byte_ring *r)
{
    const bool is_cut = atomic_load_explicit(&r->shared->is_cut, memory_order_acquire) != 0; /* before the look */

    return is_cut && atomic_load_explicit(&r->shared->n_written, memory_order_acquire) == r->n_own;
}
