/* SPDX-License-Identifier: Apache-2.0 */
/* initial.c - a broadcast through a buffer, chunk by chunk. */
#include "harness/exchange/initial.h"

#include <stdlib.h>
#include <string.h>

#include "harness/exchange/exchange_memory.h"
#include "harness/exchange/placement.h"
#include "harness/world/share.h"
#include "harness/world/world.h"

enum { CHUNK_ELEMS = 1 << 20 };

/* The part of chunk[n_elems], whose first element is number `first` of the array, that is in the slice. */
static void keep_slice(const struct initial_array *a, const struct initial_slice *slice, const float *chunk,
                       size_t first, size_t n_elems)
{
    const struct range kept = placement_part(a->placement, slice->server, (struct range){ first, n_elems });

    placement_gather(a->placement, slice->server, kept, slice->to + kept.offset_elems, chunk, first);
}

static enum rc broadcast_chunk(struct world *w, const struct initial_array *a, float *chunk, size_t first,
                               size_t n_elems)
{
    const size_t n_bytes = n_elems * sizeof *chunk;
    enum rc rc;

    if (w->rank == 0 && a->from_host)
        memcpy(chunk, a->from_host + first, n_bytes);
    else if (w->rank == 0)
        TRY(compute_fetch(a->compute, chunk, a->memory + first, n_bytes));
    TRY(world_broadcast(w, chunk, n_bytes));
    if (a->memory && (w->rank > 0 || a->from_host))
        compute_put(a->compute, a->memory + first, chunk, n_bytes);
    for (int i = 0; i < 2; i++)
        if (a->slice[i].to)
            keep_slice(a, &a->slice[i], chunk, first, n_elems);
out:
    return rc;
}

enum rc initial_broadcast(struct world *w, const struct initial_array *a)
{
    const size_t n_chunk = a->n_elems < CHUNK_ELEMS ? a->n_elems : CHUNK_ELEMS;
    float *chunk = malloc((n_chunk > 0 ? n_chunk : 1) * sizeof *chunk);
    enum rc rc = RC_OK;

    if (!chunk)
        FAIL(RC_NOMEM, "no memory for %zu initial values", n_chunk);
    for (size_t first = 0; first < a->n_elems; first += n_chunk) {
        const size_t n_left = a->n_elems - first;
        TRY(broadcast_chunk(w, a, chunk, first, n_left < n_chunk ? n_left : n_chunk));
    }
out:
    free(chunk);
    return rc;
}

enum rc initial_broadcast_shared(const struct exchange_memory *m, const struct initial_array *a)
{
    enum rc rc = RC_OK;

    if (m->leaders && m->leaders->n_ranks > 1)
        TRY(initial_broadcast(m->leaders, a));
    if (!m->host)
        return RC_OK;
    TRY(world_barrier(m->host)); /* the first worker has it ... */
    if (m->host->rank > 0)
        compute_put(a->compute, a->memory, m->shared_param->peer[0], a->n_elems * sizeof(float));
    TRY(world_barrier(m->host)); /* ... and may change it only when all have copied it */
out:
    return rc;
}
