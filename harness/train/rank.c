/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank.c - the body of every rank of a training run: open, probe (bound.c), train (a server: serve), probe again,
 * and gather on rank 0 (rank_result.c) what those have that are left (losses.c).
 */
#include <stdlib.h>

#include "allreduce/collective_list.h"
#include "harness/base/hold.h"
#include "harness/base/host_memory.h"
#include "harness/base/rng.h"
#include "harness/exchange/collective.h"
#include "harness/exchange/exchange.h"
#include "harness/train/disturbed.h"
#include "harness/train/job_batch.h"
#include "harness/train/omission.h"
#include "harness/train/rank_state.h"
#include "harness/train/shard.h"
#include "models/engine/training.h"

static void rank_close(struct rank *r)
{
    world_split_close(&r->left);
    exchange_close(&r->exchange);
    workload_close(&r->training);
    rank_hooks_close(r);
    rank_pipe_close(r);
    rank_shard_close(r);
    compute_close(&r->compute);
    train_result_free(&r->result);
    free(r->stamp);
    free(r->host);
    rank_feed_close(r);
}

static void charge_world(void *world, double flops, double bytes)
{
    world_charge(world, flops, bytes);
}

static void work_in_world(void *world, uint64_t ns)
{
    world_work(world, ns);
}

static uint64_t now_of_world(void *world)
{
    return world_now_ns(world);
}

int rank_number(const struct rank *r)
{
    return r->job->opts.stages > 1 ? r->job->all->rank : r->world->rank;
}

void rank_enter(struct rank *r, enum peer_phase phase, uint64_t step)
{
    static const char *const points[] = { [PHASE_START] = "start",
                                          [PHASE_PROBE] = "probe",
                                          [PHASE_STEP] = "step",
                                          [PHASE_SERVE] = "serve",
                                          [PHASE_END] = "end" };

    step += r->job->resume.steps_count; /* of the whole training from here on: as messages and the drill count */
    if (!r->job->is_trial)
        hold_at(points[phase], rank_number(r), step);
    else if (phase == PHASE_STEP)
        hold_at("tune", rank_number(r), r->job->n_begun_before + step);
    world_set_duty(r->world, &(struct peer_duty){ phase, (int64_t)step, -1 });
    rank_drill(r, phase, step, -1);
}

/* A server's steps are those of which it gets pushes. */
static void note_push(void *arg, uint64_t step)
{
    const struct rank *r = arg;

    step += r->job->resume.steps_count;
    hold_at("push", rank_number(r), step);
    rank_drill(r, PHASE_STEP, step, -1);
}

int rank_n_threads(const struct rank *r)
{
    if (!rank_is_worker(r) || rank_is_virtual(r))
        return 1;
    if (r->job->opts.threads > 0)
        return (int)r->job->opts.threads;
    return r->world->n_own_cores > 0 ? r->world->n_own_cores : 1;
}

/* Servers update parameters in host memory, where messages are, so they use the cpu backend; workers the wanted one. */
static const struct compute_backend *backend_of(const struct rank *r)
{
    const struct compute_backend *wanted = r->job->compute;

    return rank_is_worker(r) || !compute_has_own_memory(wanted) ? wanted : &compute_cpu;
}

static enum rc open_compute(struct rank *r)
{
    const struct compute_backend *backend = backend_of(r);
    struct compute_env env = { .charge = r->world->ops->charge ? charge_world : NULL,
                               .pass = work_in_world,
                               .tick = world_tick_callback,
                               .arg = r->world,
                               .n_threads = rank_n_threads(r),
                               .may_spin = rank_pool_may_spin(r),
                               .precision = rank_is_worker(r) ? r->job->precision : PRECISION_FP32,
                               .opts = module_options(&r->job->opts.modules, train_kinds, &backend->module) };
    enum rc rc;

    TRY(rank_device_number(&env.device, backend, rank_all(r)->host_rank));
    TRY(compute_open(&r->compute, backend, &env));
    TRY(rank_check_devices(r));
out:
    return rc;
}

