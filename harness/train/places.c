/* SPDX-License-Identifier: Apache-2.0 */
/* places.c - the results of every rank of a run; see places.h. */
#include "harness/train/places.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/exchange/collective.h"
#include "harness/report/record.h"
#include "harness/train/disturbed.h"
#include "harness/train/elastic.h"
#include "harness/train/job_exchange.h"
#include "harness/train/result.h"
#include "harness/train/stages.h"

/* --- parameter servers --- */

enum { N_STALENESS_BINS = 1024 };

static bool has_servers(const struct train_job *job)
{
    return job->mode->module.caps & MODE_SERVERS;
}

static const struct step_stamp *stamps_of(const struct train_result *result, int worker)
{
    return result->stamp + (size_t)worker * result->n_steps;
}

static uint64_t late_of_worker(const struct train_result *result, int worker)
{
    uint64_t n = 0;

    for (size_t t = 0; t < result->n_steps; t++)
        n += stamps_of(result, worker)[t].late_count;
    return n;
}

uint64_t servers_late_count(const struct train_result *result)
{
    uint64_t n = 0;

    for (int w = 0; w < result->n_workers; w++)
        n += late_of_worker(result, w);
    return n;
}

double servers_parts_per_step(const struct train_job *job, const struct train_result *result)
{
    const struct consistency *c = &job->exchange.consistency;
    uint64_t n_parts = 0;

    if (!has_servers(job) || consistency_n_dropped(c) == 0)
        return 0;
    for (int s = result->n_workers; s < result->n_ranks; s++) {
        n_parts += result->rank[s].served.late_count;
        for (int k = 0; k < STALENESS_BINS; k++)
            n_parts += result->rank[s].served.pushes_count[k];
    }
    return (double)n_parts / ((double)result->n_workers * (double)result->n_steps);
}

/* Steps that a worker was ahead of the slowest one, at most. */
static uint32_t lead_max(const struct train_result *result)
{
    uint32_t most = 0;

    for (int w = 0; w < result->n_workers; w++)
        most = result->rank[w].served.lead_max_count > most ? result->rank[w].served.lead_max_count : most;
    return most;
}

/* Messages and connections that servers refused: how many, and of which kinds. */
static void record_refused(struct record *r, bool has, const uint64_t count[N_REFUSED])
{
    const uint64_t total = refused_total(count);
    char text[REFUSED_TEXT_BYTES];

    refused_text(text, sizeof text, count);
    record_count(r, "refused_count", has, total);
    record_text(r, "refused", has && total > 0 ? text : NULL);
}

/* Of all servers. */
static void count_refused(uint64_t count[N_REFUSED], const struct train_result *result)
{
    for (int why = 0; why < N_REFUSED; why++) {
        count[why] = 0;
        for (int s = result->n_workers; s < result->n_ranks; s++)
            count[why] += result->rank[s].served.refused_count[why];
    }
}

const char *servers_refused_text(char *out, size_t n_bytes, const struct train_result *result)
{
    uint64_t refused[N_REFUSED];

    count_refused(refused, result);
    refused_text(out, n_bytes, refused);
    return out;
}

/* Servers whose place others have taken. */
static uint64_t n_replaced(const struct train_result *result)
{
    uint64_t n = 0;

    for (int s = result->n_workers; s < result->n_ranks; s++)
        n += result->rank[s].served.n_taken_over;
    return n;
}

/* How long a push waits for its replica, in the mean; NAN: none did. */
static double replicate_mean_s(const struct train_result *result)
{
    uint64_t n = 0, all_ns = 0;

    for (int s = result->n_workers; s < result->n_ranks; s++) {
        n += result->rank[s].served.replicated_count;
        all_ns += result->rank[s].served.replicate_ns;
    }
    return n > 0 ? 1e-9 * (double)all_ns / (double)n : NAN;
}

/* Servers whose parameters are in one place alone at the end. */
static uint64_t n_alone(const struct train_job *job, const struct train_result *result)
{
    uint64_t n = 0;

    for (int s = job->n_workers; s < result->n_ranks; s++)
        n += result->rank[s].served.n_alone;
    return n;
}

/* Replicas that were made again of slices that are there at the end, and their bytes. */
static uint64_t n_copies(const struct train_result *result, uint64_t *n_bytes)
{
    uint64_t n = 0;

    *n_bytes = 0;
    for (int s = result->n_workers; s < result->n_ranks; s++) {
        n += result->rank[s].served.copies_count;
        *n_bytes += result->rank[s].served.copied_bytes;
    }
    return n;
}

