/* SPDX-License-Identifier: Apache-2.0 */
/* exchange_suite.c - a training of made-up gradients, and its serial reference. */
#include "harness/train/suite/exchange_suite.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allreduce/sync_allreduce.h"
#include "harness/base/range.h"
#include "harness/base/rng.h"
#include "harness/exchange/collective.h"
#include "harness/exchange/compression.h"
#include "harness/world/world.h"

/* --- what workers with compression send, by the definition, one element after the other --- */

static float rounded(const struct compression *c, float x)
{
    return c->kind == COMPRESSION_FP16 ? f32_of_f16(f16_of_f32(x)) : f32_of_bf16(bf16_of_f32(x));
}

/* Is element i one of the k largest, of equals the first? */
static bool is_among(const float *given, size_t n, size_t i, size_t k)
{
    size_t n_before = 0;

    for (size_t j = 0; j < n; j++)
        n_before += fabsf(given[j]) > fabsf(given[i]) || (j < i && fabsf(given[j]) == fabsf(given[i]));
    return n_before < k;
}

/* grad of the chunk := what is sent of it and of the residual, which becomes the rest. Both: of all parameters. */
static void reference_compress(const struct compression *c, struct range chunk, float *grad, float *residual)
{
    float *given = residual + chunk.offset_elems, *sent = grad + chunk.offset_elems;
    const size_t n = chunk.n_elems, k = (size_t)ceil(c->ratio * (double)n);

    if (c->kind == COMPRESSION_NONE)
        return;
    for (size_t i = 0; i < n; i++)
        given[i] += sent[i];
    for (size_t i = 0; i < n; i++)
        if (c->kind == COMPRESSION_TOPK)
            sent[i] = is_among(given, n, i, k) ? given[i] : 0.0f;
        else
            sent[i] = rounded(c, given[i]);
    for (size_t i = 0; i < n; i++)
        given[i] -= sent[i];
}

/* What every worker has of the sum of two, or of one: as messages hold it. */
static float reference_sum(const struct compression *c, float first, float second, int n_workers)
{
    const bool is_rounded = n_workers > 1 && (c->kind == COMPRESSION_FP16 || c->kind == COMPRESSION_BF16);

    return is_rounded ? rounded(c, first + second) : first + second;
}

/* --- the cases --- */

enum { N_SEGMENTS = 7, N_PARAMS = 76, N_STEPS = 6, MAX_WORKERS = 4 };

static const struct segment layout[N_SEGMENTS] = { { 0, 5 },   { 5, 1 },  { 6, 17 }, { 23, 3 },
                                                   { 26, 40 }, { 66, 8 }, { 74, 2 } };

/* Powers of two and small whole numbers: 6 steps of SGD with momentum 1/2 are exact in float. */
#define MOMENTUM 0.5f

struct suite {
    struct world *w;
    const struct exchange_case *c;
    struct compute *compute;
    struct exchange *x;
    float param[N_PARAMS], velocity[N_PARAMS];                                   /* the reference */
    float old_param[N_STEPS + 1][N_PARAMS], old_velocity[N_STEPS + 1][N_PARAMS]; /* after so many steps */
    struct buckets buckets;                                                      /* of opts: the chunks */
    float residual[MAX_WORKERS][N_PARAMS];                                       /* of the reference */
    uint64_t waited_ns, exposed_ns;                                              /* so far */
    int n_failures, quiet;
};

static void fail(struct suite *s, const char *what, int step, size_t segment)
{
    if (s->n_failures++ == 0 && !s->quiet)
        fprintf(stderr, "mode %s, rank %d, step %d, segment %zu: %s (%s)\n", s->c->mode->module.name, s->w->rank, step,
                segment, what, rc_message());
}

static float initial(size_t i)
{
    return (float)(i % 16) - 8.0f;
}

static float rate(int step)
{
    return step % 2 ? 0.0625f : 0.125f;
}

/* -8 to 8; to be compressed, with a fraction that 16 bits cannot hold beside most of these. */
static float gradient(const struct suite *s, int rank, int step, size_t i)
{
    const uint64_t draw = rng_u64(77, RNG_TEST, ((uint64_t)rank * N_STEPS + (uint64_t)step) * N_PARAMS + i);
    const float fraction = (float)(int)(draw / 17 % 15) - 7.0f;

    return (float)(int)(draw % 17) - 8.0f +
           (s->c->opts.compression.kind == COMPRESSION_NONE ? 0.0f : fraction * 0x1p-12f);
}

