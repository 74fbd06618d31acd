/* SPDX-License-Identifier: Apache-2.0 */
/* train_report.c - the table and the last lines of a run, from its result alone: no clock, no file. */
#include "harness/verbs/train_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/terminal.h"
#include "harness/base/text.h"
#include "harness/exchange/exchange.h"
#include "harness/report/horovod.h"
#include "harness/report/table.h"
#include "harness/train/alternation.h"
#include "harness/train/bound.h"
#include "harness/train/integrity.h"
#include "harness/train/job_batch.h"
#include "harness/train/job_exchange.h"
#include "harness/train/omission.h"
#include "harness/train/places.h"
#include "harness/train/result.h"
#include "harness/world/stop.h"
#include "models/replay/profile.h"

static void print_row(struct table *t, const char *name, const char *value)
{
    table_cell(t, "%s", name);
    table_cell(t, "%s", value);
}

static void print_said(struct table *t, const char *name, const char *text)
{
    if (text[0])
        print_row(t, name, text);
}

enum { RATE_BYTES = 32, RATE_ENDS_BYTES = 80 };

/* "23.57 k to 37.56 k" */
static const char *rate_ends(char out[RATE_ENDS_BYTES], const struct interval *i)
{
    char low[RATE_BYTES], high[RATE_BYTES];

    rate_text(low, sizeof low, i->low);
    rate_text(high, sizeof high, i->high);
    snprintf(out, RATE_ENDS_BYTES, isinf(i->high) ? "%s or more" : "%s to %s", low, high);
    return out;
}

static void format_interval(char *out, size_t n_bytes, const struct interval *i)
{
    char ends[RATE_ENDS_BYTES], mean[RATE_BYTES];

    rate_text(mean, sizeof mean, i->mean);
    if (!isfinite(i->mean))
        snprintf(out, n_bytes, "not known");
    else if (isnan(i->low))
        snprintf(out, n_bytes, "%s samples/s (too few steps for an interval)", mean);
    else
        snprintf(out, n_bytes, "%s samples/s, 95 %% within this run %s", mean, rate_ends(ends, i));
}

/* Which rounds the figures are of, and why. */
static void format_steady(char *out, size_t n_bytes, const struct steps_summary *m)
{
    static const char *const words[] = { [STEADY_TOO_SHORT] = "too few rounds to tell",
                                         [STEADY_REACHED] = "reached",
                                         [STEADY_NONE] = "not reached: the run never settles" };
    const struct steady *s = &m->steady;
    char of[96];

    if (m->n_rounds == 0) {
        snprintf(out, n_bytes, "cannot tell: no round in which every worker trained; figures are of all steps");
        return;
    }
    if (s->n_warmup > 0)
        snprintf(of, sizeof of, "figures are of %zu of %zu rounds, %zu of warm-up left out", m->n_rounds - s->n_warmup,
                 m->n_rounds, s->n_warmup);
    else
        snprintf(of, sizeof of, "figures are of the %zu round%s in which every worker trained", m->n_rounds,
                 m->n_rounds == 1 ? "" : "s");
    if (s->state == STEADY_SWITCH)
        snprintf(out, n_bytes, "not reached: the speed switched to %.2f x after round %zu; %s, both speeds",
                 s->switch_speed_ratio, s->switch_index, of);
    else
        snprintf(out, n_bytes, "%s; %s", words[s->state], of);
}

/* "57 of 200 steps"; with --stop-at-step "57 of 200 updates" */
static void done_text(char *out, size_t n_bytes, const struct train_job *job, const struct train_result *r)
{
    const bool counts_updates = job->exchange.stop_at > 0;
    const unsigned long long n_steps = job->resume.steps_count + train_n_whole_steps(job, r);

    snprintf(out, n_bytes, "%llu of %llu %s", counts_updates ? (unsigned long long)r->final.kept.n_updates : n_steps,
             (unsigned long long)(counts_updates ? job->exchange.stop_at : job->opts.steps),
             counts_updates ? "updates" : "steps");
}

