/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bound.c - the limits of the parts of a run, measured; the upper bound on its throughput, which follows from them;
 * and the ratio of the run to it; see bound.h.
 */
#include "harness/train/bound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/bench/alpha_beta.h"
#include "harness/bench/series.h"
#include "harness/bench/update.h"
#include "harness/exchange/collective.h"
#include "harness/exchange/exchange.h"
#include "harness/train/alternation.h"
#include "harness/train/job_batch.h"
#include "harness/train/rank_state.h"
#include "harness/train/stages.h"
#include "models/engine/training.h"
#include "models/replay/profile.h"

/* --- limits of each part --- */

/* Of the samples that this worker would take in that step: a loader prepares them as it does in the run. */
static enum rc gradient(const struct probe_env *env, int step)
{
    const uint64_t first = job_first_sample(env->job, env->world->rank, (size_t)step);
    const size_t batch = job_batch_of(env->job, env->world->rank);
    double loss;
    enum rc rc;

    TRY(workload_gradient(env->training, env->param, first, batch, env->grad, &loss, NULL, NULL));
    TRY(compute_sync(env->compute));
out:
    return rc;
}

static enum rc open_update(struct update *u, const struct probe_env *env, size_t n_elems)
{
    return update_open(u, env->compute, n_elems, &env->job->optimizer);
}

/* Rank 0 alone: gradient and update, the others asleep. */
static enum rc probe_baseline(double *step_s, const struct probe_env *env)
{
    struct series series = series_begin(env->world);
    struct update update = { 0 };
    enum rc rc = RC_OK;

    if (!env->job->opts.forward_only)
        TRY(open_update(&update, env, env->job->n_params));
    while (series_wants_more(&series, env->world)) {
        const uint64_t started_ns = world_now_ns(env->world);
        TRY(gradient(env, series.n_repeats));
        TRY(update_run(&update));
        series_add(&series, env->world, started_ns);
    }
    *step_s = series_quantile_s(&series, 0.5);
out:
    update_close(&update);
    return rc;
}

static enum rc probe_compute(double *best_s, const struct probe_env *env)
{
    struct series series = series_begin(env->world);
    enum rc rc = RC_OK;

    while (series_wants_more(&series, env->world)) {
        const uint64_t started_ns = world_now_ns(env->world);
        TRY(gradient(env, series.n_repeats));
        series_add(&series, env->world, started_ns);
    }
    *best_s = series_quantile_s(&series, 0);
out:
    return rc;
}

/* Ranks that measure links: beside a worker a server has none of its own, and would take half of that. */
static int n_players(const struct train_job *job)
{
    return job->servers_beside && job->n_workers > 1 ? job->n_workers : job->n_ranks;
}

/* Shards may have a row more than others, and so messages of another mean length: all measure the longest. */
static enum rc agree_on_length(size_t *n_bytes, const struct probe_env *env)
{
    const uint64_t own = *n_bytes;
    uint64_t *all = NULL;
    enum rc rc = RC_OK;

    if (env->job->shard.n_shards <= 1)
        return RC_OK;
    all = calloc((size_t)env->world->n_ranks, sizeof *all);
    if (!all)
        FAIL(RC_NOMEM, "no memory for the messages of %d ranks", env->world->n_ranks);
    TRY(world_allgather(env->world, &own, all, sizeof own));
    for (int i = 0; i < env->world->n_ranks; i++)
        *n_bytes = all[i] > *n_bytes ? (size_t)all[i] : *n_bytes;
out:
    free(all);
    return rc;
}

static enum rc probe_wire(struct alpha_beta_times *out, const struct probe_env *env, const struct wire_plan *plan)
{
    size_t n_bytes = plan->message_bytes;
    enum rc rc;

    TRY(agree_on_length(&n_bytes, env));
    const struct alpha_beta_env neighbours = { .world = env->world,
                                               .transport = env->job->transport,
                                               .message_bytes = n_bytes,
                                               .is_hollow = !env->compute->ops->touches_memory,
                                               .timeout_ms = train_message_limit_ms(env->job),
                                               .n_players = n_players(env->job) };
    struct alpha_beta fit;

    TRY(alpha_beta_measure(&fit, &neighbours));
    if (env->world->rank < neighbours.n_players)
        *out = alpha_beta_times(&fit, plan);
out:
    return rc;
}

