/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stages_run.c - --stages S: the trainings of all stages (stages.h) in one world, with one joint result; see
 * stages_run.h.
 */
#include "harness/train/stages_run.h"

#include <math.h>
#include <stdlib.h>

#include "harness/base/text.h"
#include "harness/train/job_exchange.h"
#include "harness/train/places.h"
#include "harness/train/result.h"
#include "harness/train/shard.h"
#include "harness/train/stages.h"
#include "harness/world/share.h"

/* --- before the run --- */

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double steps_s(const struct train_result *r)
{
    return r->n_steps > 0 ? 1e-9 * (double)(r->stamp[r->n_steps - 1].end_ns - r->stamp[0].start_ns) : 0;
}

/* Workers: stage by stage of worker 0, of worker 1, ...; then servers, stage by stage. */
int train_stage_of_rank(const struct train_job *job, int rank)
{
    const int n_stages = (int)job->opts.stages, n_computing = n_stages * job->n_workers;

    return rank < n_computing ? rank % n_stages : (rank - n_computing) / job->n_servers;
}

static enum rc prepare_stage(struct train_stages_run *run, const struct train_opts *opts,
                             const struct launcher *launcher, int stage)
{
    struct train_job *job = &run->job[stage];
    const int n_given_ranks = launcher->name ? launcher->n_ranks / run->n_stages : 0;
    enum rc rc;

    TRY(train_prepare_stage(job, opts, run->group, run->n_groups, n_given_ranks, stage));
    if (run->restarts)
        job->restarts = *run->restarts;
    if (job->world->module.caps & WORLD_VIRTUAL_TIME)
        TRY(cluster_check(&job->cluster, run->n_stages * job->n_workers, run->n_stages * job->n_ranks));
out:
    return rc;
}

/* In one process there must be room for all stages; each has been found to fit alone. */
static enum rc check_memory(const struct train_stages_run *run)
{
    const size_t available = run->job[0].memory.available_bytes;
    size_t n_bytes = 0;

    for (int i = 0; i < run->n_stages; i++)
        n_bytes += run->job[i].memory.host_bytes;
    if (!run->job[0].compute->touches_memory || n_bytes <= available)
        return RC_OK;
    return rc_raise(RC_INVAL,
                    "--stages %d: they need %.2f GB of memory here, %.2f GB are available; a smaller --batch "
                    "needs less, or ranks on several hosts",
                    run->n_stages, 1e-9 * (double)n_bytes, 1e-9 * (double)available);
}

enum rc train_stages_prepare(struct train_stages_run *run, const struct train_opts *opts,
                             const struct launcher *launcher)
{
    char fitting[48];
    enum rc rc = RC_OK;

    text_near_multiples(fitting, sizeof fitting, (uint64_t)launcher->n_ranks, (uint64_t)run->n_stages);
    if (launcher->name && launcher->n_ranks % run->n_stages != 0)
        FAIL(RC_INVAL, "--stages %d: %d ranks were launched, which so many stages cannot share evenly; launch %s",
             run->n_stages, launcher->n_ranks, fitting);
    run->job = calloc((size_t)run->n_stages, sizeof *run->job);
    run->figures = calloc((size_t)run->n_stages, sizeof *run->figures);
    if (!run->job || !run->figures)
        FAIL(RC_NOMEM, "no memory for %d stages", run->n_stages);
    TRY(prepare_stage(run, opts, launcher, 0)); /* says how many workers and servers a stage has */
    if (launcher->rank == 0)
        TRY(train_note_inputs(&run->job[0]));
    const bool is_launched = run->job[0].world->module.caps & WORLD_LAUNCHED;
    const int own = is_launched && launcher->name ? train_stage_of_rank(&run->job[0], launcher->rank) : 0;
    for (int stage = 1; stage < run->n_stages; stage++)
        if (!is_launched || stage == own)
            TRY(prepare_stage(run, opts, launcher, stage));
    if (!is_launched)
        TRY(check_memory(run));
out:
    return rc;
}

int train_stages_n_ranks(const struct train_stages_run *run)
{
    return run->n_stages * run->job[0].n_ranks;
}

double train_stages_step_s(const struct train_stages_run *run)
{
    return run->result.n_steps > 0 ? steps_s(&run->result) / (double)run->result.n_steps : 0;
}

struct world_opts train_stages_world_opts(const struct train_stages_run *run)
{
    struct world_opts opts = train_world_opts(&run->job[0]);

    opts.n_bound_ranks = run->n_stages * run->job[0].n_workers;
    return opts;
}

