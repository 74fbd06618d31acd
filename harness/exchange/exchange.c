/* SPDX-License-Identifier: Apache-2.0 */
/* exchange.c - an exchange from open to close, except the steps (exchange_step.c). */
#include "harness/exchange/exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/exchange/collective.h"
#include "harness/exchange/exchange_memory.h"
#include "harness/exchange/exchange_state.h"
#include "harness/net/message_log.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

/* --- do all ranks exchange in the same way? (exchange.E3, E6, E9) --- */

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

/* Checks that every rank has the plan of rank 0 (exchange.E3), takes its chunks in the same order
 * (exchange.E6), and sends them in the same form (exchange.E9). RC_MISMATCH names the rank that differs. Collective. */
static enum rc exchange_compare_plans(struct exchange *x)
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

static bool has_memory(const struct exchange *x)
{
    return x->env.compute->ops->touches_memory;
}

/* --- open, close --- */

static void free_slices(struct exchange *x)
{
    for (int i = 0; i < 2; i++) {
        free(x->slice[i].param);
        free(x->slice[i].moments);
        x->slice[i] = (struct slice){ 0 };
    }
}

static enum rc open_memory(struct exchange *x)
{
    const struct exchange_memory_env env = { .world = x->env.world,
                                             .compute = x->env.compute,
                                             .mode = x->env.mode,
                                             .collective = x->env.collective,
                                             .n_workers = x->env.n_workers,
                                             .n_params = x->buckets.n_params,
                                             .wants_shared = x->env.opts.shared_memory,
                                             .forward_only = x->env.forward_only };
    enum rc rc;

    TRY(exchange_memory_open(&x->memory, &env));
    x->param = x->memory.param;
    x->grad = x->memory.grad;
    x->host_param = x->memory.host_param;
    x->host_grad = x->memory.host_grad;
    x->share[0] = x->memory.shared_grad;
    x->share[1] = x->memory.shared_param;
out:
    return rc;
}

/* What works beside the caller has a thread of its own, and what works on copies in host memory a cpu backend. */
static enum rc open_side(struct exchange *x)
{
    struct compute_env env = x->env.compute->env;

    if ((!x->overlaps && !x->is_staged) || x->is_queued)
        return RC_OK;
    env.precision = PRECISION_FP32;
    if (x->overlaps) {
        env.n_threads = 1;
        env.may_spin = false;
    }
    return compute_open(&x->side, x->is_staged ? &compute_cpu : x->env.compute->ops, &env);
}

/* The update is the communicator's, where it can reach the parameters. */
static struct compute *updating_compute(const struct exchange *x)
{
    return x->overlaps && !x->is_staged && !x->is_queued ? x->side : x->env.compute;
}

/* exchange.E7 */
static enum rc open_undo(struct exchange *x)
{
    enum rc rc = RC_OK;

    if (!x->keeps_undo || !has_memory(x))
        return RC_OK;
    TRY(exchange_memory_open_copy(&x->memory, &x->undo_param, "the parameters of the step before"));
    for (int k = 0; k < optimizer_n_moments(&x->env.optimizer); k++)
        TRY(exchange_memory_open_copy(&x->memory, &x->undo_moment[k], "the optimiser's state of the step before"));
out:
    return rc;
}

/* exchange.E9 */
static enum rc open_residual(struct exchange *x)
{
    if (!x->exchanges || !has_memory(x) || x->env.opts.compression.kind == COMPRESSION_NONE)
        return RC_OK;
    return exchange_memory_open_copy(&x->memory, &x->residual, "what compression leaves of the gradients");
}

bool exchange_has_periods(const struct exchange *x)
{
    return x->has_servers && x->exchanges && periods_are_on(&x->env.opts.periods);
}

/* exchange.E10 */
static enum rc open_accrued(struct exchange *x)
{
    if (!exchange_has_periods(x) || x->env.opts.periods.push_every <= 1 || !has_memory(x))
        return RC_OK;
    return exchange_memory_open_copy(&x->memory, &x->accrued, "gradients since the last push");
}

/* exchange.E12 */
static enum rc open_posted(struct exchange *x)
{
    const struct server_mode *servers = x->env.mode->servers;
    const int most = x->exchanges && servers ? servers->most_in_flight : 1, wanted = x->env.opts.n_in_flight;
    struct posted *f = &x->posted;

