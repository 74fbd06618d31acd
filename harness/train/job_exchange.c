/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_exchange.c - how a job exchanges gradients: its servers, compression, periods, overlap, local SGD; see
 * job_exchange.h.
 */
#include "harness/train/job_exchange.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "allreduce/collective_list.h"
#include "harness/base/file.h"
#include "harness/base/text.h"
#include "harness/exchange/buckets.h"
#include "harness/exchange/collective.h"
#include "harness/net/transport.h"
#include "harness/train/alternation.h"
#include "harness/train/elastic.h"
#include "harness/train/job.h"
#include "harness/world/world.h"
#include "models/engine/network.h"
#include "models/replay/profile.h"

/* Without --partition-bytes; 0: whole buckets. */
static uint64_t usual_partition_bytes(const struct train_job *job)
{
    const struct server_mode *servers = job->mode->servers;
    const bool is_cut = servers && job->transport->module.caps & TR_CUTS;

    return is_cut && job->exchange.compression.kind != COMPRESSION_TOPK ? servers->usual_partition_bytes : 0;
}

uint64_t job_partition_bytes(const struct train_job *job)
{
    return job->opts.partition_bytes > 0 ? job->opts.partition_bytes : usual_partition_bytes(job);
}

/* --- the plan: buckets and chunks, in words --- */

struct plan {
    size_t n_buckets, n_chunks;
    uint64_t gradient_bytes, largest_bucket_bytes;
};

static uint64_t bucket_bytes(const struct buckets *b, const struct bucket *bucket)
{
    uint64_t n_elems = 0;

    for (size_t s = 0; s < bucket->n_segments; s++)
        n_elems += b->segment[bucket->first_segment + s].n_elems;
    return n_elems * sizeof(float);
}

static enum rc plan_of(struct plan *out, const struct train_job *job)
{
    struct buckets b = { 0 };
    enum rc rc;

    TRY(buckets_open(&b, job->segment, job->n_segments, &job->exchange.buckets));
    *out = (struct plan){ b.n_buckets, b.n_chunks, b.n_params * sizeof(float), 0 };
    for (size_t i = 0; i < b.n_buckets; i++) {
        const uint64_t n_bytes = bucket_bytes(&b, &b.bucket[i]);
        out->largest_bucket_bytes = n_bytes > out->largest_bucket_bytes ? n_bytes : out->largest_bucket_bytes;
    }
out:
    buckets_close(&b);
    return rc;
}

bool train_exchanges(const struct train_job *job)
{
    return mode_exchanges(&job->mode->module) && job->n_ranks > 1 && !(job->omitted & OMIT_AVERAGE);
}

static const char *on_off(bool is_on)
{
    return is_on ? "on" : "off";
}

/* Of chunks; "": they are not counted. */
static const char *flight_text(char *out, size_t n_bytes, int n_in_flight)
{
    out[0] = '\0';
    if (n_in_flight == 1)
        snprintf(out, n_bytes, ", one after the other");
    else if (n_in_flight > 1)
        snprintf(out, n_bytes, ", %d at once", n_in_flight);
    return out;
}

enum rc train_exchange_text(char *out, size_t n_bytes, const struct train_job *job, const struct overlap_choice *chosen)
{
    const struct exchange_opts *x = &job->exchange;
    char flight[32];
    struct plan plan;
    enum rc rc;

    TRY(plan_of(&plan, job));
    if (x->average_every > 0) {
        snprintf(out, n_bytes, "local SGD: parameters averaged after every %llu steps, %zu chunk%s",
                 (unsigned long long)x->average_every, plan.n_chunks, plan.n_chunks == 1 ? "" : "s");
        return RC_OK;
    }
    if (plan.n_chunks == 1)
        snprintf(out, n_bytes, "all gradients at once, overlap %s%s", on_off(chosen->overlaps),
                 chosen->by_priority ? ", priority on" : "");
    else
        snprintf(out, n_bytes, "%zu bucket%s, %zu chunks%s, overlap %s%s%s%s, priority %s", plan.n_buckets,
                 plan.n_buckets == 1 ? "" : "s", plan.n_chunks, flight_text(flight, sizeof flight, chosen->n_in_flight),
                 on_off(chosen->overlaps), chosen->reason[0] ? " (auto: " : "", chosen->reason,
                 chosen->reason[0] ? ")" : "", on_off(chosen->by_priority));
out:
    return rc;
}