void train_stages_free(struct train_stages_run *run)
{
    for (int stage = 0; run->job && stage < run->n_stages; stage++)
        train_job_free(&run->job[stage]);
    train_result_free(&run->result);
    free(run->job);
    free(run->figures);
    run->job = NULL;
    run->figures = NULL;
}

/* --- what stages have come to --- */

/* Of the stage that needs most, and of all stages on this host. */
static struct train_memory most_memory(const struct stage_figures *figures, int n_stages)
{
    struct train_memory most = { 0 };
    size_t host_bytes = 0;

    for (int i = 0; i < n_stages; i++) {
        const struct train_memory *m = &figures[i].memory;
        host_bytes += m->host_bytes;
        if (train_worker_bytes(m) > train_worker_bytes(&most))
            most = *m;
    }
    most.host_bytes = host_bytes;
    return most;
}

/* What this stage passes, and exchanges: the tensor that was measured is the largest of all. */
static struct stage_limits limits_of(const struct train_job *job, const struct train_result *r)
{
    const struct job_stages *s = &job->stages;
    const double share =
        s->most_passed_elems > 0 ? (double)s->passed_elems[s->number] / (double)s->most_passed_elems : 0;
    const struct train_limits *l = &r->limits;

    return (struct stage_limits){ .forward_s = r->least_forward_s,
                                  .backward_s = r->least_backward_s,
                                  .latency_s = r->pipe_latency_s,
                                  .pass_s = share * r->pipe_pass_s,
                                  .gather_s = r->gather_s,
                                  .scatter_s = r->scatter_s,
                                  .exchange_s = l->wire_s > l->server_s || isnan(l->wire_s) ? l->wire_s : l->server_s,
                                  .overlaps = r->overlap.overlaps };
}

/* Gradients that a worker of this stage sent in a step, the mean of them; NaN: not known. */
static double sent_bytes(const struct train_job *job, const struct train_result *r)
{
    const bool exchanges = mode_exchanges(&job->mode->module) && r->n_workers + job->n_servers > 1;

    return exchanges ? compression_sent_bytes(job, r, 0, r->n_workers) / r->n_workers : 0;
}

static struct stage_figures figures_of(const struct train_job *job, const struct train_result *r)
{
    const struct job_stages *s = &job->stages;

    return (struct stage_figures){ .number = s->number,
                                   .first_node = s->number > 0 ? s->env.cuts.end[s->number - 1] : 0,
                                   .end_node = s->env.cuts.end[s->number],
                                   .n_params = job->n_params,
                                   .n_state = job->n_state,
                                   .n_planned_held = job_stages_held(job, job->opts.accumulate),
                                   .n_held = r->n_held,
                                   .memory = job->memory,
                                   .flops_ratio = job->flops_per_sample, /* of the sum, when all are known */
                                   .cost_ratio = s->cost_ratio[s->number],
                                   .passed_bytes = sizeof(float) * s->passed_elems[s->number] *
                                                   (job->opts.batch / job->opts.accumulate),
                                   .limits = limits_of(job, r),
                                   .exchanged_bytes = sent_bytes(job, r),
                                   .shards_bytes = layout_shards_bytes(job, r),
                                   .waited_ratio = r->pipe_waited_s / steps_s(r) };
}

/* Of the stage that sends most of each: to the stage behind activations, to the one before as large gradients of them.
 */
static void note_moved(struct train_result *out, const struct stage_figures *figures, int n_stages, uint64_t n_parts)
{
    out->moved = (struct moved_bytes){ 0, 0 };
    for (int i = 0; i < n_stages; i++) {
        const uint64_t n_bytes = figures[i].passed_bytes + (i > 0 ? figures[i - 1].passed_bytes : 0);
        const double activations = (double)(n_parts * n_bytes) + figures[i].shards_bytes;
        const double gradients = figures[i].exchanged_bytes, most = out->moved.gradients_bytes;
        out->moved.activations_bytes = larger(out->moved.activations_bytes, activations);
        out->moved.gradients_bytes = isnan(gradients) || isnan(most) ? NAN : larger(gradients, most);
    }
}

/* Of the stages of one worker, its pipe. In a process of all ranks `run` is every stage's: the first alone writes. */
static enum rc gather(struct train_stages_run *run, struct world *pipe, const struct train_job *job,
                      struct train_result *result)
{
    const struct stage_figures own = figures_of(job, result);
    struct stage_figures figures[NETWORK_MAX_STAGES];
    struct stage_limits limits[NETWORK_MAX_STAGES];
    double flops = 0;
    enum rc rc;