    f->most_chunks = (size_t)(wanted < 1 ? 1 : wanted < most ? wanted : most);
    if (servers && f->most_chunks > (size_t)servers->usual_in_flight && f->most_chunks > x->buckets.n_chunks) /* all */
        f->most_chunks = x->buckets.n_chunks > 0 ? x->buckets.n_chunks : 1;
    f->chunk = calloc(f->most_chunks, sizeof *f->chunk);
    return f->chunk ? RC_OK : rc_raise(RC_NOMEM, "no memory for %zu chunks under way", f->most_chunks);
}

static enum rc open_worker(struct exchange *x)
{
    const size_t n_buckets = x->buckets.n_buckets, n_chunks = x->buckets.n_chunks;
    enum rc rc = RC_OK;

    if (x->env.forward_only)
        return RC_OK;
    TRY(open_side(x));
    if (!x->has_servers)
        TRY(optimizer_init(&x->optimizer, updating_compute(x), x->buckets.n_params, &x->env.optimizer, NULL));
    if (x->env.mode->module.caps & MODE_SYNCHRONOUS && x->env.opts.average_every == 0)
        x->optimizer.grad_scale = 1.0f / (float)x->env.n_workers;
    TRY(open_undo(x));
    TRY(open_residual(x));
    TRY(open_accrued(x));
    x->n_missing = calloc(n_buckets, sizeof *x->n_missing);
    x->state = calloc(n_chunks, sizeof *x->state);
    if (!x->n_missing || !x->state)
        FAIL(RC_NOMEM, "no memory for %zu buckets in %zu chunks", n_buckets, n_chunks);
    TRY(chunk_queue_open(&x->queue, &x->buckets, x->env.opts.priority));
out:
    return rc;
}

/* A ring holds the spans of all steps that the timeline has: of a worker a step, the gradient, and of a chunk a wait,
 * its exchange and its update; of a server as many for each worker. */
static enum rc open_rings(struct exchange *x)
{
    enum { MOST_SPANS = 1 << 18, OF_A_STEP = 4, OF_A_CHUNK = 3 }; /* 12 MiB */
    const size_t n_peers = x->is_worker ? 1 : (size_t)(x->env.n_workers + x->env.opts.n_guests);
    const size_t n_of_a_chunk = OF_A_CHUNK + 2 * (size_t)x->env.opts.n_replicas; /* its replica; the one it follows */
    const size_t n_of_a_step = OF_A_STEP + n_of_a_chunk * x->buckets.n_chunks * n_peers;
    const size_t n_steps = x->env.n_steps;
    const size_t n_spans = n_steps < MOST_SPANS / n_of_a_step ? n_steps * n_of_a_step + !n_steps : MOST_SPANS;
    enum rc rc;

    TRY(span_ring_open(&x->ring[EXCHANGE_MAIN], "main", n_spans));
    if (x->exchanges && x->is_worker)
        TRY(span_ring_open(&x->ring[EXCHANGE_QUEUE], "queue", n_spans));
    if (x->overlaps && x->is_worker)
        TRY(span_ring_open(&x->ring[EXCHANGE_COMMUNICATOR], "communicator", n_spans));
out:
    return rc;
}

enum rc exchange_open(struct exchange **out, const struct exchange_env *env)
{
    struct exchange *x = calloc(1, sizeof *x);
    enum rc rc;

    if (!x)
        return rc_raise(RC_NOMEM, "mode %s: no memory", env->mode->module.name);
    x->env = *env;
    x->is_averaged = true;
    x->flips = env->flip != NULL;
    if (env->flip)
        x->flip = *env->flip;
    x->env.flip = NULL;
    if (env->shard)
        x->shard = *env->shard;
    x->env.shard = NULL;
    x->env.weight = env->weight == 0.0f ? 1.0f : env->weight;
    x->is_worker = env->world->rank < env->n_workers || env->world->rank >= env->n_workers + env->n_servers;
    x->exchanges = mode_exchanges(&env->mode->module) && !env->forward_only;
    x->has_servers = env->mode->module.caps & MODE_SERVERS;
    x->is_staged = x->exchanges && exchange_memory_is_staged(env->mode, env->collective, env->compute->ops);
    x->is_queued = x->exchanges && env->collective && env->collective->module.caps & COLL_DEVICE;
    x->overlaps = x->exchanges && env->opts.overlap;
    x->keeps_undo = env->keeps_undo && x->exchanges && env->mode->module.caps & MODE_SYNCHRONOUS;
    if (env->mode->module.caps & MODE_ONE_WORKER && env->n_workers != 1)
        FAIL(RC_INVAL, "mode %s: has one worker, not %d", env->mode->module.name, env->n_workers);
    TRY(buckets_open_cut(&x->buckets, env->segment, env->n_segments, &env->opts.buckets, x->shard.first_elem));
    if (x->has_servers)
        TRY(placement_open(&x->placement, &env->opts.placement, env->segment, env->n_segments, env->n_servers));
    TRY(open_memory(x));
    TRY(open_posted(x));
    if (x->is_worker)
        TRY(open_worker(x));
    TRY(exchange_compare_plans(x));
    if (env->timeline)
        TRY(open_rings(x));
    if (env->messages && x->exchanges)
        TRY(message_log_open(&x->log));
    *out = x;
    x = NULL;
out:
    exchange_close(&x);
    return rc;
}

