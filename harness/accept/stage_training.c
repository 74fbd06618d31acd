/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage_training.c - synchronous training at 1, 2, 4, ... nodes and all: throughput, efficiency, exposed communication,
 * and where the time of each rank goes. The steps are as many for all numbers of nodes, fewer than asked for where the
 * stage's limit leaves no time for them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/accept/sizes.h"
#include "harness/accept/trainings.h"
#include "harness/measure/paired.h"

/* --- training with the best order of ranks, beside the launcher's --- */

enum { LAUNCHERS, BEST, N_ORDERS };

struct trainings { /* of one rank; owned but for env */
    struct stage_env *env;
    struct training_order order;
    int *place;                      /* [n_ranks] */
    struct repeats step_s[N_ORDERS]; /* rank 0: mean of the steps of each training */
    double step_samples;             /* rank 0: of all ranks together */
    double turn_s; /* rank 0: both orders, with all that a training does before and behind its steps */
};

/* *kind, place: of rank 0, on all ranks; the launcher's where none is better, or it is not asked for. */
static enum rc find_best(int *kind, struct trainings *t)
{
    const struct acceptance *a = t->env->out;
    struct world *w = t->env->world;
    const size_t n_bytes = (size_t)w->n_ranks * sizeof *t->place;
    enum rc rc = RC_OK;

    *kind = a && t->env->criteria->rank_order_training_steps_count > 0 ? acceptance_best_rank_order(a) : -1;
    TRY(world_broadcast(w, kind, sizeof *kind));
    if (*kind <= RANK_ORDER_LAUNCHER)
        return RC_OK;
    t->place = malloc(n_bytes);
    if (!t->place)
        FAIL(RC_NOMEM, "no memory for an order of %d ranks", w->n_ranks);
    if (a)
        memcpy(t->place, a->rank_order[*kind].rank, n_bytes);
    TRY(world_broadcast(w, t->place, n_bytes));
out:
    return rc;
}

/* Rank 0 keeps a training that was not stopped. *has_run: the same on all ranks. */
static enum rc train_once(struct trainings *t, int which, bool *has_run)
{
    struct part_training_run run;
    enum rc rc;

    t->order.place = which == BEST ? t->place : NULL;
    TRY(part_training_run(&run, t->env, &t->order));
    *has_run = run.has_run;
    if (t->env->out && run.has_run && run.result.n_steps == t->order.n_steps) {
        const struct steps_summary *m = &run.summary.measured;
        t->step_s[which].took_s[t->step_s[which].n++] = m->step_mean_s;
        t->step_samples = m->throughput_samples_per_s.mean * m->step_mean_s;
    }
out:
    part_training_close(&run);
    return rc;
}

/* Rank 0. */
static bool has_time(const struct trainings *t)
{
    const double took_s = 1e-9 * (double)(world_now_ns(t->env->world) - t->env->started_ns);

    return t->env->criteria->stage_limit_s <= 0 || took_s + 1.2 * t->turn_s < t->env->criteria->stage_limit_s;
}

static bool wants_more(const struct trainings *t)
{
    const struct criteria *c = t->env->criteria;

    return (repeats_open(&t->step_s[LAUNCHERS], c) || repeats_open(&t->step_s[BEST], c)) && has_time(t);
}

static enum rc repeat(struct trainings *t)
{
    bool goes_on = true, has_run = true;
    enum rc rc = RC_OK;

    for (int i = 0; goes_on && has_run; i++) {
        const uint64_t began_ns = world_now_ns(t->env->world);
        for (int k = 0; k < N_ORDERS && has_run; k++)
            TRY(train_once(t, (i + k) % N_ORDERS, &has_run));
        t->turn_s = 1e-9 * (double)(world_now_ns(t->env->world) - began_ns);
        TRY(stage_goes_on(t->env, t->env->out && wants_more(t), &goes_on));
    }
out:
    return rc;
}

static struct rank_order_training not_measured(int kind)
{
    return (struct rank_order_training){ .order = kind,
                                         .launcher_samples_per_s = NAN,
                                         .low_launcher_samples_per_s = NAN,
                                         .high_launcher_samples_per_s = NAN,
                                         .samples_per_s = NAN,
                                         .low_samples_per_s = NAN,
                                         .high_samples_per_s = NAN,
                                         .ratio = NAN,
                                         .low_ratio = NAN,
                                         .high_ratio = NAN };
}

