/* SPDX-License-Identifier: Apache-2.0 */
/* exchange_agree.c - do all ranks exchange in the same way? (exchange.E3, E6, E9) Before the first step. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/exchange/collective.h"
#include "harness/exchange/exchange_state.h"
#include "harness/world/world.h"

enum { NAME_BYTES = 32 };

struct way { /* in which a rank exchanges */
    uint64_t digest, n_chunks, n_ordered, overlap, priority, average_every;
    uint64_t placement, consistency, bound, lr_staleness, compression, n_pairs;
    uint64_t optimizer, push_every, pull_every, stop_at, n_batches, n_guests, n_replicas, n_in_flight;
    char mode[NAME_BYTES], collective[NAME_BYTES];
};

/* exchange.E14: chunks of a shard are not those of others. */
static bool is_common(const struct exchange *x, size_t k)
{
    return !x->shard.world || x->buckets.chunk[k].offset_elems < x->shard.first_elem;
}

static size_t n_common_chunks(const struct exchange *x)
{
    size_t n = 0;

    for (size_t k = 0; k < x->buckets.n_chunks; k++)
        n += is_common(x, k);
    return n;
}

static uint64_t common_digest(const struct exchange *x)
{
    struct buckets common = x->buckets;

    if (!x->shard.world)
        return buckets_digest(&x->buckets);
    common.n_params = x->shard.first_elem;
    while (common.n_buckets > 0 && !is_common(x, common.bucket[0].first_chunk)) { /* the last parameters come first */
        common.bucket++;
        common.n_buckets--;
    }
    common.n_chunks = n_common_chunks(x);
    common.chunk += x->buckets.n_chunks - common.n_chunks;
    return buckets_digest(&common);
}

static struct way own_way(const struct exchange *x)
{
    const struct exchange_opts *o = &x->env.opts;
    struct way way = { .digest = common_digest(x),
                       .n_chunks = n_common_chunks(x),
                       .n_ordered = o->overlap && o->priority ? x->buckets.n_chunks : 0,
                       .overlap = o->overlap,
                       .priority = o->priority,
                       .average_every = o->average_every,
                       .placement = placement_digest(&x->placement),
                       .consistency = o->consistency.kind,
                       .bound = o->consistency.bound_count,
                       .lr_staleness = o->lr_staleness,
                       .compression = o->compression.kind,
                       .optimizer = (uint64_t)x->env.optimizer.kind,
                       .push_every = o->periods.push_every,
                       .pull_every = o->periods.pull_every,
                       .stop_at = o->stop_at,
                       .n_batches = o->n_batches,
                       .n_guests = (uint64_t)o->n_guests,
                       .n_replicas = (uint64_t)o->n_replicas,
                       .n_in_flight = x->posted.most_chunks,
                       .n_pairs = compression_pairs(&o->compression, x->buckets.n_params) };

    (void)snprintf(way.mode, sizeof way.mode, "%s", x->env.mode->module.name);
    (void)snprintf(way.collective, sizeof way.collective, "%s",
                   x->env.collective ? x->env.collective->module.name : "none");
    return way;
}

static const char *on_off(uint64_t is_on)
{
    return is_on ? "on" : "off";
}

#define MUST_BE_EQUAL "the options of all ranks must be the same"

/* rank's is the same as rank 0's, as far as all modes have it. */
static enum rc compare(int rank, const struct way *its, const struct way *first)
{
    if (strcmp(its->mode, first->mode) != 0 || strcmp(its->collective, first->collective) != 0)
        return rc_raise(RC_MISMATCH, "rank %d has mode %s and reducer %s, rank 0 %s and %s: " MUST_BE_EQUAL, rank,
                        its->mode, its->collective, first->mode, first->collective);
    if (its->digest != first->digest)
        return rc_raise(RC_MISMATCH,
                        "rank %d cuts the gradients into %llu chunks, rank 0 into %llu, or elsewhere: " MUST_BE_EQUAL,
                        rank, (unsigned long long)its->n_chunks, (unsigned long long)first->n_chunks);
    if (its->overlap != first->overlap || its->priority != first->priority)
        return rc_raise(RC_MISMATCH, "rank %d has overlap %s and priority %s, rank 0 %s and %s: " MUST_BE_EQUAL, rank,
                        on_off(its->overlap), on_off(its->priority), on_off(first->overlap), on_off(first->priority));
    if (its->n_ordered != first->n_ordered) /* exchange.E14 */
        return rc_raise(RC_MISMATCH,
                        "rank %d has a shard of another number of chunks than rank 0, %llu in all and not %llu: with "
                        "overlap and priority worker 0 orders those of all",
                        rank, (unsigned long long)its->n_ordered, (unsigned long long)first->n_ordered);
    if (its->average_every != first->average_every)
        return rc_raise(RC_MISMATCH,
                        "rank %d averages parameters every %llu steps, rank 0 every %llu (0: never): " MUST_BE_EQUAL,
                        rank, (unsigned long long)its->average_every, (unsigned long long)first->average_every);
    if (its->compression != first->compression || its->n_pairs != first->n_pairs)
        return rc_raise(RC_MISMATCH, "rank %d has another compression than rank 0: " MUST_BE_EQUAL, rank);
    if (its->optimizer != first->optimizer)
        return rc_raise(RC_MISMATCH, "rank %d has another optimiser than rank 0: " MUST_BE_EQUAL, rank);
    return RC_OK;
}

static bool has_same_servers(const struct way *its, const struct way *first)
{
    return its->placement == first->placement && its->consistency == first->consistency && its->bound == first->bound &&
           its->lr_staleness == first->lr_staleness && its->push_every == first->push_every &&
           its->pull_every == first->pull_every && its->stop_at == first->stop_at &&
           its->n_batches == first->n_batches && its->n_guests == first->n_guests &&
           its->n_replicas == first->n_replicas && its->n_in_flight == first->n_in_flight;
}

/* exchange.E14: and those that have the same shard cut it alike. */
static enum rc compare_shards(const struct exchange *x)
{
    const uint64_t own = buckets_digest(&x->buckets);
    uint64_t *all = NULL;
    enum rc rc = RC_OK;

    if (!x->shard.world)
        return RC_OK;
    all = calloc((size_t)x->shard.world->n_ranks, sizeof *all);
    if (!all)
        return rc_raise(RC_NOMEM, "no memory for the plans of %d ranks", x->shard.world->n_ranks);
    TRY(world_allgather(x->shard.world, &own, all, sizeof own));
    for (int r = 1; r < x->shard.world->n_ranks; r++)
        if (all[r] != all[0])
            FAIL(RC_MISMATCH,
                 "of the ranks with one shard number %d cuts it in another way than number 0: " MUST_BE_EQUAL, r);
out:
    free(all);
    return rc;
}

enum rc exchange_compare_plans(struct exchange *x)
{
    struct world *w = x->env.world;
    const struct way own = own_way(x);
    struct way *all = malloc((size_t)w->n_ranks * sizeof *all);
    enum rc rc;

    if (!all)
        return rc_raise(RC_NOMEM, "no memory for the plans of %d ranks", w->n_ranks);
    TRY(world_allgather(w, &own, all, sizeof own));
    for (int r = 1; r < w->n_ranks; r++) {
        TRY(compare(r, &all[r], &all[0]));
        if (!has_same_servers(&all[r], &all[0]))
            FAIL(RC_MISMATCH,
                 "rank %d has another placement, consistency, rate of stale gradients, period, end, "
                 "replicas or number of chunks under way than rank 0: " MUST_BE_EQUAL,
                 r);
    }
    TRY(compare_shards(x));
out:
    free(all);
    return rc;
}