/* Of a step, how much of a round there is at the least: an update with each push, a reply with each pull. */
static double least_share(const struct train_job *job)
{
    const struct period_counts n = periods_count(&job->exchange.periods, job->resume.steps_count, job->n_steps);

    if (!periods_are_on(&job->exchange.periods))
        return 1;
    return (double)(n.n_pushes < n.n_pulls ? n.n_pushes : n.n_pulls) / (double)job->n_steps;
}

/* What the server that comes so many behind this one has. */
static size_t elems_of_server(const struct probe_env *env, int n_behind)
{
    const struct train_job *job = env->job;
    const int n = job->n_servers, own = env->world->rank - job->n_workers;
    const bool is_even = job->exchange.placement.kind == PLACEMENT_SPLIT; /* but for one element */

    return is_even ? job->n_params / (size_t)n : job->placement.n_elems[(own + n_behind + n) % n];
}

/* A server's round: for each worker one update of its slice, and its copy for the reply. Where there is one update a
 * round it is one of each, the least of what it does: a bound. */
static enum rc probe_server(double *best_s, const struct probe_env *env)
{
    const struct train_job *job = env->job;
    const size_t n_elems = elems_of_server(env, 0);
    const bool real = env->compute->ops->touches_memory && env->compute->ops->host_memory;
    struct series series = series_begin(env->world);
    struct update update = { 0 }, followed = { 0 }; /* --replicas: those of the server before */
    enum rc rc;

    TRY(open_update(&update, env, n_elems));
    if (job->exchange.n_replicas > 0)
        TRY(open_update(&followed, env, elems_of_server(env, -1)));
    while (series_wants_more(&series, env->world)) {
        const uint64_t started_ns = world_now_ns(env->world);
        TRY(update_run(&update));
        if (job->exchange.n_replicas > 0)
            TRY(update_run(&followed));
        for (size_t n_done = 0; real && n_done < n_elems; n_done += update.n_range_elems) /* the reply */
            memcpy(update.grad, update.param,
                   (n_elems - n_done < update.n_range_elems ? n_elems - n_done : update.n_range_elems) * sizeof(float));
        world_charge(env->world, 0, 2.0 * (double)n_elems * sizeof(float));
        series_add(&series, env->world, started_ns);
    }
    *best_s = series_quantile_s(&series, 0) *
              (consistency_has_rounds(&job->exchange.consistency) ? 1 : job->n_workers) * least_share(job);
out:
    update_close(&update);
    update_close(&followed);
    return rc;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Of what is exchanged, and the activations of a group of shards: one after the other. With overlap their latencies
 * pass together, and their bytes too unless they are on one link; but the last gradient comes after the activations. */
static double wire_s(const struct alpha_beta_times *exchange, const struct probe_env *env)
{
    const struct alpha_beta_times *a = &env->activations;
    const double exchange_s = larger(exchange->chain_s, exchange->link_s), a_s = larger(a->chain_s, a->link_s);
    const double link_s = env->links.has_one_link ? exchange->link_s + a->link_s : 0;

    return env->overlaps ? larger(larger(exchange_s, a_s + exchange->last_s), link_s) : exchange_s + a_s;
}

enum { PROBE_BASELINE = 1, PROBE_COMPUTE = 2 };

static enum rc probe_own(struct train_limits *own, const struct probe_env *env, unsigned parts)
{
    const bool worker = env->training != NULL;
    struct alpha_beta_times exchange = { 0 };
    enum rc rc = RC_OK;

    if (parts & PROBE_BASELINE && env->world->rank == 0)
        TRY(probe_baseline(&own->baseline_step_s, env));
    TRY(world_barrier(env->world));
    if (worker && parts & PROBE_COMPUTE)
        TRY(probe_compute(&own->compute_s, env));
    TRY(world_barrier(env->world));
    if (env->wire.message_bytes > 0 && env->world->n_ranks > 1)
        TRY(probe_wire(&exchange, env, &env->wire));
    own->wire_s = env->links.next_is_near ? 0 : wire_s(&exchange, env);
    if (!worker)
        TRY(probe_server(&own->server_s, env));
    TRY(world_barrier(env->world));
out:
    return rc;
}

struct wire_times { /* of ranks that measured pairs of the exchange; zeros: none did */
    double longest_s, shortest_s, mean_s;
};

/* As shares of the longest: the mean of equal times is that time, to the bit. */
static struct wire_times wire_times_of(const struct train_limits *all, int n_ranks)
{
    struct wire_times t = { 0 };
    double shares = 0;
    int n = 0;