/* Behind what is in out: replicas that were made again, and those that are missing. */
static void replicas_left_text(char *out, size_t n_bytes, const struct train_job *job,
                               const struct train_result *result)
{
    const unsigned long long n_left_alone = n_alone(job, result);
    uint64_t n_copied_bytes;
    const unsigned long long n_made = n_copies(result, &n_copied_bytes);
    size_t n_now = strlen(out);

    if (n_made > 0)
        snprintf(out + n_now, n_bytes - n_now, "; %llu replica%s made again, by %.3g MB", n_made,
                 n_made == 1 ? " was" : "s were", 1e-6 * (double)n_copied_bytes);
    n_now = strlen(out);
    if (n_left_alone > 0)
        snprintf(out + n_now, n_bytes - n_now, "; the parameters of %llu of %d servers have no replica any more",
                 n_left_alone, job->n_servers);
}

const char *servers_replicas_text(char *out, size_t n_bytes, const struct train_job *job,
                                  const struct train_result *result)
{
    const unsigned long long n = n_replaced(result);

    out[0] = '\0';
    if (job->exchange.n_replicas == 0)
        return out;
    const int n_written = snprintf(out, n_bytes, "1 of each server, on the next one");
    if (n > 0)
        snprintf(out + n_written, n_bytes - (size_t)n_written, "; %llu server%s lost and replaced", n,
                 n == 1 ? " was" : "s were");
    replicas_left_text(out, n_bytes, job, result);
    return out;
}

static void record_copies(struct record *r, bool has, const struct train_result *result)
{
    uint64_t n_bytes;
    const uint64_t n = n_copies(result, &n_bytes);

    record_count(r, "replicas_copied_count", has, n);
    record_count(r, "replicas_copied_bytes", has, n_bytes);
}

void record_servers(struct record *r, const struct train_job *job, const struct train_result *result)
{
    const bool has = has_servers(job);
    const struct hot_spot *hot = &job->hot_spot;
    const uint64_t piece_bytes = job->exchange.buckets.partition_bytes;
    char placement[PLACEMENT_TEXT_BYTES], consistency[CONSISTENCY_TEXT_BYTES];
    uint64_t refused[N_REFUSED];

    placement_text(placement, sizeof placement, &job->exchange.placement);
    consistency_text(consistency, sizeof consistency, &job->exchange.consistency);
    if (has)
        record_bool(r, "servers_beside_workers", job->servers_beside);
    else
        record_null(r, "servers_beside_workers");
    record_text(r, "placement", has ? placement : NULL);
    record_count(r, "hot_server_index", has, (uint64_t)hot->server);
    record_count(r, "hot_server_bytes", has, hot->n_elems * sizeof(float));
    record_f64(r, "imbalance_ratio", has ? hot->imbalance_ratio : NAN);
    record_text(r, "hot_tensor", has ? job->hot_tensor : NULL);
    record_count(r, "hot_tensor_bytes", has, hot->n_segment_elems * sizeof(float));
    record_text(r, "consistency", has ? consistency : NULL);
    record_text(r, "lr_staleness", has ? lr_staleness_text(job->exchange.lr_staleness) : NULL);
    record_count(r, "late_gradients_count", has, servers_late_count(result));
    record_count(r, "lead_max_count", has, lead_max(result));
    count_refused(refused, result);
    record_refused(r, has, refused);
    record_count(r, "replicas_count", has, (uint64_t)job->exchange.n_replicas);
    record_count(r, "servers_replaced_count", has, n_replaced(result));
    record_count(r, "servers_without_replica_count", has && job->exchange.n_replicas > 0, n_alone(job, result));
    record_copies(r, has && job->exchange.n_replicas > 0, result);
    record_f64(r, "replicate_mean_s", replicate_mean_s(result));
    record_count(r, "pieces_in_flight_count", has, (uint64_t)result->overlap.n_in_flight);
    record_count(r, "piece_max_bytes", has && piece_bytes > 0, piece_bytes);
    record_elastic(r, job, result);
}

