/* SPDX-License-Identifier: Apache-2.0 */
/* rank_steps.c - the training loop, and the table of what features do in it. */
#include "harness/train/rank_state.h"

#include "harness/base/hold.h"
#include "harness/train/elastic.h"
#include "harness/train/job_batch.h"
#include "harness/train/job_exchange.h"
#include "harness/world/span.h"
#include "harness/world/stop.h"
#include "models/engine/training.h"

/* --- hooks of no other file --- */

static bool is_not_elastic(const struct train_job *job)
{
    return !elastic_is_on(job); /* whose workers stop by a rule of their own */
}

static enum rc stop_with_all(struct rank *r, size_t step)
{
    bool begins;
    enum rc rc;

    TRY(world_begin_step(r->world, (int64_t)(r->job->n_begun_before + step) + 1, &begins));
    if (!begins)
        TRY(rank_stop(r, step));
out:
    return rc;
}

static const struct step_hook hook_stop = { .name = "stop",
                                            .wanted = is_not_elastic,
                                            .at = { [CHOOSE_STEP] = stop_with_all } };

static bool has_timeline(const struct train_job *job)
{
    return job->opts.timeline[0] != '\0';
}

/* The step, and in it the gradient, which waits for parameters may interrupt. */
static enum rc note_spans(struct rank *r, size_t step)
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
    return RC_OK;
}

static const struct step_hook hook_timeline = { .name = "timeline",
                                                .wanted = has_timeline,
                                                .at = { [AFTER_STEP] = note_spans } };

static bool is_watched(const struct train_job *job)
{
    return job->watch;
}

static enum rc tell_watch(struct rank *r, size_t step)
{
    if (r->world->rank == 0)
        r->job->watch->step(r->job->watch->arg, step + 1, r->stamp[step].end_ns);
    return RC_OK;
}

static const struct step_hook hook_watch = { .name = "watch",
                                             .wanted = is_watched,
                                             .at = { [AFTER_STEP] = tell_watch } };

static bool stops_at_update(const struct train_job *job)
{
    return job->exchange.stop_at > 0;
}

/* --stop-at-step: the servers have told this worker to begin no further step. */
static enum rc stop_at_update(struct rank *r, size_t step)
{
    (void)step;
    r->has_ended = exchange_cost(r->exchange).is_last;
    return RC_OK;
}

static const struct step_hook hook_stop_at_step = { .name = "stop-at-step",
                                                    .wanted = stops_at_update,
                                                    .at = { [AFTER_STEP] = stop_at_update } };

/* --- the table --- */

static const struct step_hook *const all_hooks[] = {
    &hook_stop,         /* first: a run that stops asks for no batch */
    &hook_elastic,      /* asks for the batch, which all the others may then use */
    &hook_trajectory,   /* before the barrier of a turn: the rank copies while others are still in their step */
    &hook_alternation,  /* the first that waits for others */
    &hook_kept_state,   /* the state that the step begins with */
    &hook_input,        /* its wait completes the stamp, and is in the timeline ahead of its step */
    &hook_slow_rank,    /* last of those before a step: it counts computing from here */
    &hook_timeline,     /* needs the stamp alone */
    &hook_watch,        /* before all that takes long between steps: a step is shown when it has ended */
    &hook_verify,       /* before save: corrupt parameters are in no checkpoint */
    &hook_stop_at_step, /* before save: the end of a run writes a checkpoint by itself */
    &hook_save,
};
_Static_assert(sizeof all_hooks / sizeof *all_hooks == N_STEP_HOOKS, "rank_state.h has room for as many hooks");

void rank_hooks_find(struct rank *r)
{
    for (size_t i = 0; i < N_STEP_HOOKS; i++)
        if (!all_hooks[i]->wanted || all_hooks[i]->wanted(r->job))
            r->hook[r->n_hooks++] = all_hooks[i];
}

enum rc rank_hooks_meet(struct rank *r)
{
    enum rc rc = RC_OK;

    for (size_t i = 0; i < r->n_hooks; i++)
        if (r->hook[i]->meet)
            TRY(r->hook[i]->meet(r));
out:
    return rc;
}

enum rc rank_hooks_open(struct rank *r)
{
    enum rc rc = RC_OK;

    for (size_t i = 0; i < r->n_hooks; i++)
        if (r->hook[i]->open)
            TRY(r->hook[i]->open(r));
out:
    return rc;
}

enum rc rank_hooks_gather(struct rank *r, struct world *gathered)
{
    enum rc rc = RC_OK;

    for (size_t i = 0; i < r->n_hooks; i++)
        if (r->hook[i]->gather)
            TRY(r->hook[i]->gather(r, gathered));
out:
    return rc;
}

void rank_hooks_close(struct rank *r)
{
    for (size_t i = 0; i < r->n_hooks; i++)
        if (r->hook[i]->close)
            r->hook[i]->close(r);
}