/* "by SIGTERM after 57 of 200 steps" */
static void stopped_text(char *out, size_t n_bytes, const struct train_job *job, const struct train_result *r)
{
    char done[64];

    done_text(done, sizeof done, job, r);
    snprintf(out, n_bytes, "by %s after %s", stop_signal_name(r->stop_signal), done);
}

/* The checkpoints of --save-every. */
static void print_saves(struct table *t, const struct train_job *job, const struct train_saves *s)
{
    const size_t n = s->n_written + s->n_failed;
    char text[320];
    size_t n_chars;

    if (job->opts.save_every == 0 || n == 0)
        return;
    n_chars = (size_t)snprintf(text, sizeof text,
                               "%zu between steps, %.4g ms each, which is in the throughput but in no step", n,
                               1e3 * s->spent_s / (double)n);
    if (s->n_failed > 0 && n_chars < sizeof text)
        snprintf(text + n_chars, sizeof text - n_chars, "; %zu could not be written: %s", s->n_failed, s->why);
    print_row(t, "checkpoints", text);
}

static void print_devices(struct table *t, const struct train_job *job, const struct train_result *r)
{
    const int n_most = train_most_on_device(r);
    char text[96];

    if (n_most < 2)
        return;
    snprintf(text, sizeof text, "shared: up to %d of %d workers are on one %s", n_most, r->n_workers,
             job->compute->device_kind);
    print_row(t, "devices", text);
}

/* What happened to the run, where something did. */
static void print_events(struct table *t, const struct train_job *job, const struct train_result *r)
{
    char text[512];

    if (r->stop_signal) {
        stopped_text(text, sizeof text, job, r);
        print_row(t, "stopped", text);
    }
    print_said(t, "integrity", integrity_text(text, sizeof text, job, r));
    print_saves(t, job, &r->saves);
    print_said(t, "restarts", run_restarts_text(text, sizeof text, &job->restarts));
}

/* "digits"; of the user: "gmimg: 400 training and 0 test images of 1 x 28 x 28" */
static void data_text(char *out, size_t n_bytes, const struct dataset *d)
{
    const size_t n = (size_t)snprintf(out, n_bytes, "%s", d->name);

    if (!dataset_source_find(d->name) && d->C > 0 && n < n_bytes)
        snprintf(out + n, n_bytes - n, ": %zu training and %zu test images of %d x %d x %d", d->n_train, d->n_test,
                 d->C, d->H, d->W);
}

/* The model's shape, its data, its memory. */
static void print_work(struct table *t, const struct train_job *job, const struct train_result *r)
{
    char text[256], data[128];

    if (job->profile) {
        snprintf(text, sizeof text, "%s, batch %d, %s", job->profile->model, job->profile->batch, job->profile->device);
        print_row(t, "profile", text);
    }
    if (job->workload->network) {
        data_text(data, sizeof data, job->dataset);
        snprintf(text, sizeof text, "%zu parameters, images %d x %d, %d classes, %s, %d thread%s each, data %s",
                 job->n_params, job->network.image_size, job->network.image_size, job->network.n_classes,
                 job->opts.precision, r->n_threads, r->n_threads == 1 ? "" : "s", data);
        print_row(t, "work", text);
    }
    if (job->memory.host_bytes > 0 && job->workload->network) {
        snprintf(text, sizeof text,
                 "%.4g MB planned in all; a worker: activations %.4g MB, parameters %.4g MB, exchange %.4g MB",
                 (double)job->memory.host_bytes * 1e-6, (double)job->memory.activations_bytes * 1e-6,
                 (double)job->memory.params_bytes * 1e-6, (double)job->memory.exchange_bytes * 1e-6);
        print_row(t, "memory", text);
    }
    print_devices(t, job, r);
    print_events(t, job, r);
}

/* "NAME=VALUE NAME=VALUE"; nothing if one of them is not finite: the run diverged. */
static void print_named_params(struct table *t, const struct named_params *named, const float *param)
{
    char text[256];
    size_t n = 0;

    for (size_t i = 0; named->name[i] && n < sizeof text; i++) {
        if (!isfinite((double)param[i]))
            return;
        n += (size_t)snprintf(text + n, sizeof text - n, fabsf(param[i]) < 1e6F ? "%s%s=%.6f" : "%s%s=%.6g",
                              i > 0 ? " " : "", named->name[i], (double)param[i]);
    }
    print_row(t, named->row, text);
}

