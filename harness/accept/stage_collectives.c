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
#include <stdlib.h>

#include "allreduce/collective_list.h"
#include "harness/accept/sizes.h"
#include "harness/accept/trainings.h"
#include "harness/exchange/collective.h"

enum { N_KINDS = 13 }; /* of values: element i of rank r is (i + r) % N_KINDS */

struct bench { /* of one rank */
    struct stage_env *env;
    const struct collective_ops *ops;
    struct transport *transport;
    struct compute *host; /* works on messages where env->compute cannot; else NULL */
    struct collective *collective;
    float *host_data, *data; /* [max_elems]: of the host; what is summed: the same, or of a device. NULL: hollow */
    void *device_data;
    size_t max_elems;
    struct wrong_sum wrong; /* of this rank, of the size that is measured */
};

static bool is_on_device(const struct bench *b)
{
    return b->ops->module.caps & COLL_DEVICE;
}

static struct compute *summing(const struct bench *b)
{
    return b->host ? b->host : b->env->compute;
}

static void bench_close(struct bench *b)
{
    transport_close(&b->transport);
    collective_close(&b->collective);
    compute_memory_close(b->env->compute, &b->device_data);
    compute_host_close(b->env->compute, (void **)&b->host_data);
    compute_close(&b->host);
}

static enum rc open_memory(struct bench *b)
{
    const struct compute_backend *backend = b->env->backend;
    void *host = NULL;
    enum rc rc = RC_OK;

    if (!backend->touches_memory)
        return RC_OK;
    TRY(compute_host_open(b->env->compute, &host, b->max_elems * sizeof(float), "what an allreduce sums"));
    b->data = b->host_data = host;
    if (is_on_device(b)) {
        TRY(compute_memory_open(b->env->compute, &b->device_data, b->max_elems * sizeof(float), "what it sums"));
        b->data = b->device_data;
    }
out:
    return rc;
}

static enum rc bench_open(struct bench *b)
{
    struct stage_env *env = b->env;
    const struct compute_backend *backend = env->backend;
    struct compute_env host_env = env->compute->env;
    enum rc rc;

    TRY(open_memory(b));
    host_env.precision = PRECISION_FP32;
    if (!is_on_device(b) && backend->touches_memory && !backend->host_memory)
        TRY(compute_open(&b->host, &compute_cpu, &host_env));
    TRY(transport_open(&b->transport, env->transport, env->world));
    b->transport->fails_together = true;
    const struct collective_env collective = { .kind = &collective_kind,
                                               .transport = b->transport,
                                               .compute = summing(b),
                                               .timeout_ms = env->timeout_ms,
                                               .types = COLL_ALLREDUCE,
                                               .max_elems = b->max_elems,
                                               .n_groups = 1 };
    TRY(collective_open(&b->collective, b->ops, &collective));
out:
    return rc;
}

/* --- one run --- */

static enum rc fill(struct bench *b, size_t n_elems)
{
    const size_t rank = (size_t)b->env->world->rank;
    enum rc rc = RC_OK;

    for (size_t i = 0; b->host_data && i < n_elems; i++)
        b->host_data[i] = (float)((i + rank) % N_KINDS);
    if (b->device_data) {
        compute_put(b->env->compute, b->device_data, b->host_data, n_elems * sizeof(float));
        TRY(compute_sync(b->env->compute));
    }
out:
    return rc;
}

/* Exact: sums of small whole numbers. Wrong ones are counted. */
static enum rc check(struct bench *b, size_t n_elems)
{
    float expected[N_KINDS] = { 0 };
    enum rc rc = RC_OK;

    if (!b->host_data)
        return RC_OK;
    if (b->device_data)
        TRY(compute_fetch(b->env->compute, b->host_data, b->device_data, n_elems * sizeof(float)));
    for (size_t k = 0; k < N_KINDS; k++)
        for (size_t r = 0; r < (size_t)b->env->world->n_ranks; r++)
            expected[k] += (float)((k + r) % N_KINDS);
    for (size_t i = 0; i < n_elems; i++)
        if (b->host_data[i] != expected[i % N_KINDS] && b->wrong.n_wrong++ == 0) {
            b->wrong.element = i;
            b->wrong.value = (double)b->host_data[i];
            b->wrong.expected = (double)expected[i % N_KINDS];
        }
out:
    return rc;
}

static enum rc reduce(struct bench *b, size_t n_elems)
{
    const struct collective_call call = { .type = COLL_ALLREDUCE, .n_elems = n_elems };
    enum rc rc;

    if (!is_on_device(b)) {
        TRY(collective_run(b->collective, &call, b->data));
        TRY(compute_sync(summing(b))); /* what was added takes its virtual time */
        return RC_OK;
    }
    TRY(collective_begin(b->collective));
    TRY(collective_run(b->collective, &call, b->data));
    TRY(collective_end(b->collective, 0));
    TRY(collective_wait(b->collective, 0));
    TRY(compute_sync(b->env->compute));
out:
    return rc;
}

/* *took_s on rank 0: of the slowest rank. */
static enum rc time_one(double *took_s, struct bench *b, size_t n_elems)
{
    struct world *w = b->env->world;
    enum rc rc;

    TRY(fill(b, n_elems));
    TRY(world_barrier(w));
    const uint64_t started_ns = world_now_ns(w);
    TRY(reduce(b, n_elems));
    TRY(sizes_slowest_rank(took_s, w, 1e-9 * (double)(world_now_ns(w) - started_ns)));
    TRY(check(b, n_elems));
out:
    return rc;
}

