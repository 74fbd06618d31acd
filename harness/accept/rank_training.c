/* SPDX-License-Identifier: Apache-2.0 */
/* rank_training.c - see rank_training.h. */
#include "harness/accept/rank_training.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/accept/sizes.h"
#include "harness/measure/paired.h"

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
static enum rc choose_steps(struct trainings *t, const struct training_pace *pace)
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

enum rc rank_training(struct stage_env *env, const struct training_order *order, const struct training_pace *pace)
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
    TRY(choose_steps(&t, pace));
    if (t.order.n_steps == 0)
        goto out;
    rc = repeat(&t);
    if (env->out)
        keep(&t, kind);
out:
    free(t.place);
    return rc;
}