static void print_learnt(struct table *t, const struct train_job *job, const struct train_result *r,
                         const struct train_summary *s)
{
    const struct steps_summary *m = &s->measured;
    const size_t n_last_steps = r->n_steps < STEPS_LAST ? r->n_steps : STEPS_LAST;
    char text[256];

    if (isfinite(m->loss_last))
        snprintf(text, sizeof text, "first %.4g, last %.4g (mean of %zu step%s)", m->loss_first, m->loss_last,
                 n_last_steps, n_last_steps == 1 ? "" : "s");
    else
        snprintf(text, sizeof text, r->has_params && !job->profile ? "first %.4g, then it diverged" : "not computed",
                 m->loss_first);
    print_row(t, job->opts.forward_only ? "loss" : "training loss", text);
    if (!isnan(r->evaluation.accuracy_ratio)) {
        snprintf(text, sizeof text, "%.2f %%", 100 * r->evaluation.accuracy_ratio);
        print_row(t, "test accuracy", text);
    }
    if (r->has_params && job->workload->named)
        print_named_params(t, job->workload->named, r->final.param);
    if (!isnan(job->opts.target_loss)) {
        const size_t n_mean = train_n_target_steps(job, r->n_workers);
        if (isnan(s->seconds_to_target_loss) && s->steps.n_steps < n_mean)
            snprintf(text, sizeof text, "%g was not reached: the loss is a mean of %zu steps, and %zu were made",
                     job->opts.target_loss, n_mean, s->steps.n_steps);
        else if (isnan(s->seconds_to_target_loss))
            snprintf(text, sizeof text, "%g was not reached", job->opts.target_loss);
        else
            snprintf(text, sizeof text, "%g after %.4g s, %llu samples", job->opts.target_loss,
                     s->seconds_to_target_loss, (unsigned long long)s->samples_to_target_loss_count);
        print_row(t, "target loss", text);
    }
}

struct time_unit {
    double per_s;
    const char *name;
};

/* The parts of a step are printed in ms if it takes 10 of them, so that no part has an exponent; else in us. */
static struct time_unit unit_of(const struct steps_summary *m)
{
    return m->step_mean_s >= 10e-3 ? (struct time_unit){ 1e3, "ms" } : (struct time_unit){ 1e6, "us" };
}

/* How gradients were exchanged, and what of it a step did not see. */
static enum rc print_exchange(struct table *t, const struct train_job *job, const struct train_result *r,
                              const struct train_summary *s)
{
    const struct steps_summary *m = &s->measured;
    const struct time_unit unit = unit_of(m);
    char text[SPLIT_TEXT_BYTES];
    enum rc rc = RC_OK;

    if (!train_exchanges(job))
        return RC_OK;
    TRY(train_exchange_text(text, sizeof text, job, &r->overlap));
    print_row(t, "exchange", text);
    print_said(t, "reducer", r->reducer_reason);
    snprintf(text, sizeof text, "%.4g %s: %.4g exposed, %.4g hidden behind computing",
             (m->exposed_s + m->hidden_s) * unit.per_s, unit.name, m->exposed_s * unit.per_s, m->hidden_s * unit.per_s);
    print_row(t, "communication", text);
    print_said(t, "compression", job_compression_text(text, sizeof text, job, r));
    print_said(t, "encryption", encryption_words(r->rank[0].encryption));
    TRY(job_split_load(text, sizeof text, job, s));
    print_said(t, "load", text);
out:
    return rc;
}

static void print_servers(struct table *t, const struct train_job *job, const struct train_result *r,
                          const struct steps_summary *m)
{
    char text[REFUSED_TEXT_BYTES];

    if (!(job->mode->module.caps & MODE_SERVERS))
        return;
    if (job->n_servers > 1) {
        job_placement_text(text, sizeof text, job);
        print_row(t, "placement", text);
    }
    servers_consistency_text(text, sizeof text, job, r);
    print_row(t, "consistency", text);
    snprintf(text, sizeof text, "mean %.4g, max %u updates", m->staleness_mean_count, m->staleness_max_count);
    print_row(t, "staleness", text);
    print_said(t, "refused", servers_refused_text(text, sizeof text, r));
    print_said(t, "replicas", servers_replicas_text(text, sizeof text, job, r));
    print_said(t, "periods", job_periods_text(text, sizeof text, job, r));
    print_said(t, "steps of workers", job_steps_text(text, sizeof text, job, r));
}