/* A segment alone can be cut only into chunks. */
static void say_one_chunk(char *out, size_t n_bytes, const struct train_job *job, const struct plan *plan)
{
    const struct exchange_opts *x = &job->exchange;
    const char *options = x->overlap && x->priority ? "--overlap on and --priority on change"
                          : x->overlap              ? "--overlap on changes"
                                                    : "--priority on changes";

    snprintf(out, n_bytes, "%s nothing: the gradients, %llu bytes, are one chunk; give %s--partition-bytes of less",
             options, (unsigned long long)plan->gradient_bytes, job->n_segments > 1 ? "--bucket-bytes or " : "");
}

/* The most that a worker sends of all gradients, as one chunk, and in full. */
static void most_sent(const struct train_job *job, const struct plan *plan, uint64_t *bytes, uint64_t *full_bytes)
{
    const struct collective_group all = { .n_ranks = job->n_workers };
    const size_t n_elems = (size_t)plan->gradient_bytes / sizeof(float);
    const struct collective_call call = compression_call(&job->exchange.compression, n_elems, job->n_workers);
    const struct collective_call full = { .type = COLL_ALLREDUCE, .n_elems = n_elems };
    const void *opts = module_options(&job->opts.modules, train_kinds, &job->collective->module);

    *bytes = *full_bytes = 0;
    for (int r = 0; r < job->n_workers; r++) {
        const uint64_t own_bytes = job->collective->predict(opts, &call, r, &all).bytes;
        const uint64_t own_full_bytes = job->collective->predict(opts, &full, r, &all).bytes;
        *bytes = own_bytes > *bytes ? own_bytes : *bytes;
        *full_bytes = own_full_bytes > *full_bytes ? own_full_bytes : *full_bytes;
    }
}

/* Pairs of all workers go to all of them: the more workers, the less is saved. */
static void say_longer_pairs(char *out, size_t n_bytes, const struct train_job *job, const struct plan *plan)
{
    char name[COMPRESSION_TEXT_BYTES];
    uint64_t bytes, full_bytes;

    if (!job->collective || job->exchange.compression.kind != COMPRESSION_TOPK)
        return;
    most_sent(job, plan, &bytes, &full_bytes);
    compression_text(name, sizeof name, &job->exchange.compression);
    if (bytes >= full_bytes && full_bytes > 0)
        snprintf(
            out, n_bytes,
            "--compression %s saves nothing: the pairs of %d workers are %llu bytes for each to send, gradients as "
            "they are %llu; give a smaller part",
            name, job->n_workers, (unsigned long long)bytes, (unsigned long long)full_bytes);
}

/* Then a --partition-bytes of more does change something. */
static bool usually_cuts(const struct train_job *job, const struct plan *plan)
{
    const uint64_t n_bytes = usual_partition_bytes(job);

    return n_bytes > 0 && n_bytes < plan->largest_bucket_bytes;
}

enum rc train_useless_exchange(char *out, size_t n_bytes, const struct train_job *job)
{
    const struct exchange_opts *x = &job->exchange;
    struct plan plan;
    enum rc rc = RC_OK;

    out[0] = '\0';
    if (!mode_exchanges(&job->mode->module) || job->omitted & OMIT_AVERAGE)
        return RC_OK;
    TRY(plan_of(&plan, job));
    say_longer_pairs(out, n_bytes, job, &plan);
    if (plan.n_chunks == 1 && (x->overlap || x->priority))
        say_one_chunk(out, n_bytes, job, &plan);
    else if (job->opts.partition_bytes >= plan.largest_bucket_bytes && !usually_cuts(job, &plan))
        snprintf(out, n_bytes, "--partition-bytes %llu changes nothing: the largest bucket has %llu bytes; give less",
                 (unsigned long long)job->opts.partition_bytes, (unsigned long long)plan.largest_bucket_bytes);
out:
    return rc;
}

/* --- parameter servers --- */

#define ALIKE_RATIO 1.01 /* servers that hold no more than this times the mean */

static bool has_servers(const struct train_job *job)
{
    return job->mode->module.caps & MODE_SERVERS;
}

/* What --replicas does not go with: NULL, it is right. */
static const char *why_no_heirs(const struct train_job *job)
{
    if (job->n_servers < 2)
        return "use 2 servers or more";
    if (strcmp(job->opts.on_loss, "report") != 0 && !job->opts.elastic) /* which implies it */
        return "with --on-loss abort the loss of a server ends the run; --on-loss report continues";
    return NULL;
}

