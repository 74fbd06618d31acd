/* SPDX-License-Identifier: Apache-2.0 */
/* result.c - from stamps to figures, and from figures to records. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/exchange/collective.h"
#include "harness/net/transport.h"
#include "harness/report/manifest.h"
#include "harness/train/alternation.h"
#include "harness/train/bound.h"
#include "harness/train/cluster_record.h"
#include "harness/train/disturbed.h"
#include "harness/train/integrity.h"
#include "harness/train/job_batch.h"
#include "harness/train/job_exchange.h"
#include "harness/train/layout_record.h"
#include "harness/train/learning_advice.h"
#include "harness/train/losses_record.h"
#include "harness/train/omission.h"
#include "harness/train/places.h"
#include "harness/train/recorded.h"
#include "harness/train/run_record.h"
#include "harness/train/servers_record.h"
#include "harness/train/stages_bound.h"
#include "harness/train/train.h"
#include "harness/world/cores.h"
#include "models/replay/profile.h"

enum { N_TARGET_STEPS = 10 };

/* The last steps of each worker that the loss is a mean of. */
static size_t n_target_steps(const struct train_job *job, int n_workers)
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
                        .overlapped = r->overlap.overlaps };
    TRY(train_measure(&s.measured, job, r, &s.steps));
    train_find_efficiency(&s, job, r);
    train_find_bound(&s, job, r);
    if (!isnan(job->opts.target_loss))
        s.seconds_to_target_loss = steps_seconds_to_loss(
            &s.steps, job->opts.target_loss, n_target_steps(job, r->n_workers), &s.samples_to_target_loss_count);
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

/* null: there is none. */
static void record_count(struct record *r, const char *key, bool is_known, uint64_t value)
{
    if (is_known)
        record_u64(r, key, value);
    else
        record_null(r, key);
}

static void record_memory(struct record *r, const struct train_job *job)
{
    const struct train_memory *m = &job->memory;

    record_u64(r, "activations_bytes", m->activations_bytes);
    record_u64(r, "params_bytes", m->params_bytes);
    record_u64(r, "exchange_bytes", m->exchange_bytes);
    record_u64(r, "server_bytes", m->server_bytes);
    record_u64(r, "host_bytes", m->host_bytes);
    if (is_virtual(job) || m->available_bytes == SIZE_MAX) /* L4 */
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
static enum rc record_work(struct record *r, const struct train_job *job)
{
    struct record *memory = NULL, *profile = NULL;
    enum rc rc;

    record_u64(r, "params_count", job->n_params);
    record_u64(r, "running_means_and_variances_count", job->n_state);
    record_f64(r, "flops_per_sample_count", job->flops_per_sample);
    record_text(r, "dataset", job->dataset ? job->dataset->name : NULL);
    record_u64(r, "train_samples_count", job->dataset ? job->dataset->n_train : 0);
    record_u64(r, "test_samples_count", job->dataset ? job->dataset->n_test : 0);
    TRY(record_open(&memory, NULL));
    record_memory(memory, job);
    record_child(r, "planned_memory", &memory);
    if (job->profile) {
        TRY(record_open(&profile, NULL));
        record_profile(profile, job->profile);
        record_child(r, "profile", &profile);
    }
out:
    record_close(&memory);
    record_close(&profile);
    return rc;
}

enum rc train_manifest(struct record **out, const struct train_job *job)
{
    struct record *r = NULL, *options = NULL, *cluster = NULL;
    enum rc rc;

    TRY(record_open(&r, "manifest"));
    TRY(record_open(&options, "options"));
    record_options(options, train_run_table, &job->opts);
    record_options(options, train_opt_table, &job->opts);
    for (int k = 0; k < TRAIN_N_KINDS; k++)
        if (job->used[k])
            record_module_options(options, job->used[k], module_options(&job->opts.modules, train_kinds, job->used[k]));
    record_child(r, "options", &options);
    record_for_lessons(r, job);
    TRY(record_work(r, job));
    if (is_virtual(job)) {
        TRY(record_open(&cluster, "cluster"));
        record_cluster(cluster, &job->cluster);
        record_child(r, "cluster", &cluster);
    }
    TRY(digest_record(r, job->input, job->n_inputs));
    manifest_fill(r, is_virtual(job)); /* L4 */
    *out = r;
    r = NULL;
out:
    record_close(&cluster);
    record_close(&options);
    record_close(&r);
    return rc;
}

static enum rc write_manifest(struct report *to, const struct train_job *job)
{
    struct record *r = NULL;
    enum rc rc;

    TRY(train_manifest(&r, job));
    TRY(report_write(to, r));
out:
    record_close(&r);
    return rc;
}

static enum rc write_step(struct report *to, const struct train_job *job, const struct train_result *result,
                          const struct train_summary *s, size_t step)
{
    struct round_point point;
    struct record *r = NULL;
    enum rc rc;

    TRY(record_open(&r, "step"));
    steps_round(&point, &s->steps, step);
    record_u64(r, "step_index", job->resume.steps_count + step);
    record_u64(r, "samples_count", job->resume.samples_count + point.samples_count);
    record_f64(r, "learning_rate", (double)result->lr[step]);
    record_f64(r, "loss", point.loss);
    record_seconds(r, job, point.seconds);
    TRY(recorded_communication(r, &s->steps, step));
    TRY(recorded_input(r, job, &s->steps, step));
    TRY(report_write(to, r));
out:
    record_close(&r);
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
    struct record *r = NULL;
    enum rc rc;

    TRY(record_open(&r, "summary"));
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
    TRY(report_write(to, r));
out:
    record_close(&r);
    return rc;
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
