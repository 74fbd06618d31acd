/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_contest.c - measures the benefit of rank orders: the same allreduce in each order of rank_order.h; see
 * rank_contest.h.
 */
#include "harness/accept/rank_contest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/accept/allreduce_bench.h"
#include "harness/accept/sizes.h"
#include "harness/cluster/topology.h"
#include "harness/measure/paired.h"

/* Of the stage: before it come the sizes of criteria.collective_bytes. */
#define FROM_RATIO 0.7

struct contest { /* of one rank; owned but for env and ops */
    struct stage_env *env;
    const struct collective_ops *ops;
    size_t n_elems;
    int n_measured;
    bool is_measured[ACCEPT_N_RANK_ORDERS];   /* the same on all ranks */
    struct world *part[ACCEPT_N_RANK_ORDERS]; /* all ranks, in that order */
    struct allreduce_bench bench[ACCEPT_N_RANK_ORDERS];
    struct repeats took[ACCEPT_N_RANK_ORDERS]; /* rank 0 */
};

/* --- switches --- */

void rank_contest_switches(char out[RANK_ORDER_SWITCHES_BYTES], const char *address, const char *node)
{
    const size_t n = address ? strlen(address) : 0, n_node = node ? strlen(node) : 0;

    out[0] = '\0';
    if (n_node == 0 || n < n_node + 2 || n - n_node > RANK_ORDER_SWITCHES_BYTES ||
        strcmp(address + n - n_node, node) != 0 || address[n - n_node - 1] != '.')
        return;
    memcpy(out, address, n - n_node - 1);
    out[n - n_node - 1] = '\0';
}

/* In virtual time those of the description. */
static void find_switches(char out[RANK_ORDER_SWITCHES_BYTES], const struct stage_env *env)
{
    struct topology t;

    out[0] = '\0';
    if (!stage_is_virtual(env)) {
        rank_contest_switches(out, getenv("SLURM_TOPOLOGY_ADDR"), getenv("SLURMD_NODENAME"));
        return;
    }
    if (!env->cluster)
        return;
    topology_init(&t, env->cluster, 0, env->world->n_ranks);
    snprintf(out, RANK_ORDER_SWITCHES_BYTES, "group%d", topology_group(&t, topology_slot(&t, env->world->rank)));
}

/* --- orders: rank 0 --- */

static void say_why(struct acceptance *a, int kind, const char *why)
{
    snprintf(a->rank_order[kind].why, sizeof a->rank_order[kind].why, "%s", why);
}

/* node, order: scratch. switches[n_ranks]: of each rank's node. */
static enum rc add_by_switches(struct acceptance *a, int *node, int *order, char (*switches)[RANK_ORDER_SWITCHES_BYTES])
{
    enum rc rc = RC_OK;

    for (int i = 0; i < a->n_nodes; i++) {
        memmove(switches[i], switches[a->node[i].first_rank], sizeof *switches); /* never before rank i */
        if (!switches[i][0]) {
            TRY(acceptance_add_rank_order(a, RANK_ORDER_SWITCHES, NULL));
            say_why(a, RANK_ORDER_SWITCHES, "no scheduler and no description says which switches nodes are on");
            goto out;
        }
    }
    TRY(rank_order_by_switches(node, (const char(*)[RANK_ORDER_SWITCHES_BYTES])switches, a->n_nodes));
    rank_order_of_nodes(order, a, node);
    TRY(acceptance_add_rank_order(a, RANK_ORDER_SWITCHES, order));
    say_why(a, RANK_ORDER_SWITCHES, a->is_virtual ? "groups of the description" : "switches as Slurm knows them");
out:
    return rc;
}

/* A member of a ring sends a part of the vector to the next. */
static enum rc add_shortest(struct acceptance *a, int *node, int *order, double message_bytes, double least_gain_ratio)
{
    bool is_known = false;
    enum rc rc = RC_OK;

    if (a->tournament.n_repeats > 0)
        TRY(rank_order_shortest(node, &is_known, &a->tournament, message_bytes, least_gain_ratio));
    if (!is_known) {
        TRY(acceptance_add_rank_order(a, RANK_ORDER_SHORTEST, NULL));
        say_why(a, RANK_ORDER_SHORTEST, "rates of all pairs are not known; the pairwise stage measures them");
        goto out;
    }
    rank_order_of_nodes(order, a, node);
    TRY(acceptance_add_rank_order(a, RANK_ORDER_SHORTEST, order));
    say_why(a, RANK_ORDER_SHORTEST, "rates and latencies of the pairwise stage");
out:
    return rc;
}