    for (int r = 0; r < n_ranks; r++)
        t.longest_s = larger(t.longest_s, all[r].wire_s);
    t.shortest_s = t.longest_s;
    for (int r = 0; r < n_ranks; r++) {
        if (all[r].wire_s <= 0)
            continue;
        n++;
        shares += all[r].wire_s / t.longest_s;
        t.shortest_s = all[r].wire_s < t.shortest_s ? all[r].wire_s : t.shortest_s;
    }
    t.mean_s = n > 0 ? t.longest_s * (shares / n) : 0;
    return t;
}

/* Some links are slow, and workers with others go to their servers past them, where a ring crosses all. */
static bool crosses_fast_links(const struct train_job *job)
{
    return job->n_servers > 0 && job->world->module.caps & WORLD_VIRTUAL_TIME && job->cluster.n_slow_links > 0;
}

/* Of one step of every worker. Where workers wait for each other, the slowest one's; else each goes at its own rate. */
static double compute_of_all(const struct train_limits *all, const struct train_job *job)
{
    double slowest_s = 0, rates = 0; /* as multiples of the slowest one's */

    for (int w = 0; w < job->n_workers; w++)
        slowest_s = larger(slowest_s, all[w].compute_s);
    for (int w = 0; w < job->n_workers && slowest_s > 0; w++)
        rates += slowest_s / all[w].compute_s;
    return train_waits_for_all(job) || slowest_s == 0 ? slowest_s : slowest_s * (job->n_workers / rates);
}

static void combine(struct train_limits *out, const struct train_limits *all, const struct probe_env *env)
{
    const struct wire_times wire = wire_times_of(all, env->world->n_ranks);

    out->compute_s = compute_of_all(all, env->job);
    out->server_s = 0;
    for (int r = 0; r < env->world->n_ranks; r++)
        out->server_s = larger(out->server_s, all[r].server_s);
    out->wire_s = crosses_fast_links(env->job) || env->links.has_other_pairs ? wire.shortest_s : wire.mean_s;
}

static enum rc probe(struct train_limits *out, const struct probe_env *env, unsigned parts)
{
    struct train_limits own = { 0 }, *all = NULL;
    enum rc rc;

    TRY(probe_own(&own, env, parts));
    if (env->world->rank == 0) {
        all = calloc((size_t)env->world->n_ranks, sizeof *all);
        if (!all)
            FAIL(RC_NOMEM, "no memory for the limits of %d ranks", env->world->n_ranks);
    }
    TRY(world_gather(env->world, &own, all, sizeof own));
    if (all)
        combine(&own, all, env);
    *out = own;
out:
    free(all);
    return rc;
}

enum rc probe_limits(struct train_limits *out, const struct probe_env *env)
{
    return probe(out, env, PROBE_BASELINE | PROBE_COMPUTE);
}

enum rc probe_limits_again(struct train_limits *out, const struct probe_env *env)
{
    return probe(out, env, PROBE_COMPUTE);
}

enum rc probe_exchange(struct train_limits *out, const struct probe_env *env)
{
    enum rc rc;

    TRY(probe(out, env, 0));
    out->baseline_step_s = out->compute_s = NAN;
out:
    return rc;
}

/* --- before the first step and after the last --- */

static const struct alpha_beta_times nothing;

typedef enum rc probe_fn(struct train_limits *out, const struct probe_env *env);

/* The probe computes gradients, into grad, which changes running means: they are restored. */
static enum rc measure_and_restore(struct train_limits *out, struct rank *r, float *grad, probe_fn *measure,
                                   struct alpha_beta_times activations)
{
    const struct probe_env env = { .world = r->world,
                                   .job = r->job,
                                   .compute = r->compute,
                                   .training = r->training,
                                   .wire = exchange_wire_plan(r->exchange),
                                   .links = r->links,
                                   .activations = activations,
                                   .overlaps = r->result.overlap.overlaps,
                                   .param = r->param,
                                   .grad = grad };
    size_t n_state = 0;
    float *state = r->training ? workload_state(r->training, &n_state) : NULL, *kept = NULL;
    enum rc rc;