    TRY(world_allgather(pipe, &own, figures, sizeof own));
    TRY(places_gather(result, pipe, job, result));
    if (pipe->rank > 0)
        return RC_OK;
    for (int i = 0; i < run->n_stages; i++)
        flops += figures[i].flops_ratio;
    for (int i = 0; i < run->n_stages; i++) {
        run->figures[i] = figures[i];
        run->figures[i].flops_ratio /= flops;
        limits[i] = figures[i].limits;
    }
    run->whole = *job;
    run->whole.n_params = job->stages.whole_params;
    run->whole.n_state = job->stages.whole_state;
    run->whole.flops_per_sample = flops;
    run->whole.memory = most_memory(figures, run->n_stages);
    note_moved(result, figures, run->n_stages, job->opts.accumulate);
    TRY(stages_find_bound(&result->pipe_bound_s, job, limits));
    run->result = *result;
    *result = (struct train_result){ 0 };
out:
    return rc;
}

/* --- a rank --- */

/* Of all ranks; 0 in a world of one process. */
static enum rc count_hosts(int *n_hosts, const struct train_job *job, struct world *w)
{
    struct world *group = NULL;
    int host;
    enum rc rc = RC_OK;

    *n_hosts = 0;
    if (job->world->module.caps & WORLD_LAUNCHED)
        TRY(world_host_group(w, &group, &host, n_hosts));
out:
    world_split_close(&group);
    return rc;
}

enum rc train_stages_body(struct world *w, void *arg)
{
    struct train_stages_run *run = arg;
    const int n_computing = run->n_stages * run->job[0].n_workers;
    const int stage = train_stage_of_rank(&run->job[0], w->rank);
    struct train_job job = run->job[stage]; /* its arrays are the original's */
    struct world *own = NULL, *pipe = NULL;
    struct train_result result = { 0 };
    int n_hosts;
    enum rc rc;

    TRY(count_hosts(&n_hosts, &job, w));
    TRY(world_split(w, stage, w->rank, &own));
    TRY(world_split(w, w->rank < n_computing ? w->rank / run->n_stages : -1, stage, &pipe));
    job.all = w;
    job.pipe = pipe;
    job.watch = w->rank == 0 ? run->watch : NULL;
    TRY(train_rank(own, &job, &result));
    result.n_hosts = n_hosts;
    if (own->rank == 0)
        TRY(gather(run, pipe, &job, &result));
    if (w->rank == 0 && run->result.stop_signal && run->on_stop) /* before the world ends: a launcher kills soon */
        TRY(run->on_stop(run, w));
    TRY(world_barrier(w));
out:
    train_result_free(&result);
    world_split_close(&pipe);
    world_split_close(&own);
    return rc;
}

/* --- rank 0 of all, behind the run --- */

static enum rc write_stage(struct report *to, const struct stage_figures *f)
{
    struct record *r = report_begin(to, "stage");

    record_i64(r, "stage", f->number);
    record_i64(r, "first_node", f->first_node);
    record_i64(r, "end_node", f->end_node);
    record_u64(r, "params_count", f->n_params);
    record_u64(r, "planned_held_micro_batches_count", f->n_planned_held);
    record_u64(r, "held_micro_batches_count", f->n_held);
    record_u64(r, "activations_bytes", f->memory.activations_bytes);
    record_u64(r, "memory_bytes", train_worker_bytes(&f->memory));
    record_f64(r, "flops_ratio", f->flops_ratio);
    record_f64(r, "cost_ratio", f->cost_ratio);
    record_f64(r, "waited_ratio", f->waited_ratio);
    record_u64(r, "passed_bytes", f->passed_bytes);
    record_f64(r, "pass_s", f->passed_bytes > 0 ? f->limits.latency_s + f->limits.pass_s : NAN);
    record_f64(r, "exchange_s", f->limits.exchange_s);
    record_f64(r, "sent_bytes_per_step", f->exchanged_bytes);
    return report_end(to);
}

enum rc train_stages_write(struct report *to, const struct train_stages_run *run)
{
    struct train_summary s;
    enum rc rc;

    TRY(train_summarise(&s, &run->whole, &run->result));
    TRY(train_write(to, &run->whole, &run->result, &s));
    for (int i = 0; i < run->n_stages; i++)
        TRY(write_stage(to, &run->figures[i]));
    TRY(job_shard_write(to, &run->whole, &run->result));
out:
    return rc;
}
