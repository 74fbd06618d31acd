/* SPDX-License-Identifier: Apache-2.0 */
/* result.c - from stamps to figures, and from figures to records. */
#include "harness/train/result.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/cluster/cluster_keys.h"
#include "harness/exchange/collective.h"
#include "harness/net/transport.h"
#include "harness/report/manifest.h"
#include "harness/report/record.h"
#include "harness/train/alternation.h"
#include "harness/train/bound.h"
#include "harness/train/disturbed.h"
#include "harness/train/integrity.h"
#include "harness/train/job_batch.h"
#include "harness/train/job_exchange.h"
#include "harness/train/layout.h"
#include "harness/train/omission.h"
#include "harness/train/places.h"
#include "harness/train/stages.h"
#include "harness/train/train.h"
#include "harness/world/cores.h"
#include "harness/world/stop.h"
#include "models/replay/profile.h"

/* --- did the run learn? --- */

/* Short (measure.G8): a worker saw fewer samples of each class. */
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
        append(of_rate, sizeof of_rate, " by --lr-scaling %s", job->opts.lr_scaling);
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

/* --- which steps are recorded --- */

size_t recorded_n_to_target(const struct train_summary *s)
{
    struct round_point point = { .seconds = -1 };
    size_t n = 0;

    if (isnan(s->seconds_to_target_loss))
        return 0;
    while (n < s->steps.n_steps && point.seconds < s->seconds_to_target_loss)
        steps_round(&point, &s->steps, n++);
    return n;
}

bool recorded_step(size_t step, size_t n_to_target, uint64_t record_every, size_t n_steps)
{
    return step < n_to_target || step % record_every == 0 || step + 1 == n_steps; /* train.R1, R2 */
}

enum rc recorded_communication(struct record *r, const struct steps *steps, size_t step)
{
    static const struct {
        const char *key;
        double (*of)(const struct step_stamp *s);
    } part[] = { { "exposed_comm_s", steps_exposed_s }, { "hidden_comm_s", steps_hidden_s } };
    double *value = malloc(steps->n_workers * sizeof *value);

    if (!value)
        return rc_raise(RC_NOMEM, "no memory for a step of %zu workers", steps->n_workers);
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        for (size_t w = 0; w < steps->n_workers; w++)
            value[w] = part[i].of(&steps->stamp[w * steps->n_steps + step]);
        record_f64_array(r, part[i].key, value, steps->n_workers);
    }
    free(value);
    return RC_OK;
}

static bool waits_for_input(const struct train_job *job)
{
    return job->workload->network && job->compute->touches_memory && !(job->world->module.caps & WORLD_VIRTUAL_TIME);
}

enum rc recorded_input(struct record *r, const struct train_job *job, const struct steps *steps, size_t step)
{
    double *value = malloc(steps->n_workers * sizeof *value);

    if (!value)
        return rc_raise(RC_NOMEM, "no memory for a step of %zu workers", steps->n_workers);
    for (size_t w = 0; w < steps->n_workers; w++)
        value[w] = waits_for_input(job) ? 1e-9 * (double)steps->stamp[w * steps->n_steps + step].input_ns : NAN;
    record_f64_array(r, "input_wait_s", value, steps->n_workers);
    free(value);
    return RC_OK;
}

void recorded_input_of_rank(struct record *r, const struct train_job *job, const struct train_result *result, int rank)
{
    const bool is_known = rank < result->n_workers && waits_for_input(job);
    double sum_s = is_known ? 0 : NAN;

    for (size_t step = 0; is_known && step < result->n_steps; step++)
        sum_s += 1e-9 * (double)result->stamp[(size_t)rank * result->n_steps + step].input_ns;
    record_f64(r, "input_wait_s", sum_s / (double)result->n_steps);
}

/* --- the kind of run --- */

void record_for_lessons(struct record *r, const struct train_job *job)
{
    char omitted[OMISSIONS_BYTES];

    omission_text(omitted, sizeof omitted, job->omitted);
    record_text(r, "for_lessons_without", omitted[0] ? omitted : NULL);
}

