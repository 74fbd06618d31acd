/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage_compute.c - how fast each rank multiplies matrices and streams through its memory, in turns (accept.S4).
 *
 * A repeat is as much of both on every rank, about WORK_S each by the speed of rank 0. In virtual time it is a product
 * and a stream, and exact.
 */
#include <math.h>

#include "harness/accept/judge.h"
#include "harness/accept/outliers.h"
#include "harness/accept/stages.h"
#include "harness/bench/gemm.h"

enum { ROWS_HOST = 1024, ROWS_DEVICE = 4096, MAX_CALLS = 4096 };
/* Both arrays of a stream are more than caches hold, where there is memory for it. */
enum { STREAM_HOST_BYTES = 64 << 20, STREAM_DEVICE_BYTES = 256 << 20, MEMORY_PART = 8 };

#define WORK_S 50e-3

struct bench { /* of this rank; memory owned */
    struct stage_env *env;
    int n_rows;           /* of square matrices */
    size_t n_elems;       /* of each array of a stream */
    void *matrix, *array; /* three matrices; two arrays */
    int n_calls[2];       /* of each work in a repeat */
};

enum work_kind { WORK_GEMM, WORK_STREAM };

typedef void call_fn(struct bench *b);

/* c = a b, all (n_rows,n_rows). */
static void call_gemm(struct bench *b)
{
    const size_t n = (size_t)b->n_rows * (size_t)b->n_rows;
    float *a = b->matrix;
    const struct gemm g = {
        .M = b->n_rows, .N = b->n_rows, .K = b->n_rows, .a = a, .b = a ? a + n : NULL, .c = a ? a + 2 * n : NULL
    };

    compute_gemm(b->env->compute, &g);
}

static void call_stream(struct bench *b)
{
    float *x = b->array;

    compute_accumulate(b->env->compute, x ? x + b->n_elems : NULL, x, b->n_elems);
}

/* *out_s: of the fastest of n_calls, each with the pause of a slow rank, if that is injected. What others take from a
 * rank for a moment makes a call longer, and is the business of the stage noise; a slow rank is slow in every call. */
static enum rc time_work(double *out_s, struct bench *b, enum work_kind kind, int n_calls)
{
    static call_fn *const call[] = { [WORK_GEMM] = call_gemm, [WORK_STREAM] = call_stream };
    struct stage_env *env = b->env;
    double least_s = INFINITY;
    enum rc rc = RC_OK;

    for (int i = 0; i < n_calls; i++) {
        const uint64_t started_ns = world_now_ns(env->world);
        call[kind](b);
        TRY(compute_sync(env->compute));
        inject_after_compute(env->inject, env->world, world_now_ns(env->world) - started_ns);
        least_s = fmin(least_s, 1e-9 * (double)(world_now_ns(env->world) - started_ns));
    }
    *out_s = least_s;
out:
    return rc;
}

/* Of a call: flops; bytes. */
static double work_of(const struct bench *b, enum work_kind kind)
{
    const double n = b->n_rows;

    return kind == WORK_GEMM ? 2 * n * n * n : 3.0 * (double)(b->n_elems * sizeof(float));
}

static enum rc bench_open(struct bench *b, struct stage_env *env)
{
    struct compute *c = env->compute;
    const bool is_device = compute_has_own_memory(c->ops);
    const size_t wanted_bytes = is_device ? STREAM_DEVICE_BYTES : STREAM_HOST_BYTES;
    const size_t available_bytes = c->ops->memory_available ? c->ops->memory_available(c) : SIZE_MAX;
    const size_t n_bytes = available_bytes / MEMORY_PART < wanted_bytes ? available_bytes / MEMORY_PART : wanted_bytes;
    enum rc rc;

    *b = (struct bench){ .env = env, .n_rows = is_device ? ROWS_DEVICE : ROWS_HOST, .n_calls = { 1, 1 } };
    b->n_elems = n_bytes / sizeof(float) / 64 * 64;
    const size_t n_matrix = (size_t)b->n_rows * (size_t)b->n_rows;
    TRY(compute_memory_open(c, &b->matrix, 3 * n_matrix * sizeof(float), "matrices to multiply"));
    TRY(compute_memory_open(c, &b->array, 2 * b->n_elems * sizeof(float), "arrays to stream through"));
    TRY(gemm_fill(c, b->matrix, 2 * n_matrix));
    TRY(gemm_fill(c, b->array, 2 * b->n_elems));
out:
    return rc;
}

