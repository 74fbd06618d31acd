/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.c - the default description, presets by name, changes of single values, and whether ranks fit. */
#include "harness/cluster/cluster.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/rng.h"
#include "harness/base/text.h"
#include "harness/cluster/cluster_keys.h"
#include "harness/cluster/cluster_presets.h"

enum { MAX_PRESETS = 32 };

void cluster_default(struct cluster *out)
{
    *out = (struct cluster){ .seed = 1 };
    const enum rc rc = key_set_defaults(&cluster_key_table, out);
    assert(rc == RC_OK); /* cluster.B2: tested */
    (void)rc;
    snprintf(out->name, sizeof out->name, "default");
    out->assumed = (UINT64_C(1) << CLUSTER_N_KEYS) - 2; /* but not its name */
}

const char *cluster_preset_name(int i)
{
    return cluster_presets[i].name;
}

static const struct cluster_preset *find_preset(const char *name)
{
    for (const struct cluster_preset *p = cluster_presets; p->name; p++)
        if (strcmp(p->name, name) == 0)
            return p;
    return NULL;
}

bool cluster_is_preset(const char *name)
{
    return find_preset(name) != NULL;
}

/* RC_INVAL: name is neither a preset nor like a file's. */
static enum rc unknown_preset(const char *name)
{
    const char *known[MAX_PRESETS + 1] = { NULL };
    char all[512] = "";

    for (int i = 0; i < MAX_PRESETS && (known[i] = cluster_preset_name(i)) != NULL; i++) {
        const size_t n = strlen(all);
        snprintf(all + n, sizeof all - n, "%s%s", i > 0 ? ", " : "", known[i]);
    }
    const char *nearest = text_nearest(name, known);
    if (nearest)
        return rc_raise(RC_INVAL, "%s: neither a preset nor a file; the nearest preset is %s (of %s)", name, nearest,
                        all);
    return rc_raise(RC_INVAL, "%s: neither a preset (%s) nor a file", name, all);
}

enum rc cluster_find(struct cluster *out, struct cluster_sources *sources, const char *name)
{
    const struct cluster_preset *preset = find_preset(name);
    enum rc rc = RC_OK;

    if (name[0] == '\0') {
        cluster_default(out);
        for (int i = 0; sources && i < CLUSTER_N_KEYS; i++)
            snprintf(sources->text[i], sizeof sources->text[i], "%s", i > 0 ? "assumed: built in" : "");
    } else if (preset) {
        TRY(cluster_parse(out, sources, preset->name, preset->text, preset->n_bytes));
    } else if (!strpbrk(name, "/.") && access(name, F_OK) != 0) {
        rc = unknown_preset(name);
    } else
        TRY(cluster_load(out, sources, name));
out:
    return rc;
}

struct changing { /* what --cluster-set changes */
    struct cluster *cluster;
    struct cluster_sources *sources; /* NULL: not wanted */
};

static void is_set(void *arg, int key)
{
    const struct changing *changing = arg;
    const char *name = cluster_keys[key].name;
    struct cluster *c = changing->cluster;

    c->assumed &= ~(UINT64_C(1) << key);
    c->unlimited &= ~(UINT64_C(1) << key);
    if (changing->sources)
        snprintf(changing->sources->text[key], sizeof changing->sources->text[key], "--cluster-set");
    if (strcmp(name, "hosts_count") == 0 || strcmp(name, "ranks_per_host_count") == 0)
        snprintf(c->place, sizeof c->place, "--cluster-set");
}

enum rc cluster_set(struct cluster *c, struct cluster_sources *sources, const char *settings)
{
    struct cluster changed = *c;
    struct changing changing = { &changed, sources };
    int key = 0;
    enum rc rc = RC_OK;

    if (settings[0] == '\0')
        return RC_OK;
    TRY(key_change(&cluster_key_table, &changed, "--cluster-set", settings, is_set, &changing));
    if (cluster_keys_agree(&changed, &key) != RC_OK)
        TRY(key_refuse_setting("--cluster-set", cluster_keys[key].name));
    *c = changed;
out:
    return rc;
}

enum rc cluster_check_compute(const struct cluster *c)
{
    char names[128] = "";
    size_t n_bytes = 0;

    for (int i = 0; i < CLUSTER_N_KEYS; i++)
        if (c->unlimited >> i & 1 && n_bytes < sizeof names)
            n_bytes += (size_t)snprintf(names + n_bytes, sizeof names - n_bytes, "%s%s", n_bytes > 0 ? ", " : "",
                                        cluster_keys[i].name);
    if (n_bytes == 0)
        return RC_OK;
    return rc_raise(RC_INVAL,
                    "%s: lacks %s; add it to the description, which only simulate, reproduce and --model "
                    "replay can do without",
                    c->name, names);
}

