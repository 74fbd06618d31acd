/* SPDX-License-Identifier: Apache-2.0 */
/* layer_timing.c - opens a network twice, observes its layers, and measures the roofs of their roofline chart. */
#include "harness/bench/layer_timing.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/hold.h"
#include "harness/base/host_memory.h"
#include "harness/bench/gemm.h"
#include "harness/measure/sorted.h"
#include "harness/world/cores.h"
#include "harness/world/world.h"

enum { ONLY_WARM_UP = -1, UNWATCHED = -2 };
enum { SIDE_FULL, SIDE_GEMM, N_SIDES, N_PHASES = 2 };

struct watch { /* what an observer writes to */
    struct world *world;
    struct compute *compute;
    uint64_t *ns;      /* [n_nodes][N_PHASES] of this step; NULL: nobody writes */
    struct work *work; /* the same, NULL: not wanted */
    uint64_t begin_ns;
    struct work begin_work;
    enum rc rc;   /* of the first sync that failed */
    int n_stamps; /* recorded, not read; stamps 2 k and 2 k + 1 are around place[k] of ns */
    uint32_t place[COMPUTE_STAMPS / 2];
};

struct side { /* one of the two computes */
    struct compute *compute;
    struct training *training;
    struct watch watch;
    struct network_observer observer;
    uint64_t *ns; /* [n_steps][n_nodes][N_PHASES] */
};

struct layer_bench { /* everything the rank owns */
    struct world *world;
    const struct layer_timing_env *env;
    struct layer_timing *out;
    struct side side[N_SIDES];
    size_t n_params, n_times; /* n_times: n_nodes N_PHASES */
    void *param, *grad, *velocity;
    double *step_s, *update_s, *layers_s, *rest_s, *gemm_s; /* [n_steps] */
    uint64_t first;                                         /* sample of the next step */
};

/* Between neighbours where the place is not a whole one. */
static double quantile(const double *sorted, size_t n, double at_ratio)
{
    const double place = at_ratio * (double)(n - 1);
    const size_t i = (size_t)place;

    return i + 1 < n ? sorted[i] + (place - (double)i) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}

struct spread spread_of(double *x, size_t n)
{
    sorted_make(x, n);
    return (struct spread){ quantile(x, n, 0.5), quantile(x, n, 0.25), quantile(x, n, 0.75) };
}

static void wait_for_all(struct watch *w)
{
    const enum rc rc = compute_sync(w->compute);

    if (w->rc == RC_OK)
        w->rc = rc;
}

static void read_stamps(struct watch *w)
{
    if (w->n_stamps == 0)
        return;
    wait_for_all(w);
    for (int k = 0; k < w->n_stamps; k += 2)
        w->ns[w->place[k / 2]] += w->compute->ops->stamp_ns(w->compute, k, k + 1);
    w->n_stamps = 0;
}

static void stamp_node(struct watch *w, size_t place, bool begin)
{
    if (begin && w->n_stamps == COMPUTE_STAMPS)
        read_stamps(w);
    w->compute->ops->record_stamp(w->compute, w->n_stamps + !begin);
    if (!begin) {
        w->place[w->n_stamps / 2] = (uint32_t)place;
        w->n_stamps += 2;
    }
}

/* Before and after each node's work: by stamps, or all of it is done when the clock is read (C4). */
static void see_node(void *arg, int node, enum network_phase phase, bool begin)
{
    struct watch *w = arg;
    const size_t i = (size_t)node * N_PHASES + phase;

    if (w->compute->ops->record_stamp != NULL && w->work == NULL) {
        if (w->ns != NULL)
            stamp_node(w, i, begin);
        return;
    }
    wait_for_all(w);
    if (begin) {
        w->begin_work = w->compute->total;
        w->begin_ns = world_now_ns(w->world);
        return;
    }
    if (w->ns != NULL)
        w->ns[i] += world_now_ns(w->world) - w->begin_ns;
    if (w->work != NULL) {
        w->work[i].flops += w->compute->total.flops - w->begin_work.flops;
        w->work[i].bytes += w->compute->total.bytes - w->begin_work.bytes;
    }
}

