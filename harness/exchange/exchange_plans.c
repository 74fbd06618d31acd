/* SPDX-License-Identifier: Apache-2.0 */
/* exchange_plans.c - do all ranks exchange the same pieces, in the same order and form? */
#include <stdlib.h>

#include "harness/exchange/exchange_state.h"
#include "harness/world/world.h"

static const char *on_off(uint64_t is_on)
{
    return is_on ? "on" : "off";
}

enum rc exchange_compare_plans(struct exchange *x)
{
    const struct {
        uint64_t digest, n_pieces, overlap, priority, placement, consistency, bound, lr_staleness, compression, n_pairs;
    } own = { buckets_digest(&x->buckets),
              x->buckets.n_pieces,
              x->env.opts.overlap,
              x->env.opts.priority,
              placement_digest(&x->placement),
              x->env.opts.consistency.kind,
              x->env.opts.consistency.bound_count,
              x->env.opts.lr_staleness,
              x->env.opts.compression.kind,
              compression_pairs(&x->env.opts.compression, x->buckets.n_params) },
      *first;
    struct world *w = x->env.world;
    void *all = malloc((size_t)w->n_ranks * sizeof own);
    enum rc rc;

    if (!all)
        return rc_raise(RC_NOMEM, "no memory for the plans of %d ranks", w->n_ranks);
    TRY(world_allgather(w, &own, all, sizeof own));
    first = all;
    for (int r = 1; r < w->n_ranks; r++) {
        if (first[r].digest != first->digest)
            FAIL(RC_MISMATCH,
                 "rank %d cuts the gradients into %llu pieces, rank 0 into %llu, or elsewhere: the options of all "
                 "ranks must be the same",
                 r, (unsigned long long)first[r].n_pieces, (unsigned long long)first->n_pieces);
        if (first[r].overlap != first->overlap || first[r].priority != first->priority)
            FAIL(RC_MISMATCH,
                 "rank %d has overlap %s and priority %s, rank 0 %s and %s: the options of all ranks must be the same",
                 r, on_off(first[r].overlap), on_off(first[r].priority), on_off(first->overlap),
                 on_off(first->priority));
        if (first[r].placement != first->placement || first[r].consistency != first->consistency ||
            first[r].bound != first->bound || first[r].lr_staleness != first->lr_staleness)
            FAIL(RC_MISMATCH,
                 "rank %d has another placement, consistency or rate of stale gradients than rank 0: the options of "
                 "all ranks must be the same",
                 r);
        if (first[r].compression != first->compression || first[r].n_pairs != first->n_pairs)
            FAIL(RC_MISMATCH, "rank %d has another compression than rank 0: the options of all ranks must be the same",
                 r);
    }
out:
    free(all);
    return rc;
}
