/* SPDX-License-Identifier: Apache-2.0 */
/* learning_advice.c - the losses of a job's run, what a guess would give, and one line where nothing was learned. */
#include "harness/train/learning_advice.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Short (measure/learning.h, G8): a worker saw fewer samples of each class. */
enum { MIN_SAMPLES_PER_CLASS = 100 };
/* Staleness that is worth a word, in updates. */
enum { MANY_UPDATES_LATE = 4 };

static void append(char *out, size_t n_bytes, const char *fmt, ...) PRINTF_LIKE(3, 4);
static void append(char *out, size_t n_bytes, const char *fmt, ...)
{
    const size_t n_used = strlen(out);
    va_list args;

    va_start(args, fmt);
    vsnprintf(out + n_used, n_bytes - n_used, fmt, args);
    va_end(args);
}

static double mean_loss(const struct train_result *r, size_t step)
{
    double sum = 0;

    for (int w = 0; w < r->n_workers; w++)
        sum += r->stamp[(size_t)w * r->n_steps + step].loss;
    return sum / r->n_workers;
}

/* The mean square that the best constant leaves; NaN: no targets. */
static double variance_of_targets(const struct dataset *d)
{
    double mean = 0, sum = 0;

    if (!d || !d->target || d->n_train == 0)
        return NAN;
    for (size_t i = 0; i < d->n_train; i++)
        mean += (double)d->target[i] / (double)d->n_train;
    for (size_t i = 0; i < d->n_train; i++)
        sum += ((double)d->target[i] - mean) * ((double)d->target[i] - mean);
    return sum / (double)d->n_train;
}

/* With an auxiliary head the loss is a sum, of which the guess's is not worked out. */
static double chance_loss(const struct train_job *job)
{
    if (job->network.n_classes == 0)
        return variance_of_targets(job->dataset);
    return job->opts.aux ? (double)NAN : log(job->network.n_classes);
}

/* NaN: nothing was classified. */
static double test_loss(const struct train_result *r)
{
    if (isnan(r->evaluation.accuracy_ratio))
        return r->evaluation.loss;
    return isfinite(r->evaluation.loss) ? r->evaluation.loss : (double)INFINITY;
}

/* Of the parameters of one worker, who exchanges with the others or does not. */
static double samples_seen(const struct train_job *job, const struct train_result *r)
{
    const int n_together = mode_exchanges(&job->mode->module) ? train_n_counted(job, r) : 1;

    const double n_samples = (double)job->opts.batch * (double)train_n_whole_steps(job, r) * n_together;

    return (double)job->resume.samples_count + n_samples;
}

/* Updates of the same parameters in a round of steps. */
static int updates_per_round(const struct train_job *job, const struct train_result *r)
{
    return mode_exchanges(&job->mode->module) && !train_updates_once(job) ? r->n_workers : 1;
}

static void tell_symptom(char *out, size_t n_bytes, const struct train_job *job, const struct learning *l)
{
    if (l->why == LEARNING_NOT_FINITE)
        append(out, n_bytes, "the loss is not a finite number from step %llu on",
               (unsigned long long)job->resume.steps_count + l->first_broken_loss);
    else if (l->why == LEARNING_ROSE)
        append(out, n_bytes, "the loss rose from %.4g to %.4g", l->first, l->last);
    else
        append(out, n_bytes, "the loss ends at %.4g, and a guess gives %.4g", l->last, chance_loss(job));
}

/* Is it at the rate of a model that learns more slowly than it could? Only where the loss stays where it was. */
static bool is_slow(const struct learning *l, double rate, int n_updates, double model_rate)
{
    return l->why == LEARNING_AT_CHANCE && rate * n_updates < 0.5 * model_rate;
}

static bool lowers_stale(const struct train_job *job)
{
    return job->exchange.lr_staleness != LR_STALENESS_NONE;
}

static void tell_reason(char *out, size_t n_bytes, const struct train_job *job, double rate, int n_updates,
                        double staleness_count)
{
    const double own = job->workload->default_lr;
    char of_rate[160] = "";

    if (job->schedule.factor != 1)
        append(of_rate, sizeof of_rate, " by --lr-scaling %s", job->scaling->name);
    if (rate > 2 * own)
        append(of_rate, sizeof of_rate, "%s (the model's: %.4g)", n_updates > 1 ? ", great for one worker, too" : "",
               own);
    if (n_updates == 1)
        append(out, n_bytes, "; the rate is %.4g%s, the momentum %.4g, the batch %llu", rate, of_rate,
               job->opts.momentum, (unsigned long long)job->opts.batch);
    else
        append(out, n_bytes, "; %s applies each worker's update, %d a round, at a rate of %.4g%s%s", job->opts.mode,
               n_updates, rate, lowers_stale(job) ? " over its staleness" : "", of_rate);
    if (n_updates > 1 && staleness_count >= MANY_UPDATES_LATE)
        append(out, n_bytes, ", %.0f updates late", staleness_count);
}

static void advise(char *out, size_t n_bytes, const struct train_job *job, const struct train_result *r,
                   const struct train_summary *s)
{
    const int n_updates = updates_per_round(job, r);
    const double own = job->workload->default_lr, rate = job->schedule.lr * job->schedule.factor;
    const char *unscaled = job->schedule.factor != 1 ? "--lr-scaling none " : "";
    double lower = (rate < own ? rate : own) / (lowers_stale(job) ? 1 : n_updates);

    out[0] = '\0';
    tell_symptom(out, n_bytes, job, &s->learning);
    if (is_slow(&s->learning, rate, n_updates, own)) {
        append(out, n_bytes, "; a rate of %.4g is small: the model's is %.4g; try --lr %.2g or more --steps", rate, own,
               own / n_updates);
        return;
    }
    tell_reason(out, n_bytes, job, rate, n_updates, s->measured.staleness_mean_count);
    if (lower >= rate) /* the model's own rate, one worker: not for this batch */
        lower = rate / 10;
    append(out, n_bytes, "; try %s--lr %.2g", unscaled, lower);
    if (n_updates > 1 && s->measured.staleness_mean_count >= MANY_UPDATES_LATE && !lowers_stale(job))
        append(out, n_bytes, " or --lr-staleness inverse");
    if (job->opts.momentum > 0)
        append(out, n_bytes, " or a lower --momentum");
}

enum rc train_judge_learning(struct train_summary *s, const struct train_job *job, const struct train_result *r)
{
    double *loss = malloc(r->n_steps * sizeof *loss + 1);
    enum rc rc;

    if (!loss)
        return rc_raise(RC_NOMEM, "no memory for %zu losses", r->n_steps);
    for (size_t step = 0; step < r->n_steps; step++)
        loss[step] = mean_loss(r, step);
    const struct losses losses = {
        .value = loss,
        .n = r->n_steps,
        .chance = chance_loss(job),
        .test = test_loss(r),
        .is_training = r->has_params && !job->profile && !job->opts.forward_only,
        .is_short = samples_seen(job, r) < (double)MIN_SAMPLES_PER_CLASS * job->network.n_classes,
    };
    TRY(learning_judge(&s->learning, &losses));
    s->not_learned[0] = '\0';
    if (s->learning.learned == LEARNED_NO)
        advise(s->not_learned, sizeof s->not_learned, job, r, s);
out:
    free(loss);
    return rc;
}