/* In place of a server that is lost. */
static enum rc parse_heirs(struct train_job *job)
{
    const struct train_opts *o = &job->opts;
    const char *why = why_no_heirs(job);

    job->exchange.n_replicas = (int)o->replicas;
    if (o->replicas > 0 && why)
        return rc_raise(RC_INVAL, "--servers %d --replicas 1: %s", job->n_servers, why);
    return RC_OK;
}

/* --in-flight; 0: rank_choose_flight() has to choose. In virtual time a worker may have as many as it has chunks, as
 * systems that are simulated have; else more would only compete for cores. */
static enum rc parse_in_flight(struct train_job *job)
{
    const bool has_more =
        job->world->module.caps & WORLD_VIRTUAL_TIME && job->exchange.n_replicas == 0 && !job->opts.elastic;
    const struct server_mode *servers = job->mode->servers;
    const int most = !servers ? 0 : has_more ? servers->most_in_flight : servers->usual_in_flight;

    if (job->opts.in_flight > (uint64_t)most)
        return rc_raise(RC_INVAL, "--in-flight %llu: a worker of mode %s pushes and pulls %d chunks at once at most%s",
                        (unsigned long long)job->opts.in_flight, job->opts.mode, most,
                        has_more ? "" : "; for more use --world sim, without --replicas and --elastic");
    job->exchange.n_in_flight = (int)job->opts.in_flight;
    return RC_OK;
}

enum rc job_servers_parse(struct train_job *job)
{
    enum rc rc = RC_OK;

    if (!has_servers(job))
        return RC_OK;
    TRY(placement_parse(&job->exchange.placement, job->opts.placement));
    TRY(consistency_parse(&job->exchange.consistency, job->opts.consistency));
    TRY(consistency_check(&job->exchange.consistency, job->n_workers));
    job->exchange.lr_staleness = lr_staleness_of(job->opts.lr_staleness);
    TRY(parse_heirs(job));
    TRY(parse_in_flight(job));
out:
    return rc;
}

/* With overlap and priority workers take their chunks in orders of their own. */
enum rc job_servers_check(const struct train_job *job)
{
    const struct exchange_opts *x = &job->exchange;

    if (consistency_waits_in_step(&x->consistency) && x->overlap && x->priority && job->n_workers > 1)
        return rc_raise(RC_INVAL,
                        "--priority on: with --overlap on and --consistency %s workers would wait for each other's "
                        "chunks in other orders; needs --priority off, async, or ssp:1 and more",
                        job->opts.consistency);
    return RC_OK;
}

/* Of a stage of the profile: the tensors before its own. */
static size_t tensors_before(const struct train_job *job)
{
    const struct job_stages *s = &job->stages;
    const int end = s->number > 0 ? s->env.cuts.end[s->number - 1] : 0;
    size_t n = 0;

    for (int i = 0; i < end; i++)
        n += (size_t)job->profile->layer[i].n_tensors;
    return n;
}

/* Tensor number `index` of the profile: its name, which most begin with that of the layer. */
static void name_in_profile(char *out, size_t n_bytes, const struct profile *p, size_t index)
{
    for (int i = 0; i < p->n_layers; i++) {
        const struct profile_layer *l = &p->layer[i];
        if (index < (size_t)l->n_tensors) {
            const char *name = l->tensor[index].name;
            snprintf(out, n_bytes, "%s%s%s", strchr(name, '/') ? "" : l->name, strchr(name, '/') ? "" : "/", name);
            return;
        }
        index -= (size_t)l->n_tensors;
    }
}

void job_tensor_name(char *out, size_t n_bytes, const struct train_job *job, const struct network *n, size_t index)
{
    if (n)
        snprintf(out, n_bytes, "%s", n->segment_name[index]);
    else if (job->profile)
        name_in_profile(out, n_bytes, job->profile, tensors_before(job) + index);
    else
        snprintf(out, n_bytes, "tensor %zu", index);
}

/* Where nobody gave their number: why there are so many. rc of what refused them, which names --servers. */
static enum rc explain_servers(const struct train_job *job, enum rc rc)
{
    char why[RC_MESSAGE_BYTES];

    if (rc != RC_INVAL || !job->has_default_servers || !job->opts.colocate)
        return rc;
    (void)snprintf(why, sizeof why, "%s", rc_message());
    return rc_raise(rc, "--colocate: without --servers there is one beside each of %d workers: %.400s", job->n_workers,
                    why);
}