/* --- one size --- */

/* What the slowest link allows; NaN: not known. */
static double bound_bytes_per_s(const struct bench *b, size_t n_elems, double bus_bytes)
{
    const struct collective_call call = { .type = COLL_ALLREDUCE, .n_elems = n_elems };
    const struct collective_group all = { b->env->world->n_ranks, NULL };
    const struct collective_cost path = b->ops->critical_path(NULL, &call, &all);

    return sizes_slowest_link(&b->env->out->tournament) * bus_bytes / (double)path.bytes;
}

static void keep(const struct bench *b, const struct repeats *r, size_t n_elems)
{
    struct acceptance *a = b->env->out;
    const double n_ranks = a->n_ranks, bus_bytes = (double)(n_elems * sizeof(float)) * 2 * (n_ranks - 1) / n_ranks;
    struct sized_rate *to = &a->collective[a->n_collective++];

    *to = repeats_rate(r, n_elems * sizeof(float), bus_bytes);
    to->bound_ratio = to->bytes_per_s / bound_bytes_per_s(b, n_elems, bus_bytes);
}

/* Of all ranks, to rank 0. */
static enum rc keep_wrong(struct bench *b, int n_checks)
{
    struct world *w = b->env->world;
    struct acceptance *a = b->env->out;
    struct wrong_sum *all = NULL;
    enum rc rc = RC_OK;

    if (!b->env->backend->touches_memory)
        return RC_OK;
    if (a) {
        all = calloc((size_t)w->n_ranks, sizeof *all);
        if (!all)
            FAIL(RC_NOMEM, "no memory for the sums of %d ranks", w->n_ranks);
        a->sum_checks_count += (uint64_t)n_checks;
    }
    TRY(world_gather(w, &b->wrong, all, sizeof b->wrong));
    for (int r = 0; all && r < w->n_ranks; r++)
        if (all[r].n_wrong > 0)
            TRY(acceptance_add_wrong_sum(a, &all[r]));
out:
    free(all);
    return rc;
}

static enum rc measure(struct bench *b, size_t n_elems)
{
    struct stage_env *env = b->env;
    struct repeats r = { .n = 0 };
    bool goes_on = true;
    double took_s;
    enum rc rc;

    b->wrong = (struct wrong_sum){ .n_bytes = n_elems * sizeof(float), .rank = env->world->rank };
    TRY(time_one(&took_s, b, n_elems)); /* what is done once is done then: not kept */
    while (goes_on) {
        TRY(time_one(&took_s, b, n_elems));
        r.took_s[r.n++] = took_s;
        TRY(stage_goes_on(env, env->out && repeats_open(&r, env->criteria), &goes_on));
    }
    TRY(keep_wrong(b, r.n + 1));
    if (env->out)
        keep(b, &r, n_elems);
out:
    return rc;
}

/* --- the stage --- */

static enum rc measure_all(struct bench *b, const size_t *n_bytes, int n)
{
    bool goes_on;
    char what[64];
    enum rc rc = RC_OK;

    for (int i = 0; i < n; i++) {
        TRY(stage_goes_on(b->env, true, &goes_on));
        if (!goes_on) {
            stage_why(b->env, ACCEPT_COLLECTIVES, "ended before the allreduce of %zu bytes", n_bytes[i]);
            break;
        }
        snprintf(what, sizeof what, "allreduce of %zu bytes", n_bytes[i]);
        stage_progress(b->env, (double)i / n, "%s", what);
        TRY(measure(b, n_bytes[i] / sizeof(float)));
    }
out:
    return rc;
}

/* RC_OK with the reason in the stage's state: nothing can be measured. The same on all ranks. */
static bool find_work(struct bench *b, size_t *n_bytes, int *n)
{
    struct stage_env *env = b->env;
    const struct criteria *c = env->criteria;

    if (env->world->n_ranks < 2) {
        stage_why(env, ACCEPT_COLLECTIVES, "one rank has nobody to sum with");
        return false;
    }
    if (collective_find(&b->ops, &collective_kind, c->reducer) != RC_OK ||
        collective_require(&collective_kind, b->ops, COLL_ALLREDUCE) != RC_OK ||
        sizes_parse(n_bytes, n, c->collective_bytes) != RC_OK) {
        stage_why(env, ACCEPT_COLLECTIVES, "%s", rc_message());
        return false;
    }
    if (is_on_device(b) && !(env->backend->module.caps & COMPUTE_SIDE)) {
        stage_why(env, ACCEPT_COLLECTIVES, "reducer %s sums in the memory of GPUs, and compute %s has none", c->reducer,
                  env->backend->module.name);
        return false;
    }
    return true;
}

enum rc stage_collectives(struct stage_env *env)
{
    struct bench b = { .env = env };
    size_t n_bytes[ACCEPT_MAX_SIZES];
    int n = 0;
    enum rc rc = RC_OK;

    if (!find_work(&b, n_bytes, &n))
        return RC_OK;
    for (int i = 0; i < n; i++)
        b.max_elems = n_bytes[i] / sizeof(float) > b.max_elems ? n_bytes[i] / sizeof(float) : b.max_elems;
    TRY(bench_open(&b));
    TRY(measure_all(&b, n_bytes, n));
    stage_progress(env, 1, "sums");
out:
    bench_close(&b);
    return rc;
}
