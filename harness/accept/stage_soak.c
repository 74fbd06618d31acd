/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage_soak.c - training at all ranks for long: do steps become slower, and how slow is the slowest minute?
 *
 * It is a row of trainings, each of a minute, or of a tenth of the time where that is shorter, so that stamps of hours
 * need no more memory than those of a minute, and a signal loses at most one of them: it ends that between two steps.
 *
 * The soak takes as long as soak_minutes asks, whatever stage_limit_s: that limits each of the trainings, which are
 * planned to take half of it at most. One that takes longer than the limit ends the soak, as does one that cannot be
 * made; so no training is tried for ever.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/accept/metrics.h"
#include "harness/accept/trainings.h"
#include "harness/measure/sorted.h"

enum { LEAST_PARTS = 10 };

struct parts {      /* of the soak so far; rank 0 */
    double *step_s; /* [n]: the median step of each */
    size_t n;
    uint64_t n_steps;
    struct step_parts *last; /* [n_ranks]: of the last one; NULL: nobody asks for it */
};

/* Changes the order of x. */
static double median(double *x, size_t n)
{
    sorted_make(x, n);
    return n % 2 == 1 ? x[n / 2] : 0.5 * (x[n / 2 - 1] + x[n / 2]);
}

/* Of values [from, to), whose order stays. RC_NOMEM. */
static enum rc median_of(double *out, const double *x, size_t from, size_t to)
{
    double *copy = malloc((to - from) * sizeof *copy);

    if (!copy)
        return rc_raise(RC_NOMEM, "no memory for a median of %zu values", to - from);
    for (size_t i = from; i < to; i++)
        copy[i - from] = x[i];
    *out = median(copy, to - from);
    free(copy);
    return RC_OK;
}

/* The median over its steps of the slowest worker's. RC_NOMEM. */
static enum rc median_step(double *out, const struct steps *s)
{
    double *step_s = calloc(s->n_steps, sizeof *step_s);

    if (!step_s)
        return rc_raise(RC_NOMEM, "no memory for a median of %zu steps", s->n_steps);
    for (size_t w = 0; w < s->n_workers; w++)
        for (size_t t = 0; t < s->n_steps; t++) {
            const struct step_stamp *at = &s->stamp[w * s->n_steps + t];
            const double own_s = 1e-9 * (double)(at->end_ns - at->start_ns);
            step_s[t] = own_s > step_s[t] ? own_s : step_s[t];
        }
    *out = median(step_s, s->n_steps);
    free(step_s);
    return RC_OK;
}

/* env->soaked is there: what it tells of the last training. */
static enum rc keep_last(struct stage_env *env, struct parts *p, const struct part_training_run *run)
{
    if (!p->last)
        p->last = calloc((size_t)env->world->n_ranks, sizeof *p->last);
    if (!p->last)
        return rc_raise(RC_NOMEM, "no memory for the parts of a step of %d ranks", env->world->n_ranks);
    return steps_worker_parts(p->last, &run->summary.steps);
}

static enum rc keep_part(struct stage_env *env, struct parts *p, const struct part_training_run *run)
{
    double *more = realloc(p->step_s, (p->n + 1) * sizeof *more);
    enum rc rc;

    if (!more)
        return rc_raise(RC_NOMEM, "no memory for %zu parts of a soak", p->n + 1);
    p->step_s = more;
    TRY(median_step(&p->step_s[p->n], &run->summary.steps));
    p->n++;
    p->n_steps += run->result.n_steps;
    if (env->soaked)
        TRY(keep_last(env, p, run));
out:
    return rc;
}

/* Rank 0, of what there is. */
static enum rc keep_soak(struct acceptance *a, const struct parts *p, double took_s)
{
    const size_t n_tenth = p->n / LEAST_PARTS > 0 ? p->n / LEAST_PARTS : 1;
    double first_s, last_s, all_s, worst_s = 0;
    enum rc rc = RC_OK;

    if (p->n == 0)
        return RC_OK;
    TRY(median_of(&first_s, p->step_s, 0, n_tenth));
    TRY(median_of(&last_s, p->step_s, p->n - n_tenth, p->n));
    TRY(median_of(&all_s, p->step_s, 0, p->n));
    for (size_t i = 0; i < p->n; i++)
        worst_s = p->step_s[i] > worst_s ? p->step_s[i] : worst_s;
    a->soak = (struct soak){ .minutes = took_s / 60,
                             .drift_ratio = last_s / first_s - 1,
                             .worst_ratio = worst_s / all_s,
                             .n_steps = p->n_steps,
                             .n_parts = p->n };
out:
    return rc;
}

/* One training more. *has_run: it was made; the same on all ranks. */
static enum rc soak_part(bool *has_run, struct stage_env *env, struct parts *p, struct training_order *order)
{
    struct part_training_run run;
    enum rc rc;

    TRY(part_training_run(&run, env, order));
    *has_run = run.has_run;
    if (env->out && run.has_run)
        TRY(keep_part(env, p, &run));
out:
    part_training_close(&run);
    return rc;
}