    if (state) {
        kept = malloc(n_state * sizeof *kept);
        if (!kept)
            return rc_raise(RC_NOMEM, "no memory for a copy of %zu running means", n_state);
        TRY(compute_fetch(r->compute, kept, state, n_state * sizeof *kept));
    }
    TRY(measure(out, &env));
    if (state)
        compute_put(r->compute, state, kept, n_state * sizeof *kept);
out:
    free(kept);
    return rc;
}

/* The part of the activations' time that no exchange hides. Around a circle all ranks end at once. Else one may end
 * before others of its group, and what it sends first is there when they end: a message less. */
static double shown_ratio(const struct train_job *job)
{
    const struct shard_traffic *t = &job->shard.traffic;
    const double n = (double)job->opts.accumulate * (t->n_gathers + t->n_scatters);

    return n < 1 || (job->collective && job->collective->module.caps & COLL_CIRCLE) ? 1 : (n - 1) / n;
}

/* Of shards: none computes the network alone, and what a gradient takes is measured while nothing crosses. */
static enum rc probe_shards(struct train_limits *out, struct rank *r, float *grad)
{
    const double n = (double)r->job->opts.accumulate * shown_ratio(r->job);
    struct alpha_beta_times gather, scatter;
    enum rc rc;

    TRY(rank_shard_probe(r, &gather, &scatter));
    rank_shard_be_still(r, true);
    TRY(measure_and_restore(out, r, grad, probe_limits_again,
                            (struct alpha_beta_times){ .chain_s = n * (gather.chain_s + scatter.chain_s),
                                                       .link_s = n * (gather.link_s + scatter.link_s) }));
    out->baseline_step_s = NAN;
out:
    rank_shard_be_still(r, false);
    return rc;
}

/* No limit by the wire, where it would be one that runs exceed:
 *   - servers beside workers, and several of these on a host: what the host sends goes over a card that its workers
 *     share, or over several: how many it has is told by nothing that can be measured here, and a worker's rate is that
 *     of one of them, or a part of it;
 *   - a server with ranks of its own on the host of a worker, and others elsewhere: what that worker sends crosses no
 *     card, and where workers do not wait for each other it alone may do more steps than the link of the server
 *     carries;
 *   - all on one simulated host whose messages do not share the rate of a rank (local_sharing): what neighbours measure
 *     is then a part of the host's rate that a server, to whom all send at once, is not held to; or each message has a
 *     rate of its own. So it is with a collective whose ranks get messages of several at once, which has no messages if
 *     it adds in shared memory. */
static void drop_wire_limit(struct train_limits *l, const struct rank *r)
{
    if (r->links.has_no_wire_limit && l->wire_s > 0)
        l->wire_s = NAN;
}

/* What a step takes, as rank 0 has found it, to all: servers wait by it. */
static enum rc share_step(struct rank *r)
{
    const struct train_limits *l = &r->result.limits;
    double step_s = l->compute_s + l->wire_s + l->server_s;
    enum rc rc;

    TRY(world_broadcast(r->world, &step_s, sizeof step_s));
    r->step_ns = (uint64_t)(1e9 * step_s);
out:
    return rc;
}

/* Of each stage by itself: in a run stages end at different times, and what one exchanges need not share a link with
 * what the others do. */
static enum rc probe_stage_exchanges(struct rank *r)
{
    enum rc rc = RC_OK;

    for (int stage = 0; stage < (int)r->job->opts.stages; stage++) {
        if (stage == r->job->stages.number)
            TRY(measure_and_restore(&r->result.limits, r, r->grad, probe_exchange, nothing));
        if (r->pipe)
            TRY(world_barrier(r->job->pipe));
    }
out:
    return rc;
}

/* Of a stage: how long tensors are on their way to the next one, and its exchange; it does not compute alone. A tensor
 * may be the only message of a host: so the first worker's stages are measured alone, one after the other. */
static enum rc probe_stage(struct rank *r)
{
    const struct job_stages *s = &r->job->stages;
    const struct alpha_beta_env neighbours = {
        .world = r->job->pipe,
        .is_alone = true,
        .transport = s->transport,
        .message_bytes = s->most_passed_elems * job_micro_batch_of(r->job, r->world->rank) * sizeof(float),
        .is_hollow = !r->compute->ops->touches_memory,
        .timeout_ms = train_message_limit_ms(r->job)
    };
    struct alpha_beta_times gather, scatter;
    struct alpha_beta fit;
    enum rc rc;