void record_transport(struct record *r, const struct train_job *job, const struct train_result *result)
{
    const bool omits_average = job->omitted & OMIT_AVERAGE; /* then nothing was exchanged */
    const char *encryption = omits_average ? "" : result->rank[0].encryption;

    record_text(r, "transport", omits_average ? transport_of_nothing : job->opts.transport);
    record_text(r, "encryption", encryption[0] ? encryption : NULL);
}

void record_part_of_rank(struct record *r, const struct train_job *job, int rank, bool is_worker)
{
    if (!is_worker || job->split_opts.kind == SPLIT_IID) {
        record_null(r, "part_samples_count");
        record_null(r, "part_batch_count");
        return;
    }
    record_u64(r, "part_samples_count", split_part(&job->split, rank).n_samples);
    record_u64(r, "part_batch_count", job_batch_of(job, rank));
}

void record_run(struct record *r, const struct train_job *job, const struct train_result *result)
{
    const struct train_saves *s = &result->saves;
    const bool saves = job->opts.save_every > 0;

    record_for_lessons(r, job);
    record_text(r, "stopped_by", result->stop_signal ? stop_signal_name(result->stop_signal) : NULL);
    if (!saves) {
        record_null(r, "saves_count");
        record_null(r, "failed_saves_count");
    } else {
        record_u64(r, "saves_count", s->n_written);
        record_u64(r, "failed_saves_count", s->n_failed);
    }
    record_f64(r, "saving_s", saves ? s->spent_s : NAN);
    record_u64(r, "restarts_count", job->restarts.n);
    record_u64_array(r, "restarted_from_steps", job->restarts.from_steps, job->restarts.n);
}

const char *run_restarts_text(char *out, size_t n_bytes, const struct train_restarts *restarts)
{
    size_t n;

    out[0] = '\0';
    if (restarts->n == 0)
        return out;
    n = (size_t)snprintf(out, n_bytes, "%zu, as ranks had died: from step", restarts->n);
    for (size_t i = 0; i < restarts->n && n < n_bytes; i++)
        n += (size_t)snprintf(out + n, n_bytes - n, "%s %llu", i > 0 ? "," : "",
                              (unsigned long long)restarts->from_steps[i]);
    return out;
}

/* --- the described cluster --- */

/* Rates of records are in bytes. */
static const char *cluster_record_key(int key)
{
    return cluster_keys[key].is_bits ? "link_bytes_per_s" : cluster_keys[key].name;
}

static void record_cluster_value(struct record *r, const struct cluster *c, int key)
{
    const struct key *k = &cluster_keys[key];
    char text[64];

    if (k->type == KEY_WHOLE)
        record_i64(r, cluster_record_key(key), (int64_t)cluster_key_number(c, key));
    else if (k->type == KEY_REAL)
        record_f64(r, cluster_record_key(key), k->is_bits ? c->link_bytes_per_s : cluster_key_number(c, key));
    else {
        cluster_key_format(c, key, text, sizeof text);
        record_text(r, cluster_record_key(key), text);
    }
}

void record_cluster(struct record *r, const struct cluster *c)
{
    const char *assumed[CLUSTER_MAX_KEYS];
    int key[CLUSTER_MAX_KEYS];
    const size_t n_assumed = cluster_assumed(c, key);

    for (int i = 0; i < CLUSTER_N_KEYS; i++)
        record_cluster_value(r, c, i);
    for (size_t i = 0; i < n_assumed; i++)
        assumed[i] = cluster_record_key(key[i]);
    record_text_array(r, "assumed", assumed, n_assumed);
}

/* --- stages and shards --- */

double layout_shards_bytes(const struct train_job *job, const struct train_result *result)
{
    double most = 0;

    for (int k = 0; result->shard && result->n_steps > 0 && k < job->shard.n_shards; k++) {
        const struct shard_figures *f = &result->shard[k];
        const double n_bytes = (double)(f->gathered_bytes + f->scattered_bytes) / (double)result->n_steps;
        most = n_bytes > most ? n_bytes : most;
    }
    return most;
}