/* A failed bound is told as that: it says nothing of the run. */
static void print_bound(struct table *t, const struct train_job *job, const struct train_result *r,
                        const struct train_summary *s)
{
    const double percent = 100 * s->bound_ratio;
    const char *what = job->opts.stages > 1 ? "stages, their schedule and links allow"
                                            : "the slowest of compute, wire and server allows";
    char text[256], ends[INTERVAL_ENDS_BYTES];
    size_t n;

    if (!isfinite(s->bound_ratio))
        return;
    if (train_bound_failed(s->bound_ratio))
        n = (size_t)snprintf(
            text, sizeof text, "the bound failed: %.1f %% of what the parts could do when measured; %s", percent,
            job->world->module.caps & WORLD_VIRTUAL_TIME ? "this simulation has no such limit: please report it"
                                                         : "the machine changed its speed, so run again");
    else if (isnan(s->bound_low_ratio))
        n = (size_t)snprintf(text, sizeof text, "%.1f %% of what %s", percent, what);
    else
        n = (size_t)snprintf(text, sizeof text, "%.1f %% (%s within this run) of what %s", percent,
                             interval_ends(ends, "%.1f", " to ", 100 * s->bound_low_ratio, 100 * s->bound_high_ratio),
                             what);
    if (job->on_loss == ON_LOSS_REPORT && !r->has_limits_after)
        snprintf(text + n, sizeof text - n, "; measured before the run only, as --on-loss report asks");
    print_row(t, "of the bound", text);
}

/* Under strong scaling the run has no baseline of its own (train.F2), and what its probe measured is told as
 * what it is. */
static void print_efficiency(struct table *t, const struct train_job *job, const struct train_result *r,
                             const struct train_summary *s)
{
    const int n = train_n_counted(job, r);
    const double ratio = s->measured.throughput_samples_per_s.mean / (n * s->baseline_samples_per_s);
    char text[256];

    if (job->mode->module.caps & MODE_ONE_WORKER &&
        job->opts.stages <= 1) /* it is the one that others are measured by */
        return;
    if (job->opts.stages > 1 && isnan(s->baseline_samples_per_s))
        snprintf(text, sizeof text,
                 "not known: no rank computes all of the network, and no profile tells how long that takes");
    else if (alternation_is_on(job))
        snprintf(text, sizeof text, "not known: steps with and without exchange take turns");
    else if (job->opts.shard_dense > 1)
        snprintf(text, sizeof text, "not known: no worker has all of the network to compute alone");
    else if (job->batch_of && !global_batch_is_shared(job))
        snprintf(text, sizeof text,
                 "not known: workers have different batches, and one worker alone is measured with that of worker 0");
    else if (s->measured.n_rounds == 0)
        snprintf(text, sizeof text, "not known: there was no round in which every worker trained; use more --steps");
    else if (!isfinite(global_batch_is_shared(job) ? ratio : s->efficiency_ratio))
        snprintf(text, sizeof text, "not known: no time passed in the steps of this run, or of one worker alone");
    else if (job->opts.stages > 1)
        snprintf(text, sizeof text, "%.1f %% of %llu x one rank with all of the network, at the times of --profile",
                 100 * s->efficiency_ratio, (unsigned long long)n * job->opts.stages);
    else if (global_batch_is_shared(job))
        snprintf(
            text, sizeof text,
            "not known: gradmark compare measures one worker alone with all %llu samples; %.1f %% of %d x one alone "
            "with %llu",
            (unsigned long long)job->opts.global_batch, 100 * ratio, n, (unsigned long long)job->opts.batch);
    else
        snprintf(text, sizeof text, "%.1f %% of %d x one worker alone", 100 * s->efficiency_ratio, n);
    print_row(t, "efficiency", text);
}