enum rc job_servers_resolve(struct train_job *job, const struct network *n)
{
    enum rc rc = RC_OK;

    if (!has_servers(job))
        return RC_OK;
    if ((size_t)job->n_servers > job->n_params)
        TRY(explain_servers(job, rc_raise(RC_INVAL,
                                          "--servers %d: model %s has only %zu parameters to share out; give "
                                          "--servers %zu at most",
                                          job->n_servers, job->opts.model, job->n_params, job->n_params)));
    TRY(explain_servers(
        job, placement_open(&job->placement, &job->exchange.placement, job->segment, job->n_segments, job->n_servers)));
    job->hot_spot = placement_hot_spot(&job->placement, job->segment, job->n_segments);
    job_tensor_name(job->hot_tensor, sizeof job->hot_tensor, job, n, job->hot_spot.segment);
out:
    return rc;
}

void job_placement_text(char *out, size_t n_bytes, const struct train_job *job)
{
    const struct hot_spot *hot = &job->hot_spot;
    char placement[PLACEMENT_TEXT_BYTES];

    placement_text(placement, sizeof placement, &job->exchange.placement);
    if (hot->imbalance_ratio < ALIKE_RATIO) {
        snprintf(out, n_bytes, "%s, %.4g MB on each of %d servers", placement,
                 (double)job->n_params * sizeof(float) * 1e-6 / job->n_servers, job->n_servers);
        return;
    }
    snprintf(out, n_bytes, "%s, server %d holds most: %.4g MB, %.3g x the mean, of which %s is %.1f %%", placement,
             hot->server, (double)hot->n_elems * sizeof(float) * 1e-6, hot->imbalance_ratio, job->hot_tensor,
             100 * (double)hot->n_segment_elems / (double)hot->n_elems);
}

/* --- --compression --- */

/* What the collective needs for it. */
static enum rc require_collective(const struct train_job *job)
{
    const struct collective_call call = compression_call(&job->exchange.compression, 1, 1);
    enum rc rc;

    TRY(collective_require(&collective_kind, job->collective, call.type));
    if (call.wire != WIRE_F32)
        TRY(collective_require_narrow(&collective_kind, job->collective));
out:
    return rc;
}

enum rc job_compression_resolve(struct train_job *job)
{
    return mode_exchanges(&job->mode->module) ? compression_parse(&job->exchange.compression, job->opts.compression)
                                              : RC_OK;
}

enum rc job_compression_check(const struct train_job *job)
{
    char message[RC_MESSAGE_BYTES];

    if (job->exchange.compression.kind == COMPRESSION_NONE || !job->collective)
        return RC_OK;
    const enum rc rc = require_collective(job);
    if (rc == RC_OK)
        return RC_OK;
    (void)snprintf(message, sizeof message, "%s", rc_message());
    return rc_raise(rc, "--compression %s: %.400s", job->opts.compression, message);
}

struct memory_need job_compression_memory(const struct train_job *job, size_t n_slice)
{
    const struct compression *c = &job->exchange.compression;
    const size_t n_params = job->n_params;
    struct memory_need need = { .worker_bytes = compression_residual_bytes(c, n_params) };

    if (c->kind == COMPRESSION_NONE)
        return need;
    if (job->n_servers > 0) { /* packed; unpacked */
        need.worker_bytes += n_params * sizeof(float);
        need.server_bytes = n_slice * sizeof(float);
    } else if (c->kind == COMPRESSION_TOPK)
        need.worker_bytes += compression_call(c, n_params, job->n_workers).n_elems * sizeof(float);
    else
        need.worker_bytes += n_params * wire_elem_bytes(compression_wire(c));
    return need;
}

/* Are the bytes of its messages known? */
static bool counts(const struct train_job *job)
{
    return train_exchanges(job) && !(job->collective && job->collective->module.caps & (COLL_DEVICE | COLL_OPAQUE));
}

/* Do workers end after different numbers of steps? */
static bool ends_apart(const struct train_job *job)
{
    return elastic_is_on(job) || job->exchange.stop_at > 0;
}

/* Steps of such a run in which rank i of the result sent what it did: of a server those of the mean worker. */
static double own_steps(const struct train_job *job, const struct train_result *r, int i)
{
    double n_steps = 0;

    if (i < r->n_workers)
        return (double)r->rank[i].steps_count;
    if (elastic_is_on(job))
        return (double)r->rank[i].served.batches_held_count / job->n_workers;
    for (int w = 0; w < r->n_workers; w++)
        n_steps += (double)r->rank[w].steps_count;
    return n_steps / r->n_workers;
}