void exchange_close(struct exchange **xp)
{
    struct exchange *x = xp ? *xp : NULL;

    if (!x)
        return;
    communicator_close(&x->communicator);
    transport_close(&x->shard_transport);
    transport_close(&x->transport); /* before the mode: what is posted is in memory of the mode and in ours */
    if (x->sync)
        x->sync->ops->close(&x->sync);
    optimizer_fini(&x->optimizer);
    exchange_memory_close_copy(&x->memory, &x->undo_param);
    for (int k = 0; k < OPTIMIZER_MAX_MOMENTS; k++)
        exchange_memory_close_copy(&x->memory, &x->undo_moment[k]);
    exchange_memory_close_copy(&x->memory, &x->residual);
    exchange_memory_close_copy(&x->memory, &x->accrued);
    compute_close(&x->side);
    exchange_memory_close(&x->memory);
    chunk_queue_close(&x->queue);
    for (int i = 0; i < EXCHANGE_N_RINGS; i++)
        span_ring_close(&x->ring[i]);
    message_log_close(&x->log);
    buckets_close(&x->buckets);
    placement_close(&x->placement);
    free_slices(x);
    free(x->n_missing);
    free(x->state);
    free(x->posted.chunk);
    free(x);
    *xp = NULL;
}

float *exchange_param(const struct exchange *x)
{
    return x->param;
}

float *exchange_grad(const struct exchange *x)
{
    return x->grad;
}

/* --- start: what all ranks begin with: parameters and optimizer state of rank 0, of a server its slices --- */

static enum rc open_slice(const struct exchange *x, struct slice *out, int server, int n_moments)
{
    const size_t n_elems = x->placement.n_elems[server];

    out->server = server;
    out->param = malloc((n_elems > 0 ? n_elems : 1) * sizeof *out->param);
    if (n_moments > 0)
        out->moments = malloc((n_elems > 0 ? n_elems : 1) * (size_t)n_moments * sizeof *out->moments);
    if (!out->param || (n_moments > 0 && !out->moments))
        return rc_raise(RC_NOMEM, "no memory for the %zu parameters of a server", n_elems);
    return RC_OK;
}

static enum rc open_slices(struct exchange *x, int n_moments)
{
    const int n = x->env.n_servers, own = x->env.world->rank - x->env.n_workers;
    enum rc rc;

    TRY(open_slice(x, &x->slice[0], own, n_moments));
    if (x->env.opts.n_replicas > 0)
        TRY(open_slice(x, &x->slice[1], (own + n - 1) % n, n_moments));
out:
    return rc;
}

/* Array k of rank 0's optimiser to all ranks. */
static enum rc share_moment(struct exchange *x, const struct initial_state *from, int k)
{
    const size_t n_params = x->buckets.n_params;
    const float *own = from->state.moments + (size_t)k * n_params;
    struct initial_array moment = { .n_elems = n_params,
                                    .from_host = x->env.world->rank == 0 ? own : NULL,
                                    .compute = x->optimizer.compute,
                                    .memory = x->optimizer.moment[k],
                                    .placement = &x->placement };

    for (int i = 0; i < 2; i++)
        if (x->slice[i].moments)
            moment.slice[i] =
                (struct initial_slice){ x->slice[i].server,
                                        x->slice[i].moments + (size_t)k * x->placement.n_elems[x->slice[i].server] };
    if (x->shard.world) { /* exchange.E14: the file that each rank goes on from has all of it */
        compute_put(x->optimizer.compute, x->optimizer.moment[k], own, n_params * sizeof *own);
        return RC_OK;
    }
    return initial_broadcast(x->env.world, &moment);
}