static void print_departures(struct table *t, const struct train_job *job, const struct train_summary *s)
{
    char text[SPLIT_TEXT_BYTES], turns[ALTERNATION_TEXT_BYTES];

    alternation_text(turns, job, &s->exchange_keeps);
    print_said(t, "with exchange", turns);
    omission_mark(text, sizeof text, job);
    print_said(t, "FOR LESSONS", text);
    job_split_text(text, sizeof text, job);
    print_said(t, "split", text);
}

static void print_run(struct table *t, const struct train_job *job)
{
    const uint64_t stop_at = job->exchange.stop_at, n = stop_at > 0 ? stop_at : job->opts.steps;
    char text[256], batch[96];

    job_batch_text(batch, sizeof batch, job);
    snprintf(text, sizeof text, "%s%s, %s, world %s, %d worker%s, %d server%s%s, %s, %llu %s%s", job->opts.model,
             job->opts.forward_only ? ", inference" : "", job->opts.mode, job->opts.world, job->n_workers,
             job->n_workers == 1 ? "" : "s", job->n_servers, job->n_servers == 1 ? "" : "s",
             job->servers_beside ? " beside workers" : "", batch, (unsigned long long)n,
             stop_at > 0 ? "update" : "step", n == 1 ? "" : "s");
    print_row(t, "run", text);
}

static void print_mean_step(struct table *t, const struct steps_summary *m)
{
    const struct time_unit unit = unit_of(m);
    char text[256] = "not known";

    if (isfinite(m->compute_s))
        snprintf(text, sizeof text, "compute %.4g, wait %.4g, wire %.4g, server %.4g, apply %.4g, rest %.4g %s",
                 m->compute_s * unit.per_s, m->wait_s * unit.per_s, m->wire_s * unit.per_s, m->server_s * unit.per_s,
                 m->apply_s * unit.per_s, m->rest_s * unit.per_s, unit.name);
    print_row(t, "mean step", text);
}

static enum rc fill_table(struct table *t, const struct train_job *job, const struct train_result *r,
                          const struct train_summary *s)
{
    const struct steps_summary *m = &s->measured;
    char text[256];
    enum rc rc;

    print_run(t, job);
    print_departures(t, job, s);
    print_work(t, job, r);
    format_interval(text, sizeof text, &m->throughput_samples_per_s);
    print_row(t, "throughput", text);
    format_steady(text, sizeof text, m);
    print_row(t, "steady state", text);
    print_efficiency(t, job, r, s);
    print_bound(t, job, r, s);
    print_mean_step(t, m);
    TRY(print_exchange(t, job, r, s));
    print_servers(t, job, r, m);
    print_learnt(t, job, r, s);
out:
    return rc;
}

/* --- the answer --- */

static void tell_speed(FILE *to, const struct train_job *job, const struct train_result *r,
                       const struct train_summary *s)
{
    const struct interval *i = &s->measured.throughput_samples_per_s;
    char ends[RATE_ENDS_BYTES], mean[RATE_BYTES];

    fprintf(to, "%s%s, %s, %d worker%s: ", job->opts.model, job->opts.forward_only ? ", inference" : "", job->opts.mode,
            r->n_workers, r->n_workers == 1 ? "" : "s");
    if (!isfinite(i->mean)) {
        fprintf(to, "cannot tell the throughput.\n");
        return;
    }
    rate_text(mean, sizeof mean, i->mean);
    fprintf(to, "%s samples/s", mean);
    if (!isnan(i->low))
        fprintf(to, " (95 %% CI %s)", rate_ends(ends, i));
    if (isfinite(s->measured.step_mean_s))
        fprintf(to, ", %.4g ms a step", 1e3 * s->measured.step_mean_s);
    fprintf(to, ".\n");
}