double compression_sent_bytes(const struct train_job *job, const struct train_result *r, int first, int end)
{
    const bool is_apart = ends_apart(job);
    double n_bytes = 0;

    for (int i = first; i < end; i++)
        n_bytes += (double)r->rank[i].sent_bytes / (is_apart ? own_steps(job, r, i) : 1);
    return counts(job) ? n_bytes / (is_apart ? 1 : (double)r->n_steps) : NAN;
}

double compression_full_bytes(const struct train_job *job, const struct train_result *r, int first, int end)
{
    double n_bytes = 0;

    for (int i = first; i < end; i++)
        n_bytes += (double)r->rank[i].full_bytes;
    return counts(job) ? n_bytes : NAN;
}

static double sent_ratio(const struct train_job *job, const struct train_result *r, int first, int end)
{
    const double full_bytes = compression_full_bytes(job, r, first, end);

    return full_bytes > 0 ? compression_sent_bytes(job, r, first, end) / full_bytes : NAN;
}

const char *job_compression_text(char *out, size_t n_bytes, const struct train_job *job, const struct train_result *r)
{
    const double sent_bytes = compression_sent_bytes(job, r, 0, r->n_workers) / r->n_workers;
    const double ratio = sent_ratio(job, r, 0, r->n_workers);
    char name[COMPRESSION_TEXT_BYTES];

    out[0] = '\0';
    if (job->exchange.compression.kind == COMPRESSION_NONE || !counts(job))
        return out;
    compression_text(name, sizeof name, &job->exchange.compression);
    if (isnan(ratio))
        snprintf(out, n_bytes, "%s, but no message is sent: the reducer sums in the memory of the host", name);
    else
        snprintf(out, n_bytes, "%s: %.4g %s sent by a worker in a step, %.3g of what it would be without", name,
                 sent_bytes * (sent_bytes < 1e6 ? 1e-3 : 1e-6), sent_bytes < 1e6 ? "kB" : "MB", ratio);
    return out;
}

void record_compression(struct record *r, const struct train_job *job, const struct train_result *result)
{
    const int n_workers = result->n_workers;
    char name[COMPRESSION_TEXT_BYTES];

    compression_text(name, sizeof name, &job->exchange.compression);
    record_text(r, "compression", train_exchanges(job) ? name : NULL);
    record_f64(r, "sent_bytes_per_step", compression_sent_bytes(job, result, 0, n_workers) / n_workers);
    record_f64(r, "sent_ratio", sent_ratio(job, result, 0, n_workers));
}

void record_sent_of_rank(struct record *r, const struct train_job *job, const struct train_result *result, int rank)
{
    record_f64(r, "sent_bytes_per_step", compression_sent_bytes(job, result, rank, rank + 1));
    record_f64(r, "sent_ratio", sent_ratio(job, result, rank, rank + 1));
}

/* --- --push-every, --pull-every, --stop-at-step --- */

static uint64_t at_least_1(uint64_t every)
{
    return every > 1 ? every : 1;
}

/* NULL: it means something. */
static const char *why_no_periods(const struct train_job *job)
{
    if (consistency_may_wait(&job->exchange.consistency))
        return "counts a push and a pull in every step; needs --consistency async";
    return NULL;
}

static enum rc check_periods(const struct train_job *job)
{
    const struct train_opts *o = &job->opts;
    const uint64_t every[] = { at_least_1(o->push_every), at_least_1(o->pull_every) };
    static const char *const name[] = { "push-every", "pull-every" };
    char fitting[48];

    for (int i = 0; i < 2; i++) {
        const unsigned long long n = every[i];
        if (n == 1)
            continue;
        if (why_no_periods(job))
            return rc_raise(RC_INVAL, "--%s %llu: --consistency %s %s", name[i], n, o->consistency,
                            why_no_periods(job));
        text_near_multiples(fitting, sizeof fitting, o->save_every, n);
        if (o->save_every % n != 0)
            return rc_raise(RC_INVAL,
                            "--save-every %llu: is no multiple of --%s %llu; in between workers hold what no "
                            "checkpoint has; use %s",
                            (unsigned long long)o->save_every, name[i], n, fitting);
        if (o->save[0] && o->stop_at_step == 0 && o->steps % n != 0)
            return rc_raise(RC_INVAL,
                            "--steps %llu: is no multiple of --%s %llu, so that no run can go on from what --save "
                            "writes as if it had not ended; use %llu",
                            (unsigned long long)o->steps, name[i], n,
                            (unsigned long long)(o->steps + n - o->steps % n));
    }
    return RC_OK;
}