/* What worker `rank` sends in this step; once in each. */
static void sent_by(struct suite *s, float *out, int rank, int step)
{
    for (size_t i = 0; i < N_PARAMS; i++)
        out[i] = gradient(s, rank, step, i);
    for (size_t k = 0; k < s->buckets.n_chunks; k++)
        reference_compress(&s->c->opts.compression, s->buckets.chunk[k], out, s->residual[rank]);
}

/* One step of the reference: the mean over all workers, or this worker's own gradient. Compressed, of two at most. */
static void advance(struct suite *s, int step)
{
    const int n_mean = s->c->mode->module.caps & MODE_SYNCHRONOUS ? s->c->n_workers : 1;
    float sent[MAX_WORKERS][N_PARAMS];

    for (int r = 0; r < n_mean; r++)
        sent_by(s, sent[r], n_mean > 1 ? r : s->w->rank, step);
    for (size_t i = 0; i < N_PARAMS; i++) {
        float sum = 0;
        for (int r = 0; r < n_mean; r++)
            sum = reference_sum(&s->c->opts.compression, sum, sent[r][i], r + 1);
        s->velocity[i] = MOMENTUM * s->velocity[i] + sum / (float)n_mean;
        s->param[i] -= rate(step) * s->velocity[i];
    }
}

/* Up to 0.2 ms, another time on each rank: any rank may be the last. */
static void dawdle(struct suite *s, int step, size_t segment)
{
    const uint64_t key = ((uint64_t)s->w->rank * N_STEPS + (uint64_t)step) * N_SEGMENTS + segment;

    if (rng_u64(78, RNG_TEST, key) % 3 == 0)
        world_pause(s->w, rng_u64(79, RNG_TEST, key) % 200000);
}

/* E2: the parameters of the segment are the reference's. */
static void check_segment(struct suite *s, const float *param, int step, size_t segment)
{
    const struct segment g = layout[segment];
    float host[N_PARAMS];

    compute_get(s->compute, host, param + g.offset_elems, g.n_elems * sizeof *host);
    if (memcmp(host, s->param + g.offset_elems, g.n_elems * sizeof *host) != 0)
        fail(s, "E2: its parameters are not those of this step", step, segment);
}

/* The gradient of the segment in this step, as soon as that is allowed: something else first, which nobody may read. */
static void write_gradient(struct suite *s, float *grad, int step, size_t segment, bool is_final)
{
    const struct segment g = layout[segment];
    float host[N_PARAMS];

    for (size_t i = 0; i < g.n_elems; i++)
        host[i] = is_final ? gradient(s, s->w->rank, step, g.offset_elems + i) : 1e30f;
    compute_put(s->compute, grad + g.offset_elems, host, g.n_elems * sizeof *host);
}

static enum rc forward(struct suite *s, int step)
{
    enum rc rc = RC_OK;

    for (size_t g = 0; g < N_SEGMENTS; g++) {
        if (exchange_overlaps(s->x))
            TRY(exchange_await(s->x, layout[g]));
        check_segment(s, exchange_param(s->x), step, g);
        write_gradient(s, exchange_grad(s->x), step, g, false);
        dawdle(s, step, g);
    }
out:
    return rc;
}

static enum rc backward(struct suite *s, int step)
{
    enum rc rc = RC_OK;

    for (size_t g = N_SEGMENTS; g-- > 0;) {
        write_gradient(s, exchange_grad(s->x), step, g, true);
        if (exchange_wants_segments(s->x))
            TRY(exchange_submit(s->x, &layout[g], 0));
        dawdle(s, step, g);
    }
    uint64_t now_ns = world_now_ns(s->w);
    if (!exchange_wants_segments(s->x))
        TRY(exchange_submit(s->x, NULL, now_ns));
    if (!exchange_overlaps(s->x))
        TRY(exchange_await_all(s->x, &now_ns));
out:
    return rc;
}

static void check_cost(struct suite *s, int step)
{
    const struct exchange_cost cost = exchange_cost(s->x);

    if (!exchange_overlaps(s->x) && cost.hidden_ns != 0)
        fail(s, "X1: something is hidden, but nothing is overlapped", step, 0);
    s->waited_ns += cost.waited_ns;
    s->exposed_ns += cost.apply_ns + cost.server_ns;
    if (s->exposed_ns > s->waited_ns) /* of one step, what ran at its border may count for the next */
        fail(s, "X1: more was exposed than was waited", step, 0);
    if (cost.staleness_count != 0)
        fail(s, "one worker, or a synchronous mode, and yet stale", step, 0);
}