static enum rc open_side(struct layer_bench *b, int which)
{
    const struct layer_timing_env *env = b->env;
    struct side *s = &b->side[which];
    const struct compute_env compute = { .n_threads = env->n_threads,
                                         .may_spin = env->n_threads <= cores_allowed_count(),
                                         .precision = env->precision,
                                         .gemm_only = which == SIDE_GEMM };
    enum rc rc;

    TRY(compute_open(&s->compute, env->backend, &compute));
    if (s->compute->ops->device_name != NULL)
        s->compute->ops->device_name(s->compute, b->out->device, sizeof b->out->device);
    const struct training_env training = { .compute = s->compute,
                                           .dataset = env->dataset,
                                           .seed = env->seed,
                                           .max_batch = env->batch,
                                           .order.stride = env->batch,
                                           .prefetch = env->n_threads < cores_allowed_count(),
                                           .network = env->network };
    TRY(workload_open(&s->training, env->workload, &training));
    s->watch = (struct watch){ .world = b->world, .compute = s->compute };
    s->observer = (struct network_observer){ see_node, &s->watch };
    s->ns = calloc((size_t)env->n_steps * b->n_times, sizeof *s->ns);
    if (s->ns == NULL)
        FAIL(RC_NOMEM, "no memory for the times of %d steps", env->n_steps);
out:
    return rc;
}

static enum rc open_params(struct layer_bench *b)
{
    struct compute *c = b->side[SIDE_FULL].compute;
    const size_t n_bytes = workload_n_params(b->side[SIDE_FULL].training) * sizeof(float);
    enum rc rc;

    b->n_params = n_bytes / sizeof(float);
    TRY(compute_memory_open(c, &b->param, n_bytes, "parameters"));
    TRY(compute_memory_open(c, &b->grad, n_bytes, "gradients"));
    TRY(compute_memory_open(c, &b->velocity, n_bytes, "momentum"));
    workload_init(b->side[SIDE_FULL].training, b->param);
out:
    return rc;
}

static enum rc open_samples(struct layer_bench *b)
{
    const size_t n = (size_t)b->env->n_steps;

    b->step_s = calloc(5 * n, sizeof *b->step_s);
    b->out->layer = calloc((size_t)b->out->network->n_nodes, sizeof *b->out->layer);
    if (b->step_s == NULL || b->out->layer == NULL)
        return rc_raise(RC_NOMEM, "no memory for the times of %zu steps", n);
    b->update_s = b->step_s + n;
    b->layers_s = b->step_s + 2 * n;
    b->rest_s = b->step_s + 3 * n;
    b->gemm_s = b->step_s + 4 * n;
    return RC_OK;
}

static void layer_bench_close(struct layer_bench *b)
{
    struct compute *c = b->side[SIDE_FULL].compute;

    for (int i = N_SIDES - 1; i >= 0; i--) {
        struct side *s = &b->side[i];
        workload_close(&s->training);
        if (i == SIDE_FULL && c != NULL) {
            compute_memory_close(c, &b->param);
            compute_memory_close(c, &b->grad);
            compute_memory_close(c, &b->velocity);
        }
        compute_close(&s->compute);
        free(s->ns);
    }
    free(b->step_s);
}

static double seconds_since(struct layer_bench *b, uint64_t start_ns)
{
    return (double)(world_now_ns(b->world) - start_ns) * 1e-9;
}

/* A gradient on one side; layers are timed in step; ONLY_WARM_UP: nothing is kept; UNWATCHED: nobody waits. */
static enum rc one_gradient(struct layer_bench *b, int which, int step, double *loss)
{
    struct side *s = &b->side[which];
    enum rc rc;

    s->watch.ns = step >= 0 ? s->ns + (size_t)step * b->n_times : NULL;
    network_observe(s->training, step == UNWATCHED ? NULL : &s->observer);
    TRY(workload_gradient(s->training, b->param, b->first, b->env->batch, b->grad, loss, NULL, NULL));
    read_stamps(&s->watch);
    TRY(s->watch.rc);
out:
    return rc;
}

/* A whole step of training. */
static enum rc full_step(struct layer_bench *b, int step)
{
    struct compute *c = b->side[SIDE_FULL].compute;
    const struct sgd sgd = { .lr = (float)b->env->workload->default_lr,
                             .momentum = (float)b->env->workload->default_momentum,
                             .grad_scale = 1 };
    const uint64_t start_ns = world_now_ns(b->world);
    double loss;
    enum rc rc;