static enum rc check_stop(struct train_job *job)
{
    struct train_opts *o = &job->opts;
    const unsigned long long n = o->stop_at_step;

    if (n < (unsigned long long)job->n_workers)
        return rc_raise(RC_INVAL, "--stop-at-step %llu: each of %d workers begins with a push; %d would be the least",
                        n, job->n_workers, job->n_workers);
    if (n > TRAIN_MAX_STEPS / at_least_1(o->push_every))
        return rc_raise(RC_INVAL, "--stop-at-step %llu: with --push-every %llu a worker might do more than %d steps", n,
                        (unsigned long long)at_least_1(o->push_every), TRAIN_MAX_STEPS);
    o->steps = n * at_least_1(o->push_every);
    return RC_OK;
}

enum rc job_periods_resolve(struct train_job *job)
{
    struct train_opts *o = &job->opts;
    enum rc rc = RC_OK;

    if (!(job->mode->module.caps & MODE_SERVERS))
        return RC_OK;
    if (o->stop_at_step > 0)
        TRY(check_stop(job));
    TRY(check_periods(job));
    job->exchange.periods = (struct periods){ o->push_every, o->pull_every };
    job->exchange.stop_at = o->stop_at_step;
out:
    return rc;
}

enum rc job_periods_check_resume(const struct train_job *job)
{
    const struct periods *p = &job->exchange.periods;
    const unsigned long long n_steps = job->resume.steps_count, n_updates = job->resume.kept.n_updates;
    const unsigned long long n = job->exchange.stop_at;

    if (n > 0 && n_updates + (unsigned long long)job->n_workers > n)
        return rc_raise(RC_INVAL,
                        "--stop-at-step %llu: %s has %llu updates, and each of %d workers begins with one more; %llu "
                        "would be the least",
                        n, job->opts.resume, n_updates, job->n_workers, n_updates + (unsigned long long)job->n_workers);
    if (n == 0 && (n_steps % at_least_1(p->push_every) != 0 || n_steps % at_least_1(p->pull_every) != 0))
        return rc_raise(RC_INVAL,
                        "--resume %s: ended after %llu steps, within a period of --push-every or --pull-every",
                        job->opts.resume, n_steps);
    return RC_OK;
}

size_t job_periods_n_steps(const struct train_job *job)
{
    const uint64_t n = job->exchange.stop_at;

    if (n > 0)
        return (n - job->resume.kept.n_updates) * at_least_1(job->exchange.periods.push_every);
    return job->opts.steps - job->resume.steps_count;
}

bool job_periods_may_stop(const struct train_job *job, size_t n_steps)
{
    const struct periods *p = &job->exchange.periods;
    const uint64_t n = job->resume.steps_count + n_steps;

    return job->opts.save[0] == '\0' || (n % at_least_1(p->push_every) == 0 && n % at_least_1(p->pull_every) == 0);
}

size_t job_periods_bytes(const struct train_job *job)
{
    return job->exchange.periods.push_every > 1 ? job->n_params * sizeof(float) : 0;
}

/* With --stop-at-step: the updates that the servers have made in this run. Pushes of lost workers are among them, which
 * the counts of the workers left do not have. */
static uint64_t all_pushes(const struct train_job *job, const struct train_result *r)
{
    uint64_t n = 0;

    if (job->exchange.stop_at > 0)
        return r->final.kept.n_updates - job->resume.kept.n_updates;
    for (int w = 0; w < r->n_workers; w++)
        n += r->rank[w].counts.n_pushes;
    return n;
}

const char *job_steps_text(char *out, size_t n_bytes, const struct train_job *job, const struct train_result *r)
{
    enum { MOST_SHOWN = 8 };
    size_t n = 0;

    if (elastic_is_on(job))
        return elastic_text(out, n_bytes, job, r);
    out[0] = '\0';
    if (job->exchange.stop_at == 0)
        return out;
    for (int w = 0; w < r->n_workers && w < MOST_SHOWN && n < n_bytes; w++)
        n += (size_t)snprintf(out + n, n_bytes - n, "%s%llu", w > 0 ? ", " : "",
                              (unsigned long long)r->rank[w].steps_count);
    if (n < n_bytes)
        (void)snprintf(out + n, n_bytes - n, "%s: %llu updates, of --stop-at-step %llu in all",
                       r->n_workers > MOST_SHOWN ? ", ..." : "", (unsigned long long)all_pushes(job, r),
                       (unsigned long long)job->exchange.stop_at);
    return out;
}

