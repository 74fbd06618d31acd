/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage_ps.c - push and pull: one parameter server, the first rank of the last node, and all other ranks as its
 * workers, by the exchange and the server of a training. Each worker pushes a gradient of the size and pulls what the
 * server then holds, one after the other; goodput is what all workers together push a second, and pull: a byte that
 * goes up and comes back counts once. In the end of each repeat every worker checks what it pulls, and what is wrong of
 * a size comes to rank 0 behind its last repeat.
 *
 * The bound is of the busiest link: what workers of other nodes push crosses the server's link into its node, what they
 * pull the same link out of it, and each node's own that of its workers; a worker pushes and pulls in turn. Workers in
 * step, which all push and then all pull, use one way of the link at a time, and come to half of it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/accept/sizes.h"
#include "harness/accept/trainings.h"
#include "harness/exchange/exchange.h"
#include "ps/ps.h"

enum { LEAST_STEPS = 4, MOST_STEPS = 64, BURST_BYTES = 1 << 23 }; /* of a repeat: so that it is not all latency */

struct bench { /* of one rank */
    struct stage_env *env;
    struct world *world;   /* workers, then the server */
    struct world *workers; /* of the workers; NULL on the server */
    int server;            /* its rank in env->world */
    struct compute *host;  /* works on messages where env->compute cannot; else NULL */
    struct exchange *exchange;
    size_t n_elems, n_steps; /* steps of a repeat, beside the first and the last, which are not timed */
    struct wrong_sum wrong;  /* what this worker pulled of so many elements */
};

static bool is_server(const struct bench *b)
{
    return b->env->world->rank == b->server;
}

static struct compute *summing(const struct bench *b)
{
    return b->host ? b->host : b->env->compute;
}

/* --- one repeat --- */

static enum rc open_exchange(struct bench *b, const struct segment *all)
{
    const struct stage_env *env = b->env;
    const struct exchange_env exchange = { .world = b->world,
                                           .compute = summing(b),
                                           .mode = &sync_ps,
                                           .transport = env->transport,
                                           .segment = all,
                                           .n_segments = 1,
                                           .n_workers = b->world->n_ranks - 1,
                                           .n_servers = 1,
                                           .timeout_ms = env->timeout_ms,
                                           .n_steps = b->n_steps + 2 };

    return exchange_open(&b->exchange, &exchange);
}

static float pushed_value(int worker)
{
    return (float)(worker % 4 + 1); /* so that sums of all pushes are exact */
}

static void fill(float *values, size_t n, float value)
{
    for (size_t i = 0; values && i < n; i++)
        values[i] = value;
}

static enum rc push_and_pull(struct bench *b, uint64_t step)
{
    uint64_t now_ns;
    enum rc rc;

    TRY(exchange_begin(b->exchange, step, 1.0f));
    if (exchange_wants_segments(b->exchange))
        TRY(exchange_submit(b->exchange, &(struct segment){ 0, b->n_elems }, 0));
    else
        TRY(exchange_submit(b->exchange, NULL, world_now_ns(b->world)));
    now_ns = world_now_ns(b->world);
    TRY(exchange_await_all(b->exchange, &now_ns));
out:
    return rc;
}

/* A push of zeros, behind all pushes of all workers, changes nothing: what is then pulled is known. At rate 1 every
 * push has taken its gradient from parameters that began at 0. */
static enum rc check(struct bench *b)
{
    const float *param = exchange_param(b->exchange);
    float sum = 0;
    enum rc rc;

    for (int w = 0; w < b->world->n_ranks - 1; w++)
        sum += pushed_value(w);
    const float expected = -sum * (float)(b->n_steps + 1);
    TRY(world_barrier(b->workers));
    fill(exchange_grad(b->exchange), b->n_elems, 0);
    TRY(push_and_pull(b, b->n_steps + 1));
    for (size_t i = 0; param && i < b->n_elems; i++)
        stage_check_sum(&b->wrong, i, param[i], expected);
out:
    return rc;
}

/* *took_s: from when all workers began to when this one had done all its steps. */
static enum rc work(struct bench *b, double *took_s)
{
    enum rc rc;

    fill(exchange_grad(b->exchange), b->n_elems, pushed_value(b->world->rank));
    TRY(push_and_pull(b, 0)); /* what is done once is done then */
    TRY(world_barrier(b->workers));
    const uint64_t started_ns = world_now_ns(b->world);
    for (uint64_t step = 1; step <= b->n_steps; step++)
        TRY(push_and_pull(b, step));
    *took_s = 1e-9 * (double)(world_now_ns(b->world) - started_ns);
    TRY(check(b));
    TRY(exchange_final(b->exchange, NULL));
out:
    return rc;
}

/* *took_s on rank 0: of the slowest worker. */
static enum rc time_one(double *took_s, struct bench *b)
{
    const struct segment all = { 0, b->n_elems };
    double own_s = 0;
    enum rc rc;

    TRY(open_exchange(b, &all));
    fill(exchange_param(b->exchange), b->n_elems, 0);
    TRY(exchange_start(b->exchange, &(struct initial_state){ .n_running = 0 }));
    if (is_server(b))
        TRY(exchange_serve(b->exchange, 0));
    else
        TRY(work(b, &own_s));
    TRY(sizes_slowest_rank(took_s, b->world, own_s));
out:
    exchange_close(&b->exchange);
    return rc;
}