/* The same on all ranks, by rank 0's clock. */
static enum rc seconds_since(double *out, struct stage_env *env, uint64_t started_ns)
{
    *out = 1e-9 * (double)(world_now_ns(env->world) - started_ns);
    return world_broadcast(env->world, out, sizeof *out);
}

/* What each training is planned to take. */
static double part_seconds(const struct stage_env *env, double wanted_s)
{
    const double limit_s = env->criteria->stage_limit_s, part_s = fmin(wanted_s / LEAST_PARTS, 60);

    return limit_s > 0 ? fmin(part_s, limit_s / 2) : part_s;
}

/* Rank 0: what is measured so far, to whom it is told. */
static enum rc tell_part(struct stage_env *env, const struct parts *p, double took_s, double wanted_s)
{
    const size_t n_ranks = (size_t)env->world->n_ranks;
    double *of_rank = env->soaked ? calloc(2 * n_ranks, sizeof *of_rank) : NULL;
    enum rc rc = RC_OK;

    if (!env->soaked || p->n == 0)
        goto out;
    if (!of_rank)
        FAIL(RC_NOMEM, "no memory for the steps of %zu ranks", n_ranks);
    for (size_t r = 0; r < n_ranks; r++) {
        of_rank[r] = p->last[r].compute_s;
        of_rank[n_ranks + r] = p->last[r].wait_s;
    }
    TRY(keep_soak(env->out, p, took_s));
    env->soaked(env->soaked_arg, env->out,
                &(struct soak_part){ wanted_s, p->step_s[p->n - 1], of_rank, of_rank + n_ranks });
out:
    free(of_rank);
    return rc;
}

/* Is some rank to be lost in the soak? The same on all ranks. */
static bool loses_some(const struct stage_env *env)
{
    for (int r = 0; r < env->world->n_ranks; r++)
        if (inject_loss(env->inject, r, ACCEPT_SOAK))
            return true;
    return false;
}

/* Trainings until wanted_s are over, or one of them is the last; one more, in which that rank is lost, where the first
 * has taken all the time. *took_s: the same on all ranks. */
static enum rc soak_parts(struct parts *parts, double *took_s, struct stage_env *env, struct training_order *order,
                          double wanted_s)
{
    const double part_ratio = part_seconds(env, wanted_s) / wanted_s;
    const uint64_t started_ns = world_now_ns(env->world);
    bool goes_on, has_run = true;
    enum rc rc;

    TRY(stage_goes_on(env, true, &goes_on)); /* the limit also holds for what measured the pace */
    for (; goes_on; order->loses = true) {   /* behind the first part */
        env->started_ns = world_now_ns(env->world);
        order->from_ratio = fmin(*took_s / wanted_s, 1);
        order->to_ratio = fmin(*took_s / wanted_s + part_ratio, 1);
        TRY(soak_part(&has_run, env, parts, order));
        TRY(seconds_since(took_s, env, started_ns));
        if (env->out && has_run)
            TRY(tell_part(env, parts, *took_s, wanted_s));
        TRY(stage_goes_on(env, has_run && (*took_s < wanted_s || (!order->loses && loses_some(env))), &goes_on));
    }
out:
    return rc;
}

/* Rank 0: the soak was ended; why: what ended it, which a training that cannot be made has left in the stage. */
static void note_early_end(struct stage_env *env, double took_s, double wanted_s)
{
    char why[ACCEPT_TEXT_BYTES / 2];

    snprintf(why, sizeof why, "%.*s", (int)sizeof why - 1,
             env->ended[0] ? env->ended : env->out->stage[ACCEPT_SOAK].why);
    stage_why(env, ACCEPT_SOAK, "ended after %.3g of %.3g minutes: %s", took_s / 60, wanted_s / 60, why);
}

/* Parts that were measured before a rank was lost are kept. */
static enum rc soak(struct stage_env *env, struct training_order *order, const struct training_pace *pace,
                    double wanted_s)
{
    struct parts parts = { .n = 0 };
    double took_s = 0;
    enum rc rc;

    order->n_steps = training_steps_within(pace, part_seconds(env, wanted_s), 1e8);
    const enum rc ended = soak_parts(&parts, &took_s, env, order, wanted_s);
    if (env->out)
        TRY(keep_soak(env->out, &parts, took_s));
    TRY(ended);
    if (env->out && took_s < wanted_s)
        note_early_end(env, took_s, wanted_s);
out:
    free(parts.step_s);
    free(parts.last);
    return rc;
}

enum rc stage_soak(struct stage_env *env)
{
    const double wanted_s = 60 * env->criteria->soak_minutes;
    struct training_order order = {
        .stage = ACCEPT_SOAK, .model = env->criteria->training_model, .n_nodes = env->fleet->n_nodes, .more = ""
    };
    struct training_pace pace;
    enum rc rc = RC_OK;

    if (!(wanted_s > 0)) {
        stage_why(env, ACCEPT_SOAK, "soak_minutes is 0: there is nothing to do");
        return RC_OK;
    }
    TRY(training_time(&pace, env, &order));
    if (pace.has_run && !(pace.step_s > 0))
        stage_why(env, ACCEPT_SOAK, "the time of a step could not be measured");
    else if (pace.has_run)
        TRY(soak(env, &order, &pace, wanted_s));
out:
    return rc;
}