/* The bins of a worker's steps: of gradients that were applied. */
static void count_steps(uint64_t count[STALENESS_BINS], const struct train_result *result, int worker)
{
    for (size_t t = 0; t < result->n_steps; t++) {
        const struct step_stamp *s = &stamps_of(result, worker)[t];
        if (s->late_count == 0 && step_has_staleness(s))
            count[staleness_bin(s->staleness_count)]++;
    }
}

static void record_histogram(struct record *r, const uint64_t count[STALENESS_BINS])
{
    uint64_t first[STALENESS_BINS];
    size_t n_bins = 1;

    for (int i = 0; i < STALENESS_BINS; i++) {
        first[i] = staleness_bin_first(i);
        if (count[i] > 0)
            n_bins = (size_t)i + 1;
    }
    record_u64_array(r, "staleness_from_count", first, n_bins);
    record_u64_array(r, "staleness_pushes_count", count, n_bins);
}

void record_server_of_rank(struct record *r, const struct train_job *job, const struct train_result *result, int i)
{
    const struct server_facts *served = &result->rank[i].served;
    const bool is_worker = i < result->n_workers;
    uint64_t count[STALENESS_BINS] = { 0 };

    record_count(r, "late_gradients_count", has_servers(job),
                 is_worker ? late_of_worker(result, i) : served->late_count);
    record_count(r, "lead_max_count", has_servers(job), served->lead_max_count);
    record_refused(r, has_servers(job) && !is_worker, served->refused_count);
    if (!has_servers(job)) {
        record_null(r, "staleness_from_count");
        record_null(r, "staleness_pushes_count");
        return;
    }
    if (is_worker)
        count_steps(count, result, i);
    for (int k = 0; k < STALENESS_BINS && !is_worker; k++)
        count[k] = served->pushes_count[k];
    record_histogram(r, count);
}

enum rc write_staleness(struct report *to, const struct train_summary *s)
{
    uint64_t count[N_STALENESS_BINS];
    const size_t n_wanted = (size_t)s->measured.staleness_max_count + 1;
    const size_t n_bins = n_wanted < N_STALENESS_BINS ? n_wanted : N_STALENESS_BINS;
    struct record *r = report_begin(to, "staleness");

    steps_staleness_histogram(count, n_bins, &s->steps);
    record_u64(r, "last_bin_and_above_count", n_bins - 1);
    record_u64_array(r, "pushes_count", count, n_bins);
    return report_end(to);
}

void servers_consistency_text(char *out, size_t n_bytes, const struct train_job *job, const struct train_result *r)
{
    const struct consistency *c = &job->exchange.consistency;
    const unsigned long long n_late = servers_late_count(r);
    char rule[CONSISTENCY_TEXT_BYTES];

    consistency_text(rule, sizeof rule, c);
    if (consistency_n_dropped(c) > 0)
        snprintf(out, n_bytes, "%s, %llu part%s of gradients came too late and were dropped", rule, n_late,
                 n_late == 1 ? "" : "s");
    else if (consistency_has_rounds(c))
        snprintf(out, n_bytes, "%s, one update a step by the mean gradient of all workers", rule);
    else
        snprintf(out, n_bytes, "%s, a worker was at most %u step%s ahead of the slowest%s", rule, lead_max(r),
                 lead_max(r) == 1 ? "" : "s",
                 job->exchange.lr_staleness != LR_STALENESS_NONE ? ", rates over staleness" : "");
}

/* --- ranks --- */

/* --- from the stages to the first --- */

struct stage_facts { /* what all stages have alike, but for the shards */
    uint64_t n_ranks, n_workers, n_steps, n_shards;
};

/* n_bytes of each stage, one behind the other; NULL: not the first stage. The caller frees them. */
static enum rc gather_bytes(void **all, struct world *pipe, const void *own, size_t n_bytes)
{
    void *room = NULL;
    enum rc rc = RC_OK;

    *all = NULL;
    if (pipe->rank == 0 && n_bytes > 0) {
        room = malloc((size_t)pipe->n_ranks * n_bytes);
        if (!room)
            FAIL(RC_NOMEM, "no memory for what %d stages have come to", pipe->n_ranks);
    }
    if (n_bytes > 0)
        TRY(world_gather(pipe, own, room, n_bytes));
    *all = room;
    room = NULL;
out:
    free(room);
    return rc;
}