    TRY(probe_stage_exchanges(r));
    drop_wire_limit(&r->result.limits, r);
    TRY(rank_shard_probe(r, &gather, &scatter));
    r->result.gather_s = larger(gather.chain_s, gather.link_s);
    r->result.scatter_s = larger(scatter.chain_s, scatter.link_s);
    TRY(world_barrier(r->job->all));
    if (!r->pipe || r->world->rank > 0)
        return RC_OK;
    TRY(alpha_beta_measure(&fit, &neighbours));
    const struct wire_plan one = { .message_bytes = neighbours.message_bytes, .n_on_link = 1 };
    r->result.pipe_latency_s = fit.alpha_s < fit.message_s ? fit.alpha_s : fit.message_s;
    r->result.pipe_pass_s = alpha_beta_step_s(&fit, &one);
out:
    return rc;
}

enum rc rank_probe(struct rank *r)
{
    enum rc rc;

    if (r->job->is_trial && r->job->n_servers == 0) /* servers wait by what it measures */
        return RC_OK;
    rank_enter(r, PHASE_PROBE, 0);
    if (r->job->opts.stages > 1)
        return probe_stage(r);
    TRY(r->shard ? probe_shards(&r->result.limits, r, r->grad)
                 : measure_and_restore(&r->result.limits, r, r->grad, probe_limits, nothing));
    if (r->job->n_servers > 0)
        TRY(share_step(r));
    drop_wire_limit(&r->result.limits, r);
out:
    return rc;
}

/* The run's own gradients are gone: exchange_final() has freed them. */
enum rc rank_probe_again(struct rank *r)
{
    const bool has_grad = r->training && r->param && !r->job->opts.forward_only;
    void *grad = NULL;
    enum rc rc = RC_OK;

    if (rank_is_virtual(r) || r->job->is_trial || r->job->opts.stages > 1 || r->job->on_loss == ON_LOSS_REPORT ||
        r->n_done < r->job->n_steps)
        return RC_OK;
    if (has_grad)
        TRY(compute_memory_open(r->compute, &grad, r->job->n_params * sizeof(float), "gradient of the probe"));
    TRY(r->shard ? probe_shards(&r->result.limits_after, r, grad)
                 : measure_and_restore(&r->result.limits_after, r, grad, probe_limits_again, nothing));
    drop_wire_limit(&r->result.limits_after, r);
    r->result.has_limits_after = true;
out:
    compute_memory_close(r->compute, &grad);
    return rc;
}

/* --- the bound --- */

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
                : throughput / (train_n_counted(job, r) * s->baseline_samples_per_s); /* train.F2 */
    if (job->mode->module.caps & MODE_ONE_WORKER)
        s->efficiency_ratio = 1.0; /* by definition: it is what the others are measured by */
}

/* Of a shorter step no limit is known to 0.1 %: it is the difference of two readings of a clock that counts ns. */
static double shortest_step_s(const struct train_job *job)
{
    return job->world->module.caps & WORLD_VIRTUAL_TIME ? 1e-6 : 0;
}

/* The least time of a step: of the slowest part, or of the pipeline. NaN: no bound. */
static double least_step_s(const struct train_summary *s, const struct train_job *job, const struct train_result *r)
{
    if (job->opts.stages > 1)
        return r->pipe_bound_s > 0 ? r->pipe_bound_s : (double)NAN;
    return slowest_s(&s->best) > shortest_step_s(job) && !isnan(s->best.wire_s) ? slowest_s(&s->best) : (double)NAN;
}

/* Are there fewer steady steps than --average-every says? Then their throughput has no average, or one too many. */
static bool has_no_period(const struct train_summary *s, const struct train_job *job)
{
    return s->measured.n_rounds - s->measured.steady.n_warmup < job->opts.average_every;
}

void train_find_bound(struct train_summary *s, const struct train_job *job, const struct train_result *r)
{
    const struct interval *throughput = &s->measured.throughput_samples_per_s;
    const double samples_per_worker = (double)job->opts.batch; /* of a step; unequal batches: the mean over workers */

    s->best = best_of(r);
    s->bound_samples_per_s = s->bound_ratio = s->bound_low_ratio = s->bound_high_ratio = NAN;
    if (job->split_opts.kind == SPLIT_UNEQUAL && !train_waits_for_all(job)) /* each worker has another step time */
        return;
    if (job->omitted & OMIT_AVERAGE || alternation_is_on(job)) /* all steps, or half of them, exchange nothing */
        return;
    const double step_s = least_step_s(s, job, r);
    if (isnan(step_s) || has_no_period(s, job) || train_n_sharing(job, r) > 0)
        return;
    s->bound_samples_per_s = train_n_counted(job, r) * samples_per_worker / step_s;
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
