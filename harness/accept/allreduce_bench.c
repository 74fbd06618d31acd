/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allreduce_bench.c - one allreduce over all ranks of a test, in their order or another; it is timed and its sum is
 * checked; see allreduce_bench.h.
 */
#include "harness/accept/allreduce_bench.h"

#include "allreduce/collective_list.h"
#include "harness/accept/sizes.h"

enum { N_KINDS = 13 }; /* of values: element i of rank r is (i + r) % N_KINDS */

static bool is_on_device(const struct allreduce_bench *b)
{
    return b->ops->module.caps & COLL_DEVICE;
}

static struct compute *summing(const struct allreduce_bench *b)
{
    return b->host ? b->host : b->env->compute;
}

void allreduce_bench_close(struct allreduce_bench *b)
{
    if (!b->env)
        return;
    transport_close(&b->transport);
    collective_close(&b->collective);
    compute_memory_close(b->env->compute, &b->device_data);
    compute_host_close(b->env->compute, (void **)&b->host_data);
    compute_close(&b->host);
    *b = (struct allreduce_bench){ .env = NULL };
}

static enum rc open_memory(struct allreduce_bench *b)
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

static enum rc open_parts(struct allreduce_bench *b)
{
    struct stage_env *env = b->env;
    const struct compute_backend *backend = env->backend;
    struct compute_env host_env = env->compute->env;
    enum rc rc;

    TRY(open_memory(b));
    host_env.precision = PRECISION_FP32;
    if (!is_on_device(b) && compute_has_own_memory(backend))
        TRY(compute_open(&b->host, &compute_cpu, &host_env));
    TRY(transport_open(&b->transport, env->transport, b->world));
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

enum rc allreduce_bench_open(struct allreduce_bench *out, struct stage_env *env, struct world *world,
                             const struct collective_ops *ops, size_t max_elems)
{
    enum rc rc;

    *out = (struct allreduce_bench){ .env = env, .world = world, .ops = ops, .max_elems = max_elems };
    rc = open_parts(out);
    if (rc != RC_OK)
        allreduce_bench_close(out);
    return rc;
}

/* --- one run --- */

static enum rc fill(struct allreduce_bench *b, size_t n_elems)
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
static enum rc check(struct allreduce_bench *b, size_t n_elems)
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
    b->n_elems = n_elems;
    for (size_t i = 0; i < n_elems; i++)
        stage_check_sum(&b->wrong, i, b->host_data[i], expected[i % N_KINDS]);
out:
    return rc;
}

static enum rc reduce(struct allreduce_bench *b, size_t n_elems)
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

enum rc allreduce_bench_time(double *took_s, struct allreduce_bench *b, size_t n_elems)
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

enum rc allreduce_bench_keep_wrong(struct allreduce_bench *b, int n_checks)
{
    return stage_keep_wrong(b->env, ACCEPT_COLLECTIVES, b->n_elems * sizeof(float), &b->wrong, n_checks);
}