static void tell_loss(FILE *to, const struct train_job *job, const struct train_result *r,
                      const struct train_summary *s)
{
    const struct steps_summary *m = &s->measured;
    char done[64];

    if (isfinite(m->loss_last) && m->loss_first == m->loss_last) { /* of one step */
        done_text(done, sizeof done, job, r);
        fprintf(to, "  %s: %.4g (%s).", job->opts.forward_only ? "Loss" : "Training loss", m->loss_last, done);
    } else if (isfinite(m->loss_last)) {
        done_text(done, sizeof done, job, r);
        fprintf(to, "  %s: %.4g at first, %.4g at the end (%s).", job->opts.forward_only ? "Loss" : "Training loss",
                m->loss_first, m->loss_last, done);
    } else if (r->has_params && !job->profile) {
        fprintf(to, "  Training loss: %.4g at first, then it diverged.", m->loss_first);
    } else {
        return;
    }
    if (!isnan(r->evaluation.accuracy_ratio))
        fprintf(to, " Test accuracy: %.2f %%.", 100 * r->evaluation.accuracy_ratio);
    fputc('\n', to);
    if (s->not_learned[0])
        fprintf(to, "  It did not learn: %s.\n", s->not_learned);
}

/* What to do where the figures may be wrong. */
static void tell_doubt(FILE *to, const struct train_summary *s)
{
    const struct steady *steady = &s->measured.steady;
    char text[256];

    if (disturbance_is_too_much(&s->disturbance)) {
        disturbance_text(text, sizeof text, &s->disturbance);
        fprintf(to, "  Doubtful: the machine was disturbed: %s. Run again on an idle machine.\n", text);
    }
    if (s->measured.n_rounds > 0 && (steady->state == STEADY_NONE || steady->state == STEADY_SWITCH))
        fprintf(to, "  Doubtful: no steady state%s. Run again with more --steps.\n",
                steady->state == STEADY_SWITCH ? ", the speed switched" : "");
}

static enum rc print_answer(FILE *to, const struct train_job *job, const struct train_result *r,
                            const struct train_summary *s)
{
    struct terminal_text text;
    enum rc rc;

    TRY(terminal_text_open(&text));
    tell_speed(text.lines, job, r, s);
    tell_loss(text.lines, job, r, s);
    tell_doubt(text.lines, s);
    fputc('\n', text.lines);
    TRY(terminal_text_close(&text, to));
out:
    return rc;
}

/* The two peers' lines, from worker 0's steps in ten parts (fewer steps: each a part), as they would have measured it.
 */
static enum rc print_lines(FILE *to, const struct train_job *job, const struct train_result *r,
                           const struct train_summary *s)
{
    enum { MAX_PARTS = 10 };
    const size_t n_parts = r->n_steps < MAX_PARTS ? r->n_steps : MAX_PARTS;
    const size_t n_per_part = r->n_steps / n_parts;
    double rate[MAX_PARTS], *step_s = NULL;
    enum rc rc = RC_OK;

    step_s = malloc(r->n_steps * sizeof *step_s);
    if (!step_s)
        return rc_raise(RC_NOMEM, "no memory for %zu steps", r->n_steps);
    for (size_t i = 0; i < r->n_steps; i++)
        step_s[i] = (double)(r->stamp[i].end_ns - r->stamp[i].start_ns) * 1e-9;
    for (size_t part = 0; part < n_parts; part++) {
        const struct step_stamp *first = &r->stamp[part * n_per_part], *last = first + n_per_part - 1;
        rate[part] = (double)(n_per_part * job->opts.batch) / ((double)(last->end_ns - first->start_ns) * 1e-9);
    }
    for (size_t part = 0; part < n_parts; part++)
        if (!isfinite(rate[part])) /* in sim no time may pass */
            goto out;
    horovod_print(to,
                  &(struct horovod_run){ .model = job->opts.model,
                                         .batch_per_device_count = job->opts.batch,
                                         .device = train_most_on_device(r) > 1 ? "worker" : job->compute->device_kind,
                                         .n_devices = (size_t)r->n_workers,
                                         .samples_per_s = rate,
                                         .n_iterations = n_parts });
    TRY(tf_cnn_print(to, (double)job->opts.batch * r->n_workers, step_s, r->n_steps, r->stamp[r->n_steps - 1].loss,
                     s->measured.throughput_samples_per_s.mean));
out:
    free(step_s);
    return rc;
}

