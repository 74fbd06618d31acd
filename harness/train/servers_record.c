/* SPDX-License-Identifier: Apache-2.0 */
/* servers_record.c - see servers_record.h. */
#include "harness/train/servers_record.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/train/elastic.h"

enum { N_STALENESS_BINS = 1024 };

static bool has_servers(const struct train_job *job)
{
    return job->mode->module.caps & MODE_SERVERS;
}

static void record_count(struct record *r, const char *key, bool is_known, uint64_t value)
{
    if (is_known)
        record_u64(r, key, value);
    else
        record_null(r, key);
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

    if (!has_servers(job) || c->kind != CONSISTENCY_SYNC || c->bound_count == 0)
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
    struct record *r = NULL;
    enum rc rc;

    TRY(record_open(&r, "staleness"));
    steps_staleness_histogram(count, n_bins, &s->steps);
    record_u64(r, "last_bin_and_above_count", n_bins - 1);
    record_u64_array(r, "pushes_count", count, n_bins);
    TRY(report_write(to, r));
out:
    record_close(&r);
    return rc;
}

void servers_consistency_text(char *out, size_t n_bytes, const struct train_job *job, const struct train_result *r)
{
    const struct consistency *c = &job->exchange.consistency;
    const unsigned long long n_late = servers_late_count(r);
    char rule[CONSISTENCY_TEXT_BYTES];

    consistency_text(rule, sizeof rule, c);
    if (c->kind == CONSISTENCY_SYNC && c->bound_count > 0)
        snprintf(out, n_bytes, "%s, %llu part%s of gradients came too late and were dropped", rule, n_late,
                 n_late == 1 ? "" : "s");
    else if (c->kind == CONSISTENCY_SYNC)
        snprintf(out, n_bytes, "%s, one update a step by the mean gradient of all workers", rule);
    else
        snprintf(out, n_bytes, "%s, a worker was at most %u step%s ahead of the slowest%s", rule, lead_max(r),
                 lead_max(r) == 1 ? "" : "s",
                 job->exchange.lr_staleness != LR_STALENESS_NONE ? ", rates over staleness" : "");
}