static void find_same(struct acceptance *a)
{
    const size_t n_bytes = (size_t)a->n_ranks * sizeof(int);

    for (int k = 1; k < ACCEPT_N_RANK_ORDERS; k++)
        for (int i = k - 1; i >= 0 && a->rank_order[k].rank; i--)
            if (a->rank_order[i].rank && memcmp(a->rank_order[i].rank, a->rank_order[k].rank, n_bytes) == 0)
                a->rank_order[k].same_as = i;
}

static enum rc add_orders(struct contest *c, char (*switches)[RANK_ORDER_SWITCHES_BYTES])
{
    struct acceptance *a = c->env->out;
    int *order = malloc((size_t)a->n_ranks * sizeof *order), *node = malloc((size_t)a->n_ranks * sizeof *node);
    enum rc rc = RC_OK;

    if (!order || !node)
        FAIL(RC_NOMEM, "no memory for orders of %d ranks", a->n_ranks);
    for (int r = 0; r < a->n_ranks; r++)
        order[r] = node[r] = r;
    TRY(acceptance_add_rank_order(a, RANK_ORDER_LAUNCHER, order));
    rank_order_of_nodes(order, a, node);
    TRY(acceptance_add_rank_order(a, RANK_ORDER_PACK, order));
    rank_order_spread(order, a);
    TRY(acceptance_add_rank_order(a, RANK_ORDER_SPREAD, order));
    TRY(add_by_switches(a, node, order, switches));
    TRY(add_shortest(a, node, order, (double)(c->n_elems * sizeof(float)) / a->n_ranks,
                     c->env->criteria->least_effect_ratio));
    find_same(a);
    for (int k = 0; k < ACCEPT_N_RANK_ORDERS; k++)
        a->rank_order[k].n_bytes = c->n_elems * sizeof(float);
out:
    free(order);
    free(node);
    return rc;
}

/* is_measured := on all ranks, which orders rank 0 has and are not the same as another. */
static enum rc choose_orders(struct contest *c)
{
    struct world *w = c->env->world;
    struct acceptance *a = c->env->out;
    char own[RANK_ORDER_SWITCHES_BYTES] = "", (*all)[RANK_ORDER_SWITCHES_BYTES] = NULL;
    enum rc rc = RC_OK;

    find_switches(own, c->env);
    if (a) {
        all = calloc((size_t)w->n_ranks, sizeof *all);
        if (!all)
            FAIL(RC_NOMEM, "no memory for the switches of %d ranks", w->n_ranks);
    }
    TRY(world_gather(w, own, all, sizeof own));
    if (a)
        TRY(add_orders(c, all));
    for (int k = 0; a && k < ACCEPT_N_RANK_ORDERS; k++)
        c->is_measured[k] = a->rank_order[k].rank && a->rank_order[k].same_as == k;
    TRY(world_broadcast(w, c->is_measured, sizeof c->is_measured));
    for (int k = 0; k < ACCEPT_N_RANK_ORDERS; k++)
        c->n_measured += c->is_measured[k];
out:
    free(all);
    return rc;
}

/* --- measured --- */

/* A world of all ranks in each order, and the allreduce in it. */
static enum rc open_benches(struct contest *c)
{
    struct world *w = c->env->world;
    const size_t n_bytes = (size_t)w->n_ranks * sizeof(int);
    int *order = malloc(n_bytes), key;
    enum rc rc = RC_OK;

    if (!order)
        return rc_raise(RC_NOMEM, "no memory for an order of %d ranks", w->n_ranks);
    for (int k = 0; k < ACCEPT_N_RANK_ORDERS; k++) {
        if (!c->is_measured[k])
            continue;
        if (c->env->out)
            memcpy(order, c->env->out->rank_order[k].rank, n_bytes);
        TRY(world_broadcast(w, order, n_bytes));
        for (key = 0; order[key] != w->rank;)
            key++;
        TRY(world_split(w, 0, key, &c->part[k]));
        TRY(allreduce_bench_open(&c->bench[k], c->env, c->part[k], c->ops, c->n_elems));
    }
out:
    free(order);
    return rc;
}

static void contest_close(struct contest *c)
{
    for (int k = 0; k < ACCEPT_N_RANK_ORDERS; k++) {
        allreduce_bench_close(&c->bench[k]);
        world_split_close(&c->part[k]);
    }
}

/* Each order once, beginning with order number `first`; is_kept: as a repeat. */
static enum rc time_all(struct contest *c, int first, bool is_kept)
{
    enum rc rc = RC_OK;