static enum rc share_state(struct exchange *x, const struct initial_state *from)
{
    const int n_moments = from->state.moments ? optimizer_n_moments(&x->env.optimizer) : 0;
    struct initial_array param = { .n_elems = x->shard.world ? x->shard.first_elem : x->buckets.n_params,
                                   .compute = x->env.compute,
                                   .memory = x->param,
                                   .placement = &x->placement };
    const struct initial_array running = { .n_elems = from->n_running,
                                           .compute = x->env.compute,
                                           .memory = from->running };
    enum rc rc = RC_OK;

    x->n_updates_before = from->state.n_updates;
    if (!x->env.compute->ops->touches_memory || world_is_guest(x->env.world)) /* exchange.E15 */
        return RC_OK;
    if (!x->is_worker)
        TRY(open_slices(x, n_moments));
    for (int i = 0; i < 2; i++)
        param.slice[i] = (struct initial_slice){ x->slice[i].server, x->slice[i].param };
    TRY(x->env.opts.shared_memory ? initial_broadcast_shared(&x->memory, &param)
                                  : initial_broadcast(x->env.world, &param));
    for (int k = 0; k < n_moments; k++)
        TRY(share_moment(x, from, k));
    TRY(initial_broadcast(x->env.world, &running));
out:
    return rc;
}

/* net.T13. The longest message is of the longest chunk, or with servers the state of one. A collective is at most
 * one call ahead of another rank's, as none ends before every rank has begun it; a server has a request of each
 * chunk that is under way; with replicas what it forwards of all workers, and its HELD (ps.R6), wait at a
 * neighbour. */
static struct transport_plan transport_plan(const struct exchange *x, int n_ranks)
{
    enum { HEADER_BYTES = 4096, OTHER_MESSAGES = 64 }; /* headers of modes; the communicator's order of chunks */
    const struct exchange_env *env = &x->env;
    const struct collective_group all = { .n_ranks = n_ranks }; /* each on a host: no placement has more messages */
    size_t n_longest = 0;
    uint64_t n_messages = 0; /* of the first rank and the last one: of two ranks, no pair has more */

    for (size_t k = 0; k < x->buckets.n_chunks; k++)
        if (x->buckets.chunk[k].n_elems > n_longest)
            n_longest = x->buckets.chunk[k].n_elems;
    const struct collective_call call = compression_call(&env->opts.compression, n_longest, env->n_workers);
    if (env->collective)
        n_messages = env->collective->predict(env->collective_opts, &call, 0, &all).msgs +
                     env->collective->predict(env->collective_opts, &call, n_ranks - 1, &all).msgs;
    const size_t n_arrays = 1 + (size_t)optimizer_n_moments(&env->optimizer); /* of a STATE */
    const size_t n_elems = x->has_servers             ? n_arrays * placement_most_elems(&x->placement)
                           : call.n_elems > n_longest ? call.n_elems
                                                      : n_longest;
    const uint64_t n_of_replicas = 2 * (uint64_t)env->opts.n_replicas *
                                   (uint64_t)(env->n_workers + env->opts.n_guests) * (x->posted.most_chunks + 1);
    return (struct transport_plan){ .most_message_bytes = HEADER_BYTES + n_elems * sizeof(float),
                                    .most_messages = OTHER_MESSAGES + 2 * n_messages + n_of_replicas,
                                    .silence_ms = env->timeout_ms / 2,
                                    .has_guests = env->opts.n_guests > 0 };
}

/* exchange.E14: the ranks that have the same shard, beside all workers. */
static enum rc open_shard_transport(struct exchange *x)
{
    const struct world *w = x->shard.world;
    enum rc rc = RC_OK;

    if (!w)
        return RC_OK;
    const struct transport_plan plan = transport_plan(x, w->n_ranks);
    TRY(transport_open_planned(&x->shard_transport, x->env.transport, x->shard.world, &plan));
    x->shard_transport->fails_together = true;
out:
    return rc;
}

static enum rc open_mode(struct exchange *x)
{
    const struct exchange_env *env = &x->env;
    const struct sync_mode *mode = env->mode;
    const struct transport_plan plan = transport_plan(x, env->world->n_ranks);
    enum rc rc;