static void bench_close(struct bench *b)
{
    compute_memory_close(b->env->compute, &b->matrix);
    compute_memory_close(b->env->compute, &b->array);
}

static int calls_for(double one_s)
{
    const double n = ceil(WORK_S / one_s);

    return n < 1 ? 1 : n < MAX_CALLS ? (int)n : MAX_CALLS;
}

/* As many calls on all ranks, by the second one of rank 0: the first wakes threads and compiles kernels. */
static enum rc choose_work(struct bench *b)
{
    double one_s;
    enum rc rc = RC_OK;

    if (stage_is_virtual(b->env))
        return RC_OK;
    for (int kind = WORK_GEMM; kind <= WORK_STREAM && b->env->world->rank == 0; kind++) {
        TRY(time_work(&one_s, b, (enum work_kind)kind, 1));
        TRY(time_work(&one_s, b, (enum work_kind)kind, 1));
        b->n_calls[kind] = calls_for(one_s);
    }
    TRY(world_broadcast(b->env->world, b->n_calls, sizeof b->n_calls));
out:
    return rc;
}

/* rate[kind] of this rank, when it is its turn; the first repeat is made once before, and discarded. */
static enum rc measure_repeat(double rate[2], struct bench *b, int repeat)
{
    struct world *w = b->env->world;
    const struct fleet *f = b->env->fleet;
    enum rc rc = RC_OK;

    for (int turn = 0; turn < f->n_turns; turn++) {
        TRY(world_barrier(w));
        if (f->turn_of_rank[w->rank] != turn)
            continue;
        for (int kind = WORK_GEMM; kind <= WORK_STREAM; kind++) {
            const struct peer_duty duty = { .phase = PHASE_STEP, .step = 2 * repeat + kind, .bucket = -1 };
            double s;
            if (repeat == 0 && !stage_is_virtual(b->env))
                TRY(time_work(&s, b, (enum work_kind)kind, 1));
            world_set_duty(w, &duty); /* whose step a simulated jitter is drawn for */
            TRY(time_work(&s, b, (enum work_kind)kind, b->n_calls[kind]));
            rate[kind] = s > 0 ? work_of(b, (enum work_kind)kind) / s : NAN;
        }
        world_set_duty(w, &(struct peer_duty){ .phase = PHASE_PROBE, .step = -1, .bucket = -1 });
    }
    TRY(world_barrier(w));
out:
    return rc;
}

/* Rank 0: does the evidence so far ask for more? */
static bool is_open(const struct stage_env *env, int n_repeats)
{
    const struct blame_terms terms = judge_terms(env->criteria);

    if (!env->out || n_repeats >= env->criteria->most_repeats_count)
        return false;
    return n_repeats != env->criteria->least_repeats_count || outliers_open(env->out, METRIC_GEMM, &terms) ||
           outliers_open(env->out, METRIC_MEMORY, &terms);
}

enum rc stage_compute(struct stage_env *env)
{
    double gemm[ACCEPT_MAX_REPEATS], memory[ACCEPT_MAX_REPEATS];
    struct bench b = { .env = env };
    int n = 0;
    enum rc rc;

    TRY(bench_open(&b, env));
    TRY(choose_work(&b));
    for (bool goes_on = true; goes_on;) {
        double rate[2];
        TRY(measure_repeat(rate, &b, n));
        gemm[n] = rate[WORK_GEMM];
        memory[n++] = rate[WORK_STREAM];
        TRY(stage_keep_metric(env, METRIC_GEMM, gemm, n));
        TRY(stage_keep_metric(env, METRIC_MEMORY, memory, n));
        stage_progress(env, fmin(1, (double)n / env->criteria->least_repeats_count), "repeat %d; at least %d", n,
                       env->criteria->least_repeats_count);
        TRY(stage_goes_on(env, is_open(env, n), &goes_on));
    }
    stage_why(env, ACCEPT_COMPUTE, "%s", env->ended);
out:
    bench_close(&b);
    return rc;
}
