/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_allreduce.c - the sum of each chunk over all workers, by a collective: an allreduce; with topk (compression.h)
 * an allgather of the pairs of all workers, which each of them adds up in the order of ranks.
 */
#include "allreduce/sync_allreduce.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allreduce/collective_list.h"
#include "harness/exchange/collective.h"
#include "harness/world/world.h"

enum { PAIR_BYTES = 16, FIND_BYTES = 8 }; /* of memory: to add a pair; to find pairs in an element, which becomes 0 */

struct allreduce {
    struct sync base;
    struct collective *collective;
    struct collective *of_shard; /* chunks of env.shard; NULL: there is none */
    void *pairs; /* topk: of all workers, as compression_call() has them, for the longest chunk; hollow: NULL */
};

static struct allreduce *self(struct sync *s)
{
    return (struct allreduce *)s;
}

static void allreduce_close(struct sync **s)
{
    collective_close(&self(*s)->of_shard);
    collective_close(&self(*s)->collective);
    free(self(*s)->pairs);
    free(*s);
    *s = NULL;
}

static bool is_of_shard(const struct sync_env *env, size_t k)
{
    return env->shard.world && env->buckets->chunk[k].offset_elems >= env->shard.first_elem;
}

/* Of the chunks that all ranks have, or of those of the shard: equal on all that add them. */
static size_t largest_chunk(const struct sync_env *env, bool of_shard)
{
    const struct buckets *b = env->buckets;
    size_t n_elems = 0;

    for (size_t k = 0; k < b->n_chunks; k++)
        if (is_of_shard(env, k) == of_shard)
            n_elems = b->chunk[k].n_elems > n_elems ? b->chunk[k].n_elems : n_elems;
    return n_elems;
}

static enum rc open_pairs(struct allreduce *a, const struct sync_env *env, size_t n_floats)
{
    const size_t n_bytes = n_floats * sizeof(float);

    if (env->compression.kind != COMPRESSION_TOPK || !env->compute->ops->touches_memory)
        return RC_OK;
    a->pairs = malloc(n_bytes);
    if (!a->pairs)
        return rc_raise(RC_NOMEM, "mode allreduce: no memory for the pairs of %d workers", env->n_workers);
    memset(a->pairs, 0, n_bytes); /* S5: the pages are there before the first step */
    return RC_OK;
}

/* What sums chunk k, and over how many ranks. */
static struct collective *collective_of(const struct sync *s, size_t k)
{
    const struct allreduce *a = (const struct allreduce *)s;

    return is_of_shard(&s->env, k) ? a->of_shard : a->collective;
}

static struct collective_group group_of(const struct sync *s, size_t k)
{
    const struct allreduce *a = (const struct allreduce *)s;

    return collective_of(s, k) == a->of_shard
               ? (struct collective_group){ .n_ranks = s->env.shard.world->n_ranks }
               : (struct collective_group){ .n_ranks = s->env.n_workers, .host = s->env.host };
}

static struct collective_call call_of(const struct sync *s, size_t k)
{
    return compression_call(&s->env.compression, s->env.buckets->chunk[k].n_elems, s->env.n_workers);
}

/* So sum() needs to check nothing. */
static enum rc check_calls(const struct sync *s)
{
    enum rc rc = RC_OK;

    for (size_t k = 0; k < s->env.buckets->n_chunks; k++) {
        const struct collective_call call = call_of(s, k);
        TRY(collective_check(collective_of(s, k), &call));
    }
out:
    return rc;
}

static enum rc allreduce_open(struct sync **out, const struct sync_env *env)
{
    const struct collective_call longest =
        compression_call(&env->compression, largest_chunk(env, false), env->n_workers);
    struct collective_env collective = { .kind = &collective_kind,
                                         .transport = env->transport,
                                         .compute = env->compute,
                                         .timeout_ms = env->timeout_ms,
                                         .opts = env->collective_opts,
                                         .types = longest.type,
                                         .narrow = longest.wire != WIRE_F32,
                                         .max_elems = longest.n_elems,
                                         .n_groups = env->buckets->n_buckets,
                                         .share = env->share,
                                         .n_shares = env->n_shares };
    struct allreduce *a = calloc(1, sizeof *a);
    struct sync *base = &a->base;
    enum rc rc;