/* Figures of as many shards as --shard-dense says; of a stage without: zeros. */
static enum rc gather_shards(void **all, struct world *pipe, const struct train_job *job,
                             const struct train_result *own)
{
    const size_t n = job->opts.shard_dense > 1 ? (size_t)job->opts.shard_dense : 0;
    struct shard_figures *figures = calloc(n + 1, sizeof *figures);
    enum rc rc = RC_OK;

    if (!figures)
        FAIL(RC_NOMEM, "no memory for the figures of %zu shards", n);
    if (own->shard)
        memcpy(figures, own->shard, n * sizeof *figures);
    TRY(gather_bytes(all, pipe, figures, n * sizeof *figures));
out:
    free(figures);
    return rc;
}

enum rc places_gather(struct train_result *whole, struct world *pipe, const struct train_job *job,
                      const struct train_result *own)
{
    const struct stage_facts facts = { (uint64_t)own->n_ranks, (uint64_t)own->n_workers, own->n_steps,
                                       (uint64_t)job->shard.n_shards };
    struct stage_facts all[NETWORK_MAX_STAGES];
    void *stamp = NULL, *rank = NULL, *shard = NULL;
    enum rc rc;

    TRY(world_allgather(pipe, &facts, all, sizeof facts));
    for (int i = 0; i < pipe->n_ranks; i++)
        if (all[i].n_ranks != facts.n_ranks || all[i].n_workers != facts.n_workers || all[i].n_steps != facts.n_steps)
            FAIL(RC_BUG, "stage %d has done %llu steps with %llu workers, and another one %zu with %d", i,
                 (unsigned long long)all[i].n_steps, (unsigned long long)all[i].n_workers, own->n_steps,
                 own->n_workers);
    TRY(gather_bytes(&stamp, pipe, own->stamp, facts.n_workers * facts.n_steps * sizeof *own->stamp));
    TRY(gather_bytes(&rank, pipe, own->rank, facts.n_ranks * sizeof *own->rank));
    TRY(gather_shards(&shard, pipe, job, own));
    if (pipe->rank > 0)
        goto out;
    whole->n_stages = pipe->n_ranks;
    for (int i = 0; i < pipe->n_ranks; i++)
        whole->n_shards_of[i] = (int)all[i].n_shards;
    whole->stage_stamp = stamp;
    whole->stage_rank = rank;
    whole->stage_shard = shard;
    stamp = rank = shard = NULL;
out:
    free(stamp);
    free(rank);
    free(shard);
    return rc;
}

void places_free(struct train_result *r)
{
    free(r->stage_stamp);
    free(r->stage_rank);
    free(r->stage_shard);
    r->stage_stamp = NULL;
    r->stage_rank = NULL;
    r->stage_shard = NULL;
}

/* --- records --- */

static bool is_virtual(const struct train_job *job)
{
    return job->world->module.caps & WORLD_VIRTUAL_TIME;
}

/* In sim, how this machine holds the memory is not the simulated one's (train.L4). */
static void record_exchange_memory(struct record *r, const struct train_job *job, const struct exchange_memory_facts *m)
{
    const bool is_real = !is_virtual(job);

    record_text(r, "exchange_memory", memory_kind_text(m->kind));
    record_text(r, "exchange_pages", is_real && m->has_pages ? pages_text(m->pages) : NULL);
    record_text(r, "exchange_shared_by", is_real && m->way[0] ? m->way : NULL);
    record_text(r, "exchange_shared_reason", is_real && m->reason[0] ? m->reason : NULL);
}

/* train.P1 */
static void record_place(struct record *r, const struct train_job *job, int number, bool is_worker)
{
    const int S = job->opts.stages > 1 ? (int)job->opts.stages : 1, n_behind = number - job->n_workers;
    const int n_shards = job->shard.n_shards > 1 ? job->shard.n_shards : 1;

    if (is_worker) {
        record_i64(r, "rank", job_stages_rank(job, number));
        record_text(r, "role", "worker");
        record_i64(r, "worker_index", number);
        record_i64(r, "stage_index", job->stages.number);
        record_i64(r, "shard_index", number % n_shards);
        return;
    }
    record_i64(r, "rank", S > 1 ? S * job->n_workers + job->stages.number * job->n_servers + n_behind : number);
    record_text(r, "role", "server");
    record_null(r, "worker_index");
    record_i64(r, "stage_index", job->stages.number);
    record_null(r, "shard_index");
}