    TRY(one_gradient(b, SIDE_FULL, b->out->apart ? UNWATCHED : step, &loss));
    const uint64_t update_ns = world_now_ns(b->world);
    compute_sgd_step(c, b->param, b->velocity, b->grad, b->n_params, &sgd);
    TRY(compute_sync(c));
    if (step >= 0) {
        b->update_s[step] = seconds_since(b, update_ns);
        b->step_s[step] = seconds_since(b, start_ns);
    }
    if (step == 0)
        b->out->loss_first = loss;
    b->out->loss_last = loss;
    if (step >= 0 && b->out->apart)
        TRY(one_gradient(b, SIDE_FULL, step, &loss));
out:
    return rc;
}

static enum rc gemm_step(struct layer_bench *b, int step)
{
    double unused;
    enum rc rc;

    if (step >= 0 && b->out->apart) {
        const uint64_t start_ns = world_now_ns(b->world);
        TRY(one_gradient(b, SIDE_GEMM, UNWATCHED, &unused));
        b->gemm_s[step] = seconds_since(b, start_ns);
    }
    TRY(one_gradient(b, SIDE_GEMM, step, &unused));
out:
    return rc;
}

/* One more step, in which the work of each layer is counted; its time does not matter. */
static enum rc count_work(struct layer_bench *b)
{
    struct work *work = calloc(b->n_times, sizeof *work);
    double loss;
    enum rc rc;

    if (work == NULL)
        return rc_raise(RC_NOMEM, "no memory for the work of %zu layers", b->n_times);
    b->side[SIDE_FULL].watch.work = work;
    TRY(one_gradient(b, SIDE_FULL, ONLY_WARM_UP, &loss));
    for (size_t i = 0; i < b->n_times; i++)
        b->out->layer[i / N_PHASES].work[i % N_PHASES] = work[i];
out:
    b->side[SIDE_FULL].watch.work = NULL;
    free(work);
    return rc;
}

/* Twice in a run, before and after: whoever else uses the machine must not lower a roof. */
static enum rc find_roofs(struct layer_bench *b)
{
    struct compute *c = b->side[SIDE_FULL].compute;
    double flops_per_s, bytes_per_s;
    enum rc rc;

    TRY(gemm_peak_flops_per_s(&flops_per_s, b->world, c, b->env->largest_matrix));
    TRY(stream_peak_bytes_per_s(&bytes_per_s, b->world, c, b->env->stream_bytes));
    assert(b->out->n_roofs < LAYER_TIMING_ROOFS);
    b->out->roof[b->out->n_roofs++] = (struct roof){ flops_per_s, bytes_per_s };
    b->out->peak_flops_per_s = fmax(b->out->peak_flops_per_s, flops_per_s);
    b->out->peak_bytes_per_s = fmax(b->out->peak_bytes_per_s, bytes_per_s);
out:
    return rc;
}

static double sum_s(const uint64_t *ns, size_t n)
{
    uint64_t sum_ns = 0;

    for (size_t i = 0; i < n; i++)
        sum_ns += ns[i];
    return (double)sum_ns * 1e-9;
}

static uint64_t median_ns(const struct layer_bench *b, const struct side *s, size_t i, double *scratch)
{
    const size_t n = (size_t)b->out->n_steps;

    for (size_t step = 0; step < n; step++)
        scratch[step] = (double)s->ns[step * b->n_times + i];
    return (uint64_t)llround(spread_of(scratch, n).median);
}

static enum rc summarise(struct layer_bench *b)
{
    const size_t n = (size_t)b->out->n_steps;
    struct layer_timing *m = b->out;
    double *scratch = calloc(n, sizeof *scratch);