    if (!a)
        return rc_raise(RC_NOMEM, "mode allreduce: no memory");
    a->base = (struct sync){ .ops = &sync_allreduce, .env = *env };
    TRY(open_pairs(a, env, longest.n_elems));
    TRY(collective_open(&a->collective, env->collective, &collective));
    if (env->shard.world) {
        collective.transport = env->shard.transport;
        collective.n_shares = 0;
        collective.max_elems = largest_chunk(env, true);
        TRY(collective_open(&a->of_shard, env->collective, &collective));
    }
    TRY(check_calls(base));
    *out = base;
    base = NULL;
out:
    if (base)
        allreduce_close(&base);
    return rc;
}

/* The pairs of a worker, among those of all. */
static uint32_t *indices_of(void *pairs, int worker, size_t n_pairs)
{
    return (uint32_t *)pairs + 2 * n_pairs * (size_t)worker;
}

static float *values_of(void *pairs, int worker, size_t n_pairs)
{
    return (float *)pairs + 2 * n_pairs * (size_t)worker + n_pairs;
}

/* This worker's, into its part. sent[n_elems]: of the chunk; NULL: no data. */
static void bring_pairs(struct allreduce *a, const float *sent, size_t n_elems)
{
    const size_t n_pairs = compression_pairs(&a->base.env.compression, n_elems);

    if (!sent)
        return;
    uint32_t *index = indices_of(a->pairs, a->base.env.world->rank, n_pairs);
    float *value = values_of(a->pairs, a->base.env.world->rank, n_pairs);
    for (size_t i = compression_gather(index, value, n_pairs, sent, n_elems); i < n_pairs; i++) {
        index[i] = COMPRESSION_NO_PAIR;
        value[i] = 0.0f;
    }
}

/* The same additions on every worker: the same bits. sum: likewise. */
static enum rc add_pairs(struct allreduce *a, float *sum, size_t n_elems)
{
    const size_t n_pairs = compression_pairs(&a->base.env.compression, n_elems);
    const int n_workers = a->base.env.n_workers;

    if (sum)
        memset(sum, 0, n_elems * sizeof *sum);
    for (int r = 0; sum && r < n_workers; r++)
        if (!compression_add(sum, n_elems, indices_of(a->pairs, r, n_pairs), values_of(a->pairs, r, n_pairs), n_pairs))
            return rc_raise(RC_MISMATCH, "worker %d sent a pair beyond the %zu elements of the chunk", r, n_elems);
    world_charge(a->base.env.world, 0, FIND_BYTES * (double)n_elems + PAIR_BYTES * (double)n_pairs * (double)n_workers);
    return RC_OK;
}

static enum rc allreduce_sum(struct sync *s, size_t k, float *grad)
{
    const struct range chunk = s->env.buckets->chunk[k];
    const struct collective_call call = call_of(s, k);
    const bool has_pairs = s->env.compression.kind == COMPRESSION_TOPK;
    struct collective *c = collective_of(s, k);
    float *data = grad ? grad + chunk.offset_elems : NULL;
    enum rc rc;

    if (has_pairs)
        bring_pairs(self(s), data, chunk.n_elems);
    c->wire = call.wire;
    TRY(c->ops->run(c, &call, has_pairs ? self(s)->pairs : data));
    if (has_pairs)
        TRY(add_pairs(self(s), data, chunk.n_elems));
out:
    return rc;
}

static enum rc allreduce_queue(struct sync *s, size_t b, float *grad)
{
    const struct bucket *bucket = &s->env.buckets->bucket[b];
    enum rc rc;

    TRY(collective_begin(self(s)->collective));
    for (size_t k = bucket->first_chunk; k < bucket->first_chunk + bucket->n_chunks; k++)
        TRY(allreduce_sum(s, k, grad));
    TRY(collective_end(self(s)->collective, b));
out:
    return rc;
}

static enum rc allreduce_wait(struct sync *s, size_t b)
{
    return collective_wait(self(s)->collective, b);
}

/* What runs chunk k, and with which options. */
static const struct collective_ops *algorithm_of(const struct sync *s, size_t k, const void **opts)
{
    const struct collective_call call = call_of(s, k);
    const struct collective *c = collective_of(s, k);
    const struct collective_ops *ops = collective_chosen(c, &call);

    *opts = ops == c->ops ? s->env.collective_opts : NULL;
    return ops;
}

/* The critical paths of all chunks, cut into messages of the mean length: as many on the link as bytes say. The length
 * is that of the last rank's messages, which may be parts of those on the path; or, if it is less, of the path: chunks
 * of few ranks may be longer than those of all. Senders are known to wait, or not, in a simulation whose messages all
 * cross the network. */
static struct wire_plan allreduce_wire_plan(const struct sync *s)
{
    const struct world *w = s->env.world;
    struct collective_cost path = { 0 }, own = { 0 }, last = { 0 };