const char *job_periods_text(char *out, size_t n_bytes, const struct train_job *job, const struct train_result *r)
{
    const struct periods *p = &job->exchange.periods;
    uint64_t n_pulls = 0;

    out[0] = '\0';
    if (!periods_are_on(p))
        return out;
    for (int w = 0; w < r->n_workers; w++)
        n_pulls += r->rank[w].counts.n_pulls;
    (void)snprintf(out, n_bytes, "push every %llu steps, pull every %llu: %llu pushes, %llu pulls by all workers",
                   (unsigned long long)at_least_1(p->push_every), (unsigned long long)at_least_1(p->pull_every),
                   (unsigned long long)all_pushes(job, r), (unsigned long long)n_pulls);
    return out;
}

void record_periods(struct record *r, const struct train_job *job, const struct train_result *result)
{
    if (job->mode->module.caps & MODE_SERVERS)
        record_u64(r, "push_steps_count", all_pushes(job, result));
    else
        record_null(r, "push_steps_count");
}

void record_periods_of_rank(struct record *r, const struct train_job *job, const struct train_result *result, int i)
{
    const struct train_rank_info *info = &result->rank[i];
    const bool is_worker = i < result->n_workers, pushes = is_worker && job->mode->module.caps & MODE_SERVERS;

    record_f64(r, "steps_count", is_worker ? (double)info->steps_count : NAN);
    record_f64(r, "push_steps_count", pushes ? (double)info->counts.n_pushes : NAN);
    record_f64(r, "pull_steps_count", pushes ? (double)info->counts.n_pulls : NAN);
}

/* --- --overlap auto and --priority auto --- */

static bool is_auto(const char *value)
{
    return strcmp(value, "auto") == 0;
}

static const char one_host[] = "all workers are on one host";

/* NULL: nothing of the options stands in the way. */
static const char *why_off(const struct train_job *job)
{
    const struct train_opts *o = &job->opts;
    const struct {
        bool is_so;
        const char *why;
    } rule[] = {
        { !(job->mode->module.caps & MODE_COLLECTIVE), "was not measured to be faster with parameter servers" },
        { !train_exchanges(job) || job->n_workers == 1, "nothing crosses between workers" },
        { !(job->world->module.caps & (WORLD_LAUNCHED | WORLD_VIRTUAL_TIME)), one_host },
        { job->collective && job->collective->module.caps & COLL_DEVICE,
          "was not measured to be faster where the reducer sums on the device" },
        { o->average_every > 0, "--average-every averages parameters behind the step" },
        { o->trajectory[0] != '\0', "--trajectory wants the parameters that a step begins with" },
        { alternation_is_on(job) && strcmp(o->priority, "on") == 0, "--alternate-exchange goes with --priority off" },
    };

    for (size_t i = 0; i < sizeof rule / sizeof *rule; i++)
        if (rule[i].is_so)
            return rule[i].why;
    return NULL;
}

static enum rc has_chunks(bool *out, const struct train_job *job)
{
    struct buckets b = { 0 };
    enum rc rc;

    TRY(buckets_open_cut(&b, job->segment, job->n_segments, &job->exchange.buckets, job->shard.n_common_params));
    *out = b.n_chunks > 1;
out:
    buckets_close(&b);
    return rc;
}

/* Would a module in use refuse a task that sends beside the main one? Then its message is the reason. */
static bool is_refused(const struct train_job *job)
{
    struct job_facts facts = train_job_facts(job);

    facts.sends_in_tasks = true;
    return module_check_all(&job->opts.modules, train_kinds, job->used, &facts) != RC_OK;
}

enum rc job_overlap_resolve(struct train_job *job)
{
    const char *why;
    bool is_cut = false;
    enum rc rc = RC_OK;

