/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage_training.c - synchronous training at 1, 2, 4, ... nodes and all: throughput, efficiency, exposed communication,
 * and where the time of each rank goes. The steps are as many for all numbers of nodes, fewer than asked for where the
 * stage's limit leaves no time for them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/accept/rank_training.h"

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
