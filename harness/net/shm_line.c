/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shm_line.c - the memory that two ranks share in transport shm: for each direction a ring of bytes and units, both
 * in the receiver's block of shared memory; see shm_line.h.
 */
#include "harness/net/shm_line.h"

/* HOST_BYTES: of all ranks together, unless the least lines of so many need more. */
enum { HOST_BYTES = 256 << 20, MOST_RING_BYTES = 1 << 20, MOST_UNITS_BYTES = 8 << 20, LEAST_RING_BYTES = 8192 };

static size_t at_most(size_t n_bytes, size_t most_bytes)
{
    return n_bytes < most_bytes ? n_bytes : most_bytes;
}

/* Of all that may be on the way between two ranks; SIZE_MAX: not known. */
static size_t planned_bytes(const struct transport_plan *plan)
{
    const size_t n_each = shm_padded(plan->most_message_bytes) + sizeof(struct shm_head);

    if (plan->most_message_bytes == 0 || plan->most_message_bytes > SIZE_MAX / 4)
        return SIZE_MAX;
    if (plan->most_messages == 0 || plan->most_messages > SIZE_MAX / n_each)
        return SIZE_MAX;
    return (size_t)plan->most_messages * n_each;
}

struct shm_geometry shm_geometry_of(int n_ranks, const struct transport_plan *plan)
{
    struct shm_geometry g = { .n_ranks = n_ranks };
    const size_t n_lines = (size_t)n_ranks - 1;
    const size_t n_line = at_most(HOST_BYTES / (size_t)n_ranks / (n_lines > 0 ? n_lines : 1), planned_bytes(plan));

    g.ring_bytes = shm_padded(at_most(n_line / 4, MOST_RING_BYTES));
    g.ring_bytes = g.ring_bytes > LEAST_RING_BYTES ? g.ring_bytes : LEAST_RING_BYTES;
    g.unit_bytes = shm_padded(at_most(n_line - n_line / 4, MOST_UNITS_BYTES) / N_UNITS);
    g.unit_bytes = g.unit_bytes > BYTE_RING_LINE ? g.unit_bytes : BYTE_RING_LINE;
    g.line_bytes = sizeof(struct unit_runs_shared) + N_UNITS * g.unit_bytes + byte_ring_shared_bytes(g.ring_bytes);
    g.block_bytes = BYTE_RING_LINE + n_lines * g.line_bytes;
    return g;
}

struct shm_line_parts shm_line_at(const struct shm_geometry *g, void *block, int to, int from)
{
    const size_t i = (size_t)(from < to ? from : from - 1);
    unsigned char *line = (unsigned char *)block + BYTE_RING_LINE + i * g->line_bytes;
    unsigned char *units = line + sizeof(struct unit_runs_shared);

    return (struct shm_line_parts){ (struct unit_runs_shared *)(void *)line, units, units + N_UNITS * g->unit_bytes };
}
