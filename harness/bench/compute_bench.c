/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compute_bench.c - the compute speed of ranks while all ranks compute, and the variation of equal work; see
 * compute_bench.h.
 */
#include "harness/bench/compute_bench.h"

#include <stdlib.h>
#include <string.h>

#include "harness/bench/gemm.h"
#include "harness/bench/series.h"
#include "harness/bench/update.h"
#include "harness/measure/sorted.h"

/* A device's rate needs larger matrices than a core's. */
enum { ROWS_HOST = 1024, ROWS_DEVICE = 8192, UPDATE_ELEMS = 16 << 20, WORK_ROWS = 256 };

#define WORK_S 5e-3

struct rank_times { /* of one rank */
    double flops_per_s, memory_bytes_per_s, work_s[COMPUTE_BENCH_REPEATS];
};

static enum rc measure_update(double *bytes_per_s, struct world *w, struct compute *c)
{
    struct series series = series_begin(w);
    const struct optimizer_rule rule = optimizer_sgd(0.9, 0);
    struct update update = { 0 };
    double n_bytes = 0;
    enum rc rc;

    TRY(update_open(&update, c, UPDATE_ELEMS, &rule));
    while (series_wants_more(&series, w)) {
        const double before_bytes = c->total.bytes;
        const uint64_t started_ns = world_now_ns(w);
        TRY(update_run(&update));
        series_add(&series, w, started_ns);
        n_bytes = c->total.bytes - before_bytes;
    }
    *bytes_per_s = n_bytes / series_quantile_s(&series, 0.5);
out:
    update_close(&update);
    return rc;
}

/* GEMMs of one repeat: as many on every rank, by the rate of rank 0. */
static enum rc choose_work(int *n_gemms, struct world *w, double flops_per_s)
{
    const double n = WORK_S * flops_per_s / (2.0 * WORK_ROWS * WORK_ROWS * WORK_ROWS);
    enum rc rc;

    *n_gemms = n > 1 && !(w->ops->module.caps & WORLD_VIRTUAL_TIME) ? (int)n : 1;
    TRY(world_broadcast(w, n_gemms, sizeof *n_gemms));
out:
    return rc;
}

/* a, b, c (WORK_ROWS,WORK_ROWS); work_s[COMPUTE_BENCH_REPEATS]. */
static enum rc repeat_work(double *work_s, struct world *w, struct compute *c, int n_gemms)
{
    enum { N = WORK_ROWS * WORK_ROWS };
    void *memory = NULL;
    enum rc rc;

    TRY(compute_memory_open(c, &memory, 3 * N * sizeof(float), "work to repeat"));
    float *a = memory;
    const struct gemm g = {
        .M = WORK_ROWS, .N = WORK_ROWS, .K = WORK_ROWS, .a = a, .b = a ? a + N : NULL, .c = a ? a + 2 * N : NULL
    };
    TRY(world_barrier(w));
    for (int i = -1; i < COMPUTE_BENCH_REPEATS; i++) { /* the first is discarded */
        const struct peer_duty duty = { .phase = i < 0 ? PHASE_PROBE : PHASE_STEP, .step = i, .bucket = -1 };
        world_set_duty(w, &duty);
        const uint64_t started_ns = world_now_ns(w);
        for (int k = 0; k < n_gemms; k++)
            compute_gemm(c, &g);
        TRY(compute_sync(c));
        if (i >= 0)
            work_s[i] = (double)(world_now_ns(w) - started_ns) * 1e-9;
    }
    world_set_duty(w, &(struct peer_duty){ .phase = PHASE_PROBE, .step = -1, .bucket = -1 });
out:
    compute_memory_close(c, &memory);
    return rc;
}

static struct compute_spread spread_of(double *sorted, size_t n)
{
    sorted_make(sorted, n);
    return (struct compute_spread){ sorted[0], sorted_median(sorted, n), sorted[n - 1] };
}

/* Ranks may differ in speed: their times in multiples of each one's median, and the whole in that of all. */
static enum rc combine(struct compute_bench *out, const struct rank_times *of, size_t n_ranks)
{
    double *rank = calloc(3 * n_ranks, sizeof *rank), *work = calloc(n_ranks, sizeof of->work_s);
    enum rc rc = RC_OK;

    if (!rank || !work)
        FAIL(RC_NOMEM, "no memory for the times of %zu ranks", n_ranks);
    for (size_t r = 0; r < n_ranks; r++) {
        double *own = work + r * COMPUTE_BENCH_REPEATS;
        memcpy(own, of[r].work_s, sizeof of[r].work_s);
        sorted_make(own, COMPUTE_BENCH_REPEATS);
        const double median_s = sorted_median(own, COMPUTE_BENCH_REPEATS);
        for (int i = 0; i < COMPUTE_BENCH_REPEATS; i++)
            own[i] /= median_s;
        rank[r] = of[r].flops_per_s;
        rank[n_ranks + r] = of[r].memory_bytes_per_s;
        rank[2 * n_ranks + r] = median_s;
    }
    *out = (struct compute_bench){ .flops_per_s = spread_of(rank, n_ranks),
                                   .memory_bytes_per_s = spread_of(rank + n_ranks, n_ranks),
                                   .work_s = spread_of(rank + 2 * n_ranks, n_ranks).median,
                                   .jitter = jitter_fit_of(work, n_ranks * COMPUTE_BENCH_REPEATS) };
out:
    free(work);
    free(rank);
    return rc;
}

enum rc compute_bench_measure(struct compute_bench *out, struct world *w, struct compute *c)
{
    const int n_rows = c->ops->host_memory || !c->ops->touches_memory ? ROWS_HOST : ROWS_DEVICE;
    struct rank_times own, *all = NULL;
    struct compute_bench result = { 0 };
    int n_gemms;
    enum rc rc;

    TRY(world_barrier(w));
    TRY(gemm_peak_flops_per_s(&own.flops_per_s, w, c, n_rows));
    TRY(world_barrier(w));
    TRY(measure_update(&own.memory_bytes_per_s, w, c));
    TRY(choose_work(&n_gemms, w, own.flops_per_s));
    TRY(repeat_work(own.work_s, w, c, n_gemms));
    if (w->rank == 0) {
        all = calloc((size_t)w->n_ranks, sizeof *all);
        if (!all)
            FAIL(RC_NOMEM, "no memory for the times of %d ranks", w->n_ranks);
    }
    TRY(world_gather(w, &own, all, sizeof own));
    if (all)
        TRY(combine(&result, all, (size_t)w->n_ranks));
    *out = result;
out:
    free(all);
    return rc;
}
