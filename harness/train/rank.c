/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank.c - the body of every rank of a training run: open, probe (probe.c), train (a server: serve), probe again,
 * and gather on rank 0 (rank_result.c) what those have that are left (losses.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allreduce/collective_list.h"
#include "harness/base/hold.h"
#include "harness/base/peak_rss.h"
#include "harness/base/rng.h"
#include "harness/exchange/collective.h"
#include "harness/exchange/exchange.h"
#include "harness/train/alternation.h"
#include "harness/train/disturbed.h"
#include "harness/train/job_batch.h"
#include "harness/train/job_exchange.h"
#include "harness/train/omission.h"
#include "harness/train/rank_state.h"
#include "harness/train/shard.h"
#include "harness/world/span.h"
#include "harness/world/stop.h"
#include "models/engine/training.h"

static void rank_close(struct rank *r)
{
    world_split_close(&r->left);
    exchange_close(&r->exchange);
    workload_close(&r->training);
    rank_verify_close(r);
    rank_pipe_close(r);
    rank_shard_close(r);
    compute_close(&r->compute);
    train_result_free(&r->result);
    free(r->stamp);
    free(r->round_ns);
    free(r->kept_state);
    free(r->trajectory);
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

/* The rank's number in the whole run (G1). */
static int number_of(const struct rank *r)
{
    return r->job->opts.stages > 1 ? r->job->all->rank : r->world->rank;
}

void rank_drill(const struct rank *r, enum peer_phase phase, uint64_t step, int64_t micro_batch)
{
    const struct train_drill *d = &r->job->drill;
    const int number = number_of(r);

    if (d->rank != number || d->leaves || d->phase != phase ||
        (phase == PHASE_STEP && (d->step != step || (int64_t)d->nth_part != micro_batch + 1)))
        return;
    if (d->hangs)
        world_hang(r->world);
    else
        world_die(r->world);
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
        hold_at(points[phase], number_of(r), step);
    else if (phase == PHASE_STEP)
        hold_at("tune", number_of(r), r->job->n_begun_before + step);
    world_set_duty(r->world, &(struct peer_duty){ phase, (int64_t)step, -1 });
    rank_drill(r, phase, step, -1);
}

/* A server's steps are those of which it gets pushes. */
static void note_push(void *arg, uint64_t step)
{
    const struct rank *r = arg;

    step += r->job->resume.steps_count;
    hold_at("push", number_of(r), step);
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
        .timeline_steps = &job->timeline_steps,
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

/* What it keeps beside its gradients and parameters. */
static enum rc open_records(struct rank *r)
{
    enum rc rc;

    TRY(rank_result_open(r));
    TRY(rank_elastic_open(r));
    TRY(rank_keep_open(r));
    TRY(rank_trajectory_open(r));
    TRY(rank_save_open(r));
    TRY(rank_verify_open(r));
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
    TRY(open_records(r));
    TRY(start_exchange(r));
    r->memory = exchange_memory_of(r->exchange);
    exchange_explain(r->exchange, r->result.reducer_reason, sizeof r->result.reducer_reason);
out:
    return rc;
}

/* grad_ready callback of the workload: the gradient of seg is final. */
static enum rc submit_segment(void *arg, struct segment seg, const float *grad)
{
    struct rank *r = arg;
    enum rc rc;

    (void)grad; /* the exchange's own */
    TRY(rank_slow(r));
    TRY(exchange_submit(r->exchange, &seg, 0));
out:
    return rc;
}

/* await callback of the workload. */
static enum rc await_segment(void *arg, struct segment seg)
{
    return exchange_await(((struct rank *)arg)->exchange, seg);
}

/* Into the timeline: the step, and in it the gradient, which waits for parameters may interrupt. */
static void note_step(const struct rank *r, size_t step)
{
    const struct step_stamp *at = &r->stamp[step];
    struct span s = { .start_ns = at->start_ns,
                      .end_ns = at->ready_ns,
                      .what = "compute",
                      .segment = -1,
                      .step = (uint32_t)(r->job->resume.steps_count + step) };

    span_ring_add(exchange_ring(r->exchange, EXCHANGE_MAIN), &s);
    s.what = "step";
    s.end_ns = at->end_ns;
    span_ring_add(exchange_ring(r->exchange, EXCHANGE_MAIN), &s);
}

/* Is there more to do between this step and the next, for which its own exchange must have ended? */
static bool meets_behind(const struct rank *r, size_t step)
{
    return rank_save_is_due(r, step) || rank_verify_is_due(r, step) ||
           alternation_ends_turn(r->job->opts.alternate_exchange, step);
}

/* --alternate-exchange: where a turn begins, workers meet, and exchange from now on, or do not. */
static enum rc begin_turn(struct rank *r, size_t step)
{
    const uint64_t turn_steps = r->job->opts.alternate_exchange;
    enum rc rc = RC_OK;

    if (!alternation_begins_turn(turn_steps, step))
        return RC_OK;
    TRY(world_barrier(r->world));
    exchange_leave_out(r->exchange, alternation_is_alone(turn_steps, step));
out:
    return rc;
}

/* One training step: gradient, exchange, update, and its time stamps. --forward-only: the loss alone. */
static enum rc train_step(struct rank *r, size_t step)
{
    const struct train_job *job = r->job;
    const struct batch_place at = rank_place(r, step);
    const uint64_t before = rank_samples_before(job, at.step);
    const uint64_t first_sample = job_first_sample(job, at.worker, at.step);
    const bool by_segments = exchange_wants_segments(r->exchange);
    struct step_stamp *stamp = &r->stamp[step];
    double loss;
    enum rc rc;

    rank_enter(r, PHASE_STEP, step);
    TRY(rank_trajectory_note(r, step));
    TRY(begin_turn(r, step));
    TRY(exchange_check(r->exchange)); /* a worker that waits for nobody hears of a failure here */
    rank_keep_state(r, step);
    r->n_begun = step + 1;
    stamp->start_ns = world_now_ns(r->world);
    rank_slowed_begin(r);
    TRY(exchange_begin(r->exchange, job->resume.steps_count + step, schedule_lr(&job->schedule, before)));
    TRY(workload_gradient(r->training, r->param, first_sample, job_batch_of(job, r->world->rank), r->grad, &loss,
                          by_segments ? submit_segment : NULL, r));
    TRY(compute_sync(r->compute));
    rank_note_input(r, step);
    TRY(rank_slow(r));
    stamp->ready_ns = world_now_ns(r->world);
    stamp->stalled_ns = exchange_cost(r->exchange).waited_ns;
    if (!by_segments)
        TRY(exchange_submit(r->exchange, NULL, stamp->ready_ns));
    hold_at("exchange", number_of(r), job->resume.steps_count + step);
    stamp->end_ns = stamp->ready_ns;
    if (!exchange_overlaps(r->exchange) || step + 1 == job->n_steps || meets_behind(r, step))
        TRY(exchange_await_all(r->exchange, &stamp->end_ns));
    const struct exchange_cost cost = exchange_cost(r->exchange);
    stamp->server_ns = cost.server_ns;
    stamp->apply_ns = cost.apply_ns;
    stamp->exchange_ns = cost.exchange_ns;
    stamp->hidden_ns = cost.hidden_ns;
    stamp->held_ns = cost.held_ns;
    stamp->staleness_count = cost.staleness_count;
    stamp->late_count = cost.late_count;
    stamp->keeps_gradient = cost.keeps_gradient;
    stamp->is_refused = cost.refused_count > 0 && cost.applied_count == 0;
    r->is_ended = cost.is_last;
    if (cost.lead_count > r->info.served.lead_max_count)
        r->info.served.lead_max_count = cost.lead_count;
    stamp->loss = loss;
    note_step(r, step);
    if (job->watch && r->world->rank == 0)
        job->watch->step(job->watch->arg, step + 1, stamp->end_ns);
out:
    return rc;
}

/* The run stops (stop.h): the last step did not know that it was the last, and so left its exchange to the next one,
 * unless a checkpoint was written behind it. */
static enum rc end_stopped(struct rank *r)
{
    struct step_stamp *last;
    enum rc rc = RC_OK;

    r->result.stop_signal = world_stop_signal(r->world);
    if (r->n_begun == 0) /* of a trial: the ranks had agreed on the last step of the one before */
        return RC_OK;
    last = &r->stamp[r->n_begun - 1];
    if (exchange_overlaps(r->exchange) && !meets_behind(r, r->n_begun - 1)) {
        last->end_ns = world_now_ns(r->world);
        TRY(exchange_await_all(r->exchange, &last->end_ns));
    }
out:
    return rc;
}

static enum rc train_steps(struct rank *r)
{
    bool begins;
    enum rc rc = RC_OK;

    for (size_t step = 0; step < train_most_steps(r->job) && !r->is_over; step++) {
        TRY(rank_begins(r, step, &begins));
        if (!begins && local_sgd_may_stop(r->job, step) && job_periods_may_stop(r->job, step)) {
            TRY(end_stopped(r));
            break;
        }
        TRY(rank_take_batch(r));
        if (r->is_over)
            break;
        TRY(train_step(r, step));
        TRY(rank_verify(r, step));
        if (r->is_corrupted)
            break;
        if (r->is_ended) /* --stop-at-step */
            break;
        TRY(rank_save(r, step));
    }
    TRY(rank_trajectory_note(r, r->n_begun));
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
    r->data_waited_ns = r->input_waited_ns = network_data_waited_ns(r->training);
    if (exchange_overlaps(r->exchange))
        workload_set_await(r->training, await_segment, r);
    TRY(train_steps(r));
    hold_at("trained", number_of(r), r->n_begun);
    if (!rank_goes_back(r)) /* else rank_end() does */
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

    TRY(rank_verify_meet(r));
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
