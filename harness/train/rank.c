/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank.c - the body of every rank of a training run: open, probe, train (a server: serve), gather time stamps on rank
 * 0.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "allreduce/collective_list.h"
#include "harness/base/peak_rss.h"
#include "harness/exchange/collective.h"
#include "harness/exchange/exchange.h"
#include "harness/report/timeline.h"
#include "harness/train/probe.h"
#include "harness/train/train.h"
#include "harness/world/child.h"
#include "models/engine/training.h"

/* Pixels of a batch from which prefetching by a background thread pays: reading a smaller batch takes a few
 * microseconds, less than waking a thread. */
enum { PREFETCH_MIN_ELEMS = 1 << 16 };

struct rank { /* everything one rank owns while it trains */
    struct world *world;
    const struct train_job *job;
    struct compute *compute;
    struct training *training; /* NULL: a server */
    struct exchange *exchange;
    float *param, *grad; /* of the exchange */
    struct exchange_memory_facts memory;
    struct step_stamp *stamp;   /* [n_steps] */
    struct train_result result; /* filled on rank 0 only */
    uint64_t data_waited_ns;    /* total wait for the data loader before the first step */
    bool peak_is_own;           /* the peak RSS of the process was reset when this run began */
};

static void rank_close(struct rank *r)
{
    exchange_close(&r->exchange);
    workload_close(&r->training);
    compute_close(&r->compute);
    train_result_free(&r->result);
    free(r->stamp);
}

static void charge_world(void *world, double flops, double bytes)
{
    world_charge(world, flops, bytes);
}

static void pause_world(void *world, uint64_t ns)
{
    world_pause(world, ns);
}

static void tick_world(void *world)
{
    world_tick(world);
}

/* From here on this rank is in another phase; here it fails, if it is to. */
static void enter(struct rank *r, enum peer_phase phase, uint64_t step)
{
    const struct train_drill *drill = &r->job->drill;

    world_set_duty(r->world, &(struct peer_duty){ phase, (int64_t)(r->job->resume.steps_count + step), -1 });
    if (drill->rank != r->world->rank || drill->phase != (phase == PHASE_SERVE ? PHASE_STEP : phase))
        return;
    if (phase == PHASE_STEP && drill->step != step)
        return;
    if (drill->hangs)
        world_hang(r->world);
    else
        world_die(r->world);
}

static bool is_worker(const struct rank *r)
{
    return r->world->rank < r->job->n_workers;
}

static bool is_virtual(const struct rank *r)
{
    return r->world->ops->module.caps & WORLD_VIRTUAL_TIME;
}

/* Servers have no cores of their own: one thread. */
static int n_threads(const struct rank *r)
{
    if (!is_worker(r) || is_virtual(r))
        return 1;
    if (r->job->opts.threads > 0)
        return (int)r->job->opts.threads;
    return r->world->n_own_cores > 0 ? r->world->n_own_cores : 1;
}

/* Servers update parameters in host memory, where messages are, so they use the cpu backend; workers the wanted one. */
static const struct compute_backend *backend_of(const struct rank *r)
{
    const struct compute_backend *wanted = r->job->compute;

    return is_worker(r) || !wanted->touches_memory || wanted->host_memory ? wanted : &compute_cpu;
}

/* May the pool of threads spin: is there a core for each of them, and one for the communicator? */
static bool pool_may_spin(const struct rank *r)
{
    const struct world *w = r->world;
    const int n = n_threads(r);

    return world_may_spin(w) && n <= w->n_own_cores &&
           (!r->job->exchange.overlap || w->n_busy_host_ranks * (n + 1) <= w->n_host_cores);
}

static enum rc open_compute(struct rank *r)
{
    const struct compute_backend *backend = backend_of(r);
    const struct compute_env env = { .charge = r->world->ops->charge ? charge_world : NULL,
                                     .pass = pause_world,
                                     .tick = tick_world,
                                     .arg = r->world,
                                     .n_threads = n_threads(r),
                                     .may_spin = pool_may_spin(r),
                                     .precision = is_worker(r) ? r->job->precision : PRECISION_FP32,
                                     .device = r->world->host_rank };

    return compute_open(&r->compute, backend, &env);
}