    if (scratch == NULL)
        return rc_raise(RC_NOMEM, "no memory for the medians of %zu steps", n);
    for (size_t step = 0; step < n; step++) {
        b->layers_s[step] = sum_s(b->side[SIDE_FULL].ns + step * b->n_times, b->n_times);
        b->rest_s[step] = b->step_s[step] - b->layers_s[step] - b->update_s[step];
        if (!m->apart)
            b->gemm_s[step] = sum_s(b->side[SIDE_GEMM].ns + step * b->n_times, b->n_times);
    }
    for (size_t i = 0; i < b->n_times; i++) {
        m->layer[i / N_PHASES].ns[i % N_PHASES] = median_ns(b, &b->side[SIDE_FULL], i, scratch);
        m->layer[i / N_PHASES].gemm_ns[i % N_PHASES] = median_ns(b, &b->side[SIDE_GEMM], i, scratch);
    }
    m->step_s = spread_of(b->step_s, n);
    m->update_s = spread_of(b->update_s, n);
    m->layers_s = spread_of(b->layers_s, n);
    m->rest_s = spread_of(b->rest_s, n);
    m->gemm_s = spread_of(b->gemm_s, n);
    free(scratch);
    return RC_OK;
}

static bool told_to_stop(const struct layer_bench *b)
{
    return b->env->stop_wanted != NULL && b->env->stop_wanted();
}

static enum rc stopped_too_early(void)
{
    return rc_raise(RC_PEER, "stopped before a step was measured; nothing is written");
}

static enum rc warm_up(struct layer_bench *b)
{
    enum rc rc = RC_OK;

    for (int i = 0; i < b->env->n_warmup && !told_to_stop(b); i++, b->first += b->env->batch) {
        hold_at("warmup", 0, (uint64_t)i);
        TRY(full_step(b, ONLY_WARM_UP));
    }
    if (told_to_stop(b))
        rc = stopped_too_early();
out:
    return rc;
}

/* Both sides in turns. */
static enum rc measure_steps(struct layer_bench *b)
{
    enum rc rc = RC_OK;

    for (int step = 0; step < b->env->n_steps && !told_to_stop(b); step++, b->first += b->env->batch) {
        hold_at("measure", 0, (uint64_t)step);
        TRY(full_step(b, step));
        TRY(gemm_step(b, step));
        b->out->n_steps = step + 1;
    }
    if (b->out->n_steps == 0)
        rc = stopped_too_early();
out:
    return rc;
}

static enum rc measure(struct layer_bench *b)
{
    enum rc rc;

    TRY(open_side(b, SIDE_FULL));
    TRY(open_params(b));
    TRY(open_samples(b));
    TRY(warm_up(b));
    b->out->memory = network_memory_of(b->side[SIDE_FULL].training);
    b->out->peak_rss_bytes = isnan(peak_rss_bytes()) ? 0 : (size_t)peak_rss_bytes();
    TRY(count_work(b));
    TRY(find_roofs(b));
    TRY(open_side(b, SIDE_GEMM));
    TRY(gemm_step(b, ONLY_WARM_UP));
    TRY(measure_steps(b));
    TRY(find_roofs(b));
    TRY(summarise(b));
out:
    return rc;
}

struct run { /* what goes through the world */
    const struct layer_timing_env *env;
    struct layer_timing *out;
};

static enum rc body(struct world *w, void *arg)
{
    struct run *run = arg;
    struct layer_bench b = {
        .world = w, .env = run->env, .out = run->out, .n_times = (size_t)run->out->network->n_nodes * N_PHASES
    };
    const enum rc rc = measure(&b);

    layer_bench_close(&b);
    return rc;
}

enum rc layer_timing_run(struct layer_timing *out, const struct layer_timing_env *env)
{
    const struct world_opts opts = { .bind_cores = true };
    const struct world_ops *world = NULL;
    struct layer_timing m = { 0 };
    struct run run = { env, &m };
    enum rc rc;

    m.apart = !env->backend->host_memory;
    m.stamped = m.apart && env->backend->record_stamp != NULL;
    TRY(network_open(&m.network, env->workload->network, &env->network));
    TRY(world_find(&world, world_kind.default_name));
    TRY(world_run(world, &opts, 1, body, &run));
    *out = m;
    m = (struct layer_timing){ 0 };
out:
    layer_timing_free(&m);
    return rc;
}

void layer_timing_free(struct layer_timing *m)
{
    network_close(&m->network);
    free(m->layer);
    *m = (struct layer_timing){ 0 };
}
