/* SPDX-License-Identifier: Apache-2.0 */
/* bound.c - see bound.h. */
#include "harness/train/bound.h"

#include <math.h>

#include "harness/train/alternation.h"
#include "harness/train/job_batch.h"
#include "harness/train/stages.h"
#include "models/replay/profile.h"

#define ROUNDING 1e-9

static double lesser(double a, double b)
{
    return a < b ? a : b;
}

static struct train_limits best_of(const struct train_result *r)
{
    const struct train_limits *after = &r->limits_after;
    struct train_limits best = r->limits;

    if (r->has_limits_after) {
        best.compute_s = lesser(best.compute_s, after->compute_s);
        best.wire_s = lesser(best.wire_s, after->wire_s);
        best.server_s = lesser(best.server_s, after->server_s);
    }
    return best;
}

static double slowest_s(const struct train_limits *l)
{
    const double s = l->compute_s > l->wire_s ? l->compute_s : l->wire_s;

    return s > l->server_s ? s : l->server_s;
}

bool train_bound_failed(double bound_ratio)
{
    return bound_ratio > 1 + ROUNDING;
}

void train_find_efficiency(struct train_summary *s, const struct train_job *job, const struct train_result *r)
{
    const double throughput = s->measured.throughput_samples_per_s.mean;

    s->baseline_samples_per_s = s->efficiency_ratio = NAN;
    if (job->opts.stages > 1) {
        s->baseline_samples_per_s = stages_alone_samples_per_s(job);
        s->efficiency_ratio =
            throughput / (train_n_counted(job, r) * (double)job->opts.stages * s->baseline_samples_per_s);
        return;
    }
    if (job->profile && job->shard.n_shards > 1)
        s->baseline_samples_per_s = 1e9 * job->profile->batch / (double)profile_step_ns(job->profile);
    else if (r->limits.baseline_step_s > 0)
        s->baseline_samples_per_s = (double)job_batch_of(job, 0) / r->limits.baseline_step_s;
    if (!isnan(s->baseline_samples_per_s))
        s->efficiency_ratio = /* worker 0 alone has another batch than the mean of unequal ones */
            global_batch_is_shared(job) || job->batch_of || alternation_is_on(job)
                ? (double)NAN
                : throughput / (train_n_counted(job, r) * s->baseline_samples_per_s); /* F2 */
    if (job->mode->module.caps & MODE_ONE_WORKER)
        s->efficiency_ratio = 1.0; /* by definition: it is what the others are measured by */
}

/* Of a step; NaN: there is none. */
static double least_step_s(const struct train_summary *s, const struct train_job *job, const struct train_result *r)
{
    if (job->opts.stages > 1)
        return r->pipe_bound_s > 0 ? r->pipe_bound_s : (double)NAN;
    return slowest_s(&s->best) > 0 && !isnan(s->best.wire_s) ? slowest_s(&s->best) : (double)NAN;
}

void train_find_bound(struct train_summary *s, const struct train_job *job, const struct train_result *r)
{
    const struct interval *throughput = &s->measured.throughput_samples_per_s;
    const double samples_per_step = (double)job->opts.batch;

    s->best = best_of(r);
    s->bound_samples_per_s = s->bound_ratio = s->bound_low_ratio = s->bound_high_ratio = NAN;
    if (job->split_opts.kind == SPLIT_UNEQUAL && !train_waits_for_all(job)) /* who does more takes longer, and others
                                                                                   go on */
        return;
    if (job->omitted & OMIT_AVERAGE ||
        alternation_is_on(job)) /* a run that leaves out what its mode is for is no measure of it */
        return;
    const double step_s = least_step_s(s, job, r);
    if (isnan(step_s) || train_n_sharing(job, r) > 0)
        return;
    s->bound_samples_per_s = train_n_counted(job, r) * samples_per_step / step_s;
    s->bound_ratio = throughput->mean / s->bound_samples_per_s;
    s->bound_low_ratio = throughput->low / s->bound_samples_per_s;
    s->bound_high_ratio = throughput->high / s->bound_samples_per_s;
}

void record_limits(struct record *r, const struct train_result *result, const struct train_summary *s)
{
    const struct train_limits *before = &result->limits, *after = &result->limits_after;
    const bool again = result->has_limits_after;

    record_f64(r, "limit_compute_s", s->best.compute_s);
    record_f64(r, "limit_wire_s", s->best.wire_s);
    record_f64(r, "limit_server_s", s->best.server_s);
    record_f64(r, "limit_compute_before_s", before->compute_s);
    record_f64(r, "limit_wire_before_s", before->wire_s);
    record_f64(r, "limit_server_before_s", before->server_s);
    record_f64(r, "limit_compute_after_s", again ? after->compute_s : NAN);
    record_f64(r, "limit_wire_after_s", again ? after->wire_s : NAN);
    record_f64(r, "limit_server_after_s", again ? after->server_s : NAN);
    record_f64(r, "bound_samples_per_s", s->bound_samples_per_s);
}

void record_bound(struct record *r, const struct train_summary *s)
{
    record_f64(r, "bound_ratio", s->bound_ratio);
    record_f64(r, "bound_low_ratio", s->bound_low_ratio);
    record_f64(r, "bound_high_ratio", s->bound_high_ratio);
    if (isnan(s->bound_ratio))
        record_null(r, "bound_failed");
    else
        record_bool(r, "bound_failed", train_bound_failed(s->bound_ratio));
}