static enum rc open_training(struct rank *r)
{
    const struct train_job *job = r->job;
    const size_t n_pixels = (size_t)job->network.image_size * (size_t)job->network.image_size;
    const struct training_env env = { .compute = r->compute,
                                      .dataset = job->dataset,
                                      .seed = job->opts.seed,
                                      .max_batch = job->opts.batch,
                                      .batch_stride = (uint64_t)job->n_workers * job->opts.batch,
                                      .prefetch = !is_virtual(r) && job->compute->touches_memory &&
                                                  job->opts.batch * n_pixels >= PREFETCH_MIN_ELEMS,
                                      .forward_only = job->opts.forward_only,
                                      .network = job->network,
                                      .profile = job->profile };

    return workload_open(&r->training, job->workload, &env);
}

static enum rc open_exchange(struct rank *r)
{
    const struct train_job *job = r->job;
    const struct exchange_env env = {
        .world = r->world,
        .compute = r->compute,
        .mode = job->mode,
        .transport = job->transport,
        .collective = job->collective,
        .collective_opts =
            job->collective ? module_options(&job->opts.modules, train_kinds, &job->collective->module) : NULL,
        .segment = job->segment,
        .n_segments = job->n_segments,
        .n_workers = job->n_workers,
        .n_servers = job->n_servers,
        .opts = job->exchange,
        .momentum = (float)job->opts.momentum,
        .weight_decay = (float)job->opts.weight_decay,
        .forward_only = job->opts.forward_only,
        .timeout_ms = train_message_limit_ms(job),
        .timeline = job->opts.timeline[0] != '\0',
        .n_steps = job->n_steps
    };
    enum rc rc;

    TRY(exchange_open(&r->exchange, &env));
    r->param = exchange_param(r->exchange);
    r->grad = exchange_grad(r->exchange);
out:
    return rc;
}

/* Rank 0 makes what all begin with, the model's own or the checkpoint's, and the others get it. */
static enum rc start_exchange(struct rank *r)
{
    const struct checkpoint *resume = &r->job->resume;
    struct initial_state from = { .n_running = r->job->n_state, .velocity = resume->velocity };
    size_t n_state;

    if (r->training)
        from.running = workload_state(r->training, &n_state);
    if (r->world->rank == 0 && !resume->param)
        workload_init(r->training, r->param);
    if (r->world->rank == 0 && resume->param && r->param) {
        compute_put(r->compute, r->param, resume->param, r->job->n_params * sizeof(float));
        if (from.running)
            compute_put(r->compute, from.running, resume->state, from.n_running * sizeof(float));
    }
    return exchange_start(r->exchange, &from);
}

static enum rc rank_open(struct rank *r)
{
    enum rc rc;

    enter(r, PHASE_START, 0);
    TRY(open_compute(r));
    if (is_worker(r))
        TRY(open_training(r));
    TRY(open_exchange(r));
    r->stamp = malloc(r->job->n_steps * sizeof *r->stamp);
    if (!r->stamp)
        FAIL(RC_NOMEM, "no memory for the stamps of %zu steps", r->job->n_steps);
    memset(r->stamp, 0xff, r->job->n_steps * sizeof *r->stamp); /* touch every page before the first step */
    TRY(start_exchange(r));
    r->memory = exchange_memory_of(r->exchange);
out:
    return rc;
}

/* Measure what limits this run. The probe computes gradients, which changes running means: they are restored. */
static enum rc probe(struct rank *r, struct train_limits *limits)
{
    const struct probe_env env = { .world = r->world,
                                   .job = r->job,
                                   .compute = r->compute,
                                   .training = r->training,
                                   .wire = exchange_wire_plan(r->exchange),
                                   .param = r->param,
                                   .grad = r->grad };
    size_t n_state = 0;
    float *state = r->training ? workload_state(r->training, &n_state) : NULL, *kept = NULL;
    enum rc rc;

    enter(r, PHASE_PROBE, 0);
    if (state) {
        kept = malloc(n_state * sizeof *kept);
        if (!kept)
            return rc_raise(RC_NOMEM, "no memory for a copy of %zu running means", n_state);
        compute_get(r->compute, kept, state, n_state * sizeof *kept);
    }
    TRY(probe_limits(limits, &env));
    if (state)
        compute_put(r->compute, state, kept, n_state * sizeof *kept);
out:
    free(kept);
    return rc;
}

