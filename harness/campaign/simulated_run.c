/* SPDX-License-Identifier: Apache-2.0 */
/* simulated_run.c - see simulated_run.h. */
#include "harness/campaign/simulated_run.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allreduce/collective_list.h"
#include "harness/exchange/collective.h"

/* Messages of all steps of a simulation, about; more steps do not say more where nothing is random. */
static const double STEPS_MESSAGES = 4e5, SERVER_MESSAGE = 20;
enum { MAX_STEPS = 20, ALONE_STEPS = 100, ASYNC_STEPS = 12 };

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

enum rc simulated_check_hosts(const struct used_cluster *c, const char *reducer, int n_gpus)
{
    const struct collective_ops *ops;
    enum rc rc = RC_OK;

    if (!reducer[0])
        return RC_OK;
    TRY(collective_find(&ops, &collective_kind, reducer));
    TRY(collective_check_hosts(&collective_kind, ops, n_gpus, c->cluster.n_ranks_per_host));
out:
    return rc;
}

/* Messages of a step, about; of servers as many as a ring could send in the time: many to one server share its link. */
static double messages_of(const struct simulated_run *r)
{
    const double n_bytes = 4.0 * (double)r->profile->n_params;
    const double n_buckets = r->bucket_bytes > 0 ? ceil(n_bytes / (double)r->bucket_bytes) : 1;

    if (r->mode == ROW_NONE || r->n_gpus == 1)
        return 1;
    if (row_mode_has_servers(r->mode))
        return SERVER_MESSAGE * 2.0 * n_buckets * r->n_gpus * r->n_servers;
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
    const int n_least = has_own_rates(r) ? ASYNC_STEPS : 1, n_most = n < MAX_STEPS ? (int)n : MAX_STEPS;

    return n_most > n_least ? n_most : n_least;
}

static enum rc add_exchange(struct simulation *s, const struct simulated_run *r)
{
    enum rc rc = RC_OK;

    if (r->mode == ROW_NONE)
        return RC_OK;
    TRY(simulation_add(s, "--overlap=%s", r->overlap));
    if (r->gradients && r->gradients[0])
        TRY(simulation_add(s, "--compression=%s", r->gradients));
    if (r->bucket_bytes > 0)
        TRY(simulation_add(s, "--bucket-bytes=%llu", (unsigned long long)r->bucket_bytes));
    if (!row_mode_has_servers(r->mode)) {
        if (r->reducer[0])
            TRY(simulation_add(s, "--reducer=%s", r->reducer));
        goto out;
    }
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

static enum rc add_cluster(struct simulation *s, const struct simulated_run *r)
{
    enum rc rc;

    TRY(simulation_add(s, "--cluster=%s", r->cluster->name));
    if (r->cluster_set[0])
        TRY(simulation_add(s, "--cluster-set=%s", r->cluster_set));
    if (r->cluster->transport[0])
        TRY(simulation_add(s, "--cluster-set=protocol=%s", r->cluster->transport));
    if (r->cluster->n_gpus_per_host > 0)
        TRY(simulation_add(s, "--cluster-set=ranks_per_host_count=%d", r->cluster->n_gpus_per_host));
    if (r->variation[0])
        TRY(simulation_add(s, "--cluster-set=%s", r->variation));
    if (r->seed > 0)
        TRY(simulation_add(s, "--seed=%llu", (unsigned long long)r->seed));
out:
    return rc;
}

static enum rc fill(struct simulation *s, const struct simulated_run *r)
{
    const bool is_alone = r->n_gpus == 1 && !row_mode_has_servers(r->mode);
    enum rc rc;

    s->is_at_own_rates = r->n_gpus > 1 && has_own_rates(r);
    s->n_steps = is_alone ? ALONE_STEPS : steps_of(r);
    s->weight = is_alone ? 100 : 100 + s->n_steps * messages_of(r);
    s->stage = r->stage;
    TRY(simulation_add(s, "--world=sim"));
    TRY(simulation_add(s, "--model=replay"));
    TRY(simulation_add(s, "--compute=hollow"));
    TRY(simulation_add(s, "--profile=%s", r->profile->path));
    TRY(simulation_add(s, "--batch=%d", r->batch));
    TRY(add_cluster(s, r));
    if (is_alone)
        TRY(add_undisturbed(s, r));
    TRY(simulation_add(s, "--steps=%d", s->n_steps));
    TRY(simulation_add(s, "--record-every=%d", s->n_steps));
    TRY(simulation_add(s, "--stall-abort-s=86400"));
    TRY(simulation_add(s, "--workers=%d", r->n_gpus));
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