    job->may_overlap = false;
    job->overlap_reason[0] = '\0';
    if (!is_auto(job->opts.overlap) || !mode_exchanges(&job->mode->module))
        return RC_OK;
    why = why_off(job);
    if (!why) {
        TRY(has_chunks(&is_cut, job));
        why = !is_cut ? "the gradients are one chunk" : is_refused(job) ? rc_message() : NULL;
    }
    job->may_overlap = !why;
    if (why)
        snprintf(job->overlap_reason, sizeof job->overlap_reason, "%s", why);
out:
    return rc;
}

struct overlap_choice job_overlap_choose(const struct train_job *job, int n_hosts, bool tasks_may_send,
                                         const char *mpi_level)
{
    const struct exchange_opts *x = &job->exchange;
    struct overlap_choice c = { .overlaps = x->overlap, .by_priority = x->priority };

    memcpy(c.reason, job->overlap_reason, sizeof c.reason);
    if (!job->may_overlap)
        return c;
    if (n_hosts == 1)
        snprintf(c.reason, sizeof c.reason, "%s", one_host);
    else if (!tasks_may_send)
        snprintf(c.reason, sizeof c.reason, "MPI grants %s, so that a task beside the main one cannot send",
                 mpi_level ? mpi_level : "too little");
    else
        snprintf(c.reason, sizeof c.reason, "workers are on %d hosts", n_hosts);
    c.overlaps = n_hosts > 1 && tasks_may_send;
    if (is_auto(job->opts.priority))
        c.by_priority = c.overlaps && !alternation_is_on(job) && !job->shard.chunks_differ;
    return c;
}

void record_overlap(struct record *r, const struct train_job *job, const struct train_result *result)
{
    const struct overlap_choice *c = &result->overlap;
    const bool exchanges = train_exchanges(job);

    record_text(r, "overlap", !exchanges ? NULL : c->overlaps ? "on" : "off");
    record_text(r, "priority", !exchanges ? NULL : c->by_priority ? "on" : "off");
    record_text(r, "overlap_reason", exchanges && c->reason[0] ? c->reason : NULL);
}

/* --- --average-every --- */

/* A checkpoint holds the state of one worker's optimiser. */
static enum rc check_own_state(const struct train_job *job)
{
    const struct train_opts *o = &job->opts;
    const bool has_momentum = o->momentum != 0;

    if ((!o->save[0] && !o->resume[0]) || (!has_momentum && optimizer_n_moments(&job->optimizer) == 0))
        return RC_OK;
    return rc_raise(RC_INVAL, "--average-every %llu: a checkpoint does not hold each worker's own %s; with %s use %s",
                    (unsigned long long)o->average_every, has_momentum ? "momentum" : "state of the optimiser",
                    o->save[0] ? "--save" : "--resume", has_momentum ? "--momentum 0" : "--optimizer sgd");
}

enum rc local_sgd_check(const struct train_job *job)
{
    const unsigned long long every = job->opts.average_every, n_steps = job->opts.steps;
    const unsigned long long save_every = job->opts.save_every;
    char fitting[48];
    enum rc rc = RC_OK;

    if (every == 0)
        return RC_OK;
    TRY(check_own_state(job));
    text_near_multiples(fitting, sizeof fitting, save_every, every);
    if (save_every % every != 0)
        FAIL(RC_INVAL,
             "--save-every %llu: is no multiple of --average-every %llu; in between workers have no "
             "parameters in common; use %s",
             save_every, every, fitting);
    text_near_multiples(fitting, sizeof fitting, n_steps, every);
    if (job->opts.save[0] && n_steps % every != 0)
        FAIL(RC_INVAL,
             "--steps %llu: is no multiple of --average-every %llu; with --save it must be, so that --resume continues "
             "after an average; use %s",
             n_steps, every, fitting);
out:
    return rc;
}

enum rc local_sgd_check_resume(const struct train_job *job)
{
    const unsigned long long every = job->opts.average_every, n_steps = job->resume.steps_count;
    char fitting[48];

    if (every == 0 || n_steps % every == 0)
        return RC_OK;
    text_near_divisors(fitting, sizeof fitting, every, n_steps);
    return rc_raise(RC_INVAL,
                    "--resume %s: ended after %llu steps, between two averages of --average-every %llu; use "
                    "--average-every %s",
                    job->opts.resume, n_steps, every, fitting);
}

bool local_sgd_may_stop(const struct train_job *job, size_t n_steps)
{
    const uint64_t every = job->opts.average_every;

    return every == 0 || job->opts.save[0] == '\0' || (job->resume.steps_count + n_steps) % every == 0;
}