/* Without stages, which have told it: of the worker that sends most activations; gradients, of all workers the mean. */
static struct moved_bytes moved_by_workers(const struct train_job *job, const struct train_result *result)
{
    return (struct moved_bytes){ layout_shards_bytes(job, result),
                                 compression_sent_bytes(job, result, 0, result->n_workers) / result->n_workers };
}

/* Of worker 0, its first rank: what it waits for the stages beside it, and for the others of its group to have shards'
 * activations; both are in what its steps call compute. */
static double waited_ratio(const struct train_result *result)
{
    const uint64_t shards_ns = result->shard ? result->shard[0].waited_ns : 0;
    const double steps_s = result->n_steps > 0
                               ? 1e-9 * (double)(result->stamp[result->n_steps - 1].end_ns - result->stamp[0].start_ns)
                               : 0;

    return steps_s > 0 ? (result->pipe_waited_s + 1e-9 * (double)shards_ns) / steps_s : (double)NAN;
}

void record_layout(struct record *r, const struct train_job *job, const struct train_result *result)
{
    const bool has_stages = job->opts.stages > 1, has_shards = job->opts.shard_dense > 1;
    const struct layout layout = { job->n_workers, (int)job->opts.stages, (int)job->opts.shard_dense };
    char name[LAYOUT_TEXT_BYTES];

    if (!has_stages && !has_shards)
        return;
    const struct moved_bytes moved = has_stages ? result->moved : moved_by_workers(job, result);
    layout_text(name, &layout);
    record_text(r, "layout", name);
    if (result->n_hosts > 0)
        record_i64(r, "hosts_count", result->n_hosts);
    record_u64(r, "micro_batches_count", job->opts.accumulate);
    record_f64(r, "activations_bytes_per_step", moved.activations_bytes);
    record_f64(r, "gradients_bytes_per_step", moved.gradients_bytes);
    record_f64(r, "layout_waited_ratio", waited_ratio(result));
}

/* --- figures and records --- */

enum { N_TARGET_STEPS = 10 };

size_t train_n_target_steps(const struct train_job *job, int n_workers)
{
    uint64_t n_round = 0;

    if (job->opts.target_samples == 0)
        return N_TARGET_STEPS;
    for (int w = 0; w < n_workers; w++)
        n_round += job_batch_of(job, w);
    return (size_t)((job->opts.target_samples + n_round - 1) / n_round);
}

static bool is_virtual(const struct train_job *job)
{
    return job->world->module.caps & WORLD_VIRTUAL_TIME;
}

int train_n_sharing(const struct train_job *job, const struct train_result *r)
{
    int n_sharing = 0;

    if (is_virtual(job) || (!job->opts.bind && job->n_ranks <= cores_allowed_count()))
        return 0;
    for (int w = 0; w < r->n_workers; w++)
        n_sharing += r->rank[w].own_cores_count < r->n_threads; /* 0: none of its own */
    return n_sharing;
}

enum rc train_summarise(struct train_summary *out, const struct train_job *job, const struct train_result *r)
{
    struct train_summary s = { .seconds_to_target_loss = NAN };
    enum rc rc;

    s.steps =
        (struct steps){ .stamp = r->stamp,
                        .n_workers = (size_t)r->n_workers,
                        .n_steps = r->n_steps,
                        .batch_per_worker_count = job->opts.batch,
                        .synchronous = job->mode->module.caps & MODE_SYNCHRONOUS && !(job->omitted & OMIT_AVERAGE),
                        .messages_per_step_count = servers_parts_per_step(job, r),
                        .batch_count = job->batch_of,
                        .overlapped = r->overlap.overlaps,
                        .staged = job->opts.stages > 1,
                        .period_steps = job->opts.average_every };
    TRY(train_measure(&s.measured, job, r, &s.steps));
    train_find_efficiency(&s, job, r);
    train_find_bound(&s, job, r);
    if (!isnan(job->opts.target_loss))
        s.seconds_to_target_loss = steps_seconds_to_loss(
            &s.steps, job->opts.target_loss, train_n_target_steps(job, r->n_workers), &s.samples_to_target_loss_count);
    s.disturbance = disturbance_of_run(job, r);
    TRY(train_judge_learning(&s, job, r));
    TRY(alternation_compare(&s.exchange_keeps, job, r));
    *out = s;
out:
    return rc;
}

