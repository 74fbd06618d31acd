/* SPDX-License-Identifier: Apache-2.0 */
/* sync_allreduce.c - the sum of each piece over all workers, by a collective. */
#include "allreduce/sync_allreduce.h"

#include <stdio.h>
#include <stdlib.h>

#include "allreduce/collective_list.h"
#include "harness/exchange/collective.h"

struct allreduce {
    struct sync base;
    struct collective *collective;
};

static struct allreduce *self(struct sync *s)
{
    return (struct allreduce *)s;
}

static void allreduce_close(struct sync **s)
{
    collective_close(&self(*s)->collective);
    free(*s);
    *s = NULL;
}

static size_t largest_piece(const struct buckets *b)
{
    size_t n_elems = 0;

    for (size_t k = 0; k < b->n_pieces; k++)
        n_elems = b->piece[k].n_elems > n_elems ? b->piece[k].n_elems : n_elems;
    return n_elems;
}

static enum rc allreduce_open(struct sync **out, const struct sync_env *env)
{
    const struct collective_env collective = { .kind = &collective_kind,
                                               .transport = env->transport,
                                               .compute = env->compute,
                                               .timeout_ms = env->timeout_ms,
                                               .opts = env->collective_opts,
                                               .types = sync_allreduce.collectives,
                                               .max_elems = largest_piece(env->buckets),
                                               .n_groups = env->buckets->n_buckets,
                                               .share = env->share,
                                               .n_shares = env->n_shares };
    struct allreduce *a = calloc(1, sizeof *a);
    enum rc rc;

    if (!a)
        return rc_raise(RC_NOMEM, "mode allreduce: no memory");
    a->base = (struct sync){ .ops = &sync_allreduce, .env = *env };
    TRY(collective_open(&a->collective, env->collective, &collective));
    *out = &a->base;
    a = NULL;
out:
    free(a);
    return rc;
}

static enum rc allreduce_exchange(struct sync *s, size_t k, float lr, float *param, float *grad, struct piece_cost *out)
{
    const struct range piece = s->env.buckets->piece[k];
    const struct collective_call call = { .type = COLL_ALLREDUCE, .n_elems = piece.n_elems };

    (void)lr;
    (void)param;
    (void)out;
    return collective_run(self(s)->collective, &call, grad ? grad + piece.offset_elems : NULL);
}

static enum rc allreduce_queue(struct sync *s, size_t b, float *grad)
{
    const struct bucket *bucket = &s->env.buckets->bucket[b];
    enum rc rc;

    TRY(collective_begin(self(s)->collective));
    for (size_t k = bucket->first_piece; k < bucket->first_piece + bucket->n_pieces; k++)
        TRY(allreduce_exchange(s, k, 0.0f, NULL, grad, NULL));
    TRY(collective_end(self(s)->collective, b));
out:
    return rc;
}

static enum rc allreduce_wait(struct sync *s, size_t b)
{
    return collective_wait(self(s)->collective, b);
}

static struct collective_call call_of(const struct sync *s, size_t k)
{
    return (struct collective_call){ .type = COLL_ALLREDUCE, .n_elems = s->env.buckets->piece[k].n_elems };
}

/* What runs piece k, and with which options. */
static const struct collective_ops *algorithm_of(const struct sync *s, size_t k, const void **opts)
{
    const struct collective_call call = call_of(s, k);
    const struct collective *c = ((const struct allreduce *)s)->collective;
    const struct collective_ops *ops = collective_chosen(c, &call);

    *opts = ops == c->ops ? s->env.collective_opts : NULL;
    return ops;
}

/* The critical paths of all pieces, cut into messages of the mean length: as many on the link as bytes say. */
static struct wire_plan allreduce_wire_plan(const struct sync *s)
{
    const struct collective_group all = { s->env.n_workers, s->env.host };
    struct collective_cost path = { 0 }, own = { 0 };

    for (size_t k = 0; k < s->env.buckets->n_pieces; k++) {
        const struct collective_call call = call_of(s, k);
        const void *opts;
        const struct collective_ops *ops = algorithm_of(s, k, &opts);
        const struct collective_cost p = ops->critical_path(opts, &call, &all);
        const struct collective_cost o = ops->predict(opts, &call, all.n_ranks - 1, &all);
        path.msgs += p.msgs;
        path.bytes += p.bytes;
        own.msgs += o.msgs;
        own.bytes += o.bytes;
    }
    if (own.msgs == 0)
        return (struct wire_plan){ 0 };
    const size_t message_bytes = (size_t)(own.bytes / own.msgs);
    return (struct wire_plan){ message_bytes, (double)path.msgs, (double)path.bytes / (double)message_bytes };
}

/* Of how many pieces each algorithm is, then why the longest piece has its own. */
static void allreduce_explain(const struct sync *s, char *text, size_t n_bytes)
{
    const size_t n_pieces = s->env.buckets->n_pieces;
    size_t longest = 0, n_written = 0;
    const void *opts;

    text[0] = '\0';
    if (!((const struct allreduce *)s)->collective->ops->chosen)
        return;
    for (size_t k = 0; k < n_pieces; k++) {
        const struct collective_ops *ops = algorithm_of(s, k, &opts);
        size_t n_of = 0, first = n_pieces;
        for (size_t i = 0; i < n_pieces; i++)
            if (algorithm_of(s, i, &opts) == ops) {
                n_of++;
                first = i < first ? i : first;
            }
        if (first == k && n_written < n_bytes)
            n_written += (size_t)snprintf(text + n_written, n_bytes - n_written, "%s%s of %zu of %zu pieces",
                                          k > 0 ? ", " : "", ops->module.name, n_of, n_pieces);
        if (s->env.buckets->piece[k].n_elems > s->env.buckets->piece[longest].n_elems)
            longest = k;
    }
    if (n_written + 2 >= n_bytes)
        return;
    const struct collective_call call = call_of(s, longest);
    n_written += (size_t)snprintf(text + n_written, n_bytes - n_written, "; ");
    collective_explain(((const struct allreduce *)s)->collective, &call, text + n_written, n_bytes - n_written);
}

const struct sync_mode sync_allreduce = {
    .module.name = "allreduce",
    .module.caps = MODE_SYNCHRONOUS | MODE_SHARED_PARAMS | MODE_COLLECTIVE | MODE_EXCHANGES,
    .collectives = COLL_ALLREDUCE,
    .exchange_name = "reduce",
    .open = allreduce_open,
    .exchange = allreduce_exchange,
    .queue = allreduce_queue,
    .wait = allreduce_wait,
    .wire_plan = allreduce_wire_plan,
    .explain = allreduce_explain,
    .close = allreduce_close,
};