    for (size_t k = 0; k < s->env.buckets->n_chunks; k++) {
        const struct collective_call call = call_of(s, k);
        const void *opts;
        const struct collective_ops *ops = algorithm_of(s, k, &opts);
        struct collective_group all = group_of(s, k);
        all.eager_bytes = collective_eager_bytes(w);
        all.is_least = true;
        all.may_wait = !(w->ops->module.caps & WORLD_VIRTUAL_TIME) || (all.eager_bytes > 0 && s->env.has_other_pairs);
        const struct collective_cost p = ops->critical_path(opts, &call, &all);
        const struct collective_cost o = ops->predict(opts, &call, all.n_ranks - 1, &all);
        last = s->env.buckets->chunk[k].offset_elems == 0 ? p : last;
        path.msgs += p.msgs;
        path.bytes += p.bytes;
        own.msgs += o.msgs;
        own.bytes += o.bytes;
    }
    if (own.msgs == 0 || path.msgs == 0)
        return (struct wire_plan){ 0 };
    const uint64_t own_bytes = own.bytes / own.msgs, path_bytes = path.bytes / path.msgs;
    const size_t message_bytes = (size_t)(own_bytes < path_bytes ? own_bytes : path_bytes);
    return (struct wire_plan){ .message_bytes = message_bytes,
                               .n_in_turn = (double)path.msgs,
                               .n_on_link = (double)path.bytes / (double)message_bytes,
                               .n_last = fmin((double)last.msgs, (double)last.bytes / (double)message_bytes) };
}

/* Of how many chunks each algorithm is, then why the longest chunk has its own. */
static void allreduce_explain(const struct sync *s, char *text, size_t n_bytes)
{
    const size_t n_chunks = s->env.buckets->n_chunks;
    size_t longest = 0, n_written = 0;
    const void *opts;

    text[0] = '\0';
    if (!((const struct allreduce *)s)->collective->ops->chosen)
        return;
    for (size_t k = 0; k < n_chunks; k++) {
        const struct collective_ops *ops = algorithm_of(s, k, &opts);
        size_t n_of = 0, first = n_chunks;
        for (size_t i = 0; i < n_chunks; i++)
            if (algorithm_of(s, i, &opts) == ops) {
                n_of++;
                first = i < first ? i : first;
            }
        if (first == k && n_written < n_bytes)
            n_written += (size_t)snprintf(text + n_written, n_bytes - n_written, "%s%s of %zu of %zu chunks",
                                          k > 0 ? ", " : "", ops->module.name, n_of, n_chunks);
        if (s->env.buckets->chunk[k].n_elems > s->env.buckets->chunk[longest].n_elems)
            longest = k;
    }
    if (n_written + 2 >= n_bytes)
        return;
    const struct collective_call call = call_of(s, longest);
    n_written += (size_t)snprintf(text + n_written, n_bytes - n_written, "; ");
    collective_explain(collective_of(s, longest), &call, text + n_written, n_bytes - n_written);
}

static uint64_t allreduce_full_bytes(const struct sync *s)
{
    const struct collective *c = ((const struct allreduce *)s)->collective;
    uint64_t n_bytes = 0;

    if (c->ops->chosen && !(c->env.types & COLL_ALLREDUCE))
        return 0; /* which algorithm it would be nobody has chosen */
    for (size_t k = 0; k < s->env.buckets->n_chunks; k++) {
        const struct collective_call call = { .type = COLL_ALLREDUCE, .n_elems = s->env.buckets->chunk[k].n_elems };
        const struct collective_group all = group_of(s, k);
        const struct collective_ops *ops = collective_chosen(collective_of(s, k), &call);
        const void *opts = ops == c->ops ? s->env.collective_opts : NULL;
        const bool is_all = collective_of(s, k) == c;
        n_bytes += ops->predict(opts, &call, is_all ? s->env.world->rank : s->env.shard.world->rank, &all).bytes;
    }
    return n_bytes;
}

static const struct collective_mode collective_mode = {
    .types = COLL_ALLREDUCE,
    .sum = allreduce_sum,
    .queue = allreduce_queue,
    .wait = allreduce_wait,
    .explain = allreduce_explain,
};

const struct sync_mode sync_allreduce = {
    .module.name = "allreduce",
    .module.caps = MODE_SYNCHRONOUS | MODE_SHARED_PARAMS | MODE_COLLECTIVE | MODE_EXCHANGES,
    .exchange_name = "reduce",
    .collective = &collective_mode,
    .open = allreduce_open,
    .wire_plan = allreduce_wire_plan,
    .full_bytes = allreduce_full_bytes,
    .close = allreduce_close,
};