static enum rc open_training(struct rank *r)
{
    const struct train_job *job = r->job;
    const int worker = r->world->rank;
    const bool has_part = job->split_opts.kind != SPLIT_IID;

    if (has_part)
        r->part = split_part(&job->split, worker);
    const struct training_env env = { .compute = r->compute,
                                      .dataset = job->dataset,
                                      .part = has_part ? &r->part : NULL,
                                      .seed = job->opts.seed,
                                      .max_batch = job_micro_batch_of(job, worker),
                                      .order = job_batch_order(job, worker),
                                      .now_ns = now_of_world,
                                      .source = r->feed.client ? &r->feed.source : NULL,
                                      .prefetch = !rank_is_virtual(r) && job->compute->touches_memory,
                                      .forward_only = job->opts.forward_only,
                                      .network = job->network,
                                      .profile = job->profile,
                                      .stage = r->pipe ? &r->stage : NULL,
                                      .shard = rank_shard_env(r) };

    return workload_open(&r->training, job->workload, &env);
}

static enum rc open_exchange(struct rank *r)
{
    const struct train_job *job = r->job;
    const struct gradient_flip flip = { .step = job->faults.flip_step,
                                        .elem_index = (size_t)(rng_u64(job->opts.seed, RNG_FLIP, 0) % job->n_params) };
    const struct exchange_env env = {
        .world = r->world,
        .compute = r->compute,
        .mode = job->omitted & OMIT_AVERAGE ? &sync_none : job->mode,
        .transport = job->transport,
        .collective = job->collective,
        .collective_opts =
            job->collective ? module_options(&job->opts.modules, train_kinds, &job->collective->module) : NULL,
        .segment = job->segment,
        .n_segments = job->n_segments,
        .n_workers = job->n_workers,
        .n_servers = job->n_servers,
        .host = r->host,
        .has_other_pairs = r->links.has_other_pairs,
        .opts = r->exchanging,
        .weight = rank_is_worker(r) ? job_weight_of(job, r->world->rank) : 1.0f,
        .optimizer = job->optimizer,
        .forward_only = job->opts.forward_only,
        .flip = r->world->rank == job->faults.flip_rank ? &flip : NULL,
        .shard = rank_shard_exchanged(r),
        .keeps_undo = job->on_loss == ON_LOSS_REPORT,
        .timeout_ms = train_message_limit_ms(job),
        .on_push = note_push,
        .on_push_arg = r,
        .on_round = rank_note_round,
        .on_round_arg = r,
        .timeline = job->opts.timeline[0] != '\0',
        .messages = job->opts.messages[0] != '\0',
        .n_steps = train_most_steps(job),
        .n_steps_before = job->resume.steps_count
    };
    enum rc rc;

    TRY(exchange_open(&r->exchange, &env));
    r->param = exchange_param(r->exchange);
    r->grad = exchange_grad(r->exchange);
out:
    return rc;
}

/* Rank 0 makes what all begin with, the model's own or the checkpoint's, and the others get it; of shards each rank. */
static enum rc start_exchange(struct rank *r)
{
    const struct checkpoint *resume = &r->job->resume;
    struct initial_state from = { .n_running = r->job->n_state, .state = resume->kept };
    const bool makes = r->world->rank == 0 || r->shard || world_is_guest(r->world);
    size_t n_state;
    enum rc rc;

    if (r->training)
        from.running = workload_state(r->training, &n_state);
    if (makes && !resume->param)
        workload_init(r->training, r->param);
    if (makes && resume->param && r->param) {
        compute_put(r->compute, r->param, resume->param, r->job->n_params * sizeof(float));
        if (from.running)
            compute_put(r->compute, from.running, resume->state, from.n_running * sizeof(float));
    }
    TRY(exchange_start(r->exchange, &from));
    if (r->job->omitted & OMIT_BROADCAST && r->world->rank > 0)
        workload_init_own(r->training, (uint64_t)r->world->rank, r->param);
out:
    return rc;
}

