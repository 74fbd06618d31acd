/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps.c - how many steps a launch has, where the user leaves it open.
 *
 * The same number at every point of a model: their losses are to be compared.
 */
#include "harness/base/text.h"
#include "harness/bench/gemm.h"
#include "harness/campaign/sweep.h"
#include "harness/world/cores.h"

enum { MIN_STEPS = 6, PROBE_STEPS = 3, N_TURNS = 2 };

#define SLOW_S 0.05
#define SHARE_OF_GEMM 0.25 /* of a GEMM's rate that a network's step reaches, small images and batches included */

/* One step of all workers of p, on this machine. Simulated workers compute one after the other. */
static double step_seconds(const struct sweep *s, const struct point *p, double flops_per_s)
{
    const int n_cores = cores_allowed_count(), n_wanted = point_n_ranks(p) * p->n_threads;
    const int n_at_once = s->campaign.is_virtual ? 1 : n_wanted < n_cores ? n_wanted : n_cores;

    return p->step_s + p->step_flops / (SHARE_OF_GEMM * flops_per_s * n_at_once);
}

/* How many let two turns fit in the budget; below MIN_STEPS they do not. */
static double affordable_steps(const struct sweep *s, double step_s)
{
    const double n_launches = (double)s->campaign.n_points * (s->campaign.is_virtual ? 1 : N_TURNS);

    return s->budget_s / n_launches / step_s - PROBE_STEPS;
}

/* The longest step of the points of a model. */
static double slowest_step_seconds(const struct sweep *s, const struct workload *model, double flops_per_s)
{
    double slowest_s = 0;

    for (size_t i = 0; i < s->campaign.n_points; i++) {
        const struct point *p = &s->campaign.point[i];
        if (p->workload == model && step_seconds(s, p, flops_per_s) > slowest_s)
            slowest_s = step_seconds(s, p, flops_per_s);
    }
    return slowest_s;
}

void sweep_set_steps(struct sweep *s, double flops_per_s)
{
    for (size_t i = 0; i < s->campaign.n_points; i++) {
        struct point *p = &s->campaign.point[i];
        p->n_steps = s->train.steps;
        if ((point_value(p, "steps") && text_to_u64(point_value(p, "steps"), &p->n_steps)) || p->n_steps > 0)
            continue;
        const double slowest_s = slowest_step_seconds(s, p->workload, flops_per_s);
        p->n_steps = p->default_steps;
        if (slowest_s > SLOW_S && affordable_steps(s, slowest_s) < (double)p->n_steps) {
            const double n_steps = affordable_steps(s, slowest_s);
            p->over_budget = n_steps < MIN_STEPS;
            p->n_steps = p->over_budget ? MIN_STEPS : (uint64_t)n_steps;
        }
    }
}

enum rc sweep_choose_steps(struct sweep *s)
{
    double flops_per_s = 0;
    enum rc rc = RC_OK;

    if (s->train.steps == 0)
        TRY(gemm_flops_per_s(&flops_per_s));
    sweep_set_steps(s, flops_per_s);
out:
    return rc;
}