static uint64_t samples_before(const struct train_job *job, size_t step)
{
    return job->resume.samples_count + (uint64_t)step * (uint64_t)job->n_workers * job->opts.batch;
}

/* grad_ready callback of the workload: the gradient of seg is final. */
static enum rc submit_segment(void *arg, struct segment seg, const float *grad)
{
    struct rank *r = arg;

    (void)grad; /* the exchange's own */
    return exchange_submit(r->exchange, seg);
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

/* One training step: gradient, exchange, update, and its time stamps. --forward-only: the loss alone. */
static enum rc train_step(struct rank *r, size_t step)
{
    const struct train_job *job = r->job;
    const uint64_t before = samples_before(job, step);
    const uint64_t first_sample = before + (uint64_t)r->world->rank * job->opts.batch; /* L1 */
    const bool by_segments = exchange_wants_segments(r->exchange);
    struct step_stamp *stamp = &r->stamp[step];
    double loss;
    enum rc rc;

    enter(r, PHASE_STEP, step);
    TRY(world_check(r->world)); /* a worker that waits for nobody hears of a failure here */
    stamp->start_ns = world_now_ns(r->world);
    TRY(exchange_begin(r->exchange, job->resume.steps_count + step, schedule_lr(&job->schedule, before)));
    TRY(workload_gradient(r->training, r->param, first_sample, job->opts.batch, r->grad, &loss,
                          by_segments ? submit_segment : NULL, r));
    TRY(compute_sync(r->compute));
    stamp->ready_ns = world_now_ns(r->world);
    stamp->stalled_ns = exchange_cost(r->exchange).waited_ns;
    if (!by_segments)
        exchange_submit_all(r->exchange);
    if (!exchange_overlaps(r->exchange) || step + 1 == job->n_steps)
        TRY(exchange_await_all(r->exchange));
    stamp->end_ns = job->opts.forward_only ? stamp->ready_ns : world_now_ns(r->world);
    const struct exchange_cost cost = exchange_cost(r->exchange);
    stamp->server_ns = cost.server_ns;
    stamp->apply_ns = cost.apply_ns;
    stamp->hidden_ns = cost.hidden_ns;
    stamp->staleness_count = cost.staleness_count;
    stamp->loss = loss;
    note_step(r, step);
    if (job->watch && r->world->rank == 0)
        job->watch->step(job->watch->arg, step + 1, stamp->end_ns);
out:
    return rc;
}

/* Get the final parameters, and the velocity on rank 0 if a checkpoint needs it. Its memory is allocated only now, so
 * that training does not need it too. */
static enum rc finish_exchange(struct rank *r)
{
    struct checkpoint *c = &r->result.final;
    enum rc rc = RC_OK;

    if (r->world->rank == 0 && r->param && r->job->keeps_velocity && !r->job->opts.forward_only) {
        c->n_params = r->job->n_params;
        c->n_state = r->job->n_state;
        TRY(checkpoint_alloc(c, true));
    }
    TRY(exchange_final(r->exchange, c->velocity));
out:
    return rc;
}

static enum rc train(struct rank *r)
{
    enum rc rc = RC_OK;

    if (!is_worker(r)) {
        enter(r, PHASE_SERVE, 0);
        return exchange_serve(r->exchange);
    }
    r->data_waited_ns = network_data_waited_ns(r->training);
    if (exchange_overlaps(r->exchange))
        workload_set_await(r->training, await_segment, r);
    for (size_t step = 0; step < r->job->n_steps; step++)
        TRY(train_step(r, step));
    workload_set_await(r->training, NULL, NULL);
    TRY(finish_exchange(r));
out:
    return rc;
}

/* Fill the checkpoint *c from this rank, worker 0. Closes the model first, to make room. */
static enum rc keep_params(struct rank *r, struct checkpoint *c)
{
    const struct train_job *job = r->job;
    size_t n_state = 0;
    const float *state = workload_state(r->training, &n_state);
    enum rc rc = RC_OK;