static enum rc rank_open(struct rank *r)
{
    enum rc rc;

    rank_enter(r, PHASE_START, 0);
    TRY(rank_find_hosts(r));
    TRY(rank_choose_overlap(r));
    TRY(rank_choose_wait(r));
    rank_choose_flight(r);
    TRY(open_compute(r));
    TRY(rank_pipe_open(r));
    TRY(rank_shard_open(r));
    if (rank_is_worker(r))
        TRY(open_training(r));
    TRY(open_exchange(r));
    TRY(rank_result_open(r));
    TRY(rank_hooks_open(r));
    TRY(start_exchange(r));
    r->memory = exchange_memory_of(r->exchange);
    exchange_explain(r->exchange, r->result.reducer_reason, sizeof r->result.reducer_reason);
out:
    return rc;
}

static enum rc train(struct rank *r)
{
    enum rc rc = RC_OK;

    if (!rank_is_worker(r)) {
        rank_enter(r, PHASE_SERVE, 0);
        rc = exchange_serve(r->exchange, r->step_ns);
        r->info.served = exchange_served(r->exchange);
        return rc;
    }
    r->data_waited_ns = network_data_waited_ns(r->training);
    TRY(rank_steps(r));
    hold_at("trained", rank_number(r), r->n_begun);
    if (!train_goes_back(r->job)) /* else rank_end() does */
        TRY(rank_finish_exchange(r));
out:
    r->data_waited_ns = network_data_waited_ns(r->training) - r->data_waited_ns;
    workload_set_await(r->training, NULL, NULL);
    return rc;
}

/* All that comes before the first step. */
static enum rc rank_start(struct rank *r)
{
    enum rc rc;

    TRY(rank_hooks_meet(r));
    TRY(rank_open(r));
    if (world_is_guest(r->world))
        return rank_join(r);
    TRY(rank_probe(r));
    disturbance_begin(&r->load_before, r->world, "");
    TRY(world_barrier(rank_all(r)));
out:
    return rank_explain_early_loss(r, rc);
}

enum rc train_rank(struct world *w, const struct train_job *job, struct train_result *result)
{
    struct rank r = { .world = w, .job = job };
    enum rc rc = RC_OK;

    rank_hooks_find(&r);
    r.peak_is_own = w->rank == 0 && !rank_is_virtual(&r) && peak_rss_reset();
    if (job->n_drivers > 0)
        TRY(rank_feed_open(&r, w));
    if (r.feed.drives) {
        TRY(rank_feed_drive(&r));
        goto out;
    }
    TRY(rank_shard_take(&r));
    TRY(rank_start(&r));
    const enum rc trained = train(&r);
    disturbance_end(&r.info, &r.load_before, w, "");
    if (r.is_leaving && trained == RC_OK) {
        TRY(rank_leave(&r));
        goto out;
    }
    TRY(rank_end(&r, trained));
    TRY(rank_probe_again(&r));
    TRY(rank_pipe_share_stamps(&r));
    TRY(rank_gather(&r));
    TRY(rank_feed_end(&r));
    if (w->rank == 0) {
        *result = r.result;
        r.result = (struct train_result){ 0 };
    }
out:
    rc = rank_explain_timeout(&r, job_shard_explain(job, rc));
    /* before closing: peers must see this failure first, not closed connections. In a world that reports losses, though
     * the job does not, its caller goes on without the rank that is lost. */
    const bool goes_on = job->is_trial && rc == RC_UNSUPPORTED; /* a reducer cannot run here, which all ranks find */
    if (rc != RC_OK && !goes_on && !(rc == RC_PEER && job->on_loss == ON_LOSS_ABORT && world_lost_rank(w) >= 0))
        world_abort(w, rc);
    rank_close(&r);
    return rc;
}
