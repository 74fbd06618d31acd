/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simulated_run.c - turns a training run (a model's profile, on GPUs of a cluster, by a mode) into a simulation
 * (simulations.h), and holds the set of simulations that a command needs; see simulated_run.h.
 */
#include "harness/campaign/simulated_run.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allreduce/collective_list.h"
#include "harness/exchange/collective.h"
#include "harness/exchange/placement.h"
#include "ps/ps.h"

/* Messages of all steps of a simulation, about; more steps do not say more where nothing is random. */
static const double STEPS_MESSAGES = 4e5, SERVER_MESSAGE = 2;
enum { MAX_STEPS = 20, ALONE_STEPS = 100, ASYNC_STEPS = 12 };
/* Of tensors that are cut: BytePS cuts them to 4096000 bytes (BYTEPS_PARTITION_BYTES, github.com/bytedance/byteps
 * docs/env.md). */
enum { SPLIT_BYTES = 4096000 };

/* To servers a tensor goes when its gradient is ready, whatever else is under way: in TensorFlow as a whole, in BytePS
 * and ps-lite in partitions. */
static uint64_t partition_bytes(const struct simulated_run *r)
{
    struct placement_opts placement;

    if (!row_mode_has_servers(r->mode) || placement_parse(&placement, r->placement) != RC_OK)
        return 0;
    return placement.kind == PLACEMENT_SPLIT   ? SPLIT_BYTES
           : placement.kind == PLACEMENT_CHUNK ? placement.chunk_bytes
                                               : 0;
}

int simulated_most_servers(const struct used_profile *profile, const char *placement)
{
    const bool cuts_none = strcmp(placement, "whole") == 0 || strcmp(placement, "round-robin") == 0;

    return cuts_none ? (int)profile->n_tensors : INT_MAX;
}

const char *simulated_exchange(enum row_mode mode, const char *reducer)
{
    return reducer[0] ? reducer : row_mode_name(mode);
}

void simulated_buckets_text(char out[SIMULATED_BUCKETS_BYTES], uint64_t n_bytes)
{
    if (n_bytes == 0)
        snprintf(out, SIMULATED_BUCKETS_BYTES, "one bucket of all gradients");
    else if (n_bytes % (1 << 20) == 0)
        snprintf(out, SIMULATED_BUCKETS_BYTES, "buckets of %llu MiB", (unsigned long long)n_bytes >> 20);
    else
        snprintf(out, SIMULATED_BUCKETS_BYTES, "buckets of %llu bytes", (unsigned long long)n_bytes);
}

const char *simulated_servers_text(void)
{
    return "each tensor as soon as its gradient is ready";
}

enum rc simulated_check_hosts(const struct used_cluster *c, const char *reducer, int n_gpus)
{
    const struct collective_ops *ops;
    enum rc rc = RC_OK;

    if (!reducer[0])
        return RC_OK;
    TRY(collective_find(&ops, &collective_kind, reducer));
    const struct collective_hosts hosts = { n_gpus, c->cluster.n_ranks_per_host,
                                            cluster_memories_are_apart(&c->cluster, n_gpus) };
    TRY(collective_check_hosts(&collective_kind, ops, &hosts));
out:
    return rc;
}

/* GPUs of the first host. */
static int gpus_of_host(const struct simulated_run *r)
{
    const int n_each = r->cluster->cluster.n_ranks_per_host;

    return r->n_gpus < n_each ? r->n_gpus : n_each;
}

/* Is a host one worker of the servers (server_aggregation)? */
static bool is_aggregated(const struct simulated_run *r)
{
    return row_mode_has_servers(r->mode) && r->cluster->cluster.server_aggregation == AGGREGATION_HOST &&
           gpus_of_host(r) > 1;
}

static int workers_of(const struct simulated_run *r)
{
    const int n_each = gpus_of_host(r);

    return is_aggregated(r) ? (r->n_gpus + n_each - 1) / n_each : r->n_gpus;
}

/* Messages of a step, about; of servers as many as a ring could send in the time: many share links. */
static double messages_of(const struct simulated_run *r)
{
    const double n_bytes = 4.0 * (double)r->profile->n_params;
    const double n_buckets = r->bucket_bytes > 0 ? ceil(n_bytes / (double)r->bucket_bytes) : 1;
    const double n_partitions = partition_bytes(r) > 0 ? n_bytes / (double)partition_bytes(r) : 0;

    if (r->mode == ROW_NONE || r->n_gpus == 1)
        return 1;
    if (row_mode_has_servers(r->mode))
        return SERVER_MESSAGE * 2.0 * ((double)r->profile->n_tensors + n_partitions) * workers_of(r);
    return 2.0 * n_buckets * r->n_gpus * (r->n_gpus - 1);
}

/* Does some worker not wait for all others in every step? */
static bool has_own_rates(const struct simulated_run *r)
{
    return r->mode == ROW_NONE || r->mode == ROW_PS_ASYNC || (r->mode == ROW_PS && strcmp(r->consistency, "sync") != 0);
}

static int steps_of(const struct simulated_run *r)
{
    const double n = STEPS_MESSAGES / messages_of(r);
    const int n_most = n < MAX_STEPS ? (int)n : MAX_STEPS;

    /* More of them, and workers that nothing disturbs all reach their servers at once. */
    return has_own_rates(r) ? ASYNC_STEPS : n_most > 1 ? n_most : 1;
}

static enum rc add_exchange(struct simulation *s, const struct simulated_run *r)
{
    enum rc rc = RC_OK;

    if (r->mode == ROW_NONE)
        return RC_OK;
    TRY(simulation_add(s, "--overlap=%s", r->overlap));
    if (r->gradients && r->gradients[0])
        TRY(simulation_add(s, "--compression=%s", r->gradients));
    if (!row_mode_has_servers(r->mode)) {
        if (r->bucket_bytes > 0)
            TRY(simulation_add(s, "--bucket-bytes=%llu", (unsigned long long)r->bucket_bytes));
        if (r->reducer[0])
            TRY(simulation_add(s, "--reducer=%s", r->reducer));
        goto out;
    }
    TRY(simulation_add(s, "--bucket-bytes=%zu", sizeof(float))); /* each tensor alone */
    if (partition_bytes(r) > 0)
        TRY(simulation_add(s, "--partition-bytes=%llu", (unsigned long long)partition_bytes(r)));
    TRY(simulation_add(s, "--in-flight=%d", PS_MOST_CREDITS));
    TRY(simulation_add(s, "--servers=%d", r->n_servers));
    TRY(simulation_add(s, "--placement=%s", r->placement));
    TRY(simulation_add(s, "--consistency=%s", r->mode == ROW_PS_ASYNC ? "async" : r->consistency));
out:
    return rc;
}

/* One GPU alone is not the slow one of many, and has no link that could be. */
static enum rc add_undisturbed(struct simulation *s, const struct simulated_run *r)
{
    enum rc rc = RC_OK;

    if (r->cluster->cluster.n_stragglers > 0)
        TRY(simulation_add(s, "--cluster-set=stragglers_count=0"));
    if (r->cluster->cluster.n_slow_links > 0)
        TRY(simulation_add(s, "--cluster-set=slow_links_count=0"));
out:
    return rc;
}

static double harmonic(int n)
{
    double sum = 0;

    for (int i = 1; i <= n; i++)
        sum += 1.0 / i;
    return sum;
}

/*
 * The worker that a host is. Its bytes pass between GPUs and the memory of the host while they are summed: where each
 * GPU has a link of its own, every one of them carries the gradient once each way (a part of it is summed on each GPU);
 * on a bus all of them take turns, and so do the two directions, which the copy to the network card cannot share: half
 * is left for each. It computes as long as the slowest of its GPUs: with exponential jitter, so that the
 * slowest of all hosts takes as long as the slowest of all GPUs.
 */
static enum rc add_aggregated(struct simulation *s, const struct simulated_run *r)
{
    struct cluster c = r->cluster->cluster;
    enum rc rc;

    TRY(cluster_set(&c, NULL, r->variation));
    const double ratio = harmonic(r->n_gpus) / harmonic(workers_of(r));
    const double n_in_turn = c.local_sharing == SHARING_HOST ? gpus_of_host(r) : 1;
    const double local = c.local_bytes_per_s / n_in_turn;
    const double each_way = c.local_sharing == SHARING_HOST ? local / 2 : local;
    const bool is_staged = c.staging_bytes_per_s > 0 && c.staging_bytes_per_s < each_way;
    TRY(simulation_add(s, "--cluster-set=ranks_per_host_count=1,local_bytes_per_s=%.9g,staging_bytes_per_s=%.9g", local,
                       is_staged ? c.staging_bytes_per_s : each_way));
    if (c.jitter != JITTER_NONE)
        TRY(simulation_add(s, "--cluster-set=jitter_ratio=%.9g", c.jitter_ratio * ratio));
out:
    return rc;
}

static enum rc add_cluster(struct simulation *s, const struct simulated_run *r)
{
    enum rc rc;

    TRY(simulation_add(s, "--cluster=%s", r->cluster->name));
    if (r->cluster->filled[0])
        TRY(simulation_add(s, "--cluster-set=%s", r->cluster->filled));
    if (r->cluster_set[0])
        TRY(simulation_add(s, "--cluster-set=%s", r->cluster_set));
    if (r->cluster->transport[0])
        TRY(simulation_add(s, "--cluster-set=protocol=%s", r->cluster->transport));
    if (r->cluster->n_gpus_per_host > 0)
        TRY(simulation_add(s, "--cluster-set=ranks_per_host_count=%d", r->cluster->n_gpus_per_host));
    if (r->variation[0])
        TRY(simulation_add(s, "--cluster-set=%s", r->variation));
    if (is_aggregated(r))
        TRY(add_aggregated(s, r));
    if (s->is_at_own_rates && row_mode_has_servers(r->mode) && strcmp(r->overlap, "on") == 0) /* E3 of steps.h */
        TRY(simulation_add(s, "--cluster-set=start=spread"));
    if (r->seed > 0)
        TRY(simulation_add(s, "--seed=%llu", (unsigned long long)r->seed));
out:
    return rc;
}

/* The program, and on what it runs. */
static enum rc add_program(struct simulation *s, const struct simulated_run *r)
{
    enum rc rc;

    TRY(simulation_add(s, "--world=sim"));
    TRY(simulation_add(s, "--model=replay"));
    TRY(simulation_add(s, "--compute=hollow"));
    TRY(simulation_add(s, "--profile=%s", r->profile->path));
    TRY(simulation_add(s, "--batch=%d", r->batch));
    TRY(add_cluster(s, r));
out:
    return rc;
}

static enum rc fill(struct simulation *s, const struct simulated_run *r)
{
    const bool is_alone = r->n_gpus == 1 && !row_mode_has_servers(r->mode);
    enum rc rc;

    s->is_at_own_rates = workers_of(r) > 1 && has_own_rates(r);
    s->n_steps = is_alone ? ALONE_STEPS : steps_of(r);
    s->weight = is_alone ? 100 : 100 + s->n_steps * messages_of(r);
    s->stage = r->stage;
    TRY(add_program(s, r));
    if (is_alone)
        TRY(add_undisturbed(s, r));
    TRY(simulation_add(s, "--steps=%d", s->n_steps));
    TRY(simulation_add(s, "--record-every=%d", s->n_steps));
    TRY(simulation_add(s, "--stall-abort-s=86400"));
    TRY(simulation_add(s, "--workers=%d", workers_of(r)));
    TRY(simulation_add(s, "--mode=%s", row_mode_name(r->mode)));
    TRY(add_exchange(s, r));
    snprintf(s->name, sizeof s->name, "%s, %s, %d GPU%s, %s", r->profile->model,
             simulated_exchange(r->mode, r->reducer), r->n_gpus, r->n_gpus == 1 ? "" : "s",
             used_cluster_transport(r->cluster));
out:
    return rc;
}

static bool are_alike(const struct simulation *a, const struct simulation *b)
{
    if (a->n_words != b->n_words)
        return false;
    for (int i = 0; i < a->n_words; i++)
        if (strcmp(a->word[i], b->word[i]) != 0)
            return false;
    return true;
}

/* U1. */
enum rc simulation_set_find(size_t *out, struct simulation_set *set, const struct simulated_run *run)
{
    struct simulation s = { .word = NULL }, *more;
    enum rc rc;

    TRY(simulation_open(&s));
    TRY(fill(&s, run));
    for (*out = 0; *out < set->n; ++*out)
        if (are_alike(&set->simulation[*out], &s)) {
            struct simulation *found = &set->simulation[*out];
            found->stage = s.stage < found->stage ? s.stage : found->stage;
            goto out;
        }
    more = realloc(set->simulation, (set->n + 1) * sizeof *more);
    if (!more)
        FAIL(RC_NOMEM, "no memory for a simulation");
    set->simulation = more;
    more[set->n++] = s;
    s = (struct simulation){ .word = NULL };
out:
    simulation_close(&s);
    return rc;
}

void simulation_set_free(struct simulation_set *set)
{
    for (size_t i = 0; i < set->n; i++)
        simulation_close(&set->simulation[i]);
    free(set->simulation);
    *set = (struct simulation_set){ .simulation = NULL };
}
