/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage_collectives.c - the allreduce of criteria.reducer over all ranks: bus bandwidth, as nccl-tests has it,
 * S / t x 2 (n - 1) / n, which does not depend on n where links are what limits. Of each repeat every rank checks its
 * sums, and what is wrong of a size comes to rank 0 behind its last repeat.
 *
 * The bound: on the slowest path of the algorithm so many bytes follow one another; no link of the tournament is slower
 * than the slowest. It is a bound of links alone, for ranks that have one each.
 */
#include <math.h>
#include <stdio.h>

#include "allreduce/collective_list.h"
#include "harness/accept/allreduce_bench.h"
#include "harness/accept/rank_contest.h"
#include "harness/accept/sizes.h"

/* Of the stage: the rest is that of rank_contest(). */
#define SIZES_PART 0.7

/* --- one size --- */

/* What the slowest link allows; NaN: not known, as of another library's messages (A7, A9). */
static double bound_bytes_per_s(const struct allreduce_bench *b, size_t n_elems, double bus_bytes)
{
    const struct collective_call call = { .type = COLL_ALLREDUCE, .n_elems = n_elems };
    const struct collective_group all = { .n_ranks = b->env->world->n_ranks, .is_least = true, .may_wait = true };
    const struct collective_cost path = b->ops->critical_path(NULL, &call, &all);

    if (path.bytes == 0 || inject_has_slow_links(b->env->inject)) /* the links of this stage are not those measured */
        return NAN;
    return sizes_slowest_link(&b->env->out->tournament) * bus_bytes / (double)path.bytes;
}

static void keep(const struct allreduce_bench *b, const struct repeats *r, size_t n_elems)
{
    struct acceptance *a = b->env->out;
    const double bus_bytes = allreduce_bus_bytes(n_elems, a->n_ranks);
    struct sized_rate *to = &a->collective[a->n_collective++];

    *to = repeats_rate(r, n_elems * sizeof(float), bus_bytes);
    to->bound_ratio = to->bytes_per_s / bound_bytes_per_s(b, n_elems, bus_bytes);
}

static enum rc measure(struct allreduce_bench *b, size_t n_elems)
{
    struct stage_env *env = b->env;
    struct repeats r = { .n = 0 };
    bool goes_on = true;
    double took_s;
    enum rc rc;

    TRY(allreduce_bench_time(&took_s, b, n_elems)); /* what is done once is done then: not kept */
    while (goes_on) {
        TRY(allreduce_bench_time(&took_s, b, n_elems));
        r.took_s[r.n++] = took_s;
        TRY(stage_goes_on(env, env->out && repeats_open(&r, env->criteria), &goes_on));
    }
    TRY(allreduce_bench_keep_wrong(b, r.n + 1));
    if (env->out)
        keep(b, &r, n_elems);
out:
    return rc;
}

/* --- the stage --- */

/* *goes_on false: the stage ended before the last size. */
static enum rc measure_all(struct allreduce_bench *b, const size_t *n_bytes, int n, bool *goes_on)
{
    char what[64];
    enum rc rc = RC_OK;

    for (int i = 0; i < n; i++) {
        TRY(stage_goes_on(b->env, true, goes_on));
        if (!*goes_on) {
            stage_why(b->env, ACCEPT_COLLECTIVES, "ended before the allreduce of %zu bytes", n_bytes[i]);
            break;
        }
        snprintf(what, sizeof what, "allreduce of %zu bytes", n_bytes[i]);
        stage_progress(b->env, SIZES_PART * i / n, "%s", what);
        TRY(measure(b, n_bytes[i] / sizeof(float)));
    }
out:
    return rc;
}

/* RC_OK with the reason in the stage's state: nothing can be measured. The same on all ranks. */
static bool find_work(struct stage_env *env, const struct collective_ops **ops, size_t *n_bytes, int *n)
{
    const struct criteria *c = env->criteria;
    const struct collective_hosts hosts = { env->world->n_ranks, env->world->n_host_ranks,
                                            env->world->memories_are_apart };

    if (env->world->n_ranks < 2) {
        stage_why(env, ACCEPT_COLLECTIVES, "one rank has no other rank to sum with");
        return false;
    }
    if (collective_find(ops, &collective_kind, c->reducer) != RC_OK ||
        collective_require(&collective_kind, *ops, COLL_ALLREDUCE) != RC_OK ||
        collective_check_hosts(&collective_kind, *ops, &hosts) != RC_OK ||
        sizes_parse(n_bytes, n, c->collective_bytes) != RC_OK) {
        stage_why(env, ACCEPT_COLLECTIVES, "%s", rc_message());
        return false;
    }
    if ((*ops)->module.caps & COLL_DEVICE && !(env->backend->module.caps & COMPUTE_SIDE)) {
        stage_why(env, ACCEPT_COLLECTIVES, "reducer %s sums in the memory of GPUs, and compute %s has none", c->reducer,
                  env->backend->module.name);
        return false;
    }
    return true;
}

enum rc stage_collectives(struct stage_env *env)
{
    struct allreduce_bench b = { .env = NULL };
    const struct collective_ops *ops = NULL;
    size_t n_bytes[ACCEPT_MAX_SIZES], max_elems = 0;
    bool goes_on = true;
    int n = 0;
    enum rc rc = RC_OK;

    if (!find_work(env, &ops, n_bytes, &n)) {
        inject_now(env->inject, env->world, ACCEPT_COLLECTIVES);
        return RC_OK;
    }
    for (int i = 0; i < n; i++)
        max_elems = n_bytes[i] / sizeof(float) > max_elems ? n_bytes[i] / sizeof(float) : max_elems;
    TRY(allreduce_bench_open(&b, env, env->world, ops, max_elems));
    TRY(measure_all(&b, n_bytes, n, &goes_on));
    allreduce_bench_close(&b);
    if (goes_on)
        TRY(rank_contest(env, ops));
    inject_now(env->inject, env->world, ACCEPT_COLLECTIVES); /* it was not in the contest */
    stage_progress(env, 1, "sums");
out:
    allreduce_bench_close(&b);
    return rc;
}