/* A duration under both names: wall_s in real worlds, virtual_s in sim, the other null. */
static void record_seconds(struct record *r, const struct train_job *job, double seconds)
{
    record_f64(r, "wall_s", is_virtual(job) ? NAN : seconds);
    record_f64(r, "virtual_s", is_virtual(job) ? seconds : NAN);
}

static void record_memory(struct record *r, const struct train_job *job)
{
    const struct train_memory *m = &job->memory;

    record_u64(r, "activations_bytes", m->activations_bytes);
    record_u64(r, "params_bytes", m->params_bytes);
    record_u64(r, "exchange_bytes", m->exchange_bytes);
    record_u64(r, "server_bytes", m->server_bytes);
    record_u64(r, "host_bytes", m->host_bytes);
    if (is_virtual(job) || m->available_bytes == SIZE_MAX) /* train.L4 */
        record_null(r, "available_bytes");
    else
        record_u64(r, "available_bytes", m->available_bytes);
}

static void record_profile(struct record *r, const struct profile *p)
{
    record_text(r, "model", p->model);
    record_text(r, "device", p->device);
    record_text(r, "precision", p->precision);
    record_i64(r, "batch_count", p->batch);
    record_i64(r, "image_size_px", p->image_size);
    record_text(r, "source", p->source);
}

/* What is trained, on what, in how much memory. */
static void record_work(struct record *r, const struct train_job *job)
{
    struct record *memory = record_open(NULL);

    record_u64(r, "params_count", job->n_params);
    record_u64(r, "running_means_and_variances_count", job->n_state);
    record_f64(r, "flops_per_sample_count", job->flops_per_sample);
    record_text(r, "dataset", job->dataset ? job->dataset->name : NULL);
    record_u64(r, "train_samples_count", job->dataset ? job->dataset->n_train : 0);
    record_u64(r, "test_samples_count", job->dataset ? job->dataset->n_test : 0);
    record_memory(memory, job);
    record_child(r, "planned_memory", &memory);
    if (job->profile) {
        struct record *profile = record_open(NULL);
        record_profile(profile, job->profile);
        record_child(r, "profile", &profile);
    }
}

struct record *train_manifest(const struct train_job *job)
{
    struct record *r = record_open("manifest"), *options = record_open("options");

    record_options(options, train_run_table, &job->opts);
    record_options(options, train_opt_table, &job->opts);
    for (int k = 0; k < TRAIN_N_KINDS; k++)
        if (job->used[k])
            record_module_options(options, job->used[k], module_options(&job->opts.modules, train_kinds, job->used[k]));
    record_child(r, "options", &options);
    record_for_lessons(r, job);
    record_work(r, job);
    if (is_virtual(job)) {
        struct record *cluster = record_open("cluster");
        record_cluster(cluster, &job->cluster);
        record_child(r, "cluster", &cluster);
    }
    digest_record(r, job->input, job->n_inputs);
    manifest_fill(r, is_virtual(job)); /* train.L4 */
    return r;
}

static enum rc write_manifest(struct report *to, const struct train_job *job)
{
    struct record *r = train_manifest(job);
    const enum rc rc = report_write(to, r);

    record_close(&r);
    return rc;
}

static enum rc write_step(struct report *to, const struct train_job *job, const struct train_result *result,
                          const struct train_summary *s, size_t step)
{
    struct round_point point;
    struct record *r = report_begin(to, "step");
    char rate[32];
    enum rc rc;

    steps_round(&point, &s->steps, step);
    record_u64(r, "step_index", job->resume.steps_count + step);
    record_u64(r, "samples_count", job->resume.samples_count + point.samples_count);
    text_of_f32(rate, result->lr[step]); /* 0.01, not the 17 digits of the nearest float */
    record_f64(r, "learning_rate", strtod(rate, NULL));
    record_f64(r, "loss", point.loss);
    record_seconds(r, job, point.seconds);
    TRY(recorded_communication(r, &s->steps, step));
    TRY(recorded_input(r, job, &s->steps, step));
    TRY(report_end(to));
out:
    return rc;
}