bool cluster_memories_are_apart(const struct cluster *c, int n_workers)
{
    const bool is_slower = c->server_memory_bytes_per_s > 0 && c->server_memory_bytes_per_s < c->memory_bytes_per_s;

    return n_workers > 1 && c->n_ranks_per_host > 1 && (c->staging_bytes_per_s > 0 || is_slower);
}

enum rc cluster_check(const struct cluster *c, int n_workers, int n_ranks)
{
    const int n_placed = c->server_placement == SERVERS_BESIDE ? n_workers : n_ranks;
    const char *what = n_placed < n_ranks ? "workers" : "ranks";

    if (n_ranks < 1)
        return rc_raise(RC_INVAL, "cluster %s: %d ranks; it takes at least 1", c->name, n_ranks);
    if (n_ranks > CLUSTER_MAX_RANKS)
        return rc_raise(RC_INVAL, "cluster %s: %d ranks; at most %d can be simulated", c->name, n_ranks,
                        CLUSTER_MAX_RANKS);
    if (c->n_stragglers > n_workers)
        return rc_raise(RC_INVAL, "cluster %s: stragglers_count is %d; use at most the %d workers", c->name,
                        c->n_stragglers, n_workers);
    const int n_worker_hosts = (n_workers + c->n_ranks_per_host - 1) / c->n_ranks_per_host;
    if (c->n_slow_links > n_worker_hosts)
        return rc_raise(RC_INVAL, "cluster %s: slow_links_count is %d; use at most the %d hosts of workers", c->name,
                        c->n_slow_links, n_worker_hosts);
    const int64_t n_held = (int64_t)c->n_hosts * c->n_ranks_per_host;
    if (c->n_hosts == 0 || n_held >= n_placed)
        return RC_OK;
    if (n_workers < n_ranks && n_held >= n_workers && n_placed == n_ranks)
        return rc_raise(RC_INVAL,
                        "%s%scluster %s: %d workers and %d servers do not fit: it has %d hosts with %d ranks each, and "
                        "server_placement is own. Set server_placement: beside, or hosts_count to at least %d, or use "
                        "no servers",
                        c->place, c->place[0] ? ": " : "", c->name, n_workers, n_ranks - n_workers, c->n_hosts,
                        c->n_ranks_per_host, (n_placed - 1) / c->n_ranks_per_host + 1);
    return rc_raise(RC_INVAL,
                    "%s%scluster %s: %d %s do not fit: it has %d hosts with %d ranks each; use at most %lld %s, or "
                    "hosts_count of at least %d",
                    c->place, c->place[0] ? ": " : "", c->name, n_placed, what, c->n_hosts, c->n_ranks_per_host,
                    (long long)n_held, what, (n_placed - 1) / c->n_ranks_per_host + 1);
}

/* Draws from distributions of mean 1 that are never below 0. */

enum { STRAGGLERS_KEY = 0x736c6f77, STEP_BITS = 40 }; /* of rng_permute(): no other permutation of this seed has it */

double noise_straggler_ratio(const struct cluster *c, int rank, int n_workers)
{
    if (c->n_stragglers == 0 || rank >= n_workers)
        return 1;
    const uint64_t turn = rng_permute(c->seed, STRAGGLERS_KEY, (uint64_t)rank, (uint64_t)n_workers);
    return turn < (uint64_t)c->n_stragglers ? c->straggler_ratio : 1;
}

double noise_start_ratio(const struct cluster *c, int rank, int n_workers, int64_t step)
{
    return c->start == START_SPREAD && step == 0 && rank < n_workers ? 1 + (double)rank / n_workers : 1;
}

double noise_step_ratio(const struct cluster *c, int rank, int64_t step)
{
    const uint64_t i = (uint64_t)rank << STEP_BITS | ((uint64_t)step & ((UINT64_C(1) << STEP_BITS) - 1));
    double drawn = 0; /* of mean 1 */

    if (step < 0)
        return 1;
    switch ((enum cluster_jitter)c->jitter) {
    case JITTER_NONE:
        return 1;
    case JITTER_EXPONENTIAL:
        drawn = -log(1 - rng_uniform(c->seed, RNG_JITTER, i));
        break;
    case JITTER_HALFNORMAL: /* the mean of |N| is sqrt(2 / pi) */
        drawn = fabs(rng_normal(c->seed, RNG_JITTER, i)) * 1.2533141373155003;
        break;
    case JITTER_LOGNORMAL: /* the mean of e^N is e^(1/2) */
        drawn = exp(rng_normal(c->seed, RNG_JITTER, i) - 0.5);
        break;
    }
    return 1 + c->jitter_ratio * drawn;
}
