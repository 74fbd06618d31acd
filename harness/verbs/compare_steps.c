/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare_steps.c - how many steps a launch has, where the user leaves it open.
 *
 * The same number at every point of a model: their losses are to be compared.
 */
#include <string.h>

#include "harness/verbs/compare.h"
#include "harness/world/cores.h"
#include "harness/world/wait.h"

enum { SIDE = 256, MIN_STEPS = 6, PROBE_STEPS = 3, N_TURNS = 2 };

#define SLOW_S 0.05
#define SHARE_OF_GEMM 0.25 /* of a GEMM's rate that a network's step reaches, small images and batches included */
#define MEASURE_NS UINT64_C(20000000)

/* Flops per second of one thread in a GEMM that fits its cache: the best of what 20 ms hold. */
static enum rc gemm_flops_per_s(double *out)
{
    const struct gemm shape = { .M = SIDE, .N = SIDE, .K = SIDE };
    const size_t n = (size_t)SIDE * SIDE;
    struct compute *c = NULL;
    void *memory = NULL;
    uint64_t best_ns = UINT64_MAX;
    enum rc rc;

    TRY(compute_open(&c, &compute_cpu, NULL));
    TRY(compute_memory_open(c, &memory, 3 * n * sizeof(float), "GEMM to judge this machine by"));
    float *a = memory;
    const struct gemm g = { .M = shape.M, .N = shape.N, .K = shape.K, .a = a, .b = a + n, .c = a + 2 * n };
    compute_gemm(c, &g); /* the library's first one compiles its kernels, which can take longer than all others */
    TRY(compute_sync(c));
    for (const uint64_t started_ns = wait_clock_ns(); wait_clock_ns() - started_ns < MEASURE_NS;) {
        const uint64_t before_ns = wait_clock_ns();
        compute_gemm(c, &g);
        TRY(compute_sync(c));
        const uint64_t spent_ns = wait_clock_ns() - before_ns;
        best_ns = spent_ns < best_ns ? spent_ns : best_ns;
    }
    *out = 2.0 * SIDE * (double)n / ((double)best_ns * 1e-9);
out:
    if (c)
        compute_memory_close(c, &memory);
    compute_close(&c);
    return rc;
}

/* One step of all workers of p, on this machine. Simulated workers compute one after the other. */
static double step_seconds(const struct comparison *c, const struct point *p, double flops_per_s)
{
    const int n_threads = c->campaign.n_threads, n_cores = cores_allowed_count();
    const int n_wanted = p->n_workers * n_threads;
    const int n_at_once = c->campaign.is_virtual ? 1 : n_wanted < n_cores ? n_wanted : n_cores;

    return p->step_s + p->step_flops / (SHARE_OF_GEMM * flops_per_s * n_at_once);
}

/* How many let two turns fit in the budget; below MIN_STEPS they do not. */
static double affordable_steps(const struct comparison *c, double step_s)
{
    const double n_launches = (double)c->campaign.n_points * (c->campaign.is_virtual ? 1 : N_TURNS);

    return c->opts.budget_s / n_launches / step_s - PROBE_STEPS;
}

/* The longest step of the points of a model. */
static double slowest_step_seconds(const struct comparison *c, const char *model, double flops_per_s)
{
    double slowest_s = 0;

    for (size_t i = 0; i < c->campaign.n_points; i++) {
        const struct point *p = &c->campaign.point[i];
        if (strcmp(p->model, model) == 0 && step_seconds(c, p, flops_per_s) > slowest_s)
            slowest_s = step_seconds(c, p, flops_per_s);
    }
    return slowest_s;
}

void compare_set_steps(struct comparison *c, double flops_per_s)
{
    for (size_t i = 0; i < c->campaign.n_points; i++) {
        struct point *p = &c->campaign.point[i];
        if (c->opts.train.steps > 0) {
            p->n_steps = c->opts.train.steps;
            continue;
        }
        const double slowest_s = slowest_step_seconds(c, p->model, flops_per_s);
        p->n_steps = p->default_steps;
        if (slowest_s > SLOW_S && affordable_steps(c, slowest_s) < (double)p->n_steps) {
            const double n_steps = affordable_steps(c, slowest_s);
            p->over_budget = n_steps < MIN_STEPS;
            p->n_steps = p->over_budget ? MIN_STEPS : (uint64_t)n_steps;
        }
    }
}

enum rc compare_choose_steps(struct comparison *c)
{
    double flops_per_s = 0;
    enum rc rc = RC_OK;

    if (c->opts.train.steps == 0)
        TRY(gemm_flops_per_s(&flops_per_s));
    compare_set_steps(c, flops_per_s);
out:
    return rc;
}