    for (int i = 0; i < ACCEPT_N_RANK_ORDERS; i++) {
        const int k = (first + i) % ACCEPT_N_RANK_ORDERS;
        struct repeats *r = &c->took[k];
        double took_s;
        if (!c->is_measured[k])
            continue;
        TRY(allreduce_bench_time(&took_s, &c->bench[k], c->n_elems));
        if (is_kept)
            r->took_s[r->n++] = took_s;
    }
out:
    return rc;
}

static bool wants_more(const struct contest *c)
{
    for (int k = 0; k < ACCEPT_N_RANK_ORDERS; k++)
        if (c->is_measured[k] && repeats_open(&c->took[k], c->env->criteria))
            return true;
    return false;
}

static void keep_order(struct contest *c, int kind)
{
    struct rank_order *o = &c->env->out->rank_order[kind];
    const struct repeats *own = &c->took[kind], *launcher = &c->took[RANK_ORDER_LAUNCHER];
    const struct sized_rate rate =
        repeats_rate(own, o->n_bytes, allreduce_bus_bytes(c->n_elems, c->env->world->n_ranks));
    const struct comparison with = compare_pairs(launcher->took_s, own->took_s, (size_t)own->n);

    o->bytes_per_s = rate.bytes_per_s;
    o->low_bytes_per_s = rate.low_bytes_per_s;
    o->high_bytes_per_s = rate.high_bytes_per_s;
    o->ratio = with.ratio;
    o->low_ratio = with.ratio_low;
    o->high_ratio = with.ratio_high;
    o->n_repeats = own->n;
}

/* Of the launcher's order and others as many repeats: what a rank that was lost left half done does not count. */
static void keep_whole_repeats(struct contest *c)
{
    int n = c->took[RANK_ORDER_LAUNCHER].n;

    for (int k = 0; k < ACCEPT_N_RANK_ORDERS; k++)
        n = c->is_measured[k] && c->took[k].n < n ? c->took[k].n : n;
    for (int k = 0; k < ACCEPT_N_RANK_ORDERS; k++) {
        c->took[k].n = n;
        if (c->is_measured[k] && n > 0)
            keep_order(c, k);
    }
}

static void choose_best(struct rank_order *order)
{
    int best = RANK_ORDER_LAUNCHER;

    for (int k = 0; k < ACCEPT_N_RANK_ORDERS; k++)
        if (order[k].low_ratio > 1 && (best == RANK_ORDER_LAUNCHER || order[k].ratio > order[best].ratio)) /* NaN: no */
            best = k;
    order[best].is_best = true;
}

static enum rc repeat_orders(struct contest *c)
{
    struct stage_env *env = c->env;
    bool goes_on = true;
    enum rc rc;

    TRY(time_all(c, 0, false)); /* what is done once is done then */
    for (int i = 0; goes_on; i++) {
        stage_progress(env, FROM_RATIO + (1 - FROM_RATIO) * i / (i + env->criteria->least_repeats_count),
                       "%d orders of ranks, repeat %d", c->n_measured, i + 1);
        if (i > 0)
            inject_now(env->inject, env->world, ACCEPT_COLLECTIVES);
        TRY(time_all(c, i, true));
        TRY(stage_goes_on(env, wants_more(c), &goes_on));
    }
    for (int k = 0; k < ACCEPT_N_RANK_ORDERS; k++)
        if (c->is_measured[k])
            TRY(allreduce_bench_keep_wrong(&c->bench[k], c->took[k].n + 1));
out:
    return rc;
}

static enum rc measure_orders(struct contest *c)
{
    struct stage_env *env = c->env;
    bool goes_on;
    enum rc rc;

    TRY(stage_goes_on(env, true, &goes_on));
    if (!goes_on) {
        stage_why(env, ACCEPT_COLLECTIVES, "ended before orders of ranks were compared");
        return RC_OK;
    }
    TRY(open_benches(c));
    rc = repeat_orders(c);
    if (env->out)
        keep_whole_repeats(c);
    if (env->out && rc == RC_OK)
        choose_best(env->out->rank_order);
out:
    return rc;
}

enum rc rank_contest(struct stage_env *env, const struct collective_ops *ops)
{
    struct contest c = { .env = env, .ops = ops, .n_elems = (size_t)(env->criteria->rank_order_bytes / sizeof(float)) };
    enum rc rc = RC_OK;

    if (env->fleet->n_nodes < 2 || c.n_elems == 0)
        return RC_OK;
    TRY(choose_orders(&c));
    if (c.n_measured > 1)
        TRY(measure_orders(&c));
out:
    contest_close(&c);
    return rc;
}
