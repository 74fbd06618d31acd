/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank.c - what every rank of a training does: open, probe, train (or serve), hand the stamps to rank 0.
 */
#include <stdlib.h>
#include <string.h>

#include "harness/base/arena.h"
#include "harness/train/probe.h"
#include "harness/train/train.h"
#include "harness/world/child.h"

struct rank { /* everything one rank owns while it trains */
    struct world *world;
    const struct train_job *job;
    struct compute *compute;
    struct training *training;
    struct sync *sync;
    struct arena arena;
    float *param, *grad, *velocity; /* float[n_params]; NULL: hollow */
    struct step_stamp *stamp;       /* [n_steps] */
    size_t n_params;
};

static void rank_close(struct rank *r)
{
    if (r->sync)
        r->sync->ops->close(&r->sync);
    workload_close(&r->training);
    compute_close(&r->compute);
    arena_close(&r->arena);
    free(r->stamp);
}

static void charge(void *world, double flops, double bytes)
{
    world_charge(world, flops, bytes);
}

static bool is_worker(const struct rank *r)
{
    return r->world->rank < r->job->n_workers;
}

/* Parameters at the start: the checkpoint's, or the model's own. */
static enum rc open_params(struct rank *r)
{
    const struct checkpoint *resume = &r->job->resume;
    enum rc rc = RC_OK;

    r->n_params = workload_n_params(r->training);
    if (!r->compute->ops->touches_memory)
        return RC_OK;
    TRY(arena_open(&r->arena, 3 * arena_floats_bytes(r->n_params)));
    r->param = arena_floats(&r->arena, r->n_params);
    r->grad = arena_floats(&r->arena, r->n_params);
    r->velocity = arena_floats(&r->arena, r->n_params);
    if (resume->param)
        memcpy(r->param, resume->param, r->n_params * sizeof(float));
    else
        workload_init(r->training, r->param);
out:
    return rc;
}

static enum rc rank_open(struct rank *r)
{
    const struct train_job *job = r->job;
    const struct compute_env compute = { .charge = r->world->ops->charge ? charge : NULL, .arg = r->world };
    enum rc rc;

    TRY(compute_open(&r->compute, job->compute, &compute));
    const struct training_env training = {
        .compute = r->compute, .dataset = job->dataset, .seed = job->opts.seed, .max_batch = job->opts.batch
    };
    TRY(workload_open(&r->training, job->workload, &training));
    TRY(open_params(r));
    r->stamp = malloc(job->n_steps * sizeof *r->stamp);
    if (!r->stamp)
        FAIL(RC_NOMEM, "no memory for the stamps of %zu steps", job->n_steps);
    memset(r->stamp, 0xff, job->n_steps * sizeof *r->stamp); /* touch every page before the first step */
    const struct sync_env sync = { .world = r->world,
                                   .compute = r->compute,
                                   .transport = job->transport,
                                   .reducer = job->reducer,
                                   .n_workers = job->n_workers,
                                   .n_servers = job->n_servers,
                                   .n_params = r->n_params,
                                   .momentum = (float)job->opts.momentum,
                                   .weight_decay = (float)job->opts.weight_decay,
                                   .param_init = r->param,
                                   .velocity_init = job->resume.velocity,
                                   .timeout_ms = (int)job->opts.timeout_s * 1000 };
    TRY(job->mode->open(&r->sync, &sync));
    r->sync->ops = job->mode;
out:
    return rc;
}

static enum rc probe(struct rank *r, struct train_limits *limits)
{
    const struct probe_env env = { .world = r->world,
                                   .job = r->job,
                                   .compute = r->compute,
                                   .training = is_worker(r) ? r->training : NULL,
                                   .sync = r->sync,
                                   .param = r->param,
                                   .grad = r->grad,
                                   .n_params = r->n_params };

    return probe_limits(limits, &env);
}

static uint64_t samples_before(const struct train_job *job, size_t step)
{
    return job->resume.samples_count + (uint64_t)step * (uint64_t)job->n_workers * job->opts.batch;
}

/* The workload's "this segment's gradient is final", passed on to modes that want it. */
static enum rc pass_on(void *arg, struct segment seg, const float *grad)
{
    struct rank *r = arg;

    enum rc rc;

    TRY(compute_sync(r->compute)); /* C2: its time has passed before it may be sent */
    TRY(r->sync->ops->grad_ready(r->sync, seg, grad));
out:
    return rc;
}

static enum rc one_step(struct rank *r, size_t step)
{
    const struct train_job *job = r->job;
    const uint64_t before = samples_before(job, step);
    struct step_stamp *stamp = &r->stamp[step];
    struct step_cost cost;
    double loss;
    enum rc rc;