/* --- one size --- */

/* Seconds a byte of each worker takes of the links of a node with k workers, which push and pull in turn; 0: none. */
static double node_s_per_byte(const struct acceptance *a, int node, int home, int k)
{
    const double up_s = 1 / sizes_link_rate(&a->tournament, node, home);
    const double down_s = 1 / sizes_link_rate(&a->tournament, home, node);

    return k > 0 ? fmax(k * fmax(up_s, down_s), up_s + down_s) : 0;
}

/* Of the goodput of all workers, which all do as many steps; NaN: not known, or all are beside the server. Of NaN and a
 * number fmax() takes the number. */
static double bound_bytes_per_s(const struct bench *b)
{
    const struct acceptance *a = b->env->out;
    const int home = a->node_of_rank[b->server];
    double in = NAN, out = NAN, longest_s = NAN;
    int n_remote = 0;

    if (inject_has_slow_links(b->env->inject)) /* the links of this stage are not those measured */
        return NAN;
    for (int n = 0; a->tournament.n_repeats > 0 && n < a->n_nodes; n++) {
        int k = 0;
        if (n == home)
            continue;
        for (int r = 0; r < a->n_ranks; r++)
            k += a->node_of_rank[r] == n;
        n_remote += k;
        in = fmax(in, sizes_link_rate(&a->tournament, n, home));
        out = fmax(out, sizes_link_rate(&a->tournament, home, n));
        longest_s = fmax(longest_s, node_s_per_byte(a, n, home, k));
    }
    return (a->n_ranks - 1) / fmax(n_remote / fmin(in, out), longest_s);
}

static void keep(const struct bench *b, const struct repeats *r)
{
    struct acceptance *a = b->env->out;
    const size_t n_bytes = b->n_elems * sizeof(float);
    struct sized_rate *to = &a->ps[a->n_ps++];

    *to = repeats_rate(r, n_bytes, (double)n_bytes * (double)b->n_steps * (a->n_ranks - 1));
    to->bound_ratio = to->bytes_per_s / bound_bytes_per_s(b);
}

static enum rc measure(struct bench *b)
{
    struct repeats r = { .n = 0 };
    bool goes_on = true;
    double took_s;
    enum rc rc;

    while (goes_on) {
        TRY(time_one(&took_s, b));
        r.took_s[r.n++] = took_s;
        TRY(stage_goes_on(b->env, b->env->out && repeats_open(&r, b->env->criteria), &goes_on));
    }
    TRY(stage_keep_wrong(b->env, ACCEPT_PS, b->n_elems * sizeof(float), &b->wrong, r.n));
    if (b->env->out)
        keep(b, &r);
out:
    return rc;
}

/* --- the stage --- */

static size_t steps_of(size_t n_bytes)
{
    const size_t n = BURST_BYTES / n_bytes;

    return n < LEAST_STEPS ? LEAST_STEPS : n > MOST_STEPS ? MOST_STEPS : n;
}

static enum rc bench_open(struct bench *b)
{
    struct stage_env *env = b->env;
    struct compute_env host = env->compute->env;
    enum rc rc = RC_OK;

    host.precision = PRECISION_FP32;
    if (compute_has_own_memory(env->backend))
        TRY(compute_open(&b->host, &compute_cpu, &host));
    TRY(world_split(env->world, 0, is_server(b) ? env->world->n_ranks : env->world->rank, &b->world));
    TRY(world_split(env->world, is_server(b) ? -1 : 0, env->world->rank, &b->workers));
out:
    return rc;
}

static void bench_close(struct bench *b)
{
    world_split_close(&b->workers);
    world_split_close(&b->world);
    compute_close(&b->host);
}

static enum rc measure_all(struct bench *b, const size_t *n_bytes, int n)
{
    bool goes_on;
    char what[64];
    enum rc rc = RC_OK;

    for (int i = 0; i < n; i++) {
        TRY(stage_goes_on(b->env, true, &goes_on));
        if (!goes_on) {
            stage_why(b->env, ACCEPT_PS, "ended before push and pull of %zu bytes", n_bytes[i]);
            break;
        }
        snprintf(what, sizeof what, "push and pull of %zu bytes", n_bytes[i]);
        stage_progress(b->env, (double)i / n, "%s", what);
        b->n_elems = n_bytes[i] / sizeof(float);
        b->n_steps = steps_of(n_bytes[i]);
        TRY(measure(b));
    }
out:
    return rc;
}

enum rc stage_ps(struct stage_env *env)
{
    const struct fleet *f = env->fleet;
    struct bench b = { .env = env, .server = accept_server_rank(f->node, f->n_nodes, f->n_ranks) };
    size_t n_bytes[ACCEPT_MAX_SIZES];
    int n = 0;
    enum rc rc = RC_OK;

    if (env->world->n_ranks < 2) {
        stage_why(env, ACCEPT_PS, "one rank has no server to push to");
        return RC_OK;
    }
    if (sizes_parse(n_bytes, &n, env->criteria->ps_bytes) != RC_OK) {
        stage_why(env, ACCEPT_PS, "%s", rc_message());
        return RC_OK;
    }
    TRY(bench_open(&b));
    TRY(measure_all(&b, n_bytes, n));
    stage_progress(env, 1, "push and pull");
out:
    bench_close(&b);
    return rc;
}