    c->n_params = job->n_params;
    c->n_state = n_state;
    if (!c->param)
        TRY(checkpoint_alloc(c, false));
    if (n_state > 0)
        compute_get(r->compute, c->state, state, n_state * sizeof(float));
    workload_close(&r->training); /* frees activations, for the copy below */
    compute_get(r->compute, c->param, r->param, job->n_params * sizeof(float));
    snprintf(c->model, sizeof c->model, "%s", job->opts.model);
    c->seed = job->opts.seed;
    c->steps_count = job->opts.steps;
    c->samples_count = samples_before(job, job->n_steps);
out:
    return rc;
}

/* Rank 0: evaluate the trained model with its own running means, and keep its parameters in the result. */
static enum rc evaluate_and_keep(struct rank *r)
{
    struct train_result *result = &r->result;
    enum rc rc = RC_OK;

    result->evaluation = (struct evaluation){ NAN, NAN };
    result->n_threads = r->compute->env.n_threads;
    result->peak_rss_bytes = r->peak_is_own ? peak_rss_bytes() : NAN;
    result->data_wait_s = NAN;
    if (!is_virtual(r) && network_of(r->training))
        result->data_wait_s =
            1e-9 * (double)(network_data_waited_ns(r->training) - r->data_waited_ns) / (double)r->job->n_steps;
    result->has_params = r->param != NULL;
    if (r->job->n_eval > 0)
        TRY(workload_evaluate(r->training, r->param, r->job->n_eval, &result->evaluation));
    if (result->has_params)
        TRY(keep_params(r, &result->final));
out:
    return rc;
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

/* Gather time stamps and host names on rank 0. Servers send unused stamps, as a gather is collective; they are the last
 * ranks, behind those that are read. */
static enum rc gather_results(struct rank *r)
{
    struct train_rank_info info = { .own_cores_count = r->world->n_own_cores };
    struct train_result *result = &r->result;
    const bool root = r->world->rank == 0;
    enum rc rc = RC_OK;

    child_host_name(info.host, sizeof info.host);
    info.memory = r->memory;
    if (root)
        TRY(alloc_result(result, r->job));
    TRY(world_gather(r->world, r->stamp, root ? result->stamp : NULL, r->job->n_steps * sizeof *r->stamp));
    TRY(world_gather(r->world, &info, root ? result->rank : NULL, sizeof info));
    if (root)
        TRY(evaluate_and_keep(r));
out:
    return rc;
}

/* Rings are read by this task only now: the communicator has ended. */
static enum rc write_timeline(struct rank *r)
{
    struct span_ring *ring[EXCHANGE_N_RINGS];
    struct record *facts = NULL;
    enum rc rc = RC_OK;

    if (!r->job->opts.timeline[0])
        return RC_OK;
    for (int i = 0; i < EXCHANGE_N_RINGS; i++)
        ring[i] = exchange_ring(r->exchange, (enum exchange_task)i);
    if (r->world->rank == 0)
        TRY(train_manifest(&facts, r->job));
    const struct timeline_opts timeline = { .path = r->job->opts.timeline,
                                            .role = is_worker(r) ? "worker" : "server",
                                            .ring = ring,
                                            .n_rings = EXCHANGE_N_RINGS,
                                            .facts = facts };
    TRY(timeline_gather_and_write(r->world, &timeline));
out:
    record_close(&facts);
    return rc;
}

enum rc train_rank(struct world *w, const struct train_job *job, struct train_result *result)
{
    struct rank r = { .world = w, .job = job };
    enum rc rc;

    r.peak_is_own = w->rank == 0 && !is_virtual(&r) && peak_rss_reset();
    TRY(rank_open(&r));
    TRY(probe(&r, &r.result.limits));
    TRY(world_barrier(w));
    TRY(train(&r));
    enter(&r, PHASE_END, 0);
    TRY(write_timeline(&r));
    TRY(gather_results(&r));
    if (w->rank == 0) {
        *result = r.result;
        r.result = (struct train_result){ 0 };
    }
out:
    if (rc != RC_OK) /* before closing: peers must see this failure first, not closed connections */
        world_abort(w, rc);
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