enum rc train_print(FILE *to, const struct train_job *job, const struct train_result *r, const struct train_summary *s,
                    bool with_lines)
{
    static const struct column column[] = { { "quantity", ALIGN_LEFT }, { "value", ALIGN_LEFT } };
    struct table *t = NULL;
    enum rc rc;

    TRY(print_answer(to, job, r, s));
    t = table_open(column, 2);
    fill_table(t, job, r, s);
    TRY(table_print_named(t, to));
    if (with_lines) {
        terminal_note(to, "\nFor programs that read Horovod's benchmarks and tf_cnn_benchmarks, as these measure:");
        TRY(print_lines(to, job, r, s));
    }
out:
    table_close(&t);
    return rc;
}

enum rc train_warn_useless_exchange(FILE *to, const struct train_job *job)
{
    char text[USELESS_EXCHANGE_BYTES];
    enum rc rc;

    TRY(train_useless_exchange(text, sizeof text, job));
    if (text[0])
        terminal_note(to, "gradmark train: warning: %s", text);
out:
    return rc;
}

void train_warn_shared_cores(FILE *to, const struct train_job *job, const struct train_result *r)
{
    const int n_sharing = train_n_sharing(job, r);

    if (n_sharing > 0)
        terminal_note(
            to, "gradmark train: warning: %d of %d workers share their cores with others: this run is oversubscribed",
            n_sharing, r->n_workers);
}

/* "rank 1 was lost in step 7 (ended before its work was done), rank 2 ..." */
static void losses_text(char *out, size_t n_bytes, const struct train_result *r)
{
    size_t n = 0;

    out[0] = '\0';
    for (int i = 0; i < r->n_losses && n < n_bytes; i++) {
        const struct train_loss *loss = &r->loss[i];
        char when[96] = "";

        if (loss->was_seen)
            peer_duty_text(&loss->duty, when, sizeof when);
        n += (size_t)snprintf(out + n, n_bytes - n,
                              loss->has_left ? "%srank %d left%s%s" : "%srank %d was lost%s%s (%s)", i > 0 ? ", " : "",
                              loss->rank, loss->was_seen ? " " : "", when, loss->why);
    }
}

/* Did the loss of ranks stop the others? */
static bool losses_stopped(const struct train_job *job, const struct train_result *r)
{
    return !train_is_whole(job, r) && r->stop_signal == 0;
}

void train_tell_stop(FILE *to, const struct train_job *job, const struct train_result *r)
{
    char text[96], resume[RESUME_TEXT_BYTES];

    if (r->stop_signal == 0)
        return;
    stopped_text(text, sizeof text, job, r);
    omission_resume_text(resume, sizeof resume, job);
    terminal_note(to, "gradmark train: stopped %s; results are of these steps%s%s", text, resume[0] ? "; " : "",
                  resume);
}

void train_tell_losses(FILE *to, const struct train_job *job, const struct train_result *r)
{
    char text[384], done[64];
    const bool tells_updates = job->exchange.stop_at > 0 && r->stop_signal == 0;

    if (r->n_losses == 0 || losses_stopped(job, r))
        return;
    losses_text(text, sizeof text, r);
    done_text(done, sizeof done, job, r);
    terminal_note(to, "gradmark train: %s; %s of the %d worker%s left%s%s", text,
                  job->opts.elastic ? "parts of steps and losses are" : "figures are", r->n_workers,
                  r->n_workers == 1 ? "" : "s", tells_updates ? "; the servers made " : "", tells_updates ? done : "");
}

enum rc train_check_stopped(const struct train_job *job, const struct train_result *r)
{
    char text[320], done[64], resume[RESUME_TEXT_BYTES];

    if (!losses_stopped(job, r))
        return r->timeline_rc == RC_OK ? RC_OK : rc_raise(r->timeline_rc, "%s", r->timeline_error);
    losses_text(text, sizeof text, r);
    omission_resume_text(resume, sizeof resume, job);
    done_text(done, sizeof done, job, r);
    return rc_raise(RC_PEER, "%s; the others stopped after %s%s%s%s%s", text, done, resume[0] ? "; " : "", resume,
                    r->timeline_rc == RC_OK ? "" : "; ", r->timeline_error);
}