static enum rc work_steps(struct suite *s)
{
    uint64_t now_ns;
    enum rc rc = RC_OK;

    for (int step = 0; step < N_STEPS; step++) {
        memcpy(s->old_param[step], s->param, sizeof s->param);
        memcpy(s->old_velocity[step], s->velocity, sizeof s->velocity);
        TRY(exchange_begin(s->x, (uint64_t)step, rate(step)));
        TRY(forward(s, step));
        TRY(backward(s, step));
        check_cost(s, step);
        advance(s, step);
    }
    memcpy(s->old_param[N_STEPS], s->param, sizeof s->param);
    memcpy(s->old_velocity[N_STEPS], s->velocity, sizeof s->velocity);
    now_ns = world_now_ns(s->w);
    if (exchange_overlaps(s->x) && s->c->stopped) /* else final() awaits them */
        TRY(exchange_await_all(s->x, &now_ns));
out:
    return rc;
}

/* The least of all workers' numbers; how many chunks a step has follows from the plan. */
static enum rc last_common_step(struct suite *s, uint64_t n_own, uint64_t *out)
{
    const uint64_t n_chunks = s->c->n_chunks;
    uint64_t all[MAX_WORKERS];
    enum rc rc;

    TRY(world_allgather(s->w, &n_own, all, sizeof n_own));
    *out = n_own;
    for (int r = 0; r < s->w->n_ranks; r++)
        *out = all[r] < *out ? all[r] : *out;
    if (*out != s->c->stopped->n_calls / n_chunks)
        fail(s, "E7: the least number of steps is another than that of sums", (int)*out, 0);
    if (n_own > *out + 1)
        fail(s, "E7: more than one step ahead", (int)n_own, 0);
out:
    return rc;
}

/* The mode has ended the steps of all ranks: E7. */
static enum rc go_back(struct suite *s)
{
    uint64_t n_own = 0, n_steps = 0;
    enum rc rc;

    TRY(exchange_stop(s->x, &n_own));
    TRY(last_common_step(s, n_own, &n_steps));
    if (exchange_undo_to(s->x, n_steps + 2) != RC_INVAL)
        fail(s, "E7: taken to a step that it has not done", (int)n_steps, 0);
    TRY(exchange_undo_to(s->x, n_steps));
    if (n_steps > 0 && exchange_undo_to(s->x, n_steps - 1) != RC_INVAL)
        fail(s, "E7: taken back twice", (int)n_steps, 0);
    memcpy(s->param, s->old_param[n_steps], sizeof s->param);
    memcpy(s->velocity, s->old_velocity[n_steps], sizeof s->velocity);
out:
    return rc;
}

static enum rc work(struct suite *s)
{
    float velocity[N_PARAMS] = { 0 };
    struct optimizer_state state = { .moments = velocity };
    enum rc rc = work_steps(s);

    if (s->c->stopped && (rc == RC_OK || rc == RC_PEER)) /* a rank that got the very last sum is not stopped */
        rc = go_back(s);
    if (rc == RC_OK)
        rc = exchange_final(s->x, &state);
    if (rc != RC_OK)
        return rc;
    for (size_t g = 0; g < N_SEGMENTS; g++)
        if (s->w->rank == 0 || s->c->stopped)
            check_segment(s, exchange_param(s->x), N_STEPS, g);
    if ((s->w->rank == 0 || s->c->stopped) && memcmp(velocity, s->velocity, sizeof velocity) != 0)
        fail(s, "the optimiser's state is not the reference's", N_STEPS, 0);
    return RC_OK;
}

/* Rank 0 alone knows how a training begins. */
static enum rc start(struct suite *s)
{
    struct initial_state from = { .n_running = 0 };
    float host[N_PARAMS], velocity[N_PARAMS] = { 0 };

    for (size_t i = 0; i < N_PARAMS; i++) {
        s->param[i] = initial(i);
        s->velocity[i] = (float)(i % 4);
        host[i] = s->w->rank == 0 ? s->param[i] : 1e30f;
        velocity[i] = s->w->rank == 0 ? s->velocity[i] : 1e30f;
    }
    from.state.moments = velocity;
    if (exchange_param(s->x))
        compute_put(s->compute, exchange_param(s->x), host, sizeof host);
    return exchange_start(s->x, &from);
}

