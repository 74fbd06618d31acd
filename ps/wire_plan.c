/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire_plan.c - counted in messages where slices are even, else in bytes.
 *
 * Even slices: all messages count as the mean one. Others: the message of the plan is the mean, over pieces, of the
 * longest one of a piece, so that the path of messages in turn is that of the longest ones, to the byte; and a link
 * carries as many of these as its bytes make.
 */
#include "ps/wire_plan.h"

#include "ps/wire.h"

struct sums {                           /* one way, of one worker */
    size_t n_messages, n_most_messages; /* to all servers; to the one that gets most of them */
    double all_bytes, most_bytes;       /* likewise, with headers */
    double in_turn_bytes, least_bytes;  /* the longest of each piece; the shortest of all */
};

static size_t part_elems(const struct sync_env *env, size_t k, int s)
{
    return placement_part(env->placement, s, env->buckets->piece[k]).n_elems;
}

static double message_bytes(size_t n_elems)
{
    return PS_HEADER_BYTES + (double)n_elems * sizeof(float);
}

/* What server s gets. */
static void add_server(struct sums *sums, const struct sync_env *env, int s)
{
    size_t n_own = 0;
    double own_bytes = 0;

    for (size_t k = 0; k < env->buckets->n_pieces; k++) {
        const size_t n_elems = part_elems(env, k, s);
        if (n_elems == 0)
            continue;
        const double n_bytes = message_bytes(n_elems);
        own_bytes += n_bytes;
        if (sums->n_messages + n_own++ == 0 || n_bytes < sums->least_bytes)
            sums->least_bytes = n_bytes;
    }
    sums->n_messages += n_own;
    sums->all_bytes += own_bytes;
    sums->n_most_messages = n_own > sums->n_most_messages ? n_own : sums->n_most_messages;
    sums->most_bytes = own_bytes > sums->most_bytes ? own_bytes : sums->most_bytes;
}

static void add_longest(struct sums *sums, const struct sync_env *env)
{
    for (size_t k = 0; k < env->buckets->n_pieces; k++) {
        size_t n_longest = 0;
        for (int s = 0; s < env->n_servers; s++)
            n_longest = part_elems(env, k, s) > n_longest ? part_elems(env, k, s) : n_longest;
        sums->in_turn_bytes += message_bytes(n_longest);
    }
}

static struct wire_plan plan_of_even(const struct sums *sums, const struct sync_env *env)
{
    const size_t n_elems = env->buckets->n_params / sums->n_messages;
    const size_t n_at_server = sums->n_most_messages * (size_t)env->n_workers;
    const size_t n_busiest = n_at_server > sums->n_messages + 1 ? n_at_server : sums->n_messages + 1;

    return (struct wire_plan){ PS_HEADER_BYTES + n_elems * sizeof(float), 2 * (double)env->buckets->n_pieces,
                               (double)n_busiest };
}

static struct wire_plan plan_of_bytes(const struct sums *sums, const struct sync_env *env)
{
    const double n_pieces = (double)env->buckets->n_pieces, n_bytes = sums->in_turn_bytes / n_pieces;
    const double server_bytes = sums->most_bytes * env->n_workers;
    const double worker_bytes = sums->all_bytes + sums->least_bytes;
    const double busiest_bytes = server_bytes > worker_bytes ? server_bytes : worker_bytes;

    return (struct wire_plan){ (size_t)n_bytes, 2 * n_pieces, busiest_bytes / (double)(size_t)n_bytes };
}

struct wire_plan ps_wire_plan(const struct sync_env *env)
{
    struct sums sums = { 0 };

    for (int s = 0; s < env->n_servers; s++)
        add_server(&sums, env, s);
    add_longest(&sums, env);
    if (sums.n_messages == 0)
        return (struct wire_plan){ 0 };
    return env->placement->opts.kind == PLACEMENT_SPLIT ? plan_of_even(&sums, env) : plan_of_bytes(&sums, env);
}