static enum rc write_steps(struct report *to, const struct train_job *job, const struct train_result *result,
                           const struct train_summary *s)
{
    const size_t n_to_target = recorded_n_to_target(s);
    enum rc rc = RC_OK;

    for (size_t step = 0; step < result->n_steps; step++)
        if (recorded_step(step, n_to_target, job->opts.record_every, result->n_steps))
            TRY(write_step(to, job, result, s, step));
out:
    return rc;
}

static void record_costs(struct record *r, const struct train_result *result, const struct train_summary *s)
{
    record_f64(r, "step_p50_s", s->measured.step_p50_s);
    record_f64(r, "step_p95_s", s->measured.step_p95_s);
    record_f64(r, "step_p99_s", s->measured.step_p99_s);
    record_f64(r, "step_mean_s", s->measured.step_mean_s);
    record_f64(r, "step_min_s", s->measured.step_min_s);
    record_f64(r, "step_max_s", s->measured.step_max_s);
    record_f64(r, "compute_s", s->measured.compute_s);
    record_f64(r, "wait_s", s->measured.wait_s);
    record_f64(r, "wire_s", s->measured.wire_s);
    record_f64(r, "server_s", s->measured.server_s);
    record_f64(r, "apply_s", s->measured.apply_s);
    record_f64(r, "rest_s", s->measured.rest_s);
    record_f64(r, "exposed_comm_s", s->measured.exposed_s);
    record_f64(r, "hidden_comm_s", s->measured.hidden_s);
    record_limits(r, result, s);
    record_f64(r, "baseline_samples_per_s", s->baseline_samples_per_s);
}

static void record_figures(struct record *r, const struct train_job *job, const struct train_result *result,
                           const struct train_summary *s)
{
    const struct interval *t = &s->measured.throughput_samples_per_s;
    char sha[SHA256_HEX_BYTES] = "";

    record_f64(r, "throughput_samples_per_s", t->mean);
    record_f64(r, "throughput_low_samples_per_s", t->low);
    record_f64(r, "throughput_high_samples_per_s", t->high);
    record_f64(r, "efficiency_ratio", s->efficiency_ratio);
    record_bound(r, s);
    record_f64(r, "loss_first", s->measured.loss_first);
    record_f64(r, "loss_last", s->measured.loss_last);
    record_f64(r, "loss_test", result->evaluation.loss);
    record_f64(r, "accuracy_ratio", result->evaluation.accuracy_ratio);
    if (result->has_params)
        params_sha256(sha, result->final.param, result->final.n_params);
    record_text(r, "params_sha256", result->has_params ? sha : NULL);
    record_f64(r, "staleness_mean_count",
               job->mode->module.caps & MODE_SERVERS ? s->measured.staleness_mean_count : NAN);
    record_count(r, "staleness_max_count", job->mode->module.caps & MODE_SERVERS, s->measured.staleness_max_count);
    record_seconds(r, job, s->measured.elapsed_s);
}

/* The named parameters of every model, so that all records have the same keys; null unless it is this job's. */
static void record_named_params(struct record *r, const struct train_job *job, const struct train_result *result)
{
    const struct workload *w;

    for (int k = 0; (w = workload_at(k)); k++)
        for (size_t i = 0; w->named && w->named->name[i]; i++)
            record_f64(r, w->named->name[i],
                       w == job->workload && result->has_params ? (double)result->final.param[i] : NAN);
}

static void record_shape(struct record *r, const struct train_job *job, const struct train_result *result)
{
    record_text(r, "compute", job->opts.compute);
    record_text(r, "precision", job->profile ? job->profile->precision : job->opts.precision);
    record_count(r, "workers_per_device_max_count", train_most_on_device(result) > 0,
                 (uint64_t)train_most_on_device(result));
    record_i64(r, "threads_per_worker_count", result->n_threads);
    record_text(r, "wait_policy", result->wait == WAIT_AUTO ? NULL : result->wait == WAIT_SPIN ? "spin" : "sleep");
    record_u64(r, "image_size_px", job->opts.image_size);
    record_u64(r, "classes_count", job->opts.classes);
    record_u64(r, "params_count", job->n_params);
    record_text(r, "dataset", job->dataset ? job->dataset->name : NULL);
    record_u64(r, "planned_memory_bytes", job->memory.host_bytes);
    record_u64(r, "worker_memory_bytes", train_worker_bytes(&job->memory));
    record_f64(r, "peak_resident_bytes", result->peak_rss_bytes);
    record_f64(r, "data_wait_s", result->data_wait_s);
}