static enum rc run(struct suite *s)
{
    const struct compute_env threads = { .n_threads = 1 };
    const struct exchange_case *c = s->c;
    enum rc rc;

    TRY(compute_open(&s->compute, s->w->rank < c->n_workers ? c->compute : &compute_cpu, &threads));
    const struct exchange_env env = { .world = s->w,
                                      .compute = s->compute,
                                      .mode = c->mode,
                                      .transport = c->transport,
                                      .collective = c->collective,
                                      .collective_opts = c->stopped,
                                      .segment = layout,
                                      .n_segments = N_SEGMENTS,
                                      .n_workers = c->n_workers,
                                      .n_servers = c->n_servers,
                                      .opts = c->opts,
                                      .optimizer = optimizer_sgd((double)MOMENTUM, 0),
                                      .keeps_undo = c->stopped != NULL,
                                      .timeout_ms = 120000 };
    TRY(buckets_open(&s->buckets, layout, N_SEGMENTS, &c->opts.buckets));
    TRY(exchange_open(&s->x, &env));
    TRY(start(s));
    TRY(world_barrier(s->w));
    TRY(s->w->rank < c->n_workers ? work(s) : exchange_serve(s->x, 0));
out:
    if (rc != RC_OK)
        fail(s, "it ended with an error", -1, 0);
    if (rc != RC_OK)
        world_abort(s->w, rc);
    exchange_close(&s->x);
    buckets_close(&s->buckets);
    compute_close(&s->compute);
    return rc;
}

int exchange_suite(struct world *w, const struct exchange_case *c, int quiet)
{
    struct suite s = { .w = w, .c = c, .quiet = quiet };

    (void)!run(&s);
    return s.n_failures;
}

/* Counts the calls of sum(). */

struct stopped {
    struct sync base;
    struct sync *inner;
    uint64_t n_calls; /* so far */
};

static struct stopped *self(struct sync *s)
{
    return (struct stopped *)s;
}

static void stopped_close(struct sync **s)
{
    struct stopped *p = self(*s);

    if (p->inner)
        sync_allreduce.close(&p->inner);
    free(p);
    *s = NULL;
}

static enum rc stopped_open(struct sync **out, const struct sync_env *env)
{
    struct stopped *p = calloc(1, sizeof *p);
    struct sync_env inner = *env;
    struct sync *base = &p->base;
    enum rc rc;

    if (!p)
        return rc_raise(RC_NOMEM, "mode stopped: no memory");
    p->base = (struct sync){ .ops = &sync_stopped, .env = *env };
    inner.collective_opts = NULL;
    TRY(sync_allreduce.open(&p->inner, &inner));
    *out = base;
    base = NULL;
out:
    if (base)
        stopped_close(&base);
    return rc;
}

static enum rc stopped_sum(struct sync *s, size_t k, float *grad)
{
    const struct stopped_plan *plan = s->env.collective_opts;
    const bool is_late = plan->late_ranks >> s->env.world->rank & 1u;
    const uint64_t i = self(s)->n_calls++;
    enum rc rc = RC_OK;

    if (i <= plan->n_calls)
        TRY(sync_allreduce.collective->sum(self(s)->inner, k, grad));
    if (i < plan->n_calls || (i == plan->n_calls && is_late) || (is_late && plan->bug == STOPPED_RUNS_AHEAD))
        return RC_OK;
    FAIL(RC_PEER, "a rank was lost at call %llu", (unsigned long long)i);
out:
    return rc;
}

static struct wire_plan stopped_wire_plan(const struct sync *s)
{
    (void)s;
    return (struct wire_plan){ 0 };
}

static void stopped_explain(const struct sync *s, char *text, size_t n_bytes)
{
    (void)s, (void)n_bytes;
    text[0] = '\0';
}

static const struct collective_mode collective_mode = {
    .types = COLL_ALLREDUCE,
    .sum = stopped_sum,
    .explain = stopped_explain,
};

const struct sync_mode sync_stopped = {
    .module.name = "stopped",
    .module.caps = MODE_SYNCHRONOUS | MODE_SHARED_PARAMS | MODE_COLLECTIVE | MODE_EXCHANGES,
    .exchange_name = "reduce",
    .collective = &collective_mode,
    .open = stopped_open,
    .wire_plan = stopped_wire_plan,
    .close = stopped_close,
};
