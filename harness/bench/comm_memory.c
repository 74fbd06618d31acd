/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_memory.c - memory for measurements, in rotating blocks; and a walk that evicts it from the caches; see
 * comm_memory.h.
 */
#include "harness/bench/comm_memory.h"

#include <assert.h>

#include "harness/compute/compute.h"
#include "harness/world/share.h"

enum { LINE_BYTES = 64 };

struct comm_rotation comm_rotation_of(size_t n_bytes, size_t rotated_bytes)
{
    const size_t stride_bytes = (n_bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES + (n_bytes == 0) * LINE_BYTES;
    const size_t n_wanted = (rotated_bytes + stride_bytes - 1) / stride_bytes;

    return (struct comm_rotation){ stride_bytes, n_wanted < 1                  ? 1
                                                 : n_wanted > COMM_MOST_BLOCKS ? COMM_MOST_BLOCKS
                                                                               : (int)n_wanted };
}

size_t comm_rotation_bytes(struct comm_rotation r)
{
    return r.stride_bytes * (size_t)r.n_blocks;
}

enum rc comm_memory_open(struct comm_memory *m, struct world *host, size_t n_bytes)
{
    enum rc rc;

    *m = (struct comm_memory){ .n_bytes = n_bytes };
    if (host) {
        TRY(world_share_open(host, n_bytes, &m->share));
        m->base = m->share->mine;
    } else {
        TRY(arena_open(&m->arena, n_bytes));
        m->base = m->arena.base;
    }
out:
    return rc;
}

enum rc comm_memory_open_device(struct comm_memory *m, struct compute *device, bool is_its_own, size_t n_bytes)
{
    void *memory = NULL;
    enum rc rc;

    *m = (struct comm_memory){ .n_bytes = n_bytes };
    TRY(is_its_own ? compute_memory_open(device, &memory, n_bytes, "what is summed")
                   : compute_host_open(device, &memory, n_bytes, "copies of what is summed"));
    m->device = device;
    m->is_its_own = is_its_own;
    m->base = memory;
out:
    return rc;
}

void comm_memory_close(struct comm_memory *m)
{
    void *memory = m->device ? m->base : NULL;

    if (m->device && m->is_its_own)
        compute_memory_close(m->device, &memory);
    else if (m->device)
        compute_host_close(m->device, &memory);
    world_share_close(&m->share);
    arena_close(&m->arena);
    *m = (struct comm_memory){ 0 };
}

float *comm_memory_block(const struct comm_memory *m, struct comm_rotation r, size_t i)
{
    if (!m->base)
        return NULL;
    assert(comm_rotation_bytes(r) <= m->n_bytes);
    return (float *)(void *)(m->base + r.stride_bytes * (i % (size_t)r.n_blocks));
}

void comm_memory_walk(const struct comm_memory *m)
{
    for (size_t i = 0; m->base && i < m->n_bytes; i += LINE_BYTES)
        (void)*(const volatile char *)(m->base + i);
}