/* Of a step, in the mean of all; not known of who computes nothing. */
static void record_waits(struct record *r, const struct train_job *job, const struct train_rank_info *info,
                         bool is_worker)
{
    const double n_steps = is_worker ? (double)info->steps_count : 0;

    record_f64(r, "stage_wait_s", job->opts.stages > 1 ? 1e-9 * (double)info->stage_waited_ns / n_steps : NAN);
    record_f64(r, "shard_wait_s", job->shard.n_shards > 1 ? 1e-9 * (double)info->shard_waited_ns / n_steps : NAN);
}

static void record_parts(struct record *r, const struct step_parts *parts)
{
    record_f64(r, "exchange_s", parts->step_mean_s - parts->compute_s);
    record_f64(r, "wait_s", parts->wait_s);
    record_f64(r, "wire_s", parts->wire_s);
    record_f64(r, "server_s", parts->server_s);
    record_f64(r, "apply_s", parts->apply_s);
    record_f64(r, "rest_s", parts->rest_s);
    record_f64(r, "exposed_comm_s", parts->exposed_s);
    record_f64(r, "hidden_comm_s", parts->hidden_s);
}

/* One rank; of a worker the parts of its mean step (NaN: a server). */
static enum rc write_rank(struct report *to, const struct train_job *job, const struct train_result *result, int i,
                          const struct step_parts *parts)
{
    const struct step_stamp *stamp = result->stamp + (size_t)i * result->n_steps;
    const struct train_rank_info *info = &result->rank[i];
    const struct disturbance host = disturbance_of_rank(job, result, i);
    const bool is_worker = i < result->n_workers;
    double staleness = 0, n_pushes = 0;
    struct record *r = report_begin(to, "rank");

    record_place(r, job, info->number, is_worker);
    record_text(r, "host", is_virtual(job) ? NULL : info->host);
    record_i64(r, "own_cores_count", info->own_cores_count);
    record_text(r, "device", info->device[0] ? info->device : NULL);
    record_text(r, "mpi_thread_level", info->mpi_level[0] ? info->mpi_level : NULL);
    record_exchange_memory(r, job, &info->memory);
    record_disturbance(r, job, &host);
    record_part_of_rank(r, job, info->number, is_worker);
    record_f64(r, "step_mean_s", parts->step_mean_s);
    record_f64(r, "compute_s", parts->compute_s);
    record_waits(r, job, info, is_worker);
    recorded_input_of_rank(r, job, result, i);
    record_parts(r, parts);
    for (size_t step = 0; is_worker && step < result->n_steps; step++) {
        staleness += stamp[step].staleness_count;
        n_pushes += step_has_staleness(&stamp[step]);
    }
    record_sent_of_rank(r, job, result, i);
    record_periods_of_rank(r, job, result, i);
    record_f64(r, "staleness_mean_count",
               is_worker && job->mode->module.caps & MODE_SERVERS ? staleness / n_pushes : NAN);
    record_server_of_rank(r, job, result, i);
    return report_end(to);
}

/* Of one stage, with its job and its result. */
static enum rc write_ranks(struct report *to, const struct train_job *job, const struct train_result *result,
                           struct steps steps)
{
    static const struct step_parts none = { NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN };
    struct step_parts *parts = malloc(steps.n_workers * sizeof *parts);
    enum rc rc;

    if (!parts)
        return rc_raise(RC_NOMEM, "no memory for the parts of a step of %zu workers", steps.n_workers);
    steps.stamp = result->stamp;
    TRY(steps_worker_parts(parts, &steps));
    for (int i = 0; i < result->n_ranks; i++)
        TRY(write_rank(to, job, result, i, i < result->n_workers ? &parts[i] : &none));
out:
    free(parts);
    return rc;
}

enum rc places_write_ranks(struct report *to, const struct train_job *job, const struct train_result *r,
                           const struct train_summary *s)
{
    struct train_job of_stage = *job;
    struct train_result its = *r;
    enum rc rc;

    TRY(write_ranks(to, job, r, s->steps));
    for (int i = 1; i < r->n_stages; i++) {
        of_stage.stages.number = i;
        of_stage.shard.n_shards = r->n_shards_of[i];
        its.stamp = r->stage_stamp + (size_t)i * (size_t)r->n_workers * r->n_steps;
        its.rank = r->stage_rank + (size_t)i * (size_t)r->n_ranks;
        TRY(write_ranks(to, &of_stage, &its, s->steps));
    }
out:
    return rc;
}