/* Whole turns. */
static void keep(struct trainings *t, int kind)
{
    struct rank_order_training *to = &t->env->out->rank_order_training;
    struct repeats *launchers = &t->step_s[LAUNCHERS], *best = &t->step_s[BEST];
    const int n = launchers->n < best->n ? launchers->n : best->n;

    if (n == 0) {
        snprintf(to->why, sizeof to->why, "no training in both orders came to its end");
        return;
    }
    launchers->n = best->n = n;
    const struct sized_rate of_launchers = repeats_rate(launchers, 0, t->step_samples);
    const struct sized_rate of_best = repeats_rate(best, 0, t->step_samples);
    const struct comparison with = compare_pairs(launchers->took_s, best->took_s, (size_t)n);
    *to = (struct rank_order_training){ .order = kind,
                                        .n_repeats = n,
                                        .n_steps = t->order.n_steps,
                                        .launcher_samples_per_s = of_launchers.bytes_per_s,
                                        .low_launcher_samples_per_s = of_launchers.low_bytes_per_s,
                                        .high_launcher_samples_per_s = of_launchers.high_bytes_per_s,
                                        .samples_per_s = of_best.bytes_per_s,
                                        .low_samples_per_s = of_best.low_bytes_per_s,
                                        .high_samples_per_s = of_best.high_bytes_per_s,
                                        .ratio = with.ratio,
                                        .low_ratio = with.ratio_low,
                                        .high_ratio = with.ratio_high };
}

/* n_steps: of each training, so that the least repeats end within the stage's limit; 0: there is no time for enough. */
static enum rc choose_order_steps(struct trainings *t, const struct training_pace *pace)
{
    const struct criteria *c = t->env->criteria;
    const double wanted = c->rank_order_training_steps_count;
    double left_s;
    enum rc rc;

    TRY(training_left_s(&left_s, t->env));
    t->order.n_steps = training_steps_within(pace, left_s / (N_ORDERS * c->least_repeats_count), wanted);
    if (t->order.n_steps >= TRAINING_LEAST_STEPS)
        goto out;
    if (t->env->out)
        snprintf(t->env->out->rank_order_training.why, sizeof t->env->out->rank_order_training.why,
                 "stage_limit_s left time for %llu of %g steps of each training; %d would be compared",
                 (unsigned long long)t->order.n_steps, wanted, TRAINING_LEAST_STEPS);
    t->order.n_steps = 0;
out:
    return rc;
}

/* Fills env->out->rank_order_training, as a part of the stage `training`: order->model on all nodes. The two orders are
 * measured in turns, and each is first in turn. It ends when the intervals of both are narrow, or when the stage's time
 * is too short for two more trainings. If no order is better than the launcher's, or rank_order_training_steps_count is
 * 0, nothing is done. pace: from training_time() on all nodes. Collective. Errors: as part_training_run(); what was
 * measured before is kept. */
static enum rc rank_training(struct stage_env *env, const struct training_order *order,
                             const struct training_pace *pace)
{
    struct trainings t = { .env = env, .order = *order };
    int kind;
    enum rc rc;

    TRY(find_best(&kind, &t));
    if (!t.place)
        return RC_OK;
    if (env->out)
        env->out->rank_order_training = not_measured(kind);
    t.order.n_nodes = env->fleet->n_nodes;
    t.order.loses = t.order.flips = false;
    t.order.from_ratio = order->to_ratio;
    t.order.to_ratio = 1;
    TRY(choose_order_steps(&t, pace));
    if (t.order.n_steps == 0)
        goto out;
    rc = repeat(&t);
    if (env->out)
        keep(&t, kind);
out:
    free(t.place);
    return rc;
}

/* Of the stage, where rank_training() is the rest. */
#define SCALES_PART 0.7

/* 1, 2, 4, ... below all nodes, and all; how many. */
static int scales_of(int out[ACCEPT_MAX_SCALES], int n_nodes)
{
    int n = 0;

    for (int k = 1; k < n_nodes && n < ACCEPT_MAX_SCALES - 1; k *= 2)
        out[n++] = k;
    out[n++] = n_nodes;
    return n;
}

/* a / b with the interval of independent a and b, whose widths add by squares. */
static void divide(struct scaled_training *s, const struct scaled_training *one)
{
    const double per_rank = s->samples_per_s / s->n_ranks, of_one = one->samples_per_s / one->n_ranks;
    const double below =
        hypot(s->low_samples_per_s / s->samples_per_s - 1, one->high_samples_per_s / one->samples_per_s - 1);
    const double above =
        hypot(s->high_samples_per_s / s->samples_per_s - 1, one->low_samples_per_s / one->samples_per_s - 1);

    s->efficiency_ratio = per_rank / of_one;
    s->low_efficiency_ratio = s->efficiency_ratio * (1 - below);
    s->high_efficiency_ratio = s->efficiency_ratio * (1 + above);
}

/* Rank 0. */
static void keep_scale(struct acceptance *a, const struct part_training_run *run, int n_nodes)
{
    const struct steps_summary *m = &run->summary.measured;
    struct scaled_training *s = &a->training[a->n_training];

    *s = (struct scaled_training){ .n_nodes = n_nodes,
                                   .n_ranks = run->n_ranks,
                                   .samples_per_s = m->throughput_samples_per_s.mean,
                                   .low_samples_per_s = m->throughput_samples_per_s.low,
                                   .high_samples_per_s = m->throughput_samples_per_s.high,
                                   .efficiency_ratio = 1,
                                   .low_efficiency_ratio = 1,
                                   .high_efficiency_ratio = 1,
                                   .exposed_ratio = m->exposed_s / m->step_mean_s,
                                   .n_steps = run->summary.steps.n_steps,
                                   .n_measured_steps = run->summary.steps.n_steps - m->steady.n_warmup };
    if (n_nodes > 1)
        divide(s, &a->training[0]);
    a->n_training++;
}