    TRY(transport_open_planned(&x->transport, env->transport, env->world, &plan));
    TRY(open_shard_transport(x));
    /* exchange.E7: all stop, not the neighbours alone */
    x->transport->fails_together = mode->module.caps & MODE_SYNCHRONOUS;
    x->transport->log = x->log;
    if (x->log) {
        x->log->array = env->opts.average_every > 0 && !x->is_staged ? x->param : exchange_pushed(x);
        x->log->array_bytes = x->buckets.n_params * sizeof(float);
    }
    const struct sync_env sync = { .world = env->world,
                                   .compute = x->side ? x->side : env->compute,
                                   .transport = x->transport,
                                   .collective = env->collective,
                                   .collective_opts = env->collective_opts,
                                   .share = x->share,
                                   .n_shares = x->memory.kind == MEMORY_SHARED ? EXCHANGE_N_SHARES : 0,
                                   .buckets = &x->buckets,
                                   .placement = &x->placement,
                                   .consistency = env->opts.consistency,
                                   .lr_staleness = env->opts.lr_staleness,
                                   .shard = { x->shard.world, x->shard_transport, x->shard.first_elem },
                                   .n_workers = env->n_workers,
                                   .n_servers = env->n_servers,
                                   .n_guests = env->opts.n_guests,
                                   .host = env->host,
                                   .has_other_pairs = env->has_other_pairs,
                                   .n_steps = env->n_steps,
                                   .n_steps_before = env->n_steps_before,
                                   .periods = env->opts.periods,
                                   .stop_at = env->opts.stop_at > 0 ? env->opts.stop_at - x->n_updates_before : 0,
                                   .n_batches = env->opts.n_batches,
                                   .compression = env->opts.compression,
                                   .optimizer = env->optimizer,
                                   .slice_param = x->slice[0].param,
                                   .slice_state = { x->slice[0].moments, x->n_updates_before },
                                   .n_in_flight = (int)x->posted.most_chunks,
                                   .n_replicas = env->opts.n_replicas,
                                   .before_param = x->slice[1].param,
                                   .before_moments = x->slice[1].moments,
                                   .on_push = env->on_push,
                                   .on_push_arg = env->on_push_arg,
                                   .on_round = env->on_round,
                                   .on_round_arg = env->on_round_arg,
                                   .timeout_ms = env->timeout_ms,
                                   .ring = x->ring[EXCHANGE_MAIN] };
    TRY(mode->open(&x->sync, &sync));
    x->sync->ops = mode; /* mode->open() has set its own ops, which differ where a test wraps the mode */
    free_slices(x);
out:
    return rc;
}

static enum rc open_communicator(struct exchange *x)
{
    const struct communicator_env env = { .world = x->env.world,
                                          .buckets = &x->buckets,
                                          .by_priority = x->env.opts.priority,
                                          .is_ordered = x->env.opts.priority && x->env.n_workers > 1 &&
                                                        x->env.mode->module.caps & MODE_SYNCHRONOUS,
                                          .transport = x->transport,
                                          .n_workers = x->env.n_workers,
                                          .timeout_ms = x->env.timeout_ms,
                                          .most_posted = x->posted.most_chunks,
                                          .post = exchange_post,
                                          .complete = exchange_complete,
                                          .arg = x };

    return communicator_open(&x->communicator, &env);
}

enum rc exchange_start(struct exchange *x, const struct initial_state *from)
{
    enum rc rc;

    TRY(share_state(x, from));
    if (exchange_has_periods(x) && x->is_worker && x->is_staged)
        TRY(compute_fetch(x->env.compute, x->host_param, x->param, x->buckets.n_params * sizeof(float)));
    if (x->exchanges)
        TRY(open_mode(x));
    if (x->overlaps && x->is_worker && !x->is_queued)
        TRY(open_communicator(x));
out:
    return rc;
}

/* --- the end --- */

static void note_messages_of_no_step(struct exchange *x)
{
    if (x->log)
        x->log->step = MESSAGE_NO_STEP;
}

/* Of a worker whose mode has no servers: what its own optimiser holds. */
static enum rc own_state(const struct exchange *x, struct optimizer_state *out)
{
    out->n_updates = UINT64_MAX;
    for (size_t k = 0; k < x->buckets.n_chunks; k++)
        out->n_updates = x->state[k].n_updates < out->n_updates ? x->state[k].n_updates : out->n_updates;
    out->n_updates += x->n_updates_before;
    return optimizer_moments(&x->optimizer, out->moments);
}

enum rc exchange_snapshot(struct exchange *x, float *param, struct optimizer_state *state)
{
    uint64_t now_ns = world_now_ns(x->env.world);
    enum rc rc;