    if (job->opts.drill_rank == (uint64_t)r->world->rank && job->opts.drill_step == step)
        world_die(r->world);
    stamp->start_ns = world_now_ns(r->world);
    TRY(r->sync->ops->begin(r->sync, job->resume.steps_count + step, schedule_lr(&job->schedule, before)));
    TRY(workload_gradient(r->training, r->param, before + (uint64_t)r->world->rank * job->opts.batch, job->opts.batch,
                          r->grad, &loss, r->sync->ops->grad_ready ? pass_on : NULL, r)); /* L1 */
    TRY(compute_sync(r->compute));
    stamp->ready_ns = world_now_ns(r->world);
    TRY(r->sync->ops->finish(r->sync, r->param, r->grad, &cost));
    stamp->end_ns = world_now_ns(r->world);
    stamp->server_ns = cost.server_ns;
    stamp->apply_ns = cost.apply_ns;
    stamp->staleness_count = cost.staleness_count;
    stamp->loss = loss;
out:
    return rc;
}

static enum rc train(struct rank *r)
{
    enum rc rc = RC_OK;

    if (!is_worker(r)) {
        if (r->job->opts.drill_rank == (uint64_t)r->world->rank)
            world_die(r->world);
        return r->sync->ops->serve(r->sync);
    }
    for (size_t step = 0; step < r->job->n_steps; step++)
        TRY(one_step(r, step));
    TRY(r->sync->ops->final(r->sync, r->param, r->velocity));
out:
    return rc;
}

/* Rank 0's copy of what the run left behind. */
static enum rc keep_final(struct rank *r, struct train_result *result)
{
    const struct train_job *job = r->job;
    struct checkpoint *c = &result->final;

    result->has_params = r->param != NULL;
    if (!result->has_params)
        return RC_OK;
    c->param = malloc(2 * r->n_params * sizeof(float));
    if (!c->param)
        return rc_raise(RC_NOMEM, "no memory for a copy of %zu parameters", r->n_params);
    c->velocity = c->param + r->n_params;
    memcpy(c->param, r->param, r->n_params * sizeof(float));
    memcpy(c->velocity, r->velocity, r->n_params * sizeof(float));
    c->n_params = r->n_params;
    snprintf(c->model, sizeof c->model, "%s", job->opts.model);
    c->seed = job->opts.seed;
    c->steps_count = job->opts.steps;
    c->samples_count = samples_before(job, job->n_steps);
    return workload_evaluate(r->training, r->param, job->dataset->n_test, &result->evaluation);
}

static enum rc alloc_result(struct train_result *result, const struct train_job *job)
{
    const size_t n_ranks = (size_t)job->n_ranks;

    result->stamp = malloc(n_ranks * job->n_steps * sizeof *result->stamp);
    result->lr = malloc(job->n_steps * sizeof *result->lr);
    result->rank = calloc(n_ranks, sizeof *result->rank);
    if (!result->stamp || !result->lr || !result->rank)
        return rc_raise(RC_NOMEM, "no memory for the stamps of %zu ranks x %zu steps", n_ranks, job->n_steps);
    for (size_t step = 0; step < job->n_steps; step++)
        result->lr[step] = schedule_lr(&job->schedule, samples_before(job, step));
    return RC_OK;
}

/* Everything to rank 0. Servers hand over stamps that nobody reads: they come last. */
static enum rc collect(struct rank *r, struct train_result *result)
{
    struct train_rank_info info = { .own_cores_count = r->world->n_own_cores };
    const bool root = r->world->rank == 0;
    enum rc rc = RC_OK;

    child_host_name(info.host, sizeof info.host);
    if (root)
        TRY(alloc_result(result, r->job));
    TRY(world_gather(r->world, r->stamp, root ? result->stamp : NULL, r->job->n_steps * sizeof *r->stamp));
    TRY(world_gather(r->world, &info, root ? result->rank : NULL, sizeof info));
    if (root)
        TRY(keep_final(r, result));
out:
    return rc;
}

enum rc train_rank(struct world *w, const struct train_job *job, struct train_result *result)
{
    struct rank r = { .world = w, .job = job };
    struct train_result filled = { 0 };
    enum rc rc;

    TRY(rank_open(&r));
    TRY(probe(&r, &filled.limits));
    TRY(world_barrier(w));
    TRY(train(&r));
    TRY(collect(&r, &filled));
    if (w->rank == 0) {
        *result = filled;
        filled = (struct train_result){ 0 };
    }
out:
    if (rc != RC_OK) /* first: what the others find closed must not look like the cause */
        world_abort(w, rc);
    train_result_free(&filled);
    rank_close(&r);
    return rc;
}

void train_result_free(struct train_result *r)
{
    free(r->stamp);
    free(r->lr);
    free(r->rank);
    checkpoint_free(&r->final);
    *r = (struct train_result){ 0 };
}