/* Which rounds the figures are of. A switch in the run: its first round, counted like warm-up and rounds. */
static void record_steady(struct record *r, const struct steps_summary *m)
{
    record_text(r, "steady_state_rule", STEADY_RULE);
    record_text(r, "steady_state", steady_state_text(m->steady.state));
    record_u64(r, "warmup_rounds_count", m->steady.n_warmup);
    record_count(r, "speed_switch_round_index", m->steady.state == STEADY_SWITCH, m->steady.switch_index);
    record_f64(r, "speed_switch_ratio", m->steady.switch_speed_ratio);
    record_u64(r, "rounds_count", m->n_rounds);
    record_f64(r, "effective_rounds_count", m->throughput_samples_per_s.n_effective);
}

static enum rc write_summary(struct report *to, const struct train_job *job, const struct train_result *result,
                             const struct train_summary *s)
{
    const bool omits_average = job->omitted & OMIT_AVERAGE; /* then nothing was exchanged, by no reducer */
    struct record *r = report_begin(to, "summary");

    record_text(r, "mode", job->opts.mode);
    record_text(r, "world", job->opts.world);
    record_text(r, "model", job->opts.model);
    record_text(r, "task", job->opts.forward_only ? "inference" : "training");
    record_text(r, "reducer", job->collective && !omits_average ? job->opts.reducer : NULL);
    record_text(r, "reducer_reason", result->reducer_reason[0] ? result->reducer_reason : NULL);
    record_overlap(r, job, result);
    record_transport(r, job, result);
    record_i64(r, "workers_count", job->n_workers);
    record_i64(r, "servers_count", job->n_servers);
    record_text(r, "scaling", scaling_text(job->opts.global_batch > 0));
    record_u64(r, "batch_per_worker_count", job->opts.batch);
    record_u64(r, "global_batch_count", job->opts.batch * (uint64_t)job->n_workers);
    record_u64(r, "steps_count", job->resume.steps_count + train_n_whole_steps(job, result));
    record_run(r, job, result);
    record_stages(r, job, result);
    record_layout(r, job, result);
    record_integrity(r, job, result);
    record_lost_ranks(r, job, result);
    record_shape(r, job, result);
    record_figures(r, job, result, s);
    record_compression(r, job, result);
    record_alternation(r, job, &s->exchange_keeps);
    record_servers(r, job, result);
    record_periods(r, job, result);
    record_named_params(r, job, result);
    record_f64(r, "seconds_to_target_loss_s", s->seconds_to_target_loss);
    record_count(r, "samples_to_target_loss_count", !isnan(s->seconds_to_target_loss), s->samples_to_target_loss_count);
    record_text(r, "learned", learned_word(s->learning.learned));
    record_text(r, "learned_reason", learning_why_word(s->learning.why));
    record_text(r, "not_learned_advice", s->not_learned[0] ? s->not_learned : NULL);
    record_costs(r, result, s);
    record_steady(r, &s->measured);
    record_disturbance(r, job, &s->disturbance);
    return report_end(to);
}

enum rc train_write(struct report *to, const struct train_job *job, const struct train_result *r,
                    const struct train_summary *s)
{
    enum rc rc;

    TRY(write_manifest(to, job));
    TRY(write_steps(to, job, r, s));
    TRY(places_write_ranks(to, job, r, s));
    TRY(losses_write(to, job, r));
    TRY(integrity_write(to, job, r));
    if (job->mode->module.caps & MODE_SERVERS)
        TRY(write_staleness(to, s));
    TRY(write_summary(to, job, r, s));
out:
    return rc;
}
