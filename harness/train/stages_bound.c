/* SPDX-License-Identifier: Apache-2.0 */
/* stages_bound.c - see stages_bound.h. */
#include "harness/train/stages_bound.h"

#include <math.h>
#include <stdlib.h>

#include "harness/train/job_stages.h"
#include "models/engine/stage_timing.h"

static double larger(double a, double b)
{
    return a > b ? a : b;
}

bool stages_have_profile(const struct train_job *job)
{
    return !isnan(job->stages.forward_s[0]);
}

/* Of a micro-batch. */
static void fill_times(struct stage_times *out, const struct train_job *job, const struct stage_limits *limits)
{
    const struct job_stages *s = &job->stages;
    const double B = (double)job->opts.batch / (double)job->opts.accumulate;

    const bool is_profiled = stages_have_profile(job);

    for (int i = 0; i < s->env.cuts.n_stages; i++)
        out[i] = (struct stage_times){
            .forward_s = (is_profiled ? B * s->forward_s[i] : limits[i].forward_s) + limits[i].gather_s,
            .backward_s = (is_profiled ? B * s->backward_s[i] : limits[i].backward_s) + limits[i].scatter_s,
            .latency_s = limits[i].latency_s,
            .pass_s = limits[i].pass_s
        };
}

enum rc stages_find_bound(double *bound_s, const struct train_job *job, const struct stage_limits *limits,
                          bool overlaps)
{
    const struct job_stages *s = &job->stages;
    const int n = s->env.cuts.n_stages;
    const bool is_behind = !overlaps && train_waits_for_all(job);
    struct stage_times times[NETWORK_MAX_STAGES] = { { 0 } };
    double step_s, longest_s = 0;
    enum rc rc = RC_OK;

    *bound_s = NAN;
    fill_times(times, job, limits);
    for (int i = 0; i < n; i++) {
        const bool is_known = stages_have_profile(job) || limits[i].forward_s > 0;
        if (!is_known || isnan(limits[i].exchange_s))
            return RC_OK;
        times[i].tail_s = is_behind ? limits[i].exchange_s : 0;
        longest_s = larger(longest_s, limits[i].exchange_s);
    }
    TRY(stage_least_period(&step_s, times, s->env.schedule, n, job->opts.accumulate));
    *bound_s = larger(step_s, longest_s);
out:
    return rc;
}

double stages_alone_samples_per_s(const struct train_job *job)
{
    const struct job_stages *s = &job->stages;
    double sample_s = 0;

    for (int i = 0; i < s->env.cuts.n_stages; i++)
        sample_s += s->forward_s[i] + s->backward_s[i];
    return sample_s > 0 ? 1 / sample_s : (double)NAN;
}

void record_stages(struct record *r, const struct train_job *job, const struct train_result *result)
{
    if (job->opts.stages <= 1)
        return;
    record_u64(r, "stages_count", job->opts.stages);
    record_text(r, "schedule", job->opts.schedule);
    record_f64(r, "stage_imbalance_ratio", job_stages_imbalance(job));
    record_f64(r, "bubble_ratio", job_stages_bubble_ratio(job));
    record_f64(r, "pipeline_bound_s", result->pipe_bound_s > 0 ? result->pipe_bound_s : NAN);
    record_text(r, "pipeline_bound_by", stages_have_profile(job) ? "profile" : "run");
}