    TRY(exchange_await_all(x, &now_ns));
    note_messages_of_no_step(x);
    if (x->sync && x->has_servers)
        return x->sync->ops->servers->snapshot(x->sync, param, state);
    TRY(compute_sync(x->env.compute));
    TRY(compute_fetch(x->env.compute, param, x->param, x->buckets.n_params * sizeof(float)));
    TRY(own_state(x, state));
out:
    return rc;
}

enum rc exchange_final(struct exchange *x, struct optimizer_state *state)
{
    uint64_t now_ns = world_now_ns(x->env.world);
    enum rc rc = RC_OK;

    if (x->env.forward_only)
        return RC_OK;
    TRY(exchange_await_all(x, &now_ns));
    TRY(exchange_average_rest(x));
    TRY(exchange_push_rest(x));
    if (x->communicator)
        TRY(communicator_finish(x->communicator));
    communicator_close(&x->communicator);
    note_messages_of_no_step(x);
    if (x->sync && x->has_servers)
        TRY(x->sync->ops->servers->final(x->sync, x->host_param, state));
    if (x->has_servers && x->is_staged)
        compute_put(x->env.compute, x->param, x->host_param, x->buckets.n_params * sizeof(float));
    if (!x->has_servers && state)
        TRY(own_state(x, state));
    exchange_memory_close_gradients(&x->memory);
    x->grad = x->host_grad = NULL;
out:
    return rc;
}

enum rc exchange_serve(struct exchange *x, uint64_t step_ns)
{
    return x->sync->ops->servers->serve(x->sync, step_ns);
}

struct server_facts exchange_served(const struct exchange *x)
{
    struct server_facts facts = { .late_count = 0 };

    if (x->sync && x->has_servers)
        x->sync->ops->servers->served(x->sync, &facts);
    return facts;
}

void exchange_explain(const struct exchange *x, char *text, size_t n_bytes)
{
    text[0] = '\0';
    if (x->sync && !x->has_servers)
        x->sync->ops->collective->explain(x->sync, text, n_bytes);
}

enum rc exchange_join(struct exchange *x, bool *is_over)
{
    enum rc rc;

    TRY(x->sync->ops->servers->join(x->sync, x->host_param, is_over));
    if (x->is_staged && x->host_param && !*is_over)
        compute_put(x->env.compute, x->param, x->host_param, x->buckets.n_params * sizeof *x->param);
out:
    return rc;
}

enum rc exchange_next_batch(struct exchange *x, uint64_t *out, bool *is_over)
{
    return x->sync->ops->servers->next_batch(x->sync, out, is_over);
}

uint64_t exchange_sent_bytes(const struct exchange *x)
{
    return x->is_worker || !x->transport ? x->sent_bytes : x->transport->moved.bytes_sent;
}

uint64_t exchange_full_bytes(const struct exchange *x)
{
    return x->sync ? x->sync->ops->full_bytes(x->sync) : 0;
}

struct wire_plan exchange_wire_plan(const struct exchange *x)
{
    struct wire_plan plan = x->sync ? x->sync->ops->wire_plan(x->sync) : (struct wire_plan){ 0 };

    if (x->env.opts.average_every > 0) { /* once in so many steps */
        plan.n_in_turn /= (double)x->env.opts.average_every;
        plan.n_on_link /= (double)x->env.opts.average_every;
        plan.n_last = 0;
    }
    return plan;
}

struct span_ring *exchange_ring(const struct exchange *x, enum exchange_task task)
{
    return x->ring[task];
}

const struct message_log *exchange_messages(const struct exchange *x)
{
    return x->log;
}

struct exchange_memory_facts exchange_memory_of(const struct exchange *x)
{
    struct exchange_memory_facts facts;

    exchange_memory_facts(&facts, &x->memory);
    return facts;
}

const char *exchange_encryption(const struct exchange *x)
{
    const struct world *w = x->env.world;
    const struct collective_ops *collective = x->env.collective;

    if (!x->transport || w->n_ranks == 1 || w->ops->module.caps & WORLD_VIRTUAL_TIME)
        return "";
    if (collective && collective->module.caps & COLL_OPAQUE)
        return w->n_host_ranks < w->n_ranks ? "clear" : "local";
    return transport_encryption(x->transport);
}

/* --- modes that exchange nothing: the control, in which every worker is for itself; one worker --- */

const struct sync_mode sync_none = { .module.name = "none" };

const struct sync_mode sync_single = { .module.name = "single", .module.caps = MODE_SHARED_PARAMS | MODE_ONE_WORKER };