static enum rc run_hooks(struct rank *r, enum step_point point, size_t step)
{
    const bool had_ended = r->has_ended;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < r->n_hooks && r->has_ended == had_ended; i++)
        if (r->hook[i]->at[point])
            TRY(r->hook[i]->at[point](r, step));
out:
    return rc;
}

/* Does a hook act between this step and the next? */
static bool is_followed(const struct rank *r, size_t step)
{
    bool is = false;

    for (size_t i = 0; i < r->n_hooks && !is; i++)
        is = r->hook[i]->acts_behind && r->hook[i]->acts_behind(r, step);
    return is;
}

/* --- a step --- */

/* grad_ready callback of the workload: the gradient of seg is final. */
static enum rc submit_segment(void *arg, struct segment seg, const float *grad)
{
    struct rank *r = arg;
    enum rc rc;

    (void)grad; /* the exchange's own */
    TRY(run_hooks(r, COMPUTED_PART, r->n_begun - 1));
    TRY(exchange_submit(r->exchange, &seg, 0));
out:
    return rc;
}

/* await callback of the workload. */
static enum rc await_segment(void *arg, struct segment seg)
{
    return exchange_await(((struct rank *)arg)->exchange, seg);
}

/* What the step has waited for, and what of it was hidden. */
static void note_cost(struct rank *r, struct step_stamp *stamp)
{
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
    if (cost.lead_count > r->info.served.lead_max_count)
        r->info.served.lead_max_count = cost.lead_count;
}

/* Gradient, exchange, update, and the time stamps. --forward-only: the loss alone. */
static enum rc train_step(struct rank *r, size_t step)
{
    const struct train_job *job = r->job;
    const float lr = schedule_lr(&job->schedule, rank_samples_before(job, r->place.step));
    const uint64_t first_sample = job_first_sample(job, r->place.worker, r->place.step);
    const bool by_segments = exchange_wants_segments(r->exchange);
    struct step_stamp *stamp = &r->stamp[step];
    double loss;
    enum rc rc;

    r->n_begun = step + 1;
    stamp->start_ns = world_now_ns(r->world);
    TRY(exchange_begin(r->exchange, job->resume.steps_count + step, lr));
    TRY(workload_gradient(r->training, r->param, first_sample, job_batch_of(job, r->world->rank), r->grad, &loss,
                          by_segments ? submit_segment : NULL, r));
    TRY(compute_sync(r->compute));
    TRY(run_hooks(r, COMPUTED_PART, step));
    stamp->ready_ns = world_now_ns(r->world);
    stamp->stalled_ns = exchange_cost(r->exchange).waited_ns;
    if (!by_segments)
        TRY(exchange_submit(r->exchange, NULL, stamp->ready_ns));
    hold_at("exchange", rank_number(r), job->resume.steps_count + step);
    stamp->end_ns = stamp->ready_ns;
    if (!exchange_overlaps(r->exchange) || step + 1 == job->n_steps || is_followed(r, step))
        TRY(exchange_await_all(r->exchange, &stamp->end_ns));
    note_cost(r, stamp);
    stamp->loss = loss;
out:
    return rc;
}

/* --- all steps --- */

enum rc rank_steps(struct rank *r)
{
    enum rc rc = RC_OK;

    if (exchange_overlaps(r->exchange))
        workload_set_await(r->training, await_segment, r);
    for (size_t step = 0; step < train_most_steps(r->job) && !r->has_ended; step++) {
        r->place = (struct batch_place){ step, r->world->rank };
        TRY(run_hooks(r, CHOOSE_STEP, step));
        if (r->has_ended)
            break;
        rank_enter(r, PHASE_STEP, step);
        TRY(exchange_check(r->exchange)); /* a worker that waits for nobody hears of a failure here */
        TRY(run_hooks(r, BEFORE_STEP, step));
        TRY(train_step(r, step));
        TRY(run_hooks(r, AFTER_STEP, step));
    }
    TRY(run_hooks(r, AFTER_STEPS, r->n_begun));
out:
    return rc;
}

/* The last step did not know that it was the last. So it left its exchange to the next one, unless a hook acted behind
 * it. */
enum rc rank_stop(struct rank *r, size_t step)
{
    struct step_stamp *last;
    enum rc rc = RC_OK;

    if (!local_sgd_may_stop(r->job, step) || !job_periods_may_stop(r->job, step))
        return RC_OK;
    r->has_ended = true;
    r->result.stop_signal = world_stop_signal(r->world);
    if (r->n_begun == 0) /* of a trial: the ranks had agreed on the last step of the one before */
        return RC_OK;
    last = &r->stamp[r->n_begun - 1];
    if (exchange_overlaps(r->exchange) && !is_followed(r, r->n_begun - 1)) {
        last->end_ns = world_now_ns(r->world);
        TRY(exchange_await_all(r->exchange, &last->end_ns));
    }
out:
    return rc;
}