/* --- ranks --- */

/* The stamps of steps first ... first + n of every worker, one behind the other. */
static void copy_part(struct step_stamp *out, const struct steps *of, size_t first, size_t n)
{
    for (size_t w = 0; w < of->n_workers; w++)
        memcpy(out + w * n, of->stamp + w * of->n_steps + first, n * sizeof *out);
}

/* Behind the warm-up, in parts of at least TRAINING_PART_STEPS, or all in one; judges know that one is too few. */
static enum rc keep_ranks(struct acceptance *a, const struct part_training_run *run)
{
    enum { MOST_PARTS = 16 };
    const struct steps *all = &run->summary.steps;
    const size_t first = run->summary.measured.steady.n_warmup, n_steady = all->n_steps - first;
    const size_t most = n_steady / TRAINING_PART_STEPS, n_parts = most < 1 ? 1 : most > MOST_PARTS ? MOST_PARTS : most;
    const size_t n = n_steady / n_parts;
    struct step_stamp *stamp = malloc(all->n_workers * n * sizeof *stamp);
    struct step_parts *parts = malloc(all->n_workers * sizeof *parts);
    struct steps steps = *all;
    enum rc rc = RC_OK;

    if (n == 0) /* it was stopped in its first step */
        goto out;
    if (!stamp || !parts)
        FAIL(RC_NOMEM, "no memory for the steps of %zu workers", all->n_workers);
    TRY(acceptance_add_metric(a, METRIC_STEP_COMPUTE, (int)n_parts));
    TRY(acceptance_add_metric(a, METRIC_STEP_WAIT, (int)n_parts));
    steps.stamp = stamp;
    steps.n_steps = n;
    for (size_t p = 0; p < n_parts; p++) {
        copy_part(stamp, all, first + p * n, n);
        TRY(steps_worker_parts(parts, &steps));
        for (size_t w = 0; w < all->n_workers; w++) {
            a->metric[METRIC_STEP_COMPUTE].value[w * n_parts + p] = parts[w].compute_s;
            a->metric[METRIC_STEP_WAIT].value[w * n_parts + p] = parts[w].wait_s;
        }
    }
out:
    free(stamp);
    free(parts);
    return rc;
}

/* --- the stage --- */

/* Rank 0. A signal ends a training between two steps. */
static void note_stop(struct stage_env *env, const struct part_training_run *run, const struct training_order *order)
{
    if (run->result.n_steps < order->n_steps)
        stage_why(env, ACCEPT_TRAINING, "stopped after %zu of %llu steps at %d nodes", run->result.n_steps,
                  (unsigned long long)order->n_steps, order->n_nodes);
}

static enum rc train_at(struct stage_env *env, struct training_order *order)
{
    struct part_training_run run;
    enum rc rc;

    TRY(part_training_run(&run, env, order));
    if (env->out && run.has_run) {
        keep_scale(env->out, &run, order->n_nodes);
        note_stop(env, &run, order);
        if (order->n_nodes == env->fleet->n_nodes)
            TRY(keep_ranks(env->out, &run));
    }
out:
    part_training_close(&run);
    return rc;
}

/* Steps of each training, so that all of them end within the limit. */
static enum rc choose_steps(uint64_t *out, struct training_pace *pace, struct stage_env *env,
                            const struct training_order *order, int n_scales)
{
    double left_s;
    enum rc rc;

    *out = 0;
    TRY(training_time(pace, env, order));
    TRY(training_left_s(&left_s, env));
    if (pace->has_run)
        *out = training_steps_within(pace, left_s / n_scales, env->criteria->training_steps_count);
out:
    return rc;
}

enum rc stage_training(struct stage_env *env)
{
    const int n_nodes = env->fleet->n_nodes;
    struct training_order order = {
        .stage = ACCEPT_TRAINING, .model = env->criteria->training_model, .n_nodes = n_nodes, .more = ""
    };
    int scale[ACCEPT_MAX_SCALES];
    struct training_pace pace;
    bool goes_on = true;
    enum rc rc;

    const int n_scales = scales_of(scale, n_nodes);
    const double whole = env->criteria->rank_order_training_steps_count > 0 ? SCALES_PART : 1;
    TRY(choose_steps(&order.n_steps, &pace, env, &order, n_scales));
    for (int i = 0; i < n_scales && order.n_steps > 0; i++) {
        TRY(stage_goes_on(env, true, &goes_on));
        if (!goes_on) {
            stage_why(env, ACCEPT_TRAINING, "ended before it had trained at %d nodes: %s", scale[i], env->ended);
            break;
        }
        order.n_nodes = scale[i];
        order.loses = scale[i] == n_nodes;
        order.from_ratio = whole * i / n_scales;
        order.to_ratio = whole * (i + 1) / n_scales;
        TRY(train_at(env, &order));
    }
    if (goes_on && order.n_steps > 0)
        TRY(rank_training(env, &order, &pace));
out:
    return rc;
}
