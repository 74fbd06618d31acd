/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe.c - four short measurements before a run. Each repeats until it has MAX_REPEATS values or
 * its share of time is spent (in sim, where values do not vary: few), and takes the fastest: a limit
 * is what the part can do, not what it did on average. The baseline is the median: it is a rate to
 * compare with.
 */
#include "harness/train/probe.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/arena.h"
#include "harness/compute/optimizer.h"
#include "harness/net/transport.h"

enum { MAX_REPEATS = 200, MIN_REPEATS = 3, SIM_REPEATS = 2, TAG_PROBE = 0x50 };
enum { MAX_EXCHANGES = 50, MIN_EXCHANGES = 2, MAX_MESSAGE_BYTES = 32 << 20, MAX_EXCHANGED_BYTES = 256 << 20 };
enum { MAX_SLICE_ELEMS = 4 << 20 };

#define SHARE_NS UINT64_C(60000000)
#define LONG_NS UINT64_C(1000000000)

struct series { /* of one repeated measurement */
    double value_s[MAX_REPEATS];
    int n_values;
    uint64_t started_ns;
};

static bool is_virtual(const struct probe_env *env)
{
    return env->world->ops->module.caps & WORLD_VIRTUAL_TIME;
}

static bool more(const struct series *s, const struct probe_env *env)
{
    if (is_virtual(env))
        return s->n_values < SIM_REPEATS;
    if (s->n_values == 0)
        return true;
    const uint64_t spent_ns = world_now_ns(env->world) - s->started_ns;
    if (s->n_values < MIN_REPEATS)
        return spent_ns < LONG_NS;
    return s->n_values < MAX_REPEATS && spent_ns < SHARE_NS;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double quantile_s(struct series *s, double q)
{
    qsort(s->value_s, (size_t)s->n_values, sizeof *s->value_s, ascending);
    return s->value_s[(int)((double)(s->n_values - 1) * q)];
}

static enum rc gradient(const struct probe_env *env, uint64_t first)
{
    double loss;
    enum rc rc;

    TRY(workload_gradient(env->training, env->param, first, env->job->opts.batch, env->grad, &loss, NULL, NULL));
    TRY(compute_sync(env->compute));
out:
    return rc;
}

/* An update of as many elements as a slice has room for, at a time: the cost of one of all, without their memory. */
struct update {
    struct optimizer optimizer;
    size_t n_elems, n_slice;
    void *param, *grad; /* float[n_slice]; NULL: hollow */
};

static enum rc update_open(struct update *u, const struct probe_env *env, size_t n_elems)
{
    const bool real = env->compute->ops->touches_memory;
    enum rc rc;

    u->n_elems = n_elems;
    u->n_slice = real && n_elems > MAX_SLICE_ELEMS ? MAX_SLICE_ELEMS : n_elems;
    TRY(optimizer_init(&u->optimizer, env->compute, u->n_slice, (float)env->job->opts.momentum,
                       (float)env->job->opts.weight_decay, NULL));
    if (real) {
        TRY(compute_memory_open(env->compute, &u->param, u->n_slice * sizeof(float), "probe of the update"));
        TRY(compute_memory_open(env->compute, &u->grad, u->n_slice * sizeof(float), "probe of the update"));
    }
out:
    return rc;
}

static enum rc update_run(struct update *u)
{
    enum rc rc = RC_OK;

    for (size_t at = 0; at < u->n_elems; at += u->n_slice) {
        u->optimizer.n_params = u->n_elems - at < u->n_slice ? u->n_elems - at : u->n_slice;
        TRY(optimizer_step(&u->optimizer, u->param, u->grad));
    }
out:
    return rc;
}

static void update_close(struct update *u, const struct probe_env *env)
{
    compute_memory_close(env->compute, &u->param);
    compute_memory_close(env->compute, &u->grad);
    optimizer_fini(&u->optimizer);
}

/* Rank 0 alone: gradient and update, the others asleep. */
static enum rc probe_baseline(double *step_s, const struct probe_env *env)
{
    struct series series = { .started_ns = world_now_ns(env->world) };
    struct update update = { 0 };
    enum rc rc = RC_OK;

    if (env->sync)
        TRY(update_open(&update, env, env->job->n_params));
    while (more(&series, env)) {
        const uint64_t started_ns = world_now_ns(env->world);
        TRY(gradient(env, (uint64_t)series.n_values * env->job->opts.batch));
        TRY(update_run(&update));
        series.value_s[series.n_values++] = (double)(world_now_ns(env->world) - started_ns) * 1e-9;
    }
    *step_s = quantile_s(&series, 0.5);
out:
    update_close(&update, env);
    return rc;
}

static enum rc probe_compute(double *best_s, const struct probe_env *env)
{
    struct series series = { .started_ns = world_now_ns(env->world) };
    enum rc rc = RC_OK;

    while (more(&series, env)) {
        const uint64_t started_ns = world_now_ns(env->world);
        TRY(gradient(env, (uint64_t)series.n_values * env->job->opts.batch));
        series.value_s[series.n_values++] = (double)(world_now_ns(env->world) - started_ns) * 1e-9;
    }
    *best_s = quantile_s(&series, 0);
out:
    return rc;
}

/* Every rank sends n_bytes to the next and receives as many from the one before; the fastest of some repeats (equal
 * on all ranks: a clock would let ranks leave at different times). buffer char[2 n_bytes], or NULL: hollow. */
static enum rc time_neighbours(double *best_s, const struct probe_env *env, struct transport *t, void *buffer,
                               size_t n_bytes)
{
    const int p = env->world->n_ranks, r = env->world->rank;
    const size_t n_affordable = MAX_EXCHANGED_BYTES / n_bytes;
    const int n_most = n_affordable < MAX_EXCHANGES ? (int)n_affordable : MAX_EXCHANGES;
    const int n_repeats = is_virtual(env) ? SIM_REPEATS : n_most > MIN_EXCHANGES ? n_most : MIN_EXCHANGES;
    struct series series = { 0 };
    enum rc rc = RC_OK;

    while (series.n_values < n_repeats) {
        struct xfer tx = { .peer = (r + 1) % p, .tag = TAG_PROBE, .ptr = buffer };
        struct xfer rx = { .peer = (r + p - 1) % p, .tag = TAG_PROBE, .ptr = buffer ? (char *)buffer + n_bytes : NULL };
        *(buffer ? &tx.n_bytes : &tx.n_hollow_bytes) = n_bytes;
        *(buffer ? &rx.n_bytes : &rx.n_hollow_bytes) = n_bytes;
        const uint64_t started_ns = world_now_ns(env->world);
        TRY(transport_exchange(t, &tx, &rx, (int)env->job->opts.timeout_s * 1000));
        series.value_s[series.n_values++] = (double)(world_now_ns(env->world) - started_ns) * 1e-9;
    }
    *best_s = quantile_s(&series, 0);
out:
    return rc;
}

double probe_wire_s(const struct wire_plan *plan, double alpha_s, double message_s, size_t n_bytes)
{
    const double seen_s = message_s > alpha_s ? message_s - alpha_s : 0;
    const double extra_s = seen_s * ((double)plan->message_bytes / (double)n_bytes);
    const double chain_s = plan->n_in_turn * (alpha_s + extra_s), link_s = plan->n_on_link * extra_s;

    return chain_s > link_s ? chain_s : link_s;
}

/* Latency from the smallest message, the rest from one of the step's own, or the longest there is room for. */
static enum rc probe_wire(double *step_s, const struct probe_env *env, const struct wire_plan *plan)
{
    const bool real = env->compute->ops->touches_memory;
    const bool is_long = real && plan->message_bytes > MAX_MESSAGE_BYTES;
    const size_t n_bytes = is_long ? MAX_MESSAGE_BYTES : plan->message_bytes;
    double alpha_s, message_s;
    struct transport *t = NULL;
    struct arena arena = { 0 };
    float *buffer = NULL;
    enum rc rc;

    TRY(transport_open(&t, env->job->transport, env->world));
    if (real) {
        const size_t n_elems = 2 * (n_bytes / sizeof(float) + 1);
        TRY(arena_open(&arena, arena_floats_bytes(n_elems)));
        buffer = arena_floats(&arena, n_elems);
    }
    TRY(time_neighbours(&alpha_s, env, t, buffer, sizeof(float)));
    TRY(time_neighbours(&message_s, env, t, buffer, n_bytes));
    *step_s = probe_wire_s(plan, alpha_s, message_s, n_bytes);
    TRY(world_barrier(env->world)); /* nobody closes while a neighbour still sends */
out:
    transport_close(&t);
    arena_close(&arena);
    return rc;
}

/* A server's round: for each worker one update of its slice, and its copy for the reply. */
static enum rc probe_server(double *best_s, const struct probe_env *env)
{
    const size_t n_elems = env->job->n_params / (size_t)env->job->n_servers;
    const bool real = env->compute->ops->touches_memory && env->compute->ops->host_memory;
    struct series series = { .started_ns = world_now_ns(env->world) };
    struct update update = { 0 };
    enum rc rc;

    TRY(update_open(&update, env, n_elems));
    while (more(&series, env)) {
        const uint64_t started_ns = world_now_ns(env->world);
        TRY(update_run(&update));
        for (size_t at = 0; real && at < n_elems; at += update.n_slice) /* the reply */
            memcpy(update.grad, update.param,
                   (n_elems - at < update.n_slice ? n_elems - at : update.n_slice) * sizeof(float));
        world_charge(env->world, 0, 2.0 * (double)n_elems * sizeof(float));
        series.value_s[series.n_values++] = (double)(world_now_ns(env->world) - started_ns) * 1e-9;
    }
    *best_s = quantile_s(&series, 0) * env->job->n_workers;
out:
    update_close(&update, env);
    return rc;
}

static enum rc probe_own(struct train_limits *own, const struct probe_env *env)
{
    const struct wire_plan plan = env->sync ? env->sync->ops->wire_plan(env->sync) : (struct wire_plan){ 0 };
    const bool worker = env->training != NULL;
    enum rc rc = RC_OK;

    if (env->world->rank == 0)
        TRY(probe_baseline(&own->baseline_step_s, env));
    TRY(world_barrier(env->world));
    if (worker)
        TRY(probe_compute(&own->compute_s, env));
    TRY(world_barrier(env->world));
    if (plan.message_bytes > 0 && env->world->n_ranks > 1)
        TRY(probe_wire(&own->wire_s, env, &plan));
    if (!worker)
        TRY(probe_server(&own->server_s, env));
    TRY(world_barrier(env->world));
out:
    return rc;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

enum rc probe_limits(struct train_limits *out, const struct probe_env *env)
{
    struct train_limits own = { 0 }, *all = NULL;
    enum rc rc;

    TRY(probe_own(&own, env));
    if (env->world->rank == 0) {
        all = calloc((size_t)env->world->n_ranks, sizeof *all);
        if (!all)
            FAIL(RC_NOMEM, "no memory for the limits of %d ranks", env->world->n_ranks);
    }
    TRY(world_gather(env->world, &own, all, sizeof own));
    for (int r = 0; all && r < env->world->n_ranks; r++) {
        own.compute_s = larger(own.compute_s, all[r].compute_s);
        own.wire_s = larger(own.wire_s, all[r].wire_s);
        own.server_s = larger(own.server_s, all[r].server_s);
    }
    *out = own;
out:
    free(all);
    return rc;
}
